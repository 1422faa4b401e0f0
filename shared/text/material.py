"""What of a user's message the user said, and what a client put around it: documents, files, tool output, templates.

Told by structure: a paired tag around more than a few words, lines that mark a beginning and an end, a client's heading
with what stands below it, numbered passages, and the label before the user's own question. Words decide only what a
heading or a label is; what a person heads themselves ("My allergies:") is theirs. Source: decisions of 2026-11-25.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.text.frame_words import (
    BESIDE_STEMS,
    FORMATTING,
    FRAME_NOUNS,
    FRAME_STEMS,
    FRAME_TAG,
    FRAME_VOCABULARY,
    GRAMMAR,
    LAYOUT,
    PERSONS_HEADING,
    SELF,
    SELF_SIGNS,
    SHORT_HEADING,
    USER_TAG,
    USERS_WORD,
)
from shared.text.pasted import pasted, speaks_of_self
from shared.text.words import word_set

LEFT_OUT = "[attachment left out]"
"""Stands where material stood."""
_FEW = 6
"""Words in a tag that a person may have typed."""
_STEM = 6
"""Characters that a word keeps when it is bent."""
_CUT = "\x00"
"""Stands on a line of its own for material while a message is read."""
_KEPT_FENCE = re.compile("\x01([0-9]+)\x01")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SCISSORS = r"^(?=[^\n]*[-=_–—]{2})[-=_–—~ \t]*(?:8<|>8|✂)[^\n]*$"
_ENCLOSED = re.compile(rf"{_SCISSORS}.*?(?:{_SCISSORS}|\Z)|\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL | re.MULTILINE)
"""Between scissors, or behind them, and between three quotation marks."""
_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]{0,59})((?:\s[^<>]{0,400})?)>")
_OTHER_TAG = re.compile(
    r"\[(?P<square_end>/?)(?P<square>[A-Za-z_][\w.:-]{0,59})(?:\s[^\[\]\n]{0,80})?\]"
    r"|\{\{(?:\#|(?P<curly_end>/))\s*(?P<curly>[A-Za-z_]\w{0,59})[^{}\n]{0,80}\}\}"
    r"|\{%-?\s*(?P<block_end>end_?)?(?P<block>[A-Za-z_]\w{0,59})[^%\n]{0,200}%\}"
)
"""Tags in square brackets, of Mustache and of Jinja."""
_PROLOG = re.compile(r"<\?xml\b[^>]{0,200}\?>|<!DOCTYPE\b[^>]{0,200}>", re.IGNORECASE)
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W_]+")
"""A word; of scripts without spaces, two characters."""
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")

_USER_LABEL = (
    r"(?:(?:the |my )?(?:current|new|latest|last|follow[- ]?up|original|final)\s+)?(?:the )?"
    r"(?:(?:user|human|customer)(?:['’]?s)?(?:\s+(?:query|question|input|message|prompt|request|says|asks))?"
    r"|(?:current|latest|last|new) message"
    r"|query|question|input|request|prompt|pregunta|consulta|usuari[oa]|frage|anfrage|benutzer(?:frage|in)?"
    r"|nutzer(?:frage)?"
    r"|requête|utilisateur|demande|domanda|utente|richiesta|pergunta|usuário|vraag|gebruiker|soru|kullanıcı"
    r"|вопрос|запрос|пользователь|问题|問題|提问|用户|用戶|用户问题|质问|質問|ユーザー|질문|사용자|سؤال|السؤال|المستخدم|प्रश्न|सवाल"
    r"|คำถาม|ผู้ใช้|câu hỏi|người dùng)"
)
_LABELLED = re.compile(
    rf"^[ \t]*[*_#\[(>]*[ \t]*{_USER_LABEL}[ \t]*[*_\])]*[ \t]*(?:[:：][*_]*|$)[ \t]*", re.IGNORECASE
)
_BARE_LABEL = re.compile(
    r"^[ \t]*[*_#]*[ \t]*(?:(?:your|helpful|the|final|ai|assistant['’]?s|model['’]?s)\s+)*(?:answer|response|reply"
    r"|output|assistant|ai|bot|thought"
    r"|antwort|respuesta|asistente|réponse|risposta|assistente|resposta|antwoord|cevap|yanıt|ответ|ассистент"
    r"|回答|答案|助手|答え|アシスタント|답변|답|إجابة|الإجابة|उत्तर|คำตอบ|trả lời)[ \t]*[*_]*[ \t]*[:：][*_ \t]*$",
    re.IGNORECASE,
)
_INSTRUCTED = re.compile(
    r"^[ \t]*#{1,6}[ \t]*(instruction|input|context|response|output)s?[ \t]*:?[ \t]*$", re.IGNORECASE
)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+\S")
_RULE = re.compile(r"^[ \t]*([-=_*~#])\1{4,}[ \t]*$|^[ \t]*(\"\"\"|''')[ \t]*$")
_ITEM = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,3}[.)]|\[\d{1,3}\])[ \t]+\S")
_PASSAGE = re.compile(
    r"^[ \t]*[*_#]*[ \t]*(?:\[?(?:document|doc|source|chunk|passage|excerpt|snippet|result|search result|file|page"
    r"|context|reference"
    r"|dokument|quelle|documento|fuente|fragmento|documento|fonte|文档|资料"
    r"|文書)[ \t]*[#№\[(]?[ \t]*\d{1,4}[\])]?\]?[ \t]*(?:\([^)\n]{0,80}\))?"
    r"[*_]*[ \t]*(?:[:：\-–—].*|$))",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"^[ \t]*\[\d{1,3}\]:?[ \t]*\S")
_MARKER = re.compile(r"^[ \t]*(?:(?:[\[<{(|]{1,3}|[-=*#~_]{2,})[ \t]*\S.*|[\w ]{0,60}>>>)$")
_FRAMED = re.compile(r"^[ \t]*([-=*#~_]{2,})[ \t]*\w.*\1[ \t]*$")
_BEGINS = word_set("begin start beginning begins inicio início début anfang beginn inizio начало 开始 開始 시작")
_ENDS = word_set("end fin ende fine fim конец 结束 結束 終了 끝")
_GLUED = re.compile(r"(开始|開始|结束|結束|終了)\Z")
_SPEAKS_OF_FRAME = re.compile(
    r"\bthe users?\b|\bthe (?:\w+ ){0,2}context\b|\bcontext information\b|\bprior knowledge\b|\bxml tags?\b"
    r"|\b(?:provided|retrieved|following|attached|given) (?:\w+ ){0,2}(?:documents?|files?|results?|context|passages?"
    r"|sources?|information|excerpts?|memories)\b|\bmake up an answer\b|\byou don['’]?t know\b"
    r"|\b(?:documents?|files?|results?|context|passages?|excerpts?|memories) (?:above|below|provided)\b"
    r"|^\W*(?:you are (?:an?|the|given)\b|(?:answer|use) (?:the|only|using|it)\b|(?:tone|style|format|length)\s*:)",
    re.IGNORECASE,
)


def without_material(text: str) -> str:
    """Return what the user said in a message, with a mark where material stood; empty where that is nothing."""
    fences: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        fences.append(match[0])
        return f"\x01{len(fences) - 1}\x01"

    body = _FENCE.sub(hidden, text.replace(_CUT, "").replace("\x01", ""))
    read = _without_frames(_without_marked(_ENCLOSED.sub(_without_enclosed, _without_tags(body))))
    if read == body:
        return text
    own = re.sub(rf"(?:\s*{_CUT})+\s*", f"\n{LEFT_OUT}\n", read).strip()
    own = _KEPT_FENCE.sub(lambda match: fences[int(match[1])], own)
    return own if _WORD.search(own.replace(LEFT_OUT, "")) else ""


def _without_enclosed(match: re.Match[str]) -> str:
    return f"\n{_CUT}\n" if len(_WORD.findall(match[0])) > _FEW else match[0]


@dataclass(frozen=True)
class _Element:
    """A paired tag: where it begins and ends, and where its content does."""

    name: str
    start: int
    inner: int
    inner_end: int
    end: int

    @property
    def parts(self) -> frozenset[str]:
        return frozenset(part.lower() for part in _NAME_PART.findall(self.name))

    @property
    def is_users(self) -> bool:
        """Whether its name says that the user's own words stand in it."""
        return self.parts <= USER_TAG and not self.parts.isdisjoint(USERS_WORD)

    @property
    def is_frame(self) -> bool:
        """Whether its name says that what stands in it was handed over."""
        return not self.is_users and not self.parts.isdisjoint(FRAME_TAG)

    @property
    def is_formatting(self) -> bool:
        return self.name.lower() in FORMATTING

    def holds(self, other: _Element) -> bool:
        return self.inner <= other.start and other.end <= self.inner_end


def _without_tags(text: str) -> str:
    """Cut what stands in paired tags; where some say that the user's words stand in them, keep those alone."""
    text = _with_angles(text)
    if "<" not in text:
        return text
    text = _PROLOG.sub("", text)
    elements = _outermost(_elements(text))
    whole = _within_formatting(text, elements)
    if whole is not None:
        return whole
    cuts: list[tuple[int, int]] = []
    users: list[_Element] = []
    for outer, within in elements:
        if outer.is_users:
            users.append(outer)
            continue
        if outer.is_formatting:
            continue
        words = len(_WORD.findall(_TAG.sub(" ", text[outer.inner : outer.inner_end])))
        if not words or (words <= _FEW and not outer.is_frame):
            continue
        cuts.append((outer.start, outer.end))
        if not outer.is_frame:
            # A document may hold such tags too, and then they are not the client's.
            frames = [one for one in within if one.is_frame]
            users += [
                one for one, _ in _outermost([one for one in within if one.is_users])
                if not any(frame.holds(one) for frame in frames)
            ]  # fmt: skip
    if users and cuts:
        said = "\n\n".join(_without_tags(text[one.inner : one.inner_end].strip()) for one in users)
        return f"{_CUT}\n{said}"
    if users:
        for one in reversed(users):
            text = f"{text[: one.start]}{text[one.inner : one.inner_end]}{text[one.end :]}"
        return text
    return _cut(text, cuts)


def _with_angles(text: str) -> str:
    """Write the other tags that are closed somewhere as those of XML."""
    closed = {name.lower() for name, is_end in map(_name_of, _OTHER_TAG.finditer(text)) if is_end}

    def written(match: re.Match[str]) -> str:
        name, is_end = _name_of(match)
        is_tag = name.lower() in closed and name.lower() not in FORMATTING
        return f"<{'/' if is_end else ''}{name}>" if is_tag else match[0]

    return _OTHER_TAG.sub(written, text) if closed else text


def _name_of(tag: re.Match[str]) -> tuple[str, bool]:
    ends = tag["square_end"] or tag["curly_end"] or tag["block_end"]
    return tag["square"] or tag["curly"] or tag["block"], bool(ends)


def _within_formatting(text: str, elements: Sequence[tuple[_Element, list[_Element]]]) -> str | None:
    """Return what a message says that stands in formatting from end to end, or in one tag that names nothing."""
    if not elements or _WORD.search(_cut(text, [(one.start, one.end) for one, _ in elements]).replace(_CUT, "")):
        return None
    every = [one for outer, within in elements for one in (outer, *within)]
    formatting = [one for one in every if one.is_formatting or one.name.lower() in LAYOUT]
    others = [one for one in every if one not in formatting]
    only = len(elements) == 1 and others == [elements[0][0]] and not (others[0].is_frame or others[0].is_users)
    return _TAG.sub(" ", text).strip() if only or not others else None


def _elements(text: str) -> list[_Element]:
    """Return the paired tags of a text; one that begins a line, is a client's and is never closed ends with the"
    " text."""
    found: list[_Element] = []
    open_tags: list[re.Match[str]] = []
    counts: Counter[str] = Counter()
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1]:
            if not tag[3].endswith("/"):
                open_tags.append(tag)
                counts[name] += 1
            continue
        while counts[name]:
            opened = open_tags.pop()
            counts[opened[2].lower()] -= 1
            if opened[2].lower() == name:
                found.append(_Element(opened[2], opened.start(), opened.end(), tag.start(), tag.end()))
                break
    users = sorted(one.start for one in found if one.is_users)
    for opened in open_tags:
        end = [*users, len(text)][bisect_left(users, opened.end())]
        element = _Element(opened[2], opened.start(), opened.end(), end, end)
        line = text[text.rfind("\n", 0, opened.start()) + 1 : opened.start()]
        if element.is_frame and not line.strip() and text[opened.end() : opened.end() + 1] in ("\n", "\r", ""):
            found.append(element)
    return found


def _outermost(elements: Sequence[_Element]) -> list[tuple[_Element, list[_Element]]]:
    """Return the elements that stand in no other, each with those in it; formatting holds nothing."""
    outer: list[tuple[_Element, list[_Element]]] = []
    for one in sorted(elements, key=lambda one: (one.start, -one.end)):
        if outer and outer[-1][0].holds(one) and not outer[-1][0].is_formatting:
            outer[-1][1].append(one)
        else:
            outer.append((one, []))
    return outer


def _cut(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(cuts):
        text = f"{text[:start]}\n{_CUT}\n{text[end:]}"
    return text


def _without_marked(text: str) -> str:
    """Cut what stands between a line that marks a beginning and one that marks its end."""
    lines = text.split("\n")
    markers: list[tuple[int, list[str], bool]] = []
    cuts: list[tuple[int, int]] = []
    for place, line in enumerate(lines):
        if len(line) > 200 or not _MARKER.match(line):
            continue
        words = [part for word in re.findall(r"\w+", line.casefold()) for part in _GLUED.sub(r" \1", word).split()]
        is_glued = line.rstrip().endswith(">>>") and not line.lstrip().startswith("<<<")
        is_closing = is_glued or not _ENDS.isdisjoint(words[:1] + words[-1:])
        named = [word for word in words if word not in _ENDS and word not in ("of", "the")]
        if is_closing:
            for back in range(len(markers) - 1, max(-1, len(markers) - 50), -1):
                start, opened, begins = markers[back]
                # "(Transcribed from ...)" ends with "(end of transcription)".
                if {word[:_STEM] for word in named} <= {word[:_STEM] for word in opened} and (named or begins):
                    cuts.append((start, place))
                    del markers[back:]
                    break
        elif words or line.strip() == "<<<":
            begins = not words or not _BEGINS.isdisjoint(words) or _FRAMED.match(line) is not None
            markers.append((place, [word for word in words if word not in _BEGINS], begins))
    return _without_lines(lines, cuts)


def _without_lines(lines: Sequence[str], cuts: Sequence[tuple[int, int]]) -> str:
    if not cuts:
        return "\n".join(lines)
    gone = {place for start, end in cuts for place in range(start, end + 1)}
    firsts = {start for start, _ in cuts}
    return "\n".join(
        _CUT if place in firsts else line for place, line in enumerate(lines) if place in firsts or place not in gone
    )


def _without_frames(text: str) -> str:
    """Cut what stands below a client's heading or is numbered as passages are, and the template around it."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    wants_answer = bool(lines) and _BARE_LABEL.match(lines[-1]) is not None
    instructed = _instructed(lines)
    if instructed is not None:
        return instructed
    labels = [place for place, line in enumerate(lines[: len(lines) - wants_answer]) if _is_label(lines, place)]
    label = labels[-1] if labels else None
    cut = {place for place, line in enumerate(lines) if line == _CUT}
    for start, end in (*_blocks(lines, label), *pasted(lines, labels)):
        cut.update(range(start, end))
    if label is not None and label > 0 and not cut:
        rules = Counter(line.strip() for line in lines[:label] if _RULE.match(line))
        # Two equal rules before it are a frame in any language.
        if wants_answer or any(times > 1 for times in rules.values()):
            cut.update(range(label))
    if not cut:
        return text
    if label is not None and label > min(cut) and not any(place > label for place in cut):
        said = lines[label : len(lines) - wants_answer]
        said[0] = _LABELLED.sub("", said[0], count=1)
        # Some templates ask first: "Question: ...", "Context: ...", "Answer:".
        ends = (at for at, line in enumerate(said) if at and _is_frame_heading(line[: line.find(":") + 1]))
        return "\n".join([_CUT, *said[: next(ends, len(said)) if wants_answer else len(said)]])
    cut |= _template(lines, cut)
    return "\n".join(_CUT if place in cut else line for place, line in enumerate(lines))


def _instructed(lines: Sequence[str]) -> str | None:
    """Return the instruction of a prompt with headings for it, for its input and for the response to it."""
    heads = [(place, found[1].lower()) for place, line in enumerate(lines) if (found := _INSTRUCTED.match(line))]
    if len(heads) < 2 or heads[0][1] != "instruction":
        return None
    (start, _), (end, following) = heads[:2]
    mark = [_CUT] if start or following in ("input", "context") else []
    return "\n".join([*mark, *lines[start + 1 : end]])


def _is_label(lines: Sequence[str], place: int) -> bool:
    """Whether a line is the label before what the user says, with something after it."""
    found = _LABELLED.match(lines[place])
    if found is None or not (":" in found[0] or "：" in found[0] or _HEADING.match(lines[place])):
        return False
    return bool(lines[place][found.end() :].strip()) or any(line.strip() for line in lines[place + 1 : place + 3])


def _blocks(lines: Sequence[str], label: int | None) -> Iterator[tuple[int, int]]:
    """Yield where material with a heading, or numbered, begins and ends."""
    bracketed = [place for place, line in enumerate(lines) if _BRACKETED.match(line)]
    passages = [place for place, line in enumerate(lines) if _PASSAGE.match(line)]
    numbered = sorted([*passages, *bracketed])
    if len(numbered) > 1 or (passages and label is not None and label > passages[0]):
        yield numbered[0], _end_of_block(lines, numbered[-1], label, is_list=True)
    until = 0
    for place, line in enumerate(lines):
        if place < until or not _is_frame_heading(line):
            continue
        following = _next_said(lines, place + 1)
        if label is None and PERSONS_HEADING.fullmatch(line) and any(map(speaks_of_self, lines[following:])):
            continue
        until = place + 1
        if following < len(lines) and following != label:
            until = _end_of_block(lines, following, label, is_list=bool(_ITEM.match(lines[following])))
        if following < len(lines):
            yield place, until


def _end_of_block(lines: Sequence[str], start: int, label: int | None, *, is_list: bool) -> int:
    if label is not None and label > start:
        return label
    first = lines[start]
    if first == _CUT or _KEPT_FENCE.fullmatch(first.strip()):
        return start + 1
    if _RULE.match(first):
        last = max((at for at in range(start + 1, len(lines)) if lines[at].strip() == first.strip()), default=None)
        return len(lines) if last is None else last + 1
    if is_list:
        end = start + 1
        while end < len(lines) and not _HEADING.match(lines[end]):
            following = _next_said(lines, end)
            if following > end and not _goes_on(lines, following):
                break
            end = following + 1
        return min(end, len(lines))
    limit = next((at for at in range(start + 1, len(lines)) if _HEADING.match(lines[at])), len(lines))
    ends = [at for at in range(start + 1, limit) if not lines[at].strip()]
    # Of prose the last paragraph is what the user says of it, where there are several and no heading follows.
    paragraphs = [at for at in ends if at + 1 < limit and lines[at + 1].strip()]
    return paragraphs[-1] if paragraphs and limit == len(lines) else limit


def _goes_on(lines: Sequence[str], place: int) -> bool:
    """Whether a list goes on with a line that follows a blank one."""
    line = lines[place] if place < len(lines) else ""
    return bool(_ITEM.match(line) or _PASSAGE.match(line) or line[:2].isspace())


def _next_said(lines: Sequence[str], place: int) -> int:
    """Return where the next line stands that is not blank; behind the last where there is none."""
    return next((at for at in range(place, len(lines)) if lines[at].strip()), len(lines))


def _is_frame_heading(line: str) -> bool:
    """Whether a line is a heading as clients write it: nothing but words for what is handed over."""
    bare = re.sub(r"[\"“«„][^\"”»“]{0,200}[\"”»“]|`[^`]{0,200}`|<[^<>]{0,60}>", " ", line.strip())
    if len(line) > 240 or not (bare.endswith((":", "：", ".")) or _HEADING.match(line) or bare.startswith("**")):
        return False
    words = re.findall(r"[^\W_]+", bare.casefold())
    if not words or not SELF.isdisjoint(words) or SELF_SIGNS.search(bare):
        return False
    if all(word in FRAME_VOCABULARY or word.isdigit() for word in words):
        return not FRAME_NOUNS.isdisjoint(words) and (words[-1:] != ["notes"] or len(words) > 1)
    if bare.endswith(".") or len(words) > SHORT_HEADING or not FRAME_STEMS.search(bare):
        return False
    beside = _WORD.findall(FRAME_STEMS.sub(" ", bare.casefold()))
    return all(word in GRAMMAR or word.isdigit() or BESIDE_STEMS.match(word) for word in beside)


def _template(lines: Sequence[str], cut: set[int]) -> set[int]:
    """Return the lines around material that are the client's too."""
    gone: set[int] = set()
    headings = [place for place, line in enumerate(lines) if place not in cut and _HEADING.match(line)]
    last = max(cut)
    if headings and headings[0] < last:
        # Task, guidelines and format of a prompt; what follows the material without a heading is the user's.
        gone.update(range(headings[0], last))
    for place in headings:
        if place > last:
            gone.update(range(place, len(lines)))
            break
    following = len(lines)
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place].strip()
        if not line or place in cut:
            following = place if line else following
            continue
        is_own = not SELF.isdisjoint(re.findall(r"\w+", line.casefold())) or line.endswith(("?", "？"))
        leads = line.endswith((":", "：")) and (following in cut or following in gone)
        names = line.startswith("[") and following == place + 1 and following in cut
        if names or (not is_own and (leads or _SPEAKS_OF_FRAME.search(line))):
            gone.add(place)
        following = place
    return gone
