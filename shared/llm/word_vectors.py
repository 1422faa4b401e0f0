"""How alike two words are, by the built-in model's table of words alone: no text is read by the model itself.

A question is asked in other words than its answer was given in; a table look-up finds "photo" near "picture" in
microseconds. Needs the built-in model's package, whichever model embeds messages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shared.llm.minilm import DIMENSIONS, Array, MiniLmEmbedder

MOST_WORDS = 20_000
"""Words whose vectors are kept, some 30 MB; beyond, all are forgotten."""
_SAMPLE = 16
"""Of the table's rows every so manieth is enough for their mean."""


Words = tuple[Array, Callable[[str], list[int]]]


class WordVectors:
    """The table of words; safe to use from several threads. Opened when it is first needed, in some milliseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, int] = {}

    @cached_property
    def _words(self) -> Words:
        """The model's table and what cuts words into its pieces. Raises: Configuration where they are not installed."""
        return MiniLmEmbedder().words()

    @cached_property
    def _mean(self) -> Array:
        """All words share a direction that tells nothing of them."""
        mean: Array = self._words[0][::_SAMPLE].mean(axis=0)
        return mean

    @cached_property
    def _vectors(self) -> Array:
        return np.empty((MOST_WORDS, DIMENSIONS), np.float32)

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosines of words and others. Shape: ``(len(words), len(others))``."""
        return self._of(words) @ self._of(others).T

    def _of(self, words: Sequence[str]) -> Array:
        with self._lock:
            new = [word for word in dict.fromkeys(words) if word not in self._kept]
            if len(self._kept) + len(new) > MOST_WORDS:
                self._kept.clear()
                new = list(dict.fromkeys(words))
            if len(new) > MOST_WORDS:
                # Looked for among very long messages: more than are kept at all.
                return np.stack([self._look_up(word) for word in words])
            for word in new:
                self._vectors[len(self._kept)] = self._look_up(word)
                self._kept[word] = len(self._kept)
            found: Array = self._vectors[[self._kept[word] for word in words]]
            return found

    def _look_up(self, word: str) -> Array:
        """Return a word's vector at unit length; of one that is made of several pieces, their mean's."""
        table, cut = self._words
        pieces = table[cut(word)] - self._mean
        pieces = pieces / np.linalg.norm(pieces, axis=1, keepdims=True)
        mean: Array = pieces.mean(axis=0) if len(pieces) else np.zeros(DIMENSIONS, np.float32)
        length = float(np.linalg.norm(mean))
        return mean / np.float32(length) if length else mean
