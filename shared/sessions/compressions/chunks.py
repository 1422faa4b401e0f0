"""What an agent is given to condense: pieces of one tier that follow each other, and the room for what comes of them.

Surviving markers are never shown, so no agent can change a byte of them. What an agent proposes is taken as it is by
the weaving; that it is true and short enough is the agent's to see to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.llm.tokens import most_tokens
from shared.sessions.compressions.drafting import Draft, Line, fragment
from shared.sessions.compressions.filling import open_items, rooms
from shared.sessions.compressions.gathering import SaidKind
from shared.sessions.compressions.items import Rank
from shared.sessions.compressions.names import Ranking

_NAMES_SHARE = 0.2
"""Of a tier's room what is left for names."""
_LEAST_ROOM = 80
"""Characters below which nothing is asked for."""
NAMED_TOKENS = 16
"""What a piece takes beside its text when it is shown with its number and who says it."""
_SPOKEN = (Rank.RULE, Rank.REQUEST, Rank.WORDS, Rank.REST)
_MUST_KEEP = 40


@dataclass(frozen=True)
class Piece:
    """A piece of what was said; without a number it is only there to be understood."""

    text: str
    speaker: str
    source: str
    worth: float
    number: int | None = None


@dataclass(frozen=True)
class Chunk:
    """Pieces of one tier in order."""

    position: int
    pieces: tuple[Piece, ...]
    room: int
    """Characters that what is made of them may take."""
    must_keep: tuple[str, ...]
    """Names that must not be lost, the most important first."""


@dataclass(frozen=True)
class Condensed:
    """What an agent makes of a chunk: pieces it keeps as they are, and lines of its own."""

    kept: tuple[int, ...] = ()
    lines: tuple[Line, ...] = ()

    def as_rows(self) -> list[dict[str, Any]]:
        """Return it as it is kept until the version is whole."""
        return [
            {"kept": list(self.kept)},
            *({"text": line.text, "sources": list(line.sources)} for line in self.lines),
        ]


def condensed_of(rows: Sequence[Mapping[str, Any]]) -> Condensed:
    """Return what was kept as rows."""
    lines = tuple(Line(row["text"], tuple(row["sources"])) for row in rows[1:])
    return Condensed(tuple(rows[0]["kept"]), lines)


def chunks_of(draft: Draft, most: int) -> list[Chunk]:
    """Divide what is open into chunks of at most so many tokens (``most_tokens``), with room by length and worth."""
    found: list[Chunk] = []
    for tier, room in enumerate(rooms(draft)):
        groups = list(_groups(draft, tier, most))
        spoken = [_spoken(draft, group) for group in groups]
        free = int(room * (1 - _NAMES_SHARE))
        for group, length in zip(groups, spoken, strict=True):
            share = free * length // max(1, sum(spoken))
            if share >= _LEAST_ROOM:
                found.append(_chunk(draft, len(found), group, share))
    return found


def _groups(draft: Draft, tier: int, most: int) -> Iterator[list[int]]:
    """Yield the open items of a tier in groups of at most ``most`` tokens, the speaker named with each."""
    group: list[int] = []
    length = 0
    for number in open_items(draft, _SPOKEN, tier):
        cost = most_tokens(draft.items[number].text) + NAMED_TOKENS
        if group and length + cost > most:
            yield group
            group, length = [], 0
        group.append(number)
        length += cost
    if group:
        yield group


def _spoken(draft: Draft, group: Sequence[int]) -> int:
    """Return how long a group is, with less for what hardly counts."""
    return sum(int(draft.items[number].cost * min(1.0, draft.items[number].worth)) + 1 for number in group)


def _chunk(draft: Draft, position: int, group: Sequence[int], room: int) -> Chunk:
    pieces = list(_pieces(draft, group))
    ranking = Ranking()
    for place, piece in enumerate(pieces):
        ranking.add(piece.text, place, piece.worth)
    must_keep = tuple(name for name, _, _ in ranking.best_first()[:_MUST_KEEP])
    return Chunk(position, tuple(pieces), room, must_keep)


def _pieces(draft: Draft, group: Sequence[int]) -> Iterator[Piece]:
    """Yield the items of a group, and between them what was done meanwhile."""
    gathered, place = draft.plan.gathered, draft.items[group[0]].said
    for number in group:
        item = draft.items[number]
        for between in range(place, item.said):
            call = gathered[between].call
            if call is not None:
                yield Piece(fragment(call), "Assistant did", gathered[between].sources[0], 0.5)
        place = max(place, item.said)
        said = gathered[item.said]
        yield Piece(item.text, _speaker(said.kind), said.sources[0], item.worth, number)


def _speaker(kind: SaidKind) -> str:
    return {SaidKind.HUMAN: "User", SaidKind.THINKING: "Assistant thought", SaidKind.META: "Tool"}.get(
        kind, "Assistant"
    )
