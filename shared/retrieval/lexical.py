"""What the words of a question say for each place: by the message itself, and by the five turns around it.

A word counts by how rare it is in the app. What is said in answer seldom repeats the question's words, but stands
beside what does: hence the window. Arrays in, arrays out; postings come from the index, weights belong to the ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shared.indexing.places import POSITION_BITS

REACH = 2
"""Turns on each side whose likeness is averaged, and that come along with the best."""
_TENTHS = (3, 4, 6, 8, 10, 5, 4, 3, 2)
"""What a word counts for that stands so many turns before, here, or after, in tenths: answers follow questions."""
_BEFORE = 4
"""Where in it the turn itself stands."""
_SATURATION = 1.2
"""BM25's k1: how soon a word said again adds nothing. Source: Robertson and Zaragoza, 2009."""
_TIMES = np.arange(sum(_TENTHS) + 1, dtype=np.float32) / 10
_SATURATED = _TIMES * (_SATURATION + 1) / (_TIMES + _SATURATION)
Places = NDArray[np.int64]
Scores = NDArray[np.float32]
Marks = NDArray[np.uint8]


@dataclass(frozen=True)
class Posting:
    """Where a word stands: ``places`` ascend; None where it stands in too many messages to look."""

    word: str
    places: Places | None


@dataclass(frozen=True)
class WordScores:
    """Scores of places, side by side; ``places`` ascend."""

    places: Places
    turn: Scores
    window: Scores


@dataclass(frozen=True)
class WordTable:
    """Which of the looked-for words stand where: ``stands`` has a row for each word, a column for each place."""

    places: Places
    stands: Marks
    worth: Scores

    @cached_property
    def turn(self) -> Scores:
        """The score of each place by its own words."""
        total = np.zeros(len(self.places), np.float32)
        for worth, here in zip(self.worth, self.stands, strict=True):
            total += worth * here
        return total

    @cached_property
    def window(self) -> Scores:
        """The score of each place by the words within reach of it."""
        total = np.zeros(len(self.places), np.float32)
        near = [(step, _distances(self.places, step)) for step in range(1, len(_TENTHS) - _BEFORE)]
        for worth, here in zip(self.worth, self.stands, strict=True):
            total += (worth * _SATURATED)[_around(here, near)]
        return total

    def best(self, count: int) -> Places:
        """Return the places that score best by their own words, those whose window does, and what lies within reach."""
        if not len(self.places):
            return self.places
        chosen = np.concatenate([_top(self.turn, count), _top(self.window, count)])
        return _unique(_within_reach(self.places[chosen]))

    def scores(self, wanted: Places) -> WordScores:
        """Score the places ``wanted``, which ascend, whether or not a word stands there."""
        columns = [self._columns(wanted, at - _BEFORE) for at in range(len(_TENTHS))]
        times = sum(tenths * one for tenths, one in zip(_TENTHS, columns, strict=True))
        turn = (self.worth[:, None] * columns[_BEFORE]).sum(axis=0, dtype=np.float32)
        window = (self.worth[:, None] * _SATURATED[times]).sum(axis=0, dtype=np.float32)
        return WordScores(wanted, turn, window)

    def _columns(self, wanted: Places, step: int) -> Marks:
        """Return which words stand ``step`` turns on from each place; shape ``(words, len(wanted))``."""
        if not len(self.places):
            return np.zeros((len(self.worth), len(wanted)), np.uint8)
        aim = wanted + step
        index = np.searchsorted(self.places, aim).clip(max=len(self.places) - 1)
        known = (self.places[index] == aim) & (aim >> POSITION_BITS == wanted >> POSITION_BITS)
        found: Marks = self.stands[:, index] * known
        return found


def word_table(postings: Sequence[Posting], messages: int) -> WordTable:
    """Lay out where the looked-for words stand in an app of so many messages; words that say nothing are left out."""
    told = [one.places for one in postings if one.places is not None and len(one.places)]
    places = _unique(np.concatenate(told)) if told else np.zeros(0, np.int64)
    stands = np.zeros((len(told), len(places)), np.uint8)
    for row, word in zip(stands, told, strict=True):
        row[np.searchsorted(places, word)] = 1
    return WordTable(places, stands, np.array([rarity(len(one), messages) for one in told], np.float32))


def rarity(standing_in: int, messages: int) -> float:
    """Return what a word that stands in so many of the messages is worth: BM25's idf, never negative."""
    messages = max(messages, standing_in)
    return float(np.log1p((messages - standing_in + 0.5) / (standing_in + 0.5)))


def _unique(places: Places) -> Places:
    ordered = np.sort(places)
    unique: Places = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return unique


def _top(scores: Scores, count: int) -> NDArray[np.intp]:
    """Return where the highest scores stand, in no order."""
    return np.argpartition(scores, -count)[-count:] if count < len(scores) else np.arange(len(scores))


def _within_reach(places: Places) -> Places:
    """Add what lies within reach in the same conversation; beyond its end nothing is there, which does no harm."""
    moved = [places + step for step in range(-REACH, REACH + 1)]
    return np.concatenate([one[one >> POSITION_BITS == places >> POSITION_BITS] for one in moved])


def _distances(places: Places, step: int) -> tuple[Marks, Marks]:
    """Return what the place so many columns on, and so many back, counts for in each place's window, in tenths."""
    one, other = places[:-step], places[step:]
    far = np.where(one >> POSITION_BITS == other >> POSITION_BITS, other - one, len(_TENTHS)).clip(max=len(_TENTHS))
    before, after = (np.zeros(len(_TENTHS) + 1, np.uint8) for _ in range(2))
    before[: _BEFORE + 1], after[: len(_TENTHS) - _BEFORE] = _TENTHS[_BEFORE::-1], _TENTHS[_BEFORE:]
    return after[far], before[far]


def _around(here: Marks, near: Sequence[tuple[int, tuple[Marks, Marks]]]) -> Marks:
    """Return how often each place's window has the word, in tenths."""
    times = here * np.uint8(_TENTHS[_BEFORE])
    for step, (after, before) in near:
        times[:-step] += here[step:] * after
        times[step:] += here[:-step] * before
    return times
