"""Requests that chat clients make for themselves: a title, tags, follow-ups or a completion for a conversation.

Told only where it is sure: a message that gives the task and quotes the conversation, short instructions that are
nothing but the task, or a message that asks for it and says that it wants nothing else in the answer.
"""

import re

_TASK = re.compile(r"\s*#{1,6}[ \t]*Task\b", re.IGNORECASE)
_TAG_OF_TASK = re.compile(r"<(?:chat_history|messages?|conversation(?:_history)?|text|type|prompt)>[^<]", re.IGNORECASE)
_TAG_OF_QUESTION = re.compile(r"<(?:context|documents?|user_query|question|source)\b", re.IGNORECASE)
_WANTED = re.compile(
    r"\b(?:titles?|headline|topics?|tags?|keywords?|emoji|follow[- ]?up (?:questions?|prompts?|suggestions?)"
    r"|quer(?:y|ies)|autocomplet\w+|titel|überschrift|titre|título|titolo|schlagw\w+|başlık|заголовок|тему)\b"
    r"|标题|標題|主题|标签|タイトル|제목|عنوان|शीर्षक",
    re.IGNORECASE,
)
_SPOKEN_OF = re.compile(
    r"\b(?:conversations?|chats?|dialog(?:ue)?s?|messages?|discussion|exchange|gespräch\w*|unterhaltung|conversación"
    r"|conversa|conversazione|разговор\w*|sohbet\w*|transcript|interaction)\b"
    r"|对话|對話|聊天|会話|대화|محادثة|बातचीत",
    re.IGNORECASE,
)
_MAKES = (
    r"(?:generat|creat|provid|writ|giv|suggest|propos|come up|summari[sz]|nam|produc|return|mak|reply|respond"
    r"|erstell|generier|gib|schreib|fasse|génèr|crée|donn|gener|crea|escrib|dame|proporcion|scriv|gere|crie"
    r"|придума|созда|напиш|дай)|生成|作成"
)
_ASKS = re.compile(
    rf"^\W*(?:{_MAKES}|you (?:are|write|generate|create|name|summari[sz]e|make)\b|your (?:task|job)|please"
    r"|progressively|based (?:up)?on|here is|below is|analy[sz]e|in \d|what (?:would|should|is)|from the|i want you to"
    r"|请|為|为|根据|給|以下|この|次の|다음|أنشئ|اكتب)",
    re.IGNORECASE,
)
_MAKING = re.compile(rf"\b{_MAKES}|[?？]\s*\Z", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\bsummar(?:y|ies|i[sz]\w+)\b|zusammenfass|fasse\b|resum|résum|riassu|резюм|总结|摘要|要約|요약", re.IGNORECASE
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
    r"|usuario|asistente|utilisateur|utente|assistente|usuário|пользователь|ассистент|用户|助手|ユーザー|アシスタント"
    r"|사용자|어시스턴트)\]?)[*_]*[ \t]*[:：]|^[ \t\[{,]*\"role\"\s*:\s*\"(?P<role>\w+)\"",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD, _ENOUGH = 600, 2


def is_housekeeping(text: str, instructions: str = "") -> bool:
    """Whether a message is a client's request for itself, and nobody's words.

    ``instructions`` came with it: some clients give the task there, and as the message the conversation alone.
    """
    tag = _TAG_OF_TASK.search(text)
    if _TASK.match(text):
        return tag is not None and _TAG_OF_QUESTION.search(text) is None
    if _is_task(instructions) or (_ONLY.search(text) and _is_task(text)):
        return True
    lines = list(_SPEAKER.finditer(text))
    if tag is None and len({(one["who"] or one["role"]).lower() for one in lines}) < _ENOUGH:
        return False
    before = text[: min(one.start() for one in (tag, *lines[:1]) if one is not None)]
    # It stands before what it is about, or behind it.
    behind = text.rstrip().rpartition("\n\n")[2]
    requests = [before[:_HEAD], "" if _SPEAKER.match(behind) else behind[:_HEAD]]
    if not before.strip():
        requests += _PARTS.split(instructions[:_HEAD])
    return _SPOKEN_OF.search(f"{instructions}\n{text}") is not None and any(map(_asks, requests))


def _asks(text: str) -> bool:
    """Whether a text asks for what is made of a conversation."""
    wanted = _WANTED.search(text) or (_SUMMARY.search(text) and _SPOKEN_OF.search(text))
    return bool(wanted and _ASKS.search(text))


def _is_task(text: str) -> bool:
    """Whether a text is short and asks for something that is made of a conversation, and not for a person."""
    parts = _PARTS.split(text) if len(text) <= _SHORT else []
    wanted = (part for part in parts if _asks(part) and _MAKING.search(part) and not _OF_PERSONS.search(part))
    return any(map(_SPOKEN_OF.search, wanted))
