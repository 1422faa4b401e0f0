"""The built-in agent's part that condenses: no model, no network, the same answer every time.

It keeps the pieces that tell most for their length, as they were said. A piece whose names stand in what is already
kept tells less.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from shared.llm.calls import EXTRACTIVE, CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.llm.tokens import LAST_RESORT, estimate_tokens
from shared.sessions.compressions.chunks import Chunk, Condensed, Piece
from shared.sessions.compressions.names import names_in
from worker.agent.sessions.protocol import CompressionAgent

_CHUNK_TOKENS = 40_000
_JOINING = 6
"""Characters a piece takes beside its text, about."""


class ExtractiveCompressionAgent(CompressionAgent):
    """Condenses by leaving out."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    @property
    def chunk_tokens(self) -> int:
        return _CHUNK_TOKENS

    def condense(self, chunk: Chunk, meter: Meter) -> Condensed:
        began = perf_counter()
        prompt = sum(estimate_tokens(piece.text) for piece in chunk.pieces)
        meter.reserve(Prospect(WorkKind.COMPRESS, EXTRACTIVE, prompt, LAST_RESORT.tokens_in(chunk.room)))
        kept = _chosen(chunk)
        said = sum(estimate_tokens(piece.text) for piece in chunk.pieces if piece.number in kept)
        seconds = perf_counter() - began
        meter(ModelCall(WorkKind.COMPRESS, EXTRACTIVE, prompt, said, True, CallOutcome.ANSWERED, seconds))
        return Condensed(tuple(sorted(kept)))


def _chosen(chunk: Chunk) -> frozenset[int]:
    kept, room = set[int](), chunk.room
    for piece in _best_first(chunk):
        cost = len(piece.text) + _JOINING
        if piece.number is not None and cost <= room:
            kept.add(piece.number)
            room -= cost
    return frozenset(kept)


def _best_first(chunk: Chunk) -> Iterator[Piece]:
    """Yield the pieces that can be kept by worth, in two rounds: first those that name something new."""
    known, second = set[str](), list[Piece]()
    for piece in sorted((one for one in chunk.pieces if one.number is not None), key=_order):
        names = names_in(piece.text).keys()
        if names and names <= known:
            second.append(piece)
        else:
            known |= names
            yield piece
    yield from second


def _order(piece: Piece) -> tuple[float, int]:
    return -piece.worth, piece.number or 0
