"""The pieces a session is found by: what was asked and answered, and a line for each use of a tool.

Pure functions over turns and segments, in one pass and bounded memory: of a very long session every second piece that
no person wrote is left out, again and again, so that what stays is spread over the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from shared.sessions.compressions.segments import Segment, SegmentKind
from shared.sessions.transcripts.turns import Turn, TurnKind

LONGEST = 1_200
"""Characters of a passage."""
MOST_OF_A_TURN = 8
MOST_OF_A_SESSION = 400
_TELLING = ("file_path", "notebook_path", "path", "command", "pattern", "query", "url", "description", "prompt")
_LONGEST_LINE = 300
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?])\s+|\s+")


@dataclass(frozen=True)
class NewPassage:
    """A piece of a session, or of one of its versions."""

    kind: str
    text: str
    message_uuid: str | None = None
    said_at: datetime | None = None


def passages_of(turns: Iterable[Turn]) -> list[NewPassage]:
    """Return the pieces of an original."""
    sieve = _Sieve()
    for turn in turns:
        for text in _texts(turn):
            sieve.add(NewPassage(turn.kind.value, text, turn.uuid, turn.at))
    return sieve.kept


def passages_in(segments: Iterable[Segment]) -> list[NewPassage]:
    """Return the pieces of a version."""
    sieve = _Sieve()
    for segment in segments:
        for text in pieces(segment.text):
            source = segment.sources[0] if segment.sources else None
            sieve.add(NewPassage(segment.kind.value, text, source, segment.at))
    return sieve.kept


def pieces(text: str) -> Iterator[str]:
    """Yield a text in parts of at most the longest, cut where a paragraph, line, sentence or word ends."""
    rest = text.strip()
    for _ in range(MOST_OF_A_TURN):
        if not rest:
            return
        end = len(rest) if len(rest) <= LONGEST else _end_within(rest)
        yield rest[:end].rstrip()
        rest = rest[end:].lstrip()


def _end_within(text: str) -> int:
    """Return where the first part of a text ends: at the strongest break in its second half."""
    breaks = _BREAK.finditer(text, LONGEST // 2, LONGEST)
    strongest = max(breaks, key=lambda found: (found[0].count("\n"), found.start()), default=None)
    return LONGEST if strongest is None else strongest.start()


def _texts(turn: Turn) -> Iterator[str]:
    if turn.is_sidechain:
        return
    match turn.kind:
        case TurnKind.HUMAN | TurnKind.ASSISTANT | TurnKind.SUMMARY:
            yield from pieces(turn.text)
        case TurnKind.TOOL_USE:
            told = (turn.tool_input.get(name) for name in _TELLING)
            yield " ".join([turn.tool_name or "tool", *(_line(one) for one in told if isinstance(one, str))])
        case TurnKind.TOOL_RESULT if turn.is_error:
            yield _line(turn.text)


def _line(text: str) -> str:
    return " ".join(text[: 2 * _LONGEST_LINE].split())[:_LONGEST_LINE]


class _Sieve:
    """Keeps at most so many passages; what people wrote goes last."""

    def __init__(self) -> None:
        self.kept: list[NewPassage] = []
        self._stride = 1
        self._seen = 0

    def add(self, passage: NewPassage) -> None:
        self._seen += 1
        if not _is_asked(passage) and self._seen % self._stride:
            return
        self.kept.append(passage)
        if len(self.kept) > MOST_OF_A_SESSION:
            self._thin()

    def _thin(self) -> None:
        others = [at for at, one in enumerate(self.kept) if not _is_asked(one)]
        # Where people wrote more than there is room for, theirs are thinned as well.
        gone = set(others[::2] if others else range(0, len(self.kept), 2))
        self.kept = [one for at, one in enumerate(self.kept) if at not in gone]
        self._stride *= 2


def _is_asked(passage: NewPassage) -> bool:
    return passage.kind in (TurnKind.HUMAN, SegmentKind.REQUEST, SegmentKind.KEEPIT)
