"""Messages of made-up words, as often as words are used in speech, vectors that go with them, and a search by these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from shared.base.clock import Clock, SystemClock
from shared.base.settings import Tuning
from shared.db.engine import Database
from shared.llm.calls import Meter
from shared.llm.embedding import Vectors
from shared.search.lexical import WordLikeness
from shared.search.query import QueryEmbedders
from shared.search.search import MessageSearch
from shared.search.statistics import Recorder
from shared.search.vectors import VectorMatrices
from shared.telemetry.metrics import Metrics
from tests.support.meters import Calls

_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sha", "vel", "do", "pri", "nu", "gor", "est", "fi", "bal", "ox", "im")
_WORDS = 30_000
_PLAIN = ("the", "to", "and", "of", "we", "is", "that", "it", "for", "was", "with", "you", "on", "have", "this")


class Chatter:
    """Makes the same message for the same number, in any order."""

    DIMENSIONS = 384

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._seed = seed
        self._words = [*_PLAIN, *self._made(rng)]
        worth = 1 / (np.arange(len(self._words)) + 2.7)
        self._bounds = np.cumsum(worth / worth.sum())
        self._vectors = rng.standard_normal((len(self._words), self.DIMENSIONS)).astype(np.float32)
        # Words that everybody says draw a vector nowhere.
        self._vectors[: 4 * len(_PLAIN)] *= 0.1
        self._number = {word: n for n, word in enumerate(self._words)}

    def message(self, number: int) -> str:
        """Return a message of about twenty words."""
        return self._thousand(number // 1_000)[number % 1_000]

    @lru_cache(maxsize=64)  # noqa: B019 - there is one for each bench
    def _thousand(self, nth: int) -> list[str]:
        rng = np.random.default_rng((self._seed, nth))
        lengths = rng.lognormal(2.9, 0.5, 1_000).clip(4, 80).astype(int)
        chosen = np.searchsorted(self._bounds, rng.random(lengths.sum())).clip(max=len(self._words) - 1)
        words = [self._words[n] for n in chosen.tolist()]
        ends = np.cumsum(lengths).tolist()
        return [" ".join(words[a:b]) + "." for a, b in zip([0, *ends], ends, strict=False)]

    def question(self, text: str) -> str:
        """Return a question about a message: some of its rarer words among plain ones."""
        words = sorted(dict.fromkeys(text.rstrip(".").split()), key=lambda word: -self._number[word])
        return " ".join(("what", "was", "that", "with", *words[:5], "and", *words[-2:])) + "?"

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text, of unit length. Shape: ``(384,)``."""
        known = [self._number[word] for word in text.rstrip(".?").split() if word in self._number]
        total = self._vectors[known].sum(axis=0) if known else self._vectors[0]
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _made(self, rng: np.random.Generator) -> list[str]:
        made = (self._word(n) for n in rng.permutation(16**4)[:_WORDS])
        return list(dict.fromkeys(made))

    @staticmethod
    @cache
    def _word(number: int) -> str:
        parts = [_SYLLABLES[number >> shift & 15] for shift in (12, 8, 4, 0)]
        return "".join(parts[: 2 + number % 3])


class HandedIn:
    """An embedder that hands out the vector it was given for a text."""

    name = "bench"
    same_meaning = 0.8

    def __init__(self, vector_of: Callable[[str], NDArray[np.float32]]) -> None:
        self._vector_of = vector_of

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return the vectors of texts. Shape: ``(len(texts), dim)``."""
        return np.stack([self._vector_of(text) for text in texts])


def make_finder(
    database: Database, vector_of: Callable[[str], NDArray[np.float32]], matrices: VectorMatrices | None = None,
    clock: Clock | None = None, likeness: WordLikeness | None = None,
) -> MessageSearch:  # fmt: skip
    """Return a search as the service has it, but for the vectors of queries, which are handed in."""
    return MessageSearch(
        database, clock or SystemClock(), QueryEmbedders(lambda _: HandedIn(vector_of)),
        matrices or VectorMatrices(1_000_000_000), Recorder(), lambda _: Calls(), Tuning(),
        Metrics(CollectorRegistry()), likeness,
    )  # fmt: skip
