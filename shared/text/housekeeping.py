"""Requests that chat clients make for themselves: a title, tags, follow-ups or a completion for a conversation.

Told only where it is sure: a message that gives the task and quotes the conversation, short instructions that are
nothing but the task, or a message that asks for it and says that it wants nothing else in the answer.
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
    r"\b(?:conversations?|chats?|dialog(?:ue)?s?|messages?|discussion|exchange|gespräch\w*|unterhaltung|conversación|conversa"
    r"|conversazione|разговор\w*|sohbet\w*|transcript|interaction)\b|对话|對話|聊天|会話|대화|محادثة|बातचीत",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:you (?:are|write|generate|create|name|summari[sz]e|make)|your (?:task|job)|please|generate|create|provide"
    r"|write|give|suggest|propose|come up|summari[sz]e|progressively|name|produce|return|make|reply|respond|based on"
    r"|based upon|here is|below is|given|analy[sz]e|in \d|what (?:would|should|is)|from the"
    r"|i want you to|erstelle|generiere|gib|schreib|fasse|génère|crée|donne|propose|genera|crea|escribe|dame"
    r"|proporciona"
    r"|scrivi|gere|crie|придумай|создай|напиши|дай|请|為|为|根据|給|以下|この|次の|다음|أنشئ|اكتب)",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\bsummar(?:y|ies|i[sz]\w+)\b|zusammenfass|fasse\b|resum|résum|riassu|резюм|总结|摘要|要約|요약", re.IGNORECASE
)
_MAKES = re.compile(
    r"\b(?:generat|creat|writ|giv|suggest|propos|return|mak|produc|provid|come up|nam|output|reply|respond|answer"
    r"|summari[sz])|erstell|generier|gib|schreib|génèr|crée|donn|gener|crea|crie|escrib|придума|созда|напиш|生成|作成",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\b(?:reply|return|respond|output|answer|write|give|provide|send)\b[^.\n]{0,30}\b(?:only|just|nothing|json)\b"
    r"|\b(?:only|just)\b[^.\n]{0,15}\b(?:return|reply|respond|output|answer)"
    r"|\b(?:no|without) (?:quotes|quotation marks|punctuation|explanations?|other text|preamble)\b|\bnothing else\b"
    r"|\b(?:nur|ausschließlich|s[oó]lo|solamente|uniquement|seulement|soltanto|apenas|somente|только)\b"
    r"|只|のみ|だけ|만 ",
    re.IGNORECASE,
)
_OF_PERSONS = re.compile(r"\b(?:i|my|me|each|every|always|when|whenever|if asked)\b", re.IGNORECASE)
"""Words of somebody's own wish, or of a rule for a whole chat."""
_PARTS = re.compile(r"(?<=[.!?:。！？])\s+|(?<=[。！？])|\n")
_SHORT = 400
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
    if _is_task(instructions) or (_ONLY.search(text) and _is_task(text)):
        return True
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
        requests += _PARTS.split(instructions[:_HEAD])
    return _SPOKEN_OF.search(f"{instructions}\n{text}") is not None and any(
        _ASKS.search(one) and (_WANTED.search(one) or (_SUMMARY.search(one) and _SPOKEN_OF.search(one)))
        for one in requests
    )


def _is_task(text: str) -> bool:
    """Whether a text is short and asks for something that is made of a conversation."""
    return len(text) <= _SHORT and any(
        _ASKS.search(part)
        and (_WANTED.search(part) or _SUMMARY.search(part))
        and _SPOKEN_OF.search(part)
        and (_MAKES.search(part) or part.rstrip().endswith(("?", "？")))
        and not _OF_PERSONS.search(part)
        for part in _PARTS.split(text)
    )
