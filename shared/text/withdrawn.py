"""What somebody asks not to be remembered, in their own words: "don't remember this: ...", "off the record".

Told by words, in some twenty languages. That a request is missed costs what nobody can take back; that one is seen
where there is none costs the message or its sentence, and the answer, or what was said before it, or the whole talk:
none of it is remembered or brought up in another talk. So only requests count, at the beginning of a clause ("I don't
remember" is none), and orders that are mostly about files ("save that file") only where they name nothing else.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto
from itertools import pairwise
from sys import maxsize

from shared.text.material import without_material
from shared.text.sentences import sentence_spans

_NOT = r"(?:do not|don['’]?t|never|(?:can|could|will|would) you (?:please |pls )?not)\s+(?:ever\s+)?"
_ASIDE = (
    r"(?:please|pls|ok|at all|anywhere|ever|either|about me|on (?:file|record)"
    r"|(?:in|from|to) (?:(?:your|the|this|our) )?(?:memory|chat|conversation|talk|session))\b"
)
_END = rf"(?:\s+{_ASIDE})*(?=\s*(?:$|[^\w\s'’]|(?:but|and|because|as|since)\b|{_ASIDE}))"
# Most orders are about files and food: "this" is what is said only where nothing else is named with it.
_THIS = (
    r"(?:(?:this|that|it|these|those|the (?:next|following))(?: (?:one|part|bit|info(?:rmation)?|messages?|sentences?"
    r"|things?|details?|secret|chat|conversation|talk|session))?"
    rf"(?:\s+down)?{_END}|that (?:i|we|he|she|they|my|our)\b|any ?thing(?:{_END}| (?:i|we|from|about|of|here)\b)"
    rf"|any of (?:this|it|that)\b|what (?:i|we|comes|follows)\b"
    r"|my (?:(?:full|real|home|phone) )?(?:name|address|phone|number|e-?mail|birthday|age|weight|diagnosis)\b)"
)
# Elsewhere it is told by what follows the article, or by there being nothing: "no guardes la leche" is about milk.
_SAID = (
    r"\w*(?:chat|convers|charla|conversa|discussion|gespr|rozmow|разговор|бесед|mensa|message|messaggi|wiadomo|сообщен"
    r"|inform|dat[oi]s?\b|dados?\b|info\b|direcci|dirección|adress|endereço|indirizzo|nombre|nom\b|nome\b|numer|númer"
    r"|numér|teléfono|telefon|téléphone|contraseñ|mot de passe|senha|password|clave|secret|segreto|segredo|parte?\b"
    r"|partie|phrase|frase|cosa|chose|coisa|fecha|dat[ae]\b|âge|edad|idade|età|peso|poids|diagn)"
)
_OF_THINGS = (
    r"(?!\s+(?:el|la|los|las|le|les|l['’]|un|una|uno|une|des|il|lo(?!\s+que)|i|gli)\s*"
    rf"(?!{_SAID})\w)"
)
_AT_END = r"\s*(?=$|[^\w\s])"
_CLAUSE = (
    r"(?:^|[.!?,;:()\n–—。！？，；：、-]\s*|\b(?:from now on|and|but|please|pls|so|ok|okay|und|aber|bitte|et|mais|y"
    r"|pero|e|ma|però|mas|en|maar|ale|и|но|а)\s+)"
)
_AT_CLAUSE = (
    rf"{_NOT}(?:remember|memori[sz]e|save|store|record|log|note|write(?:\s+down)?|keep)(?:\s+{_THIS}|(?=\s*[:：]))",
    rf"{_NOT}(?:remember|memori[sz]e|note)\s+(?:down\s+)?my \w+",
    rf"{_NOT}(?:write|jot|put)\s+(?:this|that|it|these|those|any ?thing|my \w+)\s+down\b",
    rf"{_NOT}(?:add|put|commit|enter)\s+(?:this|that|it|these|those|any ?thing)\s+(?:in|on|to|into)\s+"
    r"(?:your\s+|the\s+)?(?:memor(?:y|ies)|notes|records?)\b",
    rf"{_NOT}(?:keep|make|take)\s+(?:a\s+)?(?:notes?|records?|memor(?:y|ies))\s+(?:of|about)\b",
    r"forget\s+(?:what|everything|all)\s+i(?:['’]ve)?\s+(?:just\s+)?(?:said|told|wrote)",
    r"forget\s+(?:i|that i)\s+(?:just\s+)?(?:said|told|wrote|mentioned)\b",
    r"(?:merk|merke|merkt|speicher|speichere|notier|notiere)\s+(?:dir\s+|euch\s+)?(?:das|dies|es|nichts|davon nichts)?"
    r"\s*(?:bitte\s+)?"
    r"(?:auf keinen fall\s+|besser\s+)?(?:nicht|nie|nichts)\b",
    r"(?:das|dies|es)?\s*(?:bitte\s+)?nicht\s+(?:merken|(?:ab)?speichern|notieren|aufschreiben)\b",
    r"vergiss(?:\s+bitte)?(?:\s+(?:das|es)(?=\s*(?:$|[^\w\s]|(?:bitte|wieder|einfach|alles|lieber)\b))"
    r"|,?\s+was\s+ich\b)(?!(?:[^.!?;:\n]*\W)?(?:nicht|nie|niemals)\b)",
    r"ne\s+(?:(?:le|la|les|l['’])\s*)?(?:gardez?|retiens|retenez|notez?|m[ée]morisez?|enregistrez?|sauvegardez?"
    r"|stockez?)\s+"
    rf"(?:surtout\s+)?(?:pas|rien)\b{_OF_THINGS}",
    r"oublie[zs]?\s+(?:ça|cela|ce\s+que)\b",
    r"no\s+(?:lo\s+)?(?:guardes|recuerdes|anotes|apuntes|memorices|registres|almacenes|guarde|recuerde|anote)\b"
    rf"{_OF_THINGS}",
    r"olvid[ae]\s+(?:esto|eso|lo\s+que)\b",
    r"non\s+(?:ricordar(?:ti|e|telo)|salvar(?:e|lo)|memorizzar(?:e|lo)|annotar(?:e|lo)|registrar(?:e|lo)"
    r"|conservar(?:e|lo))\b"
    rf"{_OF_THINGS}",
    r"dimentica\s+(?:questo|quello|ciò)\b",
    r"n[ãa]o\s+(?:guardes?|lembres?|memorizes?|anotes?|salves?|registres?|grave)\s+(?:isto|isso|nada|o\s+que)\b",
    r"esque[cç][ea]\s+(?:isto|isso|o\s+que)\b",
    r"(?:onthoud|bewaar|noteer)\s+(?:(?:dit|dat|het)\s+(?:alsjeblieft\s+)?niet|niets)\b",
    r"vergeet(?:\s+(?:dit|dat)(?=\s*(?:$|[^\w\s]|(?:alsjeblieft|maar|weer|alles)\b))|,?\s+wat\s+ik\b)"
    r"(?!(?:[^.!?;:\n]*\W)?(?:niet|nooit)\b)",
    r"nie\s+(?:zapami[ęe]tuj|zapisuj|zapami[ęe]taj|notuj)(?:cie)?\b"
    rf"(?:\s+(?:sobie\s+|proszę\s+)?(?:tego|to|tej|nic|niczego|co|że|ani|żadn\w*|mo\w+|nasz\w*)\b|{_AT_END})",
    r"zapomnij\s+(?:o\s+tym|to|co)\b",
    r"не\s+(?:запоминай|сохраняй|записывай|запомни)(?:те)?\b"
    rf"(?:\s+(?:пожалуйста\s+|себе\s+)?(?:эт\w+|то|что|ничего|ни|мо\w+|наш\w*)\b|{_AT_END})",
    r"забудь(?:те)?\s+(?:это|об\s+этом|(?:то,?\s+)?что)\b",
    r"не\s+(?:запам['’]?ятовуй|зберігай|записуй)(?:те)?\b",
    r"(?:neukládej|nezapisuj|nezapamatuj\s+si|nepamatuj\s+si)(?:te)?\b",
    r"(?:kom\s+inte\s+ihåg|spara\s+inte|notera\s+inte|minns\s+inte)\s+(?:det|detta|något)\b",
    r"(?:husk|gem|lagre|noter)\s+(?:ikke|ikkje)\s+(?:det|dette|noe|noget)\b",
    r"älä\s+(?:muista|tallenna|kirjaa|merkitse)\b",
    r"(?:nu|să\s+nu)\s+(?:reține|salva|memora|nota)\s+(?:asta|nimic)\b",
    r"ne\s+(?:jegyezd\s+meg|mentsd\s+el|írd\s+fel)\b",
    r"μην?\s+(?:το\s+)?(?:θυμάσαι|αποθηκεύσεις|σημειώσεις|κρατήσεις)\b",
    r"(?:请|請)?忘(?:了|掉|記|记)(?:(?:这|這)(?:件事|个|個|些|句话|句話)?吧?(?!\w)|我刚|我剛)",
)
_ANYWHERE = (
    r"\boff the record\b",
    r"\b(?:(?:this|that|it) (?:stays|remains|must stay|has to stay)|keep (?:this|that|it)) (?:just "
    r"|strictly )?between (?:us|you and me)\b",
    r"\bbleibt (?:bitte )?unter uns\b|\breste entre nous\b|\bqued[ea] entre (?:nosotros|tú y yo)\b"
    r"|\brest[ai] (?:tra|fra) noi\b"
    r"|\bfi(?:ca|que) entre (?:nós|a gente)\b|\bblijft onder ons\b|\bzostanie między nami\b|\bмежду нами\b",
    r"\b(?:bunu|şunu|onu|bunları|hiçbirini)\s+(?:lütfen\s+)?(?:kaydetme|hatırlama|saklama|not\s+alma"
    r"|aklında\s+tutma)(?:yin|yiniz)?\b",
    r"\bbunu\s+unut\b",
    r"(?:覚え|記憶し|保存し|記録し|メモし)ないで",
    r"(?:別|别|不要|請勿|请勿|勿|不用)(?:記住|记住|記下|记下|保存|存储|儲存|記錄|记录)",
    r"(?:기억|저장|기록)하지\s?(?:마|말)",
    r"لا\s+(?:تحفظ|تتذكر|تسجل|تخزن)",
    r"(?:याद|सेव|नोट)\s+मत\s+(?:रख|कर)",
    r"đừng\s+(?:nhớ|lưu|ghi)",
    r"אל\s+ת(?:זכור|זכרי|שמור|שמרי|רשום|רשמי)",
    r"jangan\s+(?:disimpan|simpan|ingat|catat)",
)
_REQUEST = re.compile(rf"{_CLAUSE}(?:{'|'.join(_AT_CLAUSE)})|{'|'.join(_ANYWHERE)}", re.IGNORECASE)
_OF_TALK = re.compile(
    r"\b(?:this|our|the whole|entire) (?:chat|conversation|talk|session)\b"
    r"|\bfrom now on\b|\banything i say\b|\bdies\w* (?:gespräch|chat|unterhaltung)"
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
_SIGNS = " .!?,;:()\n\t–—。！？，；：、-"
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
    requests = list(_REQUEST.finditer(content))
    if not requests:
        return content, None
    spans = sentence_spans(content)
    # Each is looked at where it stands, since one may be about more than the one before it.
    cuts = [_cut(content, spans, found) for found in requests]
    bounds = [*(start for start, _ in spans), len(content)]
    left = (
        content[start:end]
        for nth, (start, end) in enumerate(pairwise(bounds))
        if not any(nth in cut for cut, _ in cuts)
    )
    return "".join(left).strip(), max((reach for _, reach in cuts), key=lambda one: one.value)


def _cut(content: str, spans: Sequence[tuple[int, int]], found: re.Match[str]) -> tuple[range, Reach]:
    """Return which sentences go with a request, and what else."""
    # The match may begin with the mark that ends the sentence before.
    begins = found.end() - len(found[0].lstrip(_SIGNS))
    at = next(nth for nth, (_, end) in enumerate(spans) if begins < end)
    start, end = spans[at]
    before, behind = content[start:begins], content[found.end() : max(end, found.end())]
    everything = range(len(spans))
    if _OF_TALK.search(content[start : max(end, found.end())]):
        return everything, Reach.TALK
    if _BEFORE.search(found[0]):
        return everything, Reach.BEFORE
    if _says_something(behind) or _BEHIND_COLON.match(behind):
        # What goes on about it cannot be told from what does not.
        return everything[at:], Reach.MESSAGE
    if _says_something(before):
        return everything[at : at + 1], Reach.MESSAGE
    return everything, Reach.BEFORE if len(spans) == 1 and not _WORD.search(behind) else Reach.MESSAGE


def withdrawn_spans(said: Sequence[tuple[int, str]]) -> list[range]:
    """Return the positions of a talk of which nothing is kept at all, by what its users said at which, in order.

    What is left of a message that holds a request itself is told by ``withdrawn``.
    """
    spans: list[range] = []
    for nth, (position, content) in enumerate(said):
        reach = withdrawn(without_material(content.strip()))[1]
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
