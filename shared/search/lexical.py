"""What the words of a question say for each doc id, and how much of the question each candidate covers.

A word counts by how rare it is in the app. What is said in answer seldom repeats the question's words, but stands
beside what does: hence the window of turns. Arrays in, arrays out; what each score is worth is left to the ranking.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shared.search.models import POSITION_BITS
from shared.search.spoken import SpokenText, SpokenWords, WordColumns
from shared.search.words import query_words, words_of
from shared.text.words import any_words

REACH = 2
"""Turns on each side whose likeness is averaged, and that come along with the best."""
# Four turns on each side, those before for more: 0.6 points above two on each side alike (decision 15).
_TENTHS = (3, 4, 6, 8, 10, 5, 4, 3, 2)
"""What a word counts for that stands so many turns before, here, or after, in tenths: answers follow questions."""
_BEFORE = 4
"""Where in it the turn itself stands."""
_STEPS = np.arange(len(_TENTHS))[:, None] - _BEFORE
_WEIGHTS = np.array(_TENTHS, np.uint8)[:, None]
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
    doc_ids: Places | None


class WordScores(NamedTuple):
    """Scores of places, side by side."""

    turn: Scores
    window: Scores


@dataclass(frozen=True)
class WordTable:
    """Which of the looked-for words stand where: ``stands`` has a row for each word, a column for each doc id."""

    doc_ids: Places
    stands: Marks
    worth: Scores

    @cached_property
    def turn(self) -> Scores:
        """The score of each doc id by its own words."""
        total = np.zeros(len(self.doc_ids), np.float32)
        for worth, here in zip(self.worth, self.stands, strict=True):
            total += worth * here
        return total

    @cached_property
    def window(self) -> Scores:
        """The score of each doc id by the words within reach of it."""
        total = np.zeros(len(self.doc_ids), np.float32)
        near = [(step, _distances(self.doc_ids, step)) for step in range(1, len(_TENTHS) - _BEFORE)]
        for worth, here in zip(self.worth, self.stands, strict=True):
            # How often each doc id's window has the word, in tenths.
            times = here * np.uint8(_TENTHS[_BEFORE])
            for step, (after, before) in near:
                times[:-step] += here[step:] * after
                times[step:] += here[:-step] * before
            total += (worth * _SATURATED)[times]
        return total

    def best(self, count: int) -> Places:
        """Return the places that score best by their own words, those whose window does, and what lies within reach."""
        if not len(self.doc_ids):
            return self.doc_ids
        chosen = np.concatenate([_top(self.turn, count), _top(self.window, count)])
        best = self.doc_ids[chosen]
        # What lies within reach comes along; beyond the end of a conversation nothing is there, which does no harm.
        moved = [best + step for step in range(-REACH, REACH + 1)]
        return _unique(np.concatenate([one[one >> POSITION_BITS == best >> POSITION_BITS] for one in moved]))

    def scores(self, wanted: Places) -> WordScores:
        """Score the places ``wanted``, which ascend, whether or not a word stands there."""
        if not len(self.doc_ids):
            nothing = np.zeros(len(wanted), np.float32)
            return WordScores(nothing, nothing)
        aim = wanted + _STEPS
        index = np.searchsorted(self.doc_ids, aim).clip(max=len(self.doc_ids) - 1)
        # A step past either end of a conversation would be a place of the next one.
        known = (self.doc_ids[index] == aim) & (aim >> POSITION_BITS == wanted >> POSITION_BITS)
        # Shape: (words, turns, wanted).
        columns = self.stands[:, index] * known
        # A byte is enough: all nine weights together come to 45 tenths.
        times = (columns * _WEIGHTS).sum(axis=1, dtype=np.uint8)
        turn = (self.worth[:, None] * columns[:, _BEFORE]).sum(axis=0, dtype=np.float32)
        window = (self.worth[:, None] * _SATURATED[times]).sum(axis=0, dtype=np.float32)
        return WordScores(turn, window)


def word_table(postings: Sequence[Posting], messages: int) -> WordTable:
    """Lay out where the looked-for words stand in an app of so many messages; words that say nothing are left out."""
    known = [one.doc_ids for one in postings if one.doc_ids is not None and len(one.doc_ids)]
    doc_ids = _unique(np.concatenate(known)) if known else np.zeros(0, np.int64)
    stands = np.zeros((len(known), len(doc_ids)), np.uint8)
    for row, word in zip(stands, known, strict=True):
        row[np.searchsorted(doc_ids, word)] = 1
    return WordTable(doc_ids, stands, np.array([rarity(len(one), messages) for one in known], np.float32))


def rarity(standing_in: int, messages: int) -> float:
    """Return what a word that stands in so many of the messages is worth: BM25's idf, never negative."""
    messages = max(messages, standing_in)
    return float(np.log1p((messages - standing_in + 0.5) / (standing_in + 0.5)))


def _unique(doc_ids: Places) -> Places:
    ordered = np.sort(doc_ids)
    unique: Places = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return unique


def _top(scores: Scores, count: int) -> NDArray[np.intp]:
    """Return where the highest scores stand, in no order."""
    return np.argpartition(scores, -count)[-count:] if count < len(scores) else np.arange(len(scores))


def _distances(doc_ids: Places, step: int) -> tuple[Marks, Marks]:
    """Return what the doc id so many columns on, and so many back, counts for in each doc id's window, in tenths."""
    one, other = doc_ids[:-step], doc_ids[step:]
    far = np.where(one >> POSITION_BITS == other >> POSITION_BITS, other - one, len(_TENTHS)).clip(max=len(_TENTHS))
    before, after = (np.zeros(len(_TENTHS) + 1, np.uint8) for _ in range(2))
    before[: _BEFORE + 1], after[: len(_TENTHS) - _BEFORE] = _TENTHS[_BEFORE::-1], _TENTHS[_BEFORE:]
    return after[far], before[far]


LEAST_ALIKE = 0.25
"""Words whose vectors' cosine is no higher say nothing of each other; from there on likeness counts up to 1."""
_BM25_K1, _BM25_B = 1.2, 0.75
"""BM25's k1 and b. Source: Robertson and Zaragoza, 2009."""
Matches = NDArray[np.float32]


class WordLikeness(Protocol):
    """Knows how alike words are."""

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosines of words and others. Shape: ``(len(words), len(others))``."""


def worth_of_words(
    words: Sequence[str], texts: Sequence[Sequence[str]], known: Mapping[str, float]
) -> dict[str, float]:
    """Return how much each word is worth: what is ``known`` of it, else what its rarity in ``texts`` says."""
    standing = Counter(word for text in texts for word in set(text))
    return {word: known.get(word, rarity(standing[word], len(texts))) for word in words}


def bm25(words: Sequence[str], texts: Sequence[Sequence[str]], worth: Mapping[str, float]) -> list[float]:
    """Score texts, given as their words in order, by ``words``."""
    mean = sum(map(len, texts)) / max(1, len(texts)) or 1
    scores = []
    for text in texts:
        times = Counter(text)
        length = _BM25_K1 * (1 - _BM25_B + _BM25_B * len(text) / mean)
        found = (worth[word] * times[word] * (_BM25_K1 + 1) / (times[word] + length) for word in words)
        scores.append(float(sum(found)))
    return scores


@dataclass(frozen=True)
class Coverage:
    """How far each text says each word of a question, 0..1, shape ``(words, texts)``; ``weights`` add up to 1."""

    weights: Matches
    says: Matches

    def shares(self) -> list[float]:
        """Return what share of the question each text says, 0..1."""
        return _listed(self.weights @ self.says)

    def shares_nearby(self, doc_ids: Places) -> list[float]:
        """Return what share of the question each text says together with those within reach of it, its own among them.

        ``doc_ids``: of the texts; those of several passages of a message are the same.
        """
        if not len(doc_ids):
            return []
        order = np.argsort(doc_ids, kind="stable")
        places, starts, nth = np.unique(doc_ids[order], return_index=True, return_inverse=True)
        at_place = np.maximum.reduceat(self.says[:, order], starts, axis=1)
        together = at_place.copy()
        for step in range(1, REACH + 1):
            near = np.searchsorted(places, places + step).clip(max=len(places) - 1)
            # Within one conversation: beyond its last position begins another.
            stands = (places[near] == places + step) & (places[near] >> POSITION_BITS == places >> POSITION_BITS)
            here, there = np.flatnonzero(stands), near[stands]
            together[:, here] = np.maximum(together[:, here], at_place[:, there])
            together[:, there] = np.maximum(together[:, there], at_place[:, here])
        spread = np.empty_like(self.says)
        spread[:, order] = together[:, nth]
        return _listed(self.weights @ spread)


def coverage_of(
    question: str,
    texts: Sequence[SpokenText],
    spoken: SpokenWords,
    worth: Mapping[str, float],
    likeness: WordLikeness | None,
) -> Coverage:
    """Look for a question's words in texts that ``spoken`` read; like words count in part, words by worth."""
    looked_for = set(query_words(question))
    stems_of = {
        word: tuple(stem for stem in words_of(word) if stem in looked_for)
        for word in dict.fromkeys(any_words(question.lower()))
    }
    asked = {word: stems for word, stems in stems_of.items() if stems}
    weights = np.array([max(worth.get(stem, 0.0) for stem in stems) for stems in asked.values()], np.float32)
    columns = spoken.columns_of(texts)
    if not columns.words or not weights.sum():
        return Coverage(np.zeros(1, np.float32), np.zeros((1, len(texts)), np.float32))
    matches = _matches(asked, columns, likeness)
    return Coverage(weights / weights.sum(), _best(matches.take(columns.spoken, axis=1), columns.lengths))


def _listed(values: Matches) -> list[float]:
    listed: list[float] = values.tolist()
    return listed


def _matches(asked: Mapping[str, tuple[str, ...]], columns: WordColumns, likeness: WordLikeness | None) -> Matches:
    """Return how far each of the texts' words, by its column, says each of the question's, 0..1: 1 for the same."""
    same = np.zeros((len(asked), len(columns.words)), np.float32)
    rows_of = {stem: [at for at, one in enumerate(asked.values()) if stem in one] for stem in chain(*asked.values())}
    for stem, here in columns.with_stems(rows_of).items():
        for row in rows_of[stem]:
            same[row, here] = 1
    if likeness is None:
        return same
    alike = (likeness.likeness(list(asked), columns.words) - LEAST_ALIKE) / (1 - LEAST_ALIKE)
    matches: Matches = np.maximum(alike.clip(0, 1), same)
    return matches


def _best(matches: Matches, lengths: NDArray[np.intp]) -> Matches:
    """Return how far each text, of so many words, says each word asked for. Shape: ``(words, texts)``."""
    best = np.zeros((len(matches), len(lengths)), np.float32)
    # A text without words says nothing, and has no place among what is reduced.
    speaks = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[speaks]
    best[:, speaks] = np.maximum.reduceat(matches, starts, axis=1)
    return best
