"""Text as one clean line, no longer than its limit, never ending inside a word. Source: decisions, "Memories"."""

from __future__ import annotations

import re
import unicodedata

from shared.text.words import word_set

_JOINERS = "\u200c\u200d"
"""Invisible, yet part of how emoji and some scripts are written."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[」』”’）]*")
_CLAUSE_END = re.compile(r"[,;:](?=\s|$)|\s(?=[-–—(\[]\s?)|(?<=\w)(?=—)|[、，；：]")
_TITLES = "Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|No|vs|approx|ca|cf"
_ABBREVIATION = re.compile(rf"(?:^|[\s(])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|{_TITLES})\.$")
_LOOSE_WORDS = word_set(
    "a an and as at because but by for from if in into is of on or our so than that the their to was were which who"
    " with"
)
_LOOSE_MARKS = " ,;:-–—、，；：([\"'“‘«/&"


def clean(text: str) -> str:
    """Return ``text`` as one line: white space and control characters become single spaces, invisible ones go.

    Lone surrogates go too, because no database stores them.
    """
    return " ".join("".join(map(_visible, text)).split())


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    return " " if category == "Cc" else "" if category in ("Cf", "Cs") and character not in _JOINERS else character


def shorten(text: str, limit: int) -> str:
    """Return the beginning of cleaned ``text`` that fits ``limit`` (at least 1) characters.

    It ends at a sentence, else at a clause, else at a word. Only where the first word alone is longer than the limit
    (an address, a script without spaces) is there nothing to keep whole, and it ends between two characters.
    """
    line = clean(text)
    if len(line) <= limit:
        return line
    # A late clause end says more than an early sentence end; an end in the first third says too little.
    for least in (limit * 6 // 10, limit * 3 // 10):
        for ends in (_sentence_ends(line, limit), _clause_ends(line, limit)):
            if ends and ends[-1] >= max(least, 1):
                return line[: ends[-1]]
    words = line[: limit + 1].split(" ")[:-1]
    while len(words) > 1 and (words[-1].lower() in _LOOSE_WORDS or not words[-1].strip(_LOOSE_MARKS)):
        words.pop()
    kept = " ".join(words)
    # Where there are only marks before it, the word that does not fit is still not cut.
    whole_words = kept.rstrip(_LOOSE_MARKS) or kept
    return whole_words or _whole_characters(line, limit)


def _sentence_ends(line: str, limit: int) -> list[int]:
    ends = (match.end() for match in _SENTENCE_END.finditer(line))
    return [end for end in ends if end <= limit and not _ABBREVIATION.search(line[:end])]


def _clause_ends(line: str, limit: int) -> list[int]:
    starts = (match.start() for match in _CLAUSE_END.finditer(line, 0, limit + 2))
    ends = (len(line[:start].rstrip(_LOOSE_MARKS)) for start in starts if start <= limit)
    return [end for end in ends if end]


def _whole_characters(line: str, limit: int) -> str:
    end = limit
    while end > 1 and (unicodedata.category(line[end]).startswith("M") or {*line[end - 1 : end + 1]} & {*_JOINERS}):
        end -= 1
    return line[:end].rstrip()
