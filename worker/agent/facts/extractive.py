"""The built-in agent's part that extracts facts: no model, no network, the same answer every time.

It keeps to what users say of themselves in so many words (``patterns``), and says less rather than inventing.
Turns of assistants, quotations and what was only recalled are no source. Source: decisions, "Facts and context".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from shared.llm.calls import EXTRACTIVE, CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.llm.tokens import estimate_tokens
from shared.telemetry.metrics import RefusedFact
from worker.agent.facts.clauses import stating_clauses
from worker.agent.facts.corrections import Found, found_in, settled
from worker.agent.facts.protocol import Extraction, FactAgent, KnownFact, Segment, Statement
from worker.agent.facts.statements import LONGEST, once_each, without_known
from worker.agent.facts.wording import name_of, stated
from worker.agent.protocol import Turn


class ExtractiveFactAgent(FactAgent):
    """Extracts what clauses of certain forms state."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def extract(self, segment: Segment, meter: Meter) -> Extraction:
        began = perf_counter()
        prompt = sum(estimate_tokens(turn.content) for turn in segment.turns)
        # No statement is longer than what it was made of, but for the name before it.
        meter.reserve(Prospect(WorkKind.EXTRACT, EXTRACTIVE, prompt, 2 * prompt))
        extraction = _extracted(segment)
        said = sum(estimate_tokens(one.text) for one in extraction.statements)
        seconds = perf_counter() - began
        meter(ModelCall(WorkKind.EXTRACT, EXTRACTIVE, prompt, said, True, CallOutcome.ANSWERED, seconds))
        return extraction


def _extracted(segment: Segment) -> Extraction:
    refused: Counter[RefusedFact] = Counter()
    statements: list[Statement] = []
    names = frozenset(turn.name for turn in (*segment.before, *segment.turns) if turn.name)
    for turn in segment.turns:
        if turn.role == "user":
            content, repeated = without_known(turn.content, segment.known)
            refused[RefusedFact.RECALLED] += repeated
            statements += _statements(replace(turn, content=content), segment.known, names)
    return Extraction(once_each(statements), len(segment.turns), +refused)


def _statements(turn: Turn, known: Sequence[KnownFact], names: frozenset[str]) -> Iterator[Statement]:
    name = name_of(turn.name)
    for found in settled(list(_found(turn, known, names)), known):
        text = stated(found.matched.phrase, name)
        if len(text) <= LONGEST:
            yield Statement(text, found.matched.category, (turn.message_id,), found.updates)


def _found(turn: Turn, known: Sequence[KnownFact], names: frozenset[str]) -> Iterator[Found]:
    for said in stating_clauses(turn.content, turn.created_at.date(), names):
        found = found_in(said, known)
        if found is not None:
            yield found
