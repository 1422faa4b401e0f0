"""The pieces of a memory: who said what, what it is worth, and how they are written as one text and read back.

``Caroline: researching adoption agencies; single parent. Melanie: ran charity race`` is three pieces. What one is worth
is the classifier's to say (``classifier``); words that others already say count no second time.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.text.classifier import StatementType, judge
from shared.text.likeness import gist
from shared.text.sentences import sentences
from shared.text.words import content_stems

_LENGTH_POWER = 0.8
"""Worth is divided by length to this power: 1 is pure density, which favours fragments."""
_WORDS_POWER = 0.35
"""Worth is multiplied by its words of weight to this power: what names more of two that matter alike goes first."""
_FIRST = 2.2
"""From this worth on a piece goes first, however long: only what surely harms if it is forgotten has so much."""
_LEAST_NEW = 0.2
"""Of a piece's words, so many are said nowhere else, or it is a repetition."""
_LABEL = re.compile(r"(?:^|(?<=[.!?] ))([^\s:;]{1,30}(?: [^\s:;]{1,30}){0,2}): ")


@dataclass(frozen=True)
class MemoryPiece:
    """One statement of a memory."""

    text: str
    speaker: str = ""
    worth: float = 1.0
    sort: StatementType = StatementType.TALK
    source: str = ""
    """The message it came from."""
    position: int = 0
    """Its position in what was said; of pieces that share one, the others are parts of the first."""


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text that say something; a denial is never a repetition of what it denies."""
    return content_stems(text) | (frozenset() if gist(text).positive else {"not"})


def new_share(text: str, known: frozenset[str]) -> float:
    """Return how much of what a text says is not in ``known``, 0..1."""
    words = words_of(text)
    return len(words - known) / len(words) if words else 0.0


def render(pieces: Iterable[MemoryPiece]) -> str:
    """Write pieces as one text, in the order they were said, those of one speaker together."""
    by_speaker: dict[str, list[str]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.position):
        by_speaker.setdefault(piece.speaker, []).append(piece.text)
    parts = [f"{speaker}: {'; '.join(texts)}" if speaker else "; ".join(texts) for speaker, texts in by_speaker.items()]
    return " ".join([*(part if part.endswith("?") else f"{part}." for part in parts[:-1]), *parts[-1:]])


def read(content: str) -> list[MemoryPiece]:
    """Read a memory back into its pieces."""
    before, *labelled = _LABEL.split(content)
    spoken = [("", before), *zip(labelled[::2], labelled[1::2], strict=True)]
    found = [(text.strip(" ."), who) for who, part in spoken for one in sentences(part) for text in one.split("; ")]
    judged = [(text, who, judge(text)) for text, who in found if text]
    return [MemoryPiece(text, who, one.worth, one.sort, position=i) for i, (text, who, one) in enumerate(judged)]


def choose(pieces: Sequence[MemoryPiece], limit: int, elsewhere: frozenset[str] = frozenset()) -> list[MemoryPiece]:
    """Choose the pieces that are worth most within ``limit`` characters, given what is said elsewhere.

    One after another by worth per length, sure harms first; a piece that no longer fits is passed over. Where room is
    left, a part gives way to the whole of which it is one.
    """
    chosen: list[MemoryPiece] = []
    covered = elsewhere
    left = [(piece, words) for piece in pieces if (words := words_of(piece.text))]
    while True:
        # What says too little new now says no more later, and what no longer fits never will.
        left = [
            (piece, words)
            for piece, words in left
            # Written out, as what a piece takes depends on the others: a speaker is named once.
            if len(words - covered) >= _LEAST_NEW * len(words) and len(render([*chosen, piece])) <= limit
        ]
        if not left:
            break
        first = [one for one in left if one[0].worth >= _FIRST] or left
        best, says = max(first, key=lambda one: _gain(one[0], one[1], covered) / len(one[0].text) ** _LENGTH_POWER)
        chosen.append(best)
        covered |= says
        left = [one for one in left if one[0].position != best.position]
    # Backwards, so that the first of each position stays: the whole, before its parts.
    wholes = {piece.position: piece for piece in reversed(pieces)}
    for i, piece in enumerate(chosen):
        if len(render(filled := [*chosen[:i], wholes[piece.position], *chosen[i + 1 :]])) <= limit:
            chosen = filled
    return chosen


def _gain(piece: MemoryPiece, words: frozenset[str], covered: frozenset[str]) -> float:
    """Return what a piece adds to what is said already."""
    new = len(words - covered)
    return piece.worth * new / len(words) * float(new**_WORDS_POWER) if words else 0.0


def total(pieces: Iterable[MemoryPiece], elsewhere: frozenset[str] = frozenset()) -> float:
    """Return what pieces are worth together, beyond what is said elsewhere."""
    covered, worth = elsewhere, 0.0
    for piece in pieces:
        words = words_of(piece.text)
        worth += _gain(piece, words, covered)
        covered |= words
    return worth
