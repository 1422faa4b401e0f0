"""The vector of a query: the embedders it is made by, and what they return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shared.llm.embedding import Embedder, from_bytes


@dataclass(frozen=True)
class Embedded:
    """The vector of a query, of unit length, and the model it was made by."""

    model: str
    vector: NDArray[np.float32]

    def likeness(self, stored: bytes | None, model: str | None) -> float | None:
        """Return the cosine with a stored vector of unit length; None where there is none that can be compared."""
        if stored is None or model != self.model or len(stored) != self.vector.nbytes:
            return None
        return float(np.dot(from_bytes(stored), self.vector))


class Embedders:
    """The embedders of queries, each made when it is first needed; for any number of threads."""

    def __init__(self, make: Callable[[str], Embedder | None]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: dict[str, Embedder | None] = {}

    def of(self, model: str) -> Embedder | None:
        """Return the embedder of a model, by its name; None where it cannot be had."""
        with self._lock:
            if model not in self._made:
                self._made[model] = self._make(model)
            return self._made[model]
