"""The built-in agent's part that summarises: no model, no network, the same answer every time.

It chooses clauses by what they say: what was decided counts most, then what somebody prefers or rules out, then what is
open. Code is left out; a question counts only while nobody has answered it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import estimate_tokens
from shared.summaries.bullets import MOST_CHARS, MOST_TOKENS
from shared.text.phrases import PhraseTable
from worker.agent.clauses import Clause, clauses, plain, resolve
from worker.agent.pieces import WEIGHTS, MemoryPiece, choose, speaker_name, voice, word_values
from worker.agent.protocol import Digest, SummaryAgent, SummaryRequest, TranscriptTurn
from worker.agent.salience import Sort

_DECIDED = PhraseTable(
    {
        "We decided on oak.": r"decid\w+|agreed?|chose|chosen|settled on|confirmed|the plan is",
        "We go with Postgres.": r"go(?:ing)? with|went with|switch(?:ed|ing)? to|instead of|moved to",
        "Let's use the small one.": r"let['’]s (?:use|go|keep|take|make|do|drop|start)",
        "We'll paint it.": r"we(?:['’]ll| will| are going to| should)|i(?:['’]ll| will)",
        "The hall is booked.": r"booked|scheduled|cancel+ed|renamed|deployed|merged|fixed",
    }
)
_WANTED = PhraseTable(
    {
        "I prefer tea.": r"prefer\w*|favou?rite|rather (?:than|not|have|use)|love|like(?: to|s)?",
        "I can't stand coriander.": r"hate|dislike|can['’]t stand|allergic|don['’]t want|without",
        "It must fit the box.": r"always|never|must(?:n['’]t)?|need(?:s|ed)? to|have to|want(?:s|ed)?(?: to)?",
        "It may cost at most ten euros.": r"no more than|at most|at least|only (?:use|if|when)",
        "The budget is small.": r"deadline|budget|important",
    }
)
_OPEN = PhraseTable(
    {
        "We still need a hall.": r"still (?:need|have|to|open|unclear|missing)|to ?do|next step|left to|remains? to",
        "It is not yet sure.": r"not (?:yet|sure|decided|clear)|open question|unresolved",
        "We are waiting for Ada.": r"pending|waiting (?:for|on)|blocked|later|tomorrow",
        "I will look into it.": r"figure out|look into",
    }
)
_CODE = re.compile(
    r"[{};]\s*$|[{}]|=>|==|!=|\w\(.*\)\s*[:;{]?$|^\s*(?:def|class|import|return|const|let|var|func)\s+\w"
)


class Tells(IntEnum):
    """What a clause tells, the most important first."""

    DECISION = 0
    WISH = 1
    OPEN = 2
    REST = 3


_FACTORS = {Tells.DECISION: 2.0, Tells.WISH: 1.6, Tells.OPEN: 1.4, Tells.REST: 0.8}


@dataclass(frozen=True)
class _Point:
    """A clause that may become a point."""

    tells: Tells
    piece: MemoryPiece


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
            lambda: _chosen(list(_points(span.turns)), span.previous or ""),
            lambda points: sum(map(estimate_tokens, points)),
        )
        return Digest(points, len(span.turns))


def _chosen(points: Sequence[_Point], previous: str) -> tuple[str, ...]:
    known = frozenset(word_values(previous))
    worthy = []
    for one in points:
        values = word_values(one.piece.text)
        if min(one.piece.factor, 1.0) * sum(values.values()) >= WEIGHTS.least and not values.keys() <= known:
            worthy.append(one)
    kept = {piece.position for piece in choose([one.piece for one in worthy], MOST_CHARS - 3 * len(worthy[:40]))}
    covered = sorted(
        (one for one in worthy if one.piece.position in kept), key=lambda one: (one.tells, one.piece.position)
    )
    return tuple(f"{one.piece.speaker}: {one.piece.text}" for one in covered)


def _points(turns: Sequence[TranscriptTurn]) -> Iterator[_Point]:
    names = frozenset(turn.name for turn in turns if turn.name)
    position = 0
    for number, turn in enumerate(turns):
        answered = any(later.role != turn.role for later in turns[number + 1 :])
        for clause in clauses(turn.content):
            tells = _tells(clause, answered)
            text = plain(resolve(clause.text, turn.created_at.date()), names)
            if tells is not None and text and not _CODE.search(text):
                text = text.rstrip("?") + "?" if clause.asks else text
                # An open question speaks to the other, as it must.
                factor = _FACTORS[tells] * (1.0 if clause.asks else voice(clause.text, Sort.PLAIN))
                yield _Point(
                    tells, MemoryPiece(text, speaker_name(turn) or turn.role.capitalize(), factor, position=position)
                )
                position += 1


def _tells(clause: Clause, answered: bool) -> Tells | None:
    """Return what a clause tells; None for a question that was answered."""
    if clause.asks:
        return None if answered else Tells.OPEN
    for tells, phrases in ((Tells.OPEN, _OPEN), (Tells.DECISION, _DECIDED), (Tells.WISH, _WANTED)):
        if phrases.is_in(clause.text):
            return tells
    return Tells.REST
