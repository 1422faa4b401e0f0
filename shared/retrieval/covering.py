"""How much of what a question says a candidate says too, in the same or in like words; and BM25 over candidates.

Both weigh a word by how rare it is: by the app's own count where the index gave it, else by the candidates'.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shared.indexing.words import LONGEST, query_words, words_of
from shared.retrieval.lexical import rarity

LEAST_ALIKE = 0.25
"""Words whose vectors' cosine is no higher say nothing of each other; from there on likeness counts up to 1."""
_MOST_CHARS = 4000
"""Of one text: what comes later in a very long one is known to the index."""
_SATURATION, _LENGTH = 1.2, 0.75
"""BM25's k1 and b. Source: Robertson and Zaragoza, 2009."""
_PLAIN = re.compile(r"[^\W\d_]{3,}")
Matches = NDArray[np.float32]


class Likeness(Protocol):
    """Knows how alike words are."""

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosines of words and others. Shape: ``(len(words), len(others))``."""


def worths(words: Sequence[str], texts: Sequence[Sequence[str]], known: Mapping[str, float]) -> dict[str, float]:
    """Return how much each word is worth: what is ``known`` of it, else what its rarity in ``texts`` says."""
    standing = Counter(word for text in texts for word in set(text))
    return {word: known.get(word, rarity(standing[word], len(texts))) for word in words}


def bm25(words: Sequence[str], texts: Sequence[Sequence[str]], worth: Mapping[str, float]) -> list[float]:
    """Score texts, given as their words in order, by ``words``."""
    mean = sum(map(len, texts)) / max(1, len(texts)) or 1
    return [_bm25(words, Counter(text), len(text) / mean, worth) for text in texts]


def _bm25(words: Sequence[str], times: Counter[str], length: float, worth: Mapping[str, float]) -> float:
    room = _SATURATION * (1 - _LENGTH + _LENGTH * length)
    return sum(worth[word] * times[word] * (_SATURATION + 1) / (times[word] + room) for word in words)


@dataclass(frozen=True)
class Covered:
    """How far each text says each word of a question, 0..1, shape ``(words, texts)``; ``weights`` add up to 1."""

    weights: Matches
    says: Matches

    def shares(self) -> list[float]:
        """Return what share of the question each text says, 0..1."""
        return _listed(self.weights @ self.says)

    def shares_nearby(self, groups: Sequence[Sequence[int]]) -> list[float]:
        """Return what share of the question is said by the texts of each group together; every group has some."""
        if not groups:
            return []
        starts = np.cumsum([0, *map(len, groups[:-1])])
        together = np.maximum.reduceat(self.says[:, [at for group in groups for at in group]], starts, axis=1)
        return _listed(self.weights @ together)


def covered(question: str, contents: Sequence[str], worth: Mapping[str, float], likeness: Likeness | None) -> Covered:
    """Look for a question's words in texts; like words count in part, words by their worth."""
    asked = _asked(question)
    said = [_said(content) for content in contents]
    vocabulary = list(dict.fromkeys(word for words in said for word in words))
    weights = np.array([max(worth.get(stem, 0.0) for stem in stems) for stems in asked.values()], np.float32)
    if not vocabulary or not weights.sum():
        return Covered(np.zeros(1, np.float32), np.zeros((1, len(contents)), np.float32))
    return Covered(weights / weights.sum(), _best(_matches(asked, vocabulary, likeness), said, vocabulary))


def _listed(values: Matches) -> list[float]:
    listed: list[float] = values.tolist()
    return listed


def _asked(question: str) -> dict[str, tuple[str, ...]]:
    """Return the question's words as they are written, with what they are kept as."""
    looked_for = set(query_words(question))
    words = dict.fromkeys(re.findall(r"\w+", question.lower()))
    found = {word: tuple(stem for stem in words_of(word) if stem in looked_for) for word in words}
    return {word: stems for word, stems in found.items() if stems}


def _said(content: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\w+", content[:_MOST_CHARS].lower())))


def _matches(asked: Mapping[str, tuple[str, ...]], vocabulary: Sequence[str], likeness: Likeness | None) -> Matches:
    """Return how far each word of the vocabulary says each of the question's, 0..1: 1 where it is the same."""
    stems = [_stems(word) for word in vocabulary]
    same = np.array([[not own.isdisjoint(one) for own in stems] for one in asked.values()], np.float32)
    if likeness is None:
        return same
    alike = (likeness.likeness(list(asked), vocabulary) - LEAST_ALIKE) / (1 - LEAST_ALIKE)
    matches: Matches = np.maximum(alike.clip(0, 1), same)
    return matches


def _stems(word: str) -> frozenset[str]:
    # Not remembered where it is long: some scripts write a whole sentence as one.
    return _remembered(word) if len(word) <= LONGEST else frozenset(words_of(word))


@lru_cache(maxsize=65_536)
def _remembered(word: str) -> frozenset[str]:
    return frozenset(words_of(word))


def _best(matches: Matches, said: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Matches:
    """Return how far each text says each word. Shape: ``(words, texts)``."""
    column = {word: at for at, word in enumerate(vocabulary)}
    # A column of zeros for texts without words.
    padded = np.pad(matches, ((0, 0), (0, 1)))
    spoken = [[column[word] for word in words] or [len(vocabulary)] for words in said]
    starts = np.cumsum([0, *map(len, spoken[:-1])])
    best: Matches = np.maximum.reduceat(padded[:, [at for one in spoken for at in one]], starts, axis=1)
    return best
