"""The words by which clients name what they put around a user's message: tags, headings, what stands beside them."""

from __future__ import annotations

import re

from shared.text.languages import empty_words, speaks_of_self
from shared.text.words import word_set

# Names of tags, by their parts: user_query, userRequest, file_contents.
_USERS = word_set("user human query question message request prompt instruction instructions input ask task feedback")
_USER_TAG = _USERS | word_set("users s original current latest last new follow up my the")
# A client's heading has one of these nouns, and nothing beside it but the other words.
_NOUNS = word_set(
    "context contexts document documents doc docs memory memories passage passages snippet snippets excerpt excerpts"
    " chunk chunks knowledge source sources reference references file files attachment attachments result results"
    " output outputs transcript history background article articles information facts observation observations page"
    " pages webpage webpages content contents data records material materials entries notes"
)
_FRAME_TAG = _NOUNS - {"content", "contents", "entries", "notes"} | word_set(
    "attached recall recalled retrieved retrieval search tool conversation chat reminder environment cdata selection"
    " selected clipboard email mail letter ticket log logs record"
)
_FORMATTING = word_set("p b i u s em strong small big sub sup br hr span font mark del ins strike a ul ol li h1 h2 h3"
                       " h4 h5 h6 kbd code spoiler q")  # fmt: skip
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
_LAYOUT = word_set("div section main center header body")
"""Formatting too where nothing stands beside it."""
_VOCABULARY = word_set(
    "a an the this these those following below above here is are was were be been relevant related provided given"
    " additional extra supporting possibly potentially some previous prior past earlier recent long term short web"
    " internet query queries function call calls uploaded external internal user users s human for from of in on to"
    " with and or by as about that which may might can could should will help useful answer answering question"
    " questions use using pieces piece list base learned your you at end have has found database vector store semantic"
    " conversations session sessions top matching similar text texts input response please based only inside within"
    " xml tags tag per each its their knowledgebase rag kb we"
).union(_NOUNS, _FRAME_TAG)
# Stems, because these languages bend their nouns.
_STEMS = re.compile(
    r"\b(?:kontext|dokument|suchergebnis|quelle|erinnerung|datei|anh[aä]ng|ausz[uü]g|wissensbasis|context[oe]|document[oi]"
    r"|resultado|mem[oó]ria|recuerdo|fuente|archivo|adjunt|fragmento|font[ei]|arquivo|trecho|résultat|souvenir|mémoire"
    r"|fichier|pièces? jointe|extrait|contesto|risultat|ricord|allegat|bestand|zoekresulta|bronn|herinnering|bijlage"
    r"|bağlam|belge|sonuç|kaynak|hafıza|anı|контекст|документ|результат|воспоминани|памят|источник|файл|фрагмент|(?:ال)?سياق"
    r"|مستند|المستندات|نتائج|संदर्भ|दस्तावेज़|दस्तावेज|परिणाम)\w*|上下文|背景信息|参考资料|参考内容|[资資]料|文档|文件|搜索结果|检索"
    r"|記憶|记忆|附件|知识库|コンテキスト|文脈|参考情報|検索結果|文書|맥락|컨텍스트|문서|검색 ?결과|참고|บริบท|เอกสาร"
    r"|ผลการค้นหา",
    re.IGNORECASE,
)
_SELF_SIGNS = re.compile(
    r"\b(?:мо[йяёи]|меня|мне|я|benim|bana|ben|אני|שלי|לי|عندي)\b|मेर[ाीे]|मुझे|我|私|僕|俺|저|제|나의|내 |ฉัน|ผม",
    re.IGNORECASE,
)
"""How speakers mean themselves in further languages."""
_BESIDE_STEMS = re.compile(
    r"relevan|abgeruf|gefund|folgend|bereitgest|früher|vorherig|such|nutzer|benutzer|recuper|siguient|encontrad|búsqued"
    r"|proporcion|anterior|previ|usuari|pertinent|récup|suivant|recherch|fourni|utilisat|seguent|ricerc|fornit|utent"
    r"|seguint|pesquis|busca|fornecid|zoek|gevond|найден|релевант|поиск|следующ|предыдущ|пользоват|ilgili|arama|bulun"
    r"|informa|conocim|wissen|connaiss",
    re.IGNORECASE,
)
"""How the words begin that such a heading has beside them."""
_GRAMMAR = frozenset().union(*(empty_words(one) for one in ("de", "es", "fr", "it", "pt", "nl", "ru", "tr")))
OWN_HEADING = re.compile(
    r"\W*(?:(?:here(?: is|['’]s)|just|for|first),? )?(?:(?:some|more|further|quick|brief|a (?:bit|little|few)(?: of)?"
    r") )+(?:\w+ )?(?:context|background|info|information|facts|notes|details)\W*",
    re.IGNORECASE,
)
"""How people announce what they say of themselves."""
HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+\S")
PASSAGE = re.compile(
    rf"^(?=[^\d\n]{{0,40}}\d)[ \t]*[*_#]*[ \t]*(?:\[?(?:search )?(?:{'|'.join(sorted(_NOUNS))}|{_STEMS.pattern})"
    r"[ \t]*[#№\[(]?[ \t]*\d{1,4}[\])]?\]?[ \t]*(?:\([^)\n]{0,80}\))?[*_]*[ \t]*(?:[:：–—-]|$)|\[\d{1,3}\]:?[ \t]*\S)",
    re.IGNORECASE,
)
"""The first line of a numbered passage: "Document 1:", "[1]"."""
_HANDED_OVER = r"(?:documents?|files?|results?|context|passages?|sources?|information|excerpts?|memories)"
ABOUT_FRAME = re.compile(
    r"\bthe users?\b|\bthe (?:\w+ ){0,2}context\b|\bcontext information\b|\bprior knowledge\b|\bxml tags?\b"
    rf"|\b(?:provided|retrieved|following|attached|given) (?:\w+ ){{0,2}}{_HANDED_OVER}\b|\bmake up an answer\b"
    rf"|\byou don['’]?t know\b|\b{_HANDED_OVER} (?:above|below|provided)\b"
    r"|^\W*(?:you are (?:an?|the|given)\b|(?:answer|use) (?:the|only|using|it)\b|(?:tone|style|format|length)\s*:)",
    re.IGNORECASE,
)


def kind_of(name: str) -> str:
    """Return whose words stand in a tag: ``user``, ``frame``, anybody's (``format``, ``layout``), or "" if unknown."""
    parts = {part.lower() for part in _NAME_PART.findall(name)}
    if parts <= _USER_TAG and not parts.isdisjoint(_USERS):
        return "user"
    if not parts.isdisjoint(_FRAME_TAG):
        return "frame"
    return "format" if name.lower() in _FORMATTING else "layout" if name.lower() in _LAYOUT else ""


def is_frame_heading(line: str) -> bool:
    """Whether a line is a heading as clients write it: nothing but words for what is handed over."""
    bare = re.sub(r"[\"“«„][^\"”»“]{0,200}[\"”»“]|`[^`]{0,200}`|<[^<>]{0,60}>", " ", line.strip())
    if len(line) > 240 or not (bare.endswith((":", "：", ".")) or HEADING.match(line) or bare.startswith("**")):
        return False
    words = re.findall(r"[^\W_]+", bare.casefold())
    if is_persons(bare):
        return False
    if all(word in _VOCABULARY or word.isdigit() for word in words):
        return not _NOUNS.isdisjoint(words) and words != ["notes"]
    if bare.endswith(".") or len(words) > 10 or not _STEMS.search(bare):
        return False
    beside = re.findall(r"[^\W_]+", _STEMS.sub(" ", bare.casefold()))
    return all(word in _GRAMMAR or word.isdigit() or _BESIDE_STEMS.match(word) for word in beside)


def is_persons(line: str) -> bool:
    """Whether a line speaks of who wrote it; clients say "we" too."""
    return speaks_of_self(re.sub(r"\bwe\b", "", line.casefold())) or _SELF_SIGNS.search(line) is not None
