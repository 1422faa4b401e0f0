"""The piece of a passage that shows why it was found, and where in it the words stand."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from shared.search.words import words_of

LONGEST = 240
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
    end = min(len(text), start + LONGEST)
    if start and not text[start - 1].isspace():
        start = next((found.end() for found in _SPACE.finditer(text, start, start + LONGEST // 8)), start)
    if end < len(text) and not text[end].isspace():
        end = max((found.start() for found in _SPACE.finditer(text, end - LONGEST // 8, end)), default=end)
    return start, end


def _start(spans: list[tuple[int, int]], length: int) -> int:
    """Return where to begin so that as many spans as can be lie within, a little before the first of them."""
    if not spans or length <= LONGEST:
        return 0
    lead = LONGEST // 6
    starts = [max(0, min(a - lead, length - LONGEST)) for a, _ in spans]
    return max(starts, key=lambda at: (sum(at <= a and b <= at + LONGEST for a, b in spans), -at))
