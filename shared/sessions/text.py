"""Text of sessions: names that cannot be said in other words, pieces, snippets; statements, and excerpts made of them.

A statement is a sentence, an item of a list, a short block of code or a line of a long one, kept whole or not at all;
what leads to a list or to code stays with the first member of it. An excerpt is made of slices of the text, with every
gap shown, so that between two gaps it is the text itself. Source: decisions, "Recorded sessions".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from shared.search.words import words_of
from shared.text.words import remembered

_MOST_CHARS = 120
"""A longer one is no name but content."""
_SHAPES = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]}…]{4,300})"
    r"|(?P<quoted>(?<![A-Za-z0-9_`)\]])`(?! )[^`\n…]{2,120}(?<! )`(?!`))"
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/?(?:[\w@.+-]{1,100}/){1,30}[\w@.+-]{1,100})"
    r"|(?P<root>(?<![\w/.~<])~?/[\w@.+-]{2,100})"
    r"|(?P<file>(?<![\w/.])\.?[\w-]{1,80}(?:\.[\w-]{1,40})?\.(?:[a-z]{1,5}|md5|sha256|mp[34]|h5|7z)\b(?![\w(/]))"
    r"|(?P<word>(?<![\w$])(?!(?<=\\)[nrt])(?:[A-Za-z]\w{0,80}_\w{1,80}|_\w{2,80}|[a-z]{1,40}[A-Z]\w{1,80}"
    r"|[A-Z][a-z0-9]{1,40}[A-Z]\w{0,80}|[A-Z]{2,20}\d\w{0,40})(?:\.[A-Za-z_]\w{1,60}){0,4})"
    r"|(?P<dotted>(?<![\w.])[A-Za-z_]\w{1,60}(?:\.[A-Za-z_]\w{1,60}){1,5}(?=\())"
    r"|(?P<flag>(?<![\w-])--[a-z][\w-]{1,40})"
    r"|(?P<version>(?<![\w.])v?\d{1,4}(?:\.\d{1,6}){1,3}(?:-[\w.]{1,20})?(?![\w.]))"
    r"|(?P<hash>(?<![\w-])(?=[0-9a-f]*\d)[0-9a-f]{7,40}(?![\w-]))"
    r"|(?P<issue>(?<![\w#&])(?<!\[Image )#\d{1,7}\b)"
    r"|(?P<number>(?<![\w.])\d{2,12}(?![\w.]))"
)
_WEIGHTS = {
    "url": 2.0, "quoted": 1.6, "path": 1.6, "root": 1.0, "file": 1.5, "word": 1.2, "dotted": 1.0, "flag": 1.0,
    "version": 1.2, "hash": 1.0, "issue": 1.2, "number": 0.15,
}  # fmt: skip
"""How likely a shape is to be missed later."""
_ENDS = ".,;:!?'\""
_COMMON = frozenset({"e.g", "i.e", "and/or", "n/a", "N/A", "w/o", "etc.", "he/she", "TODO", "OK"})


@remembered(most=4096, longest=4_000)
def names_in(text: str) -> Mapping[str, float]:
    """Return the names a text holds, each with the weight of its shape, in order.

    No tag is one, nor what is cut off, nor what begins with an escape (``\\nDemo``).
    """
    found: dict[str, float] = {}
    for match in _SHAPES.finditer(text):
        shape = match.lastgroup or ""
        name = match[0].strip("`").rstrip(_ENDS)
        is_cut = text.startswith("…", match.end())
        if 2 <= len(name) <= _MOST_CHARS and not is_cut and name not in _COMMON and name.strip("./~-_"):
            found.setdefault(name, _WEIGHTS[shape])
    return found


def missing_in(names: Iterable[str], text: str) -> list[str]:
    """Return the names that do not stand in a text."""
    return [name for name in names if name not in text]


class NameRanking:
    """Collects names over a session, with what each is worth by where it stands.

    Bare numbers are passed over: without the words beside them they say nothing, and most count lines.
    """

    def __init__(self) -> None:
        self._worth: dict[str, float] = {}

    def add(self, text: str, factor: float) -> None:
        """Take in the names of a text; said again, a name counts for more, but ever less so."""
        for name, weight in names_in(text).items():
            if name.isdecimal():
                continue
            known = self._worth.get(name)
            gain = weight * factor
            self._worth[name] = gain if known is None else max(known, gain) + 0.1 * min(known, gain)

    def best_first(self) -> list[str]:
        """Return every name, the most important first; of equal ones the one that was taken in first."""
        # By worth for its length, as all names together may take a twentieth of a version (decision 27).
        return sorted(self._worth, key=lambda name: -self._worth[name] / (6 + len(name)))


MAX_SNIPPET_CHARS = 240
_SPACE = re.compile(r"\s")
_TOKEN = re.compile(r"\w[\w.'’/-]*\w|\w")


@dataclass(frozen=True)
class Snippet:
    """A piece of a text. ``marks`` are where found words begin and end in it, characters."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def snippet_of(text: str, words: Collection[str]) -> Snippet:
    """Return the piece of a text in which most of the words stand; its beginning where none does."""
    sought = frozenset(words)
    spans = [found.span() for found in _TOKEN.finditer(text) if sought & frozenset(words_of(found[0]))]
    start, end = _at_words(text, _start(spans, len(text)))
    marks = tuple((a - start, b - start) for a, b in spans if start <= a and b <= end)
    return Snippet(text[start:end], marks)


def _at_words(text: str, start: int) -> tuple[int, int]:
    """Return where to begin and end so that no word is cut in two, as far as there are words."""
    end = min(len(text), start + MAX_SNIPPET_CHARS)
    if start and not text[start - 1].isspace():
        start = next((found.end() for found in _SPACE.finditer(text, start, start + MAX_SNIPPET_CHARS // 8)), start)
    if end < len(text) and not text[end].isspace():
        end = max((found.start() for found in _SPACE.finditer(text, end - MAX_SNIPPET_CHARS // 8, end)), default=end)
    return start, end


def _start(spans: list[tuple[int, int]], length: int) -> int:
    """Return where to begin so that as many spans as can be lie within, a little before the first of them."""
    if not spans or length <= MAX_SNIPPET_CHARS:
        return 0
    lead = MAX_SNIPPET_CHARS // 6
    starts = [max(0, min(a - lead, length - MAX_SNIPPET_CHARS)) for a, _ in spans]
    return max(starts, key=lambda at: (sum(at <= a and b <= at + MAX_SNIPPET_CHARS for a, b in spans), -at))


def cut(text: str, most: int) -> str:
    """Return a text cut to so many characters, behind a word where one ends, with a sign that it was.

    Code within the line that it is cut in is closed, so that what follows is no code.
    """
    if len(text) <= most:
        return text
    end = max(most - 1, 0)
    if not text[end : end + 1].isspace():
        end = max(text.rfind(space, most // 2, end) for space in " \n") if " " in text[most // 2 : end] else end
    shown = text[:end].rstrip()
    if shown.count("`") % 2 == 0 or text.count("`") % 2:
        return f"{shown}…"
    # What closes it takes a character; cut behind what opens it, nothing of the code is left.
    return f"{shown[:-1].rstrip()}…" if shown.endswith("`") else f"{shown[: max(most - 2, 0)]}…`"


def head_of(text: str, most: int) -> str:
    """Return the beginning of a text, to the end of a word where one ends in its second half."""
    end = max(text.rfind(" ", most // 2, most), text.rfind("\n", most // 2, most)) if len(text) > most else len(text)
    return text[: end if end > 0 else most].rstrip()


MAX_PASSAGE_CHARS = 1_200
_MOST_PASSAGES = 8
"""Of one text; the rest of it is not found."""
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?])\s+|\s+")


def passage_pieces(text: str) -> Iterator[str]:
    """Yield a text in parts of at most the longest, cut where a paragraph, line, sentence or word ends."""
    rest = text.strip()
    for _ in range(_MOST_PASSAGES):
        if not rest:
            return
        end = len(rest) if len(rest) <= MAX_PASSAGE_CHARS else _end_within(rest)
        yield rest[:end].rstrip()
        rest = rest[end:].lstrip()


def _end_within(text: str) -> int:
    """Return where the first part of a text ends: at the strongest break in its second half."""
    breaks = _BREAK.finditer(text, MAX_PASSAGE_CHARS // 2, MAX_PASSAGE_CHARS)
    strongest = max(breaks, key=lambda found: (found[0].count("\n"), found.start()), default=None)
    return MAX_PASSAGE_CHARS if strongest is None else strongest.start()


GAP = "[…]"
_FENCE = re.compile(r"^[ \t]*(?:>[ \t]*)*(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"^[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]|\||>|<|(?:[-=_*]{3,})[ \t]*$)")
_TERMINAL = re.compile(r"[.!?:;…。！？]['\"”’)\]*_`]*\s*$")
_SENTENCE_END = re.compile(
    r"[.!?…]+['\"”’)\]*_`]*(?=\s+['\"“‘„«(\[*_`#@/–—-]*[A-Z0-9À-ÖØ-ÞĀ-ſΑ-ΩА-Я぀-鿿])|[。！？][」』）]*(?=\S)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[*_\"'“])(?:e\.g|i\.e|z\.B|d\.h|u\.a|etc|vs|cf|ca|approx|resp|bzw|usw|incl|No|Nr|Mr|Mrs|Ms|Dr|Prof|St"
    r"|Fig|Sec|Vol|rev|ver|inc|ltd|jr|sr|min|max|avg|est|al|art|pp|ggf|evtl|inkl|Abs|Abb|Tel|Str|[A-Za-z]|\d{1,2})\.$",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"[:：]['\"”’)\]*_`]*\s*$")
_WHOLE_CODE = 6
"""Lines up to which a block of code is one statement."""
# In a longer one the mark is taken for one that is never closed.
_LONGEST_QUOTATION = 600
_QUOTES = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_WRAPPED = 60
"""Characters from which on a line without an end is taken to go on in the next one."""
_SAYS = re.compile(r"[^\W_]|[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code: the line that opens it, and what closes it."""

    opening: str
    marks: str
    start: int

    @property
    def closing(self) -> str:
        """The line that closes it, as far in as the one that opens it: one less far in might open another."""
        return self.opening[: self.opening.index(self.marks)] + self.marks


@dataclass(frozen=True, slots=True)
class StatementSpan:
    """A part of a text that is kept whole or not at all: ``text[start:end]``."""

    start: int
    end: int
    opened: Fence | None = None
    """The code it begins in."""
    open: Fence | None = None
    """The code it ends in."""


def statements_of(text: str) -> list[StatementSpan]:
    """Return the statements of a text, in order; what has neither letter nor digit belongs to the one before."""
    found: list[StatementSpan] = []
    for one in _with_whole_code(_spans(text)):
        last = found[-1] if found else None
        says = _SAYS.search(text, one.start, one.end) is not None
        leads = last is not None and last.open is None and _LEADS_ON.search(text[last.start : last.end])
        if last is not None and (leads or (not says and last.open == one.opened)):
            found[-1] = replace(last, end=one.end, open=one.open)
        elif last is not None and not _SAYS.search(text, last.start, last.end) and last.open == one.opened:
            found[-1] = replace(one, start=last.start, opened=last.opened)
        else:
            found.append(one)
    return found


def fences_at(text: str, places: Sequence[int]) -> list[Fence | None]:
    """Return the block of code that is open at each of some places of a text, None outside; ``places``: ascending."""
    found: list[Fence | None] = []
    fence, begin = None, 0
    for line in text.splitlines(keepends=True):
        while len(found) < len(places) and places[len(found)] < begin + len(line):
            found.append(_open_behind(fence, line[: places[len(found)] - begin], begin))
        fence, begin = _open_behind(fence, line, begin), begin + len(line)
    return found + [fence] * (len(places) - len(found))


def _open_behind(fence: Fence | None, line: str, begin: int) -> Fence | None:
    """Return the block of code that is open behind a line, given the one that is open before it."""
    mark = _FENCE.match(line)
    if mark is None or fence is not None:
        is_closed = mark is not None and fence is not None and mark[1].startswith(fence.marks) and not mark[2].strip()
        return None if is_closed else fence
    # Backticks in what follows make it code within a line.
    return None if mark[1][0] == "`" and "`" in mark[2] else Fence(line.rstrip(), mark[1], begin)


def joint_of(text: str, statements: Sequence[StatementSpan], before: int, after: int) -> str:
    """Return what stands between two statements when nothing between them is shown: the text itself, or a sign.

    ``before`` is -1 at the beginning of an excerpt, ``after`` the number of statements at its end.
    """
    fence = statements[before].open if before >= 0 else None
    if after == before + 1 and after < len(statements):
        start = statements[after].start
        return text[statements[before].end : start] if before >= 0 else text[:start].lstrip("\n")
    if after == before + 1:
        return text[statements[before].end :].rstrip()
    # Where what is missing begins in the same code, the sign stands in it, and else behind its fence.
    is_within = fence is not None and statements[before + 1].opened == fence
    if after == len(statements):
        if fence is None:
            return f" {GAP}"
        return f"\n{GAP}\n{fence.closing}" if is_within else f"\n{fence.closing}\n{GAP}"
    opened = statements[after].opened
    is_new_line = opened is not None or "\n" in text[statements[after - 1].end : statements[after].start]
    return _gap(fence, opened, is_new_line, is_within, is_first=before < 0)


def shortened(text: str, most: int) -> str:
    """Return a text whole, or its beginning up to the end of a word with a sign that something is missing."""
    return text if len(text) <= most else f"{head_of(text, max(1, most - len(GAP) - 1))} {GAP}"


def _gap(fence: Fence | None, opened: Fence | None, is_new_line: bool, is_within: bool, is_first: bool) -> str:
    if opened is not None and opened == fence:
        return f"\n{GAP}\n"
    closing = ""
    if fence is not None:
        closing = f"\n{GAP}\n{fence.closing}\n" if is_within else f"\n{fence.closing}\n{GAP}\n"
    opening = f"{opened.opening}\n" if opened else ""
    if closing:
        return f"{closing}{opening}"
    lead = "" if is_first else "\n" if is_new_line or opened else " "
    return f"{lead}{GAP}{chr(10) if is_new_line or opened else ' '}{opening}"


def _spans(text: str) -> Iterator[StatementSpan]:
    """Yield sentences, items and lines of code with where they stand, before heads are joined to what they lead to."""
    fence: Fence | None = None
    start = end = -1
    position = 0
    for line in text.splitlines(keepends=True):
        begin, position = position, position + len(line)
        body = line.strip()
        before, fence = fence, _open_behind(fence, line, begin)
        if before is not None:
            # The lines that open and close code are in no statement: an excerpt writes them where it needs them.
            if fence is not None and body:
                yield StatementSpan(begin, begin + len(line.rstrip()), fence, fence)
            continue
        is_apart = not body or _FENCE.match(line) or _ITEM.match(line)
        if start >= 0 and (is_apart or not _goes_on(text[start:end], line)):
            yield from _sentences(text, start, end)
            start = -1
        if fence is None and body:
            start = begin if start < 0 else start
            end = begin + len(line.rstrip())
    if start >= 0:
        yield from _sentences(text, start, end)


def _with_whole_code(spans: Iterable[StatementSpan]) -> Iterator[StatementSpan]:
    """Yield statements, those of a short block of code as one: half of its steps may do harm."""
    for fence, group in groupby(spans, lambda one: one.opened):
        lines = list(group)
        is_whole = fence is not None and len(lines) <= _WHOLE_CODE
        yield from [replace(lines[0], end=lines[-1].end)] if is_whole else lines


def _goes_on(before: str, line: str) -> bool:
    """Whether a line goes on with what the text before it left open."""
    if _TERMINAL.search(before):
        return False
    last = before.rsplit("\n", 1)[-1]
    return len(last) >= _WRAPPED or line.lstrip()[:1].islower() or last.rstrip().endswith(",")


def _is_open(line: str) -> bool:
    """Whether a quotation or code within the line is not closed yet."""
    return (
        line.count('"') % 2 == 1 or line.count("`") % 2 == 1 or any(line.count(a) > line.count(b) for a, b in _QUOTES)
    )


def _sentences(text: str, start: int, end: int) -> Iterator[StatementSpan]:
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        sentence = text[begin : match.end()]
        if _ABBREVIATION.search(sentence[-10:]) or (len(sentence) < _LONGEST_QUOTATION and _is_open(sentence)):
            continue
        yield StatementSpan(begin, match.end())
        begin = match.end()
        while begin < end and text[begin].isspace():
            begin += 1
    if begin < end:
        yield StatementSpan(begin, end)
