"""The built-in agent's part that extracts facts: no model, no network, the same answer every time.

It keeps to what users say of themselves in so many words (``fact_patterns``), and says less rather than inventing.
Turns of assistants, quotations and what was only recalled are no source. Source: decisions, "Facts and context".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from shared.llm.calls import EXTRACTIVE, CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.llm.tokens import estimate_tokens
from shared.telemetry.metrics import RefusedFact
from shared.wording import clean
from worker.agent.fact_clauses import stating_clauses
from worker.agent.fact_corrections import Found, found_in, settled
from worker.agent.fact_protocol import Extraction, FactAgent, KnownFact, Segment, Statement
from worker.agent.fact_wording import name_of, stated
from worker.agent.protocol import Turn

LONGEST = 200
"""Characters of a statement at most; a longer one is not made, because cutting changes meaning."""
_MARKER = re.compile(r"^[ \t]*(?:[-*•+>]|\d{1,2}[.)])?[ \t]*")


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
    statements: dict[str, Statement] = {}
    names = frozenset(turn.name for turn in (*segment.before, *segment.turns) if turn.name)
    recalled = frozenset(said_form(fact.statement) for fact in segment.known)
    for turn in segment.turns:
        if turn.role != "user":
            continue
        content, repeated = _without_recalled(turn.content, recalled)
        refused[RefusedFact.RECALLED] += repeated
        for statement in _statements(replace(turn, content=content), segment.known, names):
            keep(statements, statement)
    return Extraction(tuple(statements.values()), len(segment.turns), +refused)


def keep(statements: dict[str, Statement], new: Statement) -> None:
    """Add a statement; one that is there already only gains the messages, and what the new one updates."""
    key = said_form(new.text)
    old = statements.get(key)
    if old is not None:
        ids = tuple(dict.fromkeys((*old.message_ids, *new.message_ids)))
        new = replace(old, message_ids=ids, updates=old.updates if new.updates is None else new.updates)
    statements[key] = new


def said_form(text: str) -> str:
    """Return what two equal statements have in common, however they are marked, spaced and ended."""
    return _MARKER.sub("", clean(text)).strip(" .!").casefold()


def _without_recalled(content: str, recalled: frozenset[str]) -> tuple[str, int]:
    """Leave out the lines that a known fact says word for word, and count them."""
    lines = content.splitlines()
    own = [line for line in lines if said_form(line) not in recalled]
    return "\n".join(own), len(lines) - len(own)


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
