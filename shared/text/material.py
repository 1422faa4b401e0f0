"""What of a user's message the user said, and what a client put around it, or asked for itself in the user's name.

Told by structure: a paired tag around more than a few words, lines that mark a beginning and an end, a client's heading
with what stands below it, numbered passages, and the label before the user's own question. Words decide only what a
heading or a label is; what a person heads themselves ("My allergies:") is theirs. A request of the client's own (a
title, tags, follow-ups) is told only where it is sure. Source: decisions of 2026-11-25.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from shared.text.languages import empty_words, speaks_of_self
from shared.text.pasted import LAST_LABEL, pasted
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
        # "Notes:" is how people head what they write themselves.
        return not _NOUNS.isdisjoint(words) and words != ["notes"]
    if bare.endswith(".") or len(words) > 10 or not _STEMS.search(bare):
        return False
    other_words = re.findall(r"[^\W_]+", _STEMS.sub(" ", bare.casefold()))
    return all(word in _GRAMMAR or word.isdigit() or _BESIDE_STEMS.match(word) for word in other_words)


def is_persons(line: str) -> bool:
    """Whether a line speaks of who wrote it; clients say "we" too."""
    return speaks_of_self(re.sub(r"\bwe\b", "", line.casefold())) or _SELF_SIGNS.search(line) is not None


LEFT_OUT = "[attachment left out]"
"""Stands where material stood."""
_FEW = 6
"""Words in a tag that a person may have typed."""
_STEM = 6
"""Characters that a word keeps when it is bent."""
_DEEPEST = 4
"""So often tags with the user's words may stand in each other; of a message with more nothing is the user's."""
_CUT = "\x00"
"""Stands on a line of its own for material while a message is read."""
_KEPT_FENCE = re.compile("\x01([0-9]+)\x01")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SCISSORS = r"^(?=[^\n]*[-=_–—]{2})[-=_–—~ \t]*(?:8<|>8|✂)[^\n]*$"
_ENCLOSED = re.compile(rf"{_SCISSORS}.*?(?:{_SCISSORS}|\Z)|\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL | re.MULTILINE)
"""Between scissors, or behind them, and between three quotation marks."""
_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]{0,59})((?:\s[^<>]{0,400})?)>")
_TAG_ALONE = re.compile(r"^[ \t]*(<[^<>/][^<>]*>)$", re.MULTILINE)
_OTHER_TAG = re.compile(
    r"(?:\[|\{\{#?|\{%-?)\s*(/|end_?)?([A-Za-z_][\w.:-]{0,59})(?:\s[^\n]{0,200}?)?(?:\]|\}\}|-?%\})"
)
"""Tags in square brackets, of Mustache and of Jinja."""
_PROLOG = re.compile(r"<\?xml\b[^>]{0,200}\?>|<!DOCTYPE\b[^>]{0,200}>", re.IGNORECASE)
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W_]+")
"""A word; of scripts without spaces, two characters."""

_USER_LABEL = (
    r"(?:(?:the |my )?(?:current|new|latest|last|follow[- ]?up|original|final)\s+)?(?:the )?"
    r"(?:(?:user|human|customer)(?:['’]?s)?(?:\s+(?:query|question|input|message|prompt|request|says|asks))?"
    r"|(?:current|latest|last|new) message|query|question|input|request|prompt|pregunta|consulta|usuari[oa]|frage"
    r"|anfrage|benutzer(?:frage|in)?|nutzer(?:frage)?|requête|utilisateur|demande|domanda|utente|richiesta|pergunta|usuário"
    r"|vraag|gebruiker|soru|kullanıcı|вопрос|запрос|пользователь|问题|問題|提问|用户|用戶|用户问题|质问|質問|ユーザー|질문|사용자"
    r"|سؤال|السؤال|المستخدم|प्रश्न|सवाल|คำถาม|ผู้ใช้|câu hỏi|người dùng)"
)
_LABELLED = re.compile(
    rf"(?:[*_#\[(> \t]*{_USER_LABEL}[*_\]) \t]*[:：][*_]*|[ \t]*\#+[ \t]+[*_]*{_USER_LABEL}[*_ \t]*$)[ \t]*",
    re.IGNORECASE,
)
"""The label before what the user says, with a colon or as a heading."""
_INSTRUCTED = re.compile(
    r"^[ \t]*#{1,6}[ \t]*(instruction|input|context|response|output)s?[ \t]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_RULE = re.compile(r"^[ \t]*([-=_*~#])\1{4,}[ \t]*$|^[ \t]*(\"\"\"|''')[ \t]*$")
_ITEM = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t]+\S")
_GOES_ON = re.compile(rf"\s\s|{_ITEM.pattern}")
_MARKER = re.compile(r"^[ \t]*(?:(?:[\[<{(|]{1,3}|[-=*#~_]{2,})[ \t]*\S.*|[\w ]{0,60}>>>)$")
_FRAMED = re.compile(r"^[ \t]*([-=*#~_]{2,})[ \t]*\w.*\1[ \t]*$")
_BEGINS = word_set("begin start beginning begins inicio início début anfang beginn inizio начало 开始 開始 시작")
_ENDS = word_set("end fin ende fine fim конец 结束 結束 終了 끝")
_GLUED = re.compile(r"(开始|開始|结束|結束|終了)\b")


def without_material(text: str) -> str:
    """Return what the user said in a message, with a mark where material stood; empty where that is nothing."""
    plain, numbers = text.replace("\r\n", "\n").replace(_CUT, "").replace("\x01", ""), count()
    fences = [found[0] for found in _FENCE.finditer(plain)]
    body = _FENCE.sub(lambda _: f"\x01{next(numbers)}\x01", plain)
    read = _ENCLOSED.sub(
        lambda one: f"\n{_CUT}\n" if len(_WORD.findall(one[0])) > _FEW else one[0], _without_tags(body)
    )
    read = _without_frames(_without_marked(read))
    if read == body:
        return text
    own = re.sub(rf"(?:\s*{_CUT})+\s*", f"\n{LEFT_OUT}\n", read).strip()
    own = _KEPT_FENCE.sub(lambda match: fences[int(match[1])], own)
    return own if _WORD.search(own.replace(LEFT_OUT, "")) else ""


class _Element(NamedTuple):
    """A paired tag: where it begins and ends, where its content does, and whose words that is (``kind_of``)."""

    start: int
    end: int
    inner: int
    inner_end: int
    kind: str


def _without_tags(text: str) -> str:
    """Cut what stands in paired tags; where some say that the user's words stand in them, keep those alone."""
    # Write the other tags that are closed somewhere as those of XML.
    tags = _OTHER_TAG.finditer(text)
    closed = {found[2].lower() for found in tags if found[1] and kind_of(found[2]) != "format"}

    def written(match: re.Match[str]) -> str:
        return f"<{'/' * bool(match[1])}{match[2]}>" if match[2].lower() in closed else match[0]

    text = _OTHER_TAG.sub(written, text) if closed else text
    if "<" not in text:
        return text
    text = _PROLOG.sub("", text)
    for _ in range(_DEEPEST):
        elements = _elements(text)
        outer: list[_Element] = []
        users: list[_Element] = []
        hidden = 0
        for one in elements:
            if not outer or outer[-1].kind == "format" or not outer[-1].start <= one.start < one.end <= outer[-1].end:
                outer.append(one)
            # A document may hold tags of the user's too, and then they are not the client's.
            if one.start >= hidden and one.kind in ("user", "frame"):
                hidden = one.end
                users += [one] * (one.kind == "user")
        others = [one for one in elements if one.kind not in ("format", "layout")]
        is_all = elements and not _WORD.search(_replaced(text, ((one, "") for one in outer)))
        # In one tag from end to end it is the person's: nobody else is there to ask something of it (decision 37).
        if is_all and (not others or (others == outer == others[:1] and not others[0].kind)):
            return _TAG.sub(" ", text).strip()
        says = {one: len(_WORD.findall(_TAG.sub(" ", text[one.inner : one.inner_end]))) for one in outer}
        cuts = [one for one in outer
                if one.kind not in ("user", "format") and says[one] > (0 if one.kind == "frame" else _FEW)]  # fmt: skip
        if not users:
            return _replaced(text, ((one, f"\n{_CUT}\n") for one in cuts))
        user_texts = [text[one.inner : one.inner_end] for one in users]
        text = (
            "\n\n".join([_CUT, *map(str.strip, user_texts)])
            if cuts
            else _replaced(text, zip(users, user_texts, strict=True))
        )
    return _CUT


def _replaced(text: str, new: Iterable[tuple[_Element, str]]) -> str:
    for one, words in reversed([*new]):
        text = f"{text[: one.start]}{words}{text[one.end :]}"
    return text


def _elements(text: str) -> list[_Element]:
    """Return the paired tags of a text in order; a client's own line that is never closed reaches to the end."""
    found: list[_Element] = []
    open_tags: list[re.Match[str]] = []
    counts: Counter[str] = Counter()
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1] and not tag[3].endswith("/"):
            open_tags.append(tag)
            counts[name] += 1
        while tag[1] and counts[name]:
            # What was opened within and is not closed is no element.
            opened = open_tags.pop()
            counts[opened[2].lower()] -= 1
            if opened[2].lower() == name:
                found.append(_Element(opened.start(), tag.end(), opened.end(), tag.start(), kind_of(opened[2])))
                break
    users = sorted(one.start for one in found if one.kind == "user")
    alone = {line.start(1) for line in _TAG_ALONE.finditer(text)}
    for opened in open_tags:
        if opened.start() in alone and kind_of(opened[2]) == "frame":
            end = [*users, len(text)][bisect_left(users, opened.end())]
            found.append(_Element(opened.start(), end, opened.end(), end, "frame"))
    return sorted(found, key=lambda one: (one.start, -one.end))


def _without_marked(text: str) -> str:
    """Cut what stands between a line that marks a beginning and one that marks its end."""
    lines = text.split("\n")
    opened: list[tuple[int, set[str], bool]] = []
    cut: set[int] = set()
    for number, line in enumerate(lines):
        if len(line) > 200 or not _MARKER.match(line):
            continue
        words = re.findall(r"\w+", _GLUED.sub(r" \1", line.casefold()))
        named = {word[:_STEM] for word in words if word not in _ENDS | _BEGINS | {"of", "the"}}
        is_glued = line.rstrip().endswith(">>>") and not line.lstrip().startswith("<<<")
        if is_glued or not _ENDS.isdisjoint(words[:1] + words[-1:]):
            # Fifty at most, or a message of such lines alone would take the square of their number.
            for back in range(len(opened) - 1, max(-1, len(opened) - 50), -1):
                start, of, begins = opened[back]
                # "(Transcribed from ...)" ends with "(end of transcription)".
                if named <= of and (named or begins):
                    cut.update(range(start, number + 1))
                    del opened[back:]
                    break
        elif words or line.strip() == "<<<":
            begins = not words or not _BEGINS.isdisjoint(words) or _FRAMED.match(line) is not None
            opened.append((number, named, begins))
    return _without_lines(lines, cut)


def _without_lines(lines: Sequence[str], cut: Collection[int]) -> str:
    return "\n".join(_CUT if number in cut else line for number, line in enumerate(lines))


def _without_frames(text: str) -> str:
    """Cut what stands below a client's heading or is numbered as passages are, and the template around it."""
    heads = [*_INSTRUCTED.finditer(text)][:2]
    if [one[1].lower() for one in heads][:1] == ["instruction"] and len(heads) > 1:
        is_beside = heads[0].start() or heads[1][1].lower() in ("input", "context")
        return f"{_CUT}\n" * bool(is_beside) + text[heads[0].end() : heads[1].start()]
    lines = text.rstrip().split("\n")
    wants_answer = LAST_LABEL.match(lines[-1]) is not None
    labels = [number for number, line in enumerate(lines[: len(lines) - wants_answer]) if _LABELLED.match(line)]
    label = labels[-1] if labels else -1
    cut = {number for number, line in enumerate(lines) if line == _CUT}
    for start, end in (*_blocks(lines, label), *pasted(lines, labels)):
        cut.update(range(start, end))
    rules = [line.strip() for line in lines[: max(label, 0)] if _RULE.match(line)]
    # Two equal rules before a label are a frame in any language.
    if not cut and (wants_answer or len(rules) > len({*rules})):
        cut.update(range(label))
    if not cut:
        return text
    if min(cut) < label and max(cut) <= label:
        question = lines[label : len(lines) - wants_answer]
        question[0] = _LABELLED.sub("", question[0], count=1)
        # Some templates ask first: "Question: ...", "Context: ...", "Answer:".
        ends = (at for at, line in enumerate(question) if at and is_frame_heading(line[: line.find(":") + 1]))
        return "\n".join([_CUT, *question[: next(ends, len(question)) if wants_answer else len(question)]])
    return _without_lines(lines, cut | _template(lines, cut))


def _blocks(lines: Sequence[str], label: int) -> Iterator[tuple[int, int]]:
    """Yield where material with a heading, or numbered, begins and ends."""
    numbered = [number for number, line in enumerate(lines) if PASSAGE.match(line)]
    if len(numbered) > 1 or (numbered and label > numbered[0]):
        yield numbered[0], _end_of_block(lines, numbered[-1], label, is_list=True)
    until = 0
    for number, line in enumerate(lines):
        if number < until or not is_frame_heading(line):
            continue
        following = next((at for at in range(number + 1, len(lines)) if lines[at].strip()), len(lines))
        if label < 0 and OWN_HEADING.fullmatch(line) and any(map(speaks_of_self, lines[following:])):
            continue
        until = number + 1
        if following < len(lines):
            if following != label:
                until = _end_of_block(lines, following, label, is_list=bool(_ITEM.match(lines[following])))
            yield number, until


def _end_of_block(lines: Sequence[str], start: int, label: int, *, is_list: bool) -> int:
    if label > start:
        return label
    first = lines[start]
    if first == _CUT or _KEPT_FENCE.fullmatch(first.strip()):
        return start + 1
    if _RULE.match(first):
        return max((at for at, line in enumerate(lines, 1) if line.strip() == first.strip() and at > start + 1),
                   default=len(lines))  # fmt: skip
    limit = next((at for at in range(start + 1, len(lines)) if HEADING.match(lines[at])), len(lines))
    behind = [at for at in range(start + 1, limit) if lines[at].strip() and not lines[at - 1].strip()]
    if is_list:
        return next((at for at in behind if not _GOES_ON.match(lines[at]) and not PASSAGE.match(lines[at])), limit)
    # Of prose the last paragraph is what the user says of it, where there are several and no heading follows.
    return behind[-1] if behind and limit == len(lines) else limit


def _template(lines: Sequence[str], cut: Collection[int]) -> set[int]:
    """Return the lines around material that are the client's too."""
    headings = [number for number, line in enumerate(lines) if number not in cut and HEADING.match(line)]
    last = max(cut)
    # Task, guidelines and format of a prompt; what follows the material without a heading is the user's.
    gone = {*range(headings[0], last)} if headings else set()
    gone.update(range(next((number for number in headings if number > last), len(lines)), len(lines)))
    following = len(lines)
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip()
        if line and number not in cut:
            is_own = is_persons(line) or line.endswith(("?", "？"))
            leads = line.endswith((":", "：")) and (following in cut or following in gone)
            names = line.startswith("[") and following == number + 1 and following in cut
            if names or (not is_own and (leads or ABOUT_FRAME.search(line))):
                gone.add(number)
        following = number if line else following
    return gone


_TASK = re.compile(r"\s*#{1,6}[ \t]*Task\b", re.IGNORECASE)
_TAG_OF_TASK = re.compile(r"<(?:chat_history|messages?|conversation(?:_history)?|text|type|prompt)>[^<]", re.IGNORECASE)
_TAG_OF_QUESTION = re.compile(r"<(?:context|documents?|user_query|question|source)\b", re.IGNORECASE)
_DERIVED = re.compile(
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
    # Several signs at once: "give our talk a title" is what people say as well (decision 37).
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
    derived = _DERIVED.search(text) or (_SUMMARY.search(text) and _SPOKEN_OF.search(text))
    return bool(derived and _ASKS.search(text))


def _is_task(text: str) -> bool:
    """Whether a text is short and asks for something that is made of a conversation, and not for a person."""
    parts = _PARTS.split(text) if len(text) <= _SHORT else []
    requests = (part for part in parts if _asks(part) and _MAKING.search(part) and not _OF_PERSONS.search(part))
    return any(map(_SPOKEN_OF.search, requests))
