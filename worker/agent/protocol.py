"""What the Memory Sub-Agent is given and what it proposes.

An agent only proposes. Whether a proposal is valid is decided by ``shared.memories.compaction``, and what becomes of
it by the pipelines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.llm.calls import Meter
from shared.memories.compaction import Candidate, Decision

SPOKEN_ROLES = frozenset({"user", "assistant"})
"""Whose turns may be remembered; what systems and tools said never is."""


@dataclass(frozen=True)
class Turn:
    """One message of an ended conversation."""

    message_id: str
    role: str
    """``user``, ``assistant``, ``system`` or ``tool``."""
    name: str | None
    content: str
    created_at: datetime


@dataclass(frozen=True)
class Transcript:
    """An ended conversation as the agent sees it, oldest turn first."""

    app_name: str
    conversation_id: str
    turns: tuple[Turn, ...]
    held_at: datetime
    end_reason: str | None = None
    known: tuple[str, ...] = ()
    """The app's present memories, so that a recalled memory is not remembered a second time."""


@dataclass(frozen=True)
class Draft:
    """A memory the agent proposes to keep."""

    content: str
    """One paragraph of at most the limit, whole words."""
    importance: int
    """0..10."""
    tags: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()
    """The messages it was made from, a subset of the transcript's."""


@dataclass(frozen=True)
class NothingToRemember:
    """The conversation was understood, and holds nothing worth a place."""

    reason: str


class MemoryAgent(Protocol):
    """The Memory Sub-Agent.

    Both methods raise ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it
    answered unusably twice, and ``Configuration`` when it can never answer (model missing).
    """

    @property
    def name(self) -> str:
        """Recorded with each memory: ``extractive`` or ``ollama:NAME``."""

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> Draft | NothingToRemember:
        """Propose one memory of at most ``limit`` characters, or say that there is nothing."""

    def compact(self, existing: Sequence[Candidate], new: Candidate, limit: int, meter: Meter) -> Decision:
        """Propose how ``existing`` plus ``new`` (id ``NEW``) become one fewer."""
