"""An embedder that tests can script, and a change of model in the middle of a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from shared.base.errors import Transient
from shared.llm.calls import CallEstimate, CallOutcome, Meter, ModelCall, WorkKind
from shared.llm.embedding import Vectors, normalised
from tests.support.house import House

DIMENSIONS = 64


class Away:
    """An embedder that cannot be reached until it is told to be back; then each text of a batch has its own place."""

    name = "ollama:away"
    same_meaning = 0.9
    is_back = False

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        if not self.is_back:
            raise Transient("no embedder")
        return np.eye(len(texts), 16, dtype=np.float32)


@dataclass
class ScriptedEmbedder:
    """Gives each text a vector of its own, unless it is told to fail."""

    house: House
    name: str = "ollama:first"
    same_meaning: float = 0.9
    dimensions: int = DIMENSIONS
    fails: list[Exception] = field(default_factory=list)
    while_embedding: Callable[[], None] = lambda: None
    seen: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        assert not self.house.database.is_held_here, "a transaction is open while texts are embedded"
        meter.reserve(CallEstimate(WorkKind.EMBED, self.name, 10 * len(texts), 0))
        outcome = CallOutcome.UNAVAILABLE if self.fails else CallOutcome.ANSWERED
        meter(ModelCall(WorkKind.EMBED, self.name, 10 * len(texts), 0, False, outcome, 0.1))
        if self.fails:
            raise self.fails.pop(0)
        self.seen += texts
        self.while_embedding()
        return normalised(np.stack([self.vector_of(text) for text in texts]))

    def vector_of(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        seed = int.from_bytes(blake2b(f"{self.name} {text}".encode(), digest_size=4).digest(), "big")
        return np.random.default_rng(seed).normal(size=self.dimensions).astype(np.float32)


def change_model(house: House, name: str, *former: ScriptedEmbedder, dimensions: int = DIMENSIONS) -> ScriptedEmbedder:
    """Have another model embed from now on; the former ones can still be had if they are named."""
    embedder = ScriptedEmbedder(house, name, dimensions=dimensions)
    house.embedder = embedder
    house.former_embedders = {one.name: one for one in former}
    return embedder
