"""The pieces of a memory: who said what, how they are written as one readable text, and read back from it.

``Caroline: researching adoption agencies; single parent. Melanie: ran charity race`` is three pieces. A memory written
by hand or by a model is read as pieces without a speaker, so that every memory can be merged.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from worker.agent.sentences import sentences
from worker.agent.value import WEIGHTS, Weights, gain, words_of

_LABEL = re.compile(r"(?:^|(?<=[.!?] ))([^\s:;]{1,30}(?: [^\s:;]{1,30}){0,2}): ")


@dataclass(frozen=True)
class Piece:
    """One statement of a memory."""

    text: str
    speaker: str = ""
    factor: float = 1.0
    """How much more or less than its words say it counts."""
    full: str = ""
    """The same in fuller wording, for when there is room."""
    source: str = ""
    """The message it came from."""
    place: int = 0
    """Its place in the order of telling."""


def render(pieces: Iterable[Piece]) -> str:
    """Write pieces as one text, in order of telling, those of one speaker together."""
    said: dict[str, list[str]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.place):
        said.setdefault(piece.speaker, []).append(piece.text)
    parts = [f"{speaker}: {'; '.join(texts)}" if speaker else "; ".join(texts) for speaker, texts in said.items()]
    return " ".join([*(part if part.endswith("?") else f"{part}." for part in parts[:-1]), *parts[-1:]])


def read(content: str) -> list[Piece]:
    """Read a memory back into its pieces."""
    before, *labelled = _LABEL.split(content)
    spoken = [("", before), *zip(labelled[::2], labelled[1::2], strict=True)]
    found = [(speaker, text) for speaker, part in spoken for text in _statements(part)]
    return [Piece(text, speaker, place=i) for i, (speaker, text) in enumerate(found)]


def _statements(text: str) -> list[str]:
    parts = [part.strip(" .") for sentence in sentences(text) for part in sentence.split("; ")]
    return [part for part in parts if part]


def choose(
    pieces: Sequence[Piece], limit: int, said: frozenset[str] = frozenset(), weights: Weights = WEIGHTS
) -> list[Piece]:
    """Choose the pieces that say most within ``limit`` characters, given what is said elsewhere.

    One after another by gain per length; a piece that no longer fits is passed over. What a piece adds only shrinks as
    others are chosen, so one that is still best when looked at again is the best of all.
    """
    chosen: list[Piece] = []
    told = set(said)
    queue = [(-_rate(piece, told, weights), i) for i, piece in enumerate(pieces)]
    heapq.heapify(queue)
    while queue:
        _, i = heapq.heappop(queue)
        rate = _rate(pieces[i], told, weights)
        if queue and -rate > queue[0][0]:
            heapq.heappush(queue, (-rate, i))
        elif rate > 0 and len(render([*chosen, pieces[i]])) <= limit:
            chosen.append(pieces[i])
            told |= words_of(pieces[i].text, weights).keys()
    return chosen


def _rate(piece: Piece, told: set[str], weights: Weights) -> float:
    worth = piece.factor * gain(words_of(piece.text, weights), told, weights)
    return worth / float((len(piece.text) + 2) ** weights.length_power)


def total(pieces: Iterable[Piece], said: frozenset[str] = frozenset(), weights: Weights = WEIGHTS) -> float:
    """Return what pieces say together, beyond what is said elsewhere."""
    told = set(said)
    worth = 0.0
    for piece in pieces:
        words = words_of(piece.text, weights)
        worth += piece.factor * gain(words, told, weights)
        told |= words.keys()
    return worth


def fuller(chosen: Sequence[Piece], limit: int) -> list[Piece]:
    """Give pieces back their fuller wording where there is room, the first chosen first."""
    wording = list(chosen)
    for i, piece in enumerate(chosen):
        longer = [*wording[:i], replace(piece, text=piece.full or piece.text), *wording[i + 1 :]]
        wording = longer if len(render(longer)) <= limit else wording
    return wording
