"""What of the parts of a composition goes into it: all that is pinned, then the most valuable, never over the budget.

Counted in characters, of which four make a token, so that no rounding of many pieces can pass the budget by one. Only
the sizes and values of segments are looked at, so a long original need not be in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.llm.tokens import LAST_RESORT
from shared.sessions.compositions.allocating import too_small
from shared.sessions.compressions.rendering import markdown_of
from shared.sessions.compressions.segments import Segment, SegmentKind

VALUES = {
    SegmentKind.NAMES: 0,
    SegmentKind.TOOL: 1,
    SegmentKind.SUMMARY: 2,
    SegmentKind.WORDS: 2,
    SegmentKind.FAILURE: 3,
    SegmentKind.REQUEST: 4,
    SegmentKind.INSTRUCTION: 5,
    SegmentKind.KEEPIT: 6,
}
"""What goes first when there is no room: the least."""
_LAST_REQUEST_SHARE = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment, as far as fitting goes."""

    chars: int
    value: int
    is_pinned: bool = False


@dataclass(frozen=True)
class Part:
    """The segments of a session, in order."""

    pieces: tuple[Piece, ...]
    room: int
    """Characters it may take; more where others leave some."""

    @property
    def pinned(self) -> int:
        """Characters it takes in any case."""
        return sum(piece.chars for piece in self.pieces if piece.is_pinned)


def weighed(segment: Segment) -> Piece:
    """Return how much a segment takes and what it is worth; what was marked goes last."""
    value = VALUES[SegmentKind.KEEPIT if segment.marker_ids else segment.kind]
    return Piece(len(markdown_of(segment)), value, segment.is_pinned)


def pin_last_request(pieces: Sequence[Piece], last: int, room: int) -> list[Piece]:
    """Pin what an original was asked last, unless that alone would take more than a quarter of the room."""
    pinned = list(pieces)
    if pieces[last].chars * _LAST_REQUEST_SHARE <= room:
        pinned[last] = replace(pieces[last], is_pinned=True)
    return pinned


def fit(parts: Sequence[Part], budget: int, fixed: int) -> tuple[tuple[int, ...], ...]:
    """Return the places of the pieces to keep, for each part in order.

    ``budget``: tokens; ``fixed``: characters that headings take. Raises: Invalid when that and what is pinned alone
    take more.
    """
    free = LAST_RESORT.chars_in(budget) - fixed - sum(part.pinned for part in parts)
    if free < 0:
        missing = LAST_RESORT.tokens_in(-free)
        raise too_small(missing, "what is pinned, and the headings, may not be left out", budget)
    chosen = [{place for place, piece in enumerate(part.pieces) if piece.is_pinned} for part in parts]
    left = _fill_rooms(parts, chosen, free)
    for part, kept in zip(parts, chosen, strict=True):
        left -= _take(part.pieces, kept, left)
    return tuple(tuple(sorted(kept)) for kept in chosen)


def _fill_rooms(parts: Sequence[Part], chosen: Sequence[set[int]], free: int) -> int:
    """Fill each part's room, and what one leaves is the next one's; return what is left of ``free``."""
    carried = 0
    for part, kept in zip(parts, chosen, strict=True):
        room = min(free, max(0, part.room - part.pinned) + carried)
        taken = _take(part.pieces, kept, room)
        free, carried = free - taken, room - taken
    return free


def _take(pieces: Sequence[Piece], kept: set[int], room: int) -> int:
    """Keep the most valuable that fit, of equal ones the later; return the characters they take."""
    left = room
    others = (place for place in range(len(pieces)) if place not in kept)
    for place in sorted(others, key=lambda place: (-pieces[place].value, -place)):
        if pieces[place].chars <= left:
            kept.add(place)
            left -= pieces[place].chars
    return room - left
