"""Text of sessions cut into pieces, shortened, and searched for names that cannot be said in other words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from shared.search.words import words_of
from shared.text.words import remembered

_MOST_CHARS = 120
"""A longer one is no name but content."""
_SHAPES = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]}…]{4,300})"
    r"|(?P<quoted>(?<!`)`[^`\n…]{2,120}`(?!`))"
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/?(?:[\w@.+-]{1,100}/){1,30}[\w@.+-]{1,100})"
    r"|(?P<root>(?<![\w/.~<])~?/[\w@.+-]{2,100})"
    r"|(?P<file>(?<![\w/.])\.?[\w-]{1,80}(?:\.[\w-]{1,40})?\.(?:[a-z]{1,5}|md5|sha256|mp[34]|h5|7z)\b(?![\w(/]))"
    r"|(?P<word>(?<![\w$])(?!(?<=\\)[nrt])(?:[A-Za-z]\w{0,80}_\w{1,80}|_\w{2,80}|[a-z]{1,40}[A-Z]\w{1,80}"
    r"|[A-Z][a-z0-9]{1,40}[A-Z]\w{0,80}|[A-Z]{2,20}\d\w{0,40})(?:\.[A-Za-z_]\w{1,60}){0,4})"
    r"|(?P<dotted>(?<![\w.])[A-Za-z_]\w{1,60}(?:\.[A-Za-z_]\w{1,60}){1,5}(?=\())"
    r"|(?P<flag>(?<![\w-])--[a-z][\w-]{1,40})"
    r"|(?P<version>(?<![\w.])v?\d{1,4}(?:\.\d{1,6}){1,3}(?:-[\w.]{1,20})?(?![\w.]))"
    r"|(?P<hash>(?<![\w-])(?=[0-9a-f]*\d)[0-9a-f]{7,40}(?![\w-]))"
    r"|(?P<issue>(?<![\w#&])#\d{1,7}\b)"
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
        self._place: dict[str, int] = {}

    def add(self, text: str, place: int, factor: float) -> None:
        """Take in the names of a text; said again, a name counts for more, but ever less so."""
        for name, weight in names_in(text).items():
            if name.isdecimal():
                continue
            known = self._worth.get(name)
            gain = weight * factor
            self._worth[name] = gain if known is None else max(known, gain) + 0.1 * min(known, gain)
            self._place.setdefault(name, place)

    def best_first(self) -> list[tuple[str, int, float]]:
        """Return every name with its first place and its worth, the most important first."""
        ranked = [(name, self._place[name], worth) for name, worth in self._worth.items()]
        return sorted(ranked, key=lambda one: (-one[2] / (6 + len(one[0])), one[1], one[0]))


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
    wanted = frozenset(words)
    spans = [found.span() for found in _TOKEN.finditer(text) if wanted & frozenset(words_of(found[0]))]
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
    """Return a text cut to so many characters, behind a word where one ends, with a sign that it was."""
    if len(text) <= most:
        return text
    end = max(most - 1, 0)
    if not text[end : end + 1].isspace():
        end = max(text.rfind(space, most // 2, end) for space in " \n") if " " in text[most // 2 : end] else end
    return text[:end].rstrip() + "…"


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
