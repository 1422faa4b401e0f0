"""Text as one clean line, no longer than its limit, never ending inside a word. Source: decisions, "Memories".

JSON as programs write it: half a character, as a JavaScript program cuts an emoji, becomes U+FFFD.
"""

import re
import unicodedata
from contextlib import suppress
from typing import Any

import orjson

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
    # Nothing that can be printed is changed: each character is looked at only where one cannot.
    return " ".join((text if text.isprintable() else "".join(map(_visible, text))).split())


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
    # Marks and joiners belong to the character before them.
    while end > 1 and (unicodedata.category(line[end]).startswith("M") or {*line[end - 1 : end + 1]} & {*_JOINERS}):
        end -= 1
    return line[:end].rstrip()


_ODD = re.compile(
    rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]|\xed[\xa0-\xbf][\x80-\xbf]"
    rb"|\\u0000|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
    # Any other escape, so that the second backslash of two is not taken for the beginning of one.
    rb"|\\.",
    re.DOTALL,
)
"""Both halves of a character or one, as bytes (CESU-8) and as escapes; and NUL, which is left to the caller."""
_NUL = rb"\u0000"


def read_json(text: bytes | str, replaces_nul: bool = False) -> Any:
    """Return what JSON says, half characters replaced, and NUL too if told so. Raises: orjson.JSONDecodeError."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if not (replaces_nul and _NUL in raw):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(raw)
    return orjson.loads(with_whole_characters(raw, replaces_nul))


def with_whole_characters(text: bytes, replaces_nul: bool = False) -> bytes:
    """Return JSON with U+FFFD where half a character stands, and the character where both halves do."""

    def whole(found: re.Match[bytes]) -> bytes:
        odd = found[0]
        if odd.startswith(b"\xed"):
            halves = odd.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
            return halves.decode("utf-16-le", "replace").encode()
        is_lone = len(odd) == len(_NUL) and (odd != _NUL or replaces_nul)
        return rb"\ufffd" if is_lone else odd

    return _ODD.sub(whole, text)
