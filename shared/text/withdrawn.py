"""What somebody asks not to be remembered, in their own words: "don't remember this: ...", "off the record".

Told by words, in some twenty languages: that a request is missed costs what nobody can take back, and that one is seen
where there is none costs a sentence. Only requests count, at the beginning of a clause: "I don't remember" is none.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto
from sys import maxsize

from shared.text.material import without_material
from shared.text.sentences import sentence_spans

_THIS = (
    r"(?:this|that|it|these|those|any ?thing|any of (?:this|it|that)|what (?:i|comes|follows)|the (?:next|following)"
    r"|my \w+)"
)
_CLAUSE = (
    r"(?:^|[.!?,;:()\n–—-]\s*|\b(?:and|but|please|pls|so|ok|okay|und|aber|bitte|et|mais|y|pero|e|ma|però|mas|en|maar|ale"
    r"|и|но|а)\s+)"
)
_AT_CLAUSE = (
    # English; the object is named, or "never store bread", "don't keep me waiting" would be requests.
    rf"(?:do not|don['’]?t|never)\s+(?:ever\s+)?(?:remember|memori[sz]e|save|store|record|log|note|write down|keep)"
    rf"(?:\s+down)?\s+{_THIS}"
    r"(?:\s+down)?(?=\W|$)(?!\s+(?:in|on|at|under|near|away|for)\s+(?:the|a|an|my)\b(?!\s+memor))",
    rf"(?:do not|don['’]?t|never)\s+(?:write|jot|put)\s+{_THIS}\s+down\b",
    r"(?:do not|don['’]?t|never)\s+(?:keep|make|take)\s+(?:a\s+)?(?:notes?|records?|memor(?:y|ies))\s+(?:of|about)\b",
    r"forget\s+(?:what|everything|all)\s+i(?:['’]ve)?\s+(?:just\s+)?(?:said|told|wrote)",
    r"forget\s+(?:i|that i)\s+(?:just\s+)?(?:said|told|wrote|mentioned)\b",
    r"(?:merk|merke|merkt|speicher|speichere|notier|notiere)\s+(?:dir\s+|euch\s+)?(?:das|dies|es|nichts|davon nichts)?"
    r"\s*(?:bitte\s+)?"
    r"(?:auf keinen fall\s+|besser\s+)?(?:nicht|nie|nichts)\b",
    r"(?:das|dies|es)?\s*(?:bitte\s+)?nicht\s+(?:merken|(?:ab)?speichern|notieren|aufschreiben)\b",
    r"vergiss\s+(?:bitte\s+)?(?:das\b|was\s+ich\b|es\b)",
    r"ne\s+(?:(?:le|la|les|l['’])\s*)?(?:gardez?|retiens|retenez|notez?|m[ée]morisez?|enregistrez?|sauvegardez?|stockez?)\s+"
    r"(?:surtout\s+)?(?:pas|rien)\b",
    r"oublie[zs]?\s+(?:ça|cela|ce\s+que)\b",
    r"no\s+(?:lo\s+)?(?:guardes|recuerdes|anotes|apuntes|memorices|registres|almacenes|guarde|recuerde|anote)\b",
    r"olvid[ae]\s+(?:esto|eso|lo\s+que)\b",
    r"non\s+(?:ricordar(?:ti|e|telo)|salvar(?:e|lo)|memorizzar(?:e|lo)|annotar(?:e|lo)|registrar(?:e|lo)|conservar(?:e|lo))\b",
    r"dimentica\s+(?:questo|quello|ciò)\b",
    r"n[ãa]o\s+(?:guardes?|lembres?|memorizes?|anotes?|salves?|registres?|grave)\s+(?:isto|isso|nada|o\s+que)\b",
    r"esque[cç][ea]\s+(?:isto|isso|o\s+que)\b",
    r"(?:onthoud|bewaar|noteer)\s+(?:dit|dat|het|niets)\b(?:\s+\w+){0,2}?\s*(?:niet|alsjeblieft|$)",
    r"vergeet\s+(?:dit|dat|wat\s+ik)\b",
    r"nie\s+(?:zapami[ęe]tuj|zapisuj|zapami[ęe]taj|notuj)(?:cie)?\b",
    r"zapomnij\s+(?:o\s+tym|to|co)\b",
    r"не\s+(?:запоминай|сохраняй|записывай|запомни)(?:те)?\b",
    r"забудь(?:те)?\s+(?:это|об\s+этом|(?:то,?\s+)?что)\b",
    r"не\s+(?:запам['’]?ятовуй|зберігай|записуй)(?:те)?\b",
    r"(?:neukládej|nezapisuj|nezapamatuj\s+si|nepamatuj\s+si)(?:te)?\b",
    r"(?:kom\s+inte\s+ihåg|spara\s+inte|notera\s+inte|minns\s+inte)\s+(?:det|detta|något)\b",
    r"(?:husk|gem|lagre|noter)\s+(?:ikke|ikkje)\s+(?:det|dette|noe|noget)\b",
    r"älä\s+(?:muista|tallenna|kirjaa|merkitse)\b",
    r"(?:nu|să\s+nu)\s+(?:reține|salva|memora|nota)\s+(?:asta|nimic)\b",
    r"ne\s+(?:jegyezd\s+meg|mentsd\s+el|írd\s+fel)\b",
    r"μην?\s+(?:το\s+)?(?:θυμάσαι|αποθηκεύσεις|σημειώσεις|κρατήσεις)\b",
)
_ANYWHERE = (
    r"\boff the record\b",
    r"\b(?:bunu|şunu|onu|bunları|hiçbirini)\s+(?:lütfen\s+)?(?:kaydetme|hatırlama|saklama|not\s+alma|aklında\s+tutma)(?:yin|yiniz)?\b",
    r"\bbunu\s+unut\b",
    r"(?:覚え|記憶し|保存し|記録し|メモし)ないで",
    r"(?:別|别|不要|請勿|请勿|勿|不用)(?:記住|记住|記下|记下|保存|存储|儲存|記錄|记录)",
    r"忘(?:了|掉|記|记)(?:这|這|我刚|我剛)",
    r"(?:기억|저장|기록)하지\s?(?:마|말)",
    r"لا\s+(?:تحفظ|تتذكر|تسجل|تخزن)",
    r"(?:याद|सेव|नोट)\s+मत\s+(?:रख|कर)",
    r"đừng\s+(?:nhớ|lưu|ghi)",
    r"אל\s+ת(?:זכור|זכרי|שמור|שמרי|רשום|רשמי)",
    r"jangan\s+(?:disimpan|simpan|ingat|catat)",
)
_REQUEST = re.compile(rf"{_CLAUSE}(?:{'|'.join(_AT_CLAUSE)})|{'|'.join(_ANYWHERE)}", re.IGNORECASE)
_OF_TALK = re.compile(
    r"\b(?:this|our|the whole|entire) (?:chat|conversation|talk|session)\b|\bdies\w* (?:gespräch|chat|unterhaltung)"
    r"|\b(?:cette (?:conversation|discussion)|est[ae] (?:conversación|chat|charla|conversa)|quest[ao] (?:conversazione"
    r"|chat)|dit gesprek|(?:tej|tę) rozmow\w+)|эт\w+ (?:разговор|бесед|чат)\w*|这(?:次|个|段)?(?:对话|聊天)"
    r"|この(?:会話|チャット)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\bforget\b|\bi(?:['’]ve)? just\b|\bvergiss|\boublie|\bolvid|\bdimentica|\besque[cç]|\bvergeet|\bzapomnij|забудь"
    r"|\bunut\b|忘",
    re.IGNORECASE,
)
"""Speaks of what was said already."""
_FEW = 2
"""Words beside a request that says nothing but itself."""
_WORD = re.compile(r"\w+")
_SIGNS = " .!?,;:()\n\t–—-"
_BEHIND_COLON = re.compile(r"[^\w]{0,3}[:：]\s*\w")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{4,}")


class Reach(Enum):
    """What a message's request is about, beside what stands in it."""

    MESSAGE = auto()
    BEFORE = auto()
    """What the speaker said before it too."""
    TALK = auto()
    """All that is said in the conversation."""


def withdrawn(content: str) -> tuple[str, Reach | None]:
    """Return what is left of a message without what it asks not to be remembered; None where it asks for nothing."""
    found = _REQUEST.search(content)
    if found is None:
        return content, None
    spans = sentence_spans(content)
    # The match may begin with the mark that ends the sentence before.
    begins = found.end() - len(found[0].lstrip(_SIGNS))
    at = next(nth for nth, (_, end) in enumerate(spans) if begins < end)
    start, end = spans[at]
    before, behind = content[start:begins], content[found.end() : max(end, found.end())]
    if _OF_TALK.search(content[start : max(end, found.end())]):
        return "", Reach.TALK
    if _BEFORE.search(found[0]):
        return "", Reach.BEFORE
    if _says_something(behind) or _BEHIND_COLON.match(behind):
        # What goes on about it cannot be told from what does not.
        return content[:start].strip(), Reach.MESSAGE
    if _says_something(before):
        return f"{content[:start]}{content[end:]}".strip(), Reach.MESSAGE
    return "", Reach.BEFORE if len(spans) == 1 and not _WORD.search(behind) else Reach.MESSAGE


def withdrawn_spans(said: Sequence[tuple[int, str]]) -> list[range]:
    """Return the positions of a talk of which nothing is kept at all, by what its users said at which, in order.

    What is left of a message that holds a request itself is told by ``withdrawn``.
    """
    spans: list[range] = []
    for nth, (position, content) in enumerate(said):
        # As it was sent first: to find out what of it is its sender's takes longer.
        reach = withdrawn(content)[1] and withdrawn(without_material(content.strip()))[1]
        if reach is Reach.TALK:
            return [range(maxsize)]
        if reach is Reach.BEFORE and nth:
            # With what was answered to it.
            spans.append(range(said[nth - 1][0], position))
        if reach is not None:
            # An answer to what is not to be remembered may say it again.
            spans.append(range(position + 1, said[nth + 1][0] if nth + 1 < len(said) else maxsize))
    return spans


def _says_something(text: str) -> bool:
    return len(_WORD.findall(text)) > _FEW or _UNSPACED.search(text) is not None
