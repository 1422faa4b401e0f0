"""The built-in agent's part that summarises: no model, no network, the same answer every time.

It chooses statements by what they are: what was decided or changed comes first, then what somebody wants or rules out,
then what is open. A question counts only while nobody has answered it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import estimate_tokens
from shared.summaries.bullets import MOST_CHARS, MOST_TOKENS
from shared.text.classifier import StatementSort
from worker.agent.pieces import MemoryPiece, choose, new_share, words_of
from worker.agent.protocol import SPOKEN_ROLES, Digest, SummaryAgent, SummaryRequest, TranscriptTurn
from worker.agent.statements import read_statements, speaker_name

_LEAST_KEPT = 0.25
"""A summary has more room than a memory: what is less likely to matter may stand in it too."""
_OPEN_WORTH = 1.0


class Tells(IntEnum):
    """What a statement tells, the most important first."""

    DECISION = 0
    WISH = 1
    OPEN = 2
    REST = 3


_TELLS = {
    StatementSort.DECISION: Tells.DECISION,
    StatementSort.CHANGE: Tells.DECISION,
    StatementSort.PLAN: Tells.DECISION,
    StatementSort.HARM: Tells.WISH,
    StatementSort.WISH: Tells.WISH,
    StatementSort.LIKE: Tells.WISH,
    StatementSort.NEED: Tells.OPEN,
}


class ExtractiveSummaryAgent(SummaryAgent):
    """Summarises with the words that were said."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def summarise(self, span: SummaryRequest, meter: Meter) -> Digest:
        prompt = sum(estimate_tokens(turn.content) for turn in span.turns)
        points = metered(
            meter,
            Prospect(WorkKind.SUMMARISE, EXTRACTIVE, prompt, MOST_TOKENS),
            lambda: _chosen(span.turns, span.previous or ""),
            lambda points: sum(map(estimate_tokens, points)),
        )
        return Digest(points, len(span.turns))


def _chosen(turns: Sequence[TranscriptTurn], previous: str) -> tuple[str, ...]:
    known = words_of(previous)
    points = {piece.position: (tells, piece) for tells, piece in _points(turns) if new_share(piece.text, known)}
    room = MOST_CHARS - 3 * min(len(points), 40)
    kept = [points[piece.position] for piece in choose([piece for _, piece in points.values()], room)]
    kept.sort(key=lambda one: (one[0], one[1].position))
    return tuple(f"{piece.speaker}: {piece.text}" for _, piece in kept)


def _points(turns: Sequence[TranscriptTurn]) -> Iterator[tuple[Tells, MemoryPiece]]:
    last_said = {turn.role: number for number, turn in enumerate(turns)}
    place = {turn.message_id: number for number, turn in enumerate(turns)}
    for one in read_statements(turns, speaks=lambda turn: turn.role in SPOKEN_ROLES):
        answered = any(at > place[one.turn.message_id] for role, at in last_said.items() if role != one.turn.role)
        # What a statement tells and what it is worth; nothing where it is talk, or a question that was answered.
        tells, worth = (
            (Tells.OPEN, 0.0 if answered else _OPEN_WORTH)
            if one.asks and one.judged.keep < _LEAST_KEPT
            else (_TELLS.get(one.judged.sort, Tells.REST), one.judged.worth if one.judged.keep >= _LEAST_KEPT else 0.0)
        )
        if worth:
            yield tells, MemoryPiece(one.text, speaker_name(one.turn), worth, position=one.position)
