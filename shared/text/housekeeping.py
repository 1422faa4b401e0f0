"""Requests that chat clients make for themselves: a title, tags, follow-ups or a completion for a conversation.

Told only where it is sure: one message that gives the task and quotes the conversation.
"""

from __future__ import annotations

import re

_TASK = re.compile(r"\s*#{1,6}[ \t]*Task\b", re.IGNORECASE)
_TAG_OF_TASK = re.compile(r"<(chat_history|messages|conversation|conversation_history|text|type|prompt|message)>[^<]",
                          re.IGNORECASE)  # fmt: skip
_TAG_OF_QUESTION = re.compile(r"<(?:context|documents?|user_query|question|source)\b", re.IGNORECASE)
_WANTED = re.compile(
    r"\b(?:title|titles|headline|topic|topics|tags?|keywords?|emoji|follow[- ]?up (?:questions?|prompts?|suggestions?)"
    r"|(?:search )?quer(?:y|ies)|autocomplet\w+|titel|überschrift|titre|título|titolo|schlagw\w+|başlık|заголовок"
    r"|тему)\b"
    r"|标题|標題|主题|标签|タイトル|제목|عنوان|शीर्षक",
    re.IGNORECASE,
)
_SPOKEN_OF = re.compile(
    r"\b(?:conversation|chat|dialog(?:ue)?|messages?|discussion|exchange|gespräch\w*|unterhaltung|conversación|conversa"
    r"|conversazione|разговор\w*|sohbet\w*|transcript|interaction)\b|对话|對話|聊天|会話|대화|محادثة|बातचीत",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:you are|your (?:task|job)|please|generate|create|provide|write|give|suggest|propose|come up|summari[sz]e"
    r"|name"
    r"|produce|return|make|reply|respond|based on|based upon|here is|below is|given|analy[sz]e|in \d|what would|from"
    r" the"
    r"|i want you to|erstelle|generiere|gib|schreib|fasse|génère|crée|donne|propose|genera|crea|escribe|dame"
    r"|proporciona"
    r"|scrivi|gere|crie|придумай|создай|напиши|дай|请|為|为|根据|給|以下|この|次の|다음|أنشئ|اكتب)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"^[ \t>*_\"']*(?:\[?(?P<who>user|human|you|me|ai|assistant|bot|model|system|chatgpt|benutzer|nutzer|assistent"
    r"|usuario"
    r"|asistente|utilisateur|utente|assistente|usuário|пользователь|ассистент|用户|助手|ユーザー|アシスタント|사용자"
    r"|어시스턴트)\]?)[*_]*[ \t]*[:：]|^[ \t\[{,]*\"role\"\s*:\s*\"(?P<role>\w+)\"",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD, _ENOUGH = 600, 2


def is_housekeeping(text: str, instructions: str = "") -> bool:
    """Whether a message is a client's request for itself, and nobody's words.

    ``instructions`` came with it: some clients give the task there, and as the message the conversation alone.
    """
    if _TASK.match(text):
        return _TAG_OF_TASK.search(text) is not None and _TAG_OF_QUESTION.search(text) is None
    lines = list(_SPEAKER.finditer(text))
    speakers = {(one["who"] or one["role"]).lower() for one in lines}
    tag = _TAG_OF_TASK.search(text)
    if tag is None and len(speakers) < _ENOUGH:
        return False
    start = min(one.start() for one in (tag, *lines[:1]) if one is not None)
    # It stands before what it is about, or behind it.
    behind = text.rstrip().rpartition("\n\n")[2]
    requests = [text[:start][:_HEAD], "" if _SPEAKER.match(behind) else behind[:_HEAD]]
    if not text[:start].strip():
        requests += re.split(r"(?<=[.!?:])\s+|\n", instructions[:_HEAD])
    return _SPOKEN_OF.search(f"{instructions}\n{text}") is not None and any(
        _ASKS.search(request) and _WANTED.search(request) for request in requests
    )
