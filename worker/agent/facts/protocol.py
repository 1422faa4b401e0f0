"""What an agent is given to extract facts from, and what it proposes.

An agent only proposes. Whether a statement becomes a fact, repeats one or replaces one is decided by
``shared.facts.merging``, and what becomes of it by the pipeline.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from shared.facts.categories import Category
from shared.llm.calls import Meter
from shared.telemetry.metrics import RefusedFact
from worker.agent.protocol import Turn


@dataclass(frozen=True)
class KnownFact:
    """A fact the app already has about the same user."""

    fact_id: int
    statement: str
    category: Category


@dataclass(frozen=True)
class Segment:
    """What was said in a conversation since facts were last extracted of it."""

    app_name: str
    conversation_id: str
    turns: tuple[Turn, ...]
    """New turns in order, of users and assistants only, cleaned of what was recalled; user turns are the source."""
    before: tuple[Turn, ...] = ()
    """The last turns before those, already seen: they explain what the new ones answer, and are no source."""
    known: tuple[KnownFact, ...] = ()


@dataclass(frozen=True)
class Statement:
    """One thing that was stated directly and unambiguously."""

    text: str
    """In the third person, one clean line."""
    category: Category
    message_ids: tuple[str, ...]
    """The user turns it was said in; at least one, all of the segment's new turns."""
    updates: int | None = None
    """The known fact it contradicts."""


@dataclass(frozen=True)
class Extraction:
    """What was found, and how far was read."""

    statements: tuple[Statement, ...]
    turns_read: int
    """How many of the segment's turns, from the first, were read whole; at least one. The rest is read next time."""
    refused: Counter[RefusedFact] = field(default_factory=Counter)
    """Statements that were not fit to become facts."""


class FactAgent(Protocol):
    """The part of the Memory Sub-Agent that extracts facts.

    Raises ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it answered
    unusably twice, and ``Configuration`` when it can never answer (model missing, window too small).
    """

    @property
    def name(self) -> str:
        """Recorded with each fact: ``extractive`` or ``ollama:NAME``."""

    def extract(self, segment: Segment, meter: Meter) -> Extraction:
        """Propose what the users of a segment stated, each thing once, only what is of high confidence."""
