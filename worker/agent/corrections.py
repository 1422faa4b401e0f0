"""What a later statement puts right in an earlier one: a value ("75, not 57"), or how a word is spelt ("Leipzig").

Whether a statement corrects anything is the classifier's to say; here stands only what differs. Days that were worked
out of "yesterday" are no values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from shared.text.words import EMPTY, MONTHS, WORD

_VALUE = re.compile(r"(?<![A-Za-z0-9_-])\d+(?:[.,:]\d+)*(?:[a-z]{1,2}(?![^\W\d_]))?")
_WRITTEN = re.compile(rf"\b(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)}) )?(?:19|20)\d\d\b")
_BEHIND = re.compile(r"\s*([\u3040-\u9fff\uac00-\ud7a3]|[^\W\d_]+|[%€$£])")
_BEFORE = re.compile(r"([^\W\d_]+)\s*\Z")
_BESIDE = re.compile(r"\D{0,24}[^\W\d_]\D{0,24}|,\s+")
"""What stands between the two values of a correction: words or a comma, so that "57-75" is none."""
_LEAST_RESPELT = 5
_SAME_WORD = 0.8


@dataclass(frozen=True)
class _Value:
    text: str
    start: int
    units: frozenset[str]
    """The words beside it that say of what it is: "3 rooms", "python 3.12"."""


def with_values_of(text: str, later: str) -> str:
    """Return a text with the values that a later one gives of the same units; else with the one that it corrects."""
    said = _WRITTEN.sub(" ", later)
    right, given = text, set[str]()
    for value in _values(said):
        # "From 14 to 19" corrects "from 12 to 17": of several that fit, the one with most of the words beside it.
        rest = [one for one in _values(right) if one.text not in given and one.text != value.text]
        most = max((len(one.units & value.units) for one in rest), default=0)
        wrong = [one for one in rest if len(one.units & value.units) == most]
        if most and len(wrong) == 1:
            right = _replaced(right, wrong[0], value.text)
            given.add(value.text)
    return right if right != text else _with_other(text, said)


def with_only_value_of(text: str, later: str) -> str:
    """Return a text with the one value of a later one in the place of its own one, where both are of one shape."""
    here, there = list(_values(text)), list(_values(later))
    if len(here) != 1 or len(there) != 1 or _shape(here[0].text) != _shape(there[0].text):
        return text
    return _replaced(text, here[0], there[0].text)


def _shape(value: str) -> str:
    return re.sub(r"\d+", "0", value)


def with_spelling_of(text: str, later: str) -> str:
    """Return a text with a word as a later one spells it, where they differ by a letter or two."""
    spelt = {word.lower(): word for word in WORD.findall(text) if len(word) >= _LEAST_RESPELT}
    for word in WORD.findall(later):
        close = get_close_matches(word.lower(), spelt, 1, _SAME_WORD) if len(word) >= _LEAST_RESPELT else []
        if close and word.lower() not in spelt and close[0][0] == word[0].lower():
            return text.replace(spelt[close[0]], word)
    return text


def differ_in_values_only(one: str, other: str) -> bool:
    """Whether two texts are the same but for their values."""
    return _VALUE.sub("0", one) == _VALUE.sub("0", other)


def _with_other(text: str, said: str) -> str:
    """Put the value a text does not have in the place of the one it has, of two that a correction names together."""
    found = list(_VALUE.finditer(said))
    for one, other in pairwise(found):
        if not _BESIDE.fullmatch(said[one.end() : other.start()]):
            continue
        here = {value.text: value for value in _values(text)}
        for wrong, right in ((one[0], other[0]), (other[0], one[0])):
            if wrong in here and right not in here:
                return _replaced(text, here[wrong], right)
    return text


def _values(text: str) -> Iterator[_Value]:
    for found in _VALUE.finditer(text):
        behind, before = _BEHIND.match(text, found.end()), _BEFORE.search(text, 0, found.start())
        units = [behind[1]] if behind else []
        units += [before[1]] if before and before[1].lower() not in EMPTY else []
        yield _Value(found[0], found.start(), frozenset(map(str.casefold, units)))


def _replaced(text: str, wrong: _Value, right: str) -> str:
    return text[: wrong.start] + right + text[wrong.start + len(wrong.text) :]
