"""What an embedder is, and the one of last resort, which hashes letters and words.

A vector's cosine tells how close two texts are in meaning. Reaching a model is left to the adapters, storing vectors to
whoever asked for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from shared.llm.calls import EXTRACTIVE, CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.llm.tokens import estimate_tokens

Vectors = NDArray[np.float32]
"""Shape ``(n, dim)``, float32, each row of unit length."""


class Embedder(Protocol):
    """Embeds texts. Implementations hold no state between calls beside the model itself."""

    @property
    def name(self) -> str:
        """Kept with each vector, as vectors of two models cannot be compared.

        ``builtin:all-MiniLM-L6-v2``, ``builtin:ngrams`` or ``ollama:NAME``.
        """

    @property
    def same_meaning(self) -> float:
        """The cosine from which two short statements may say the same, -1..1; it depends on the model."""

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, in order; shape ``(len(texts), dim)``.

        ``meter`` is asked before each call of a model, and each call made is reported to it exactly once.

        Raises:
            Transient: the model could not be reached, or not in time.
            OverBudget: the meter does not allow the call; none was made.
            Configuration: it can never answer: the model is missing.
        """


def to_bytes(vector: NDArray[np.float32]) -> bytes:
    """Return a vector as it is stored: float32, little-endian."""
    return vector.astype("<f4").tobytes()


def from_bytes(stored: bytes) -> NDArray[np.float32]:
    """Return a stored vector, shape ``(dim,)``."""
    return np.frombuffer(stored, dtype="<f4")


def normalised(rows: NDArray[np.float32]) -> Vectors:
    """Return the rows at unit length; a row of zeros, as of an empty text, stays one."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


@contextmanager
def book_local(texts: Sequence[str], meter: Meter, clock: Callable[[], float]) -> Iterator[None]:
    """Book the embedding done inside as the work of the built-in agent, which is charged a fraction of a model's."""
    tokens = sum(map(estimate_tokens, texts))
    meter.reserve(Prospect(WorkKind.EMBED, EXTRACTIVE, tokens, 0))
    began, outcome = clock(), CallOutcome.REFUSED
    try:
        yield
        outcome = CallOutcome.ANSWERED
    finally:
        meter(ModelCall(WorkKind.EMBED, EXTRACTIVE, tokens, 0, True, outcome, clock() - began))


DIMENSIONS = 512
_GRAM = 4
_WORD = re.compile(r"\w+")


class NgramEmbedder:
    """Embeds by hashed words and runs of four letters, so that only what is spelt alike is alike."""

    name = "builtin:ngrams"
    same_meaning = 0.80

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, shape ``(len(texts), 512)``."""
        with book_local(texts, meter, perf_counter):
            rows = [self._row(text) for text in texts]
        return normalised(np.stack(rows)) if rows else np.zeros((0, DIMENSIONS), np.float32)

    def _row(self, text: str) -> NDArray[np.float32]:
        row = np.zeros(DIMENSIONS, np.float32)
        for word in _WORD.findall(text.casefold()):
            edged = f"<{word}>"
            for gram in (word, *(edged[at : at + _GRAM] for at in range(max(1, len(edged) - _GRAM + 1)))):
                row[crc32(gram.encode("utf-8", "replace")) % DIMENSIONS] += 1
        return np.sqrt(row)
