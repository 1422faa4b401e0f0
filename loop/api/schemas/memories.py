"""Memories, their history, and the ways to change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Annotated

from pydantic import Field

from loop.api.schemas.wire import Answer, Body, Flag, Success
from shared.contracts.values import LARGEST_INTEGER, Importance, Tags, UserId
from shared.memories.compaction import Outcome, Room
from shared.memories.models import Change, ChangeKind, Memory

Content = Annotated[str, Field(min_length=1, examples=["Prefers meetings after 2 pm."])]


class WriteMemory(Body):
    """A memory written by hand."""

    content: Content
    importance: Importance = 5
    tags: Tags = Field(default_factory=list)
    pinned: Flag = False
    user_id: UserId | None = Field(None, description="Whose it is; without it, nobody's in particular.")


class EditMemory(Body):
    """Changes a memory; what is left out, or null, stays."""

    content: Content | None = None
    importance: Importance | None = None
    tags: Tags | None = None
    pinned: Flag | None = None


class RestoreMemory(Body):
    """Takes back a change, the latest unless one is named."""

    change_id: Annotated[int, Field(strict=True, ge=1, le=LARGEST_INTEGER)] | None = None


class Source(Answer):
    """A conversation whose words stand in a memory."""

    conversation_id: str
    message_ids: list[str]


class MemoryAnswer(Answer):
    """A memory."""

    id: int
    user_id: str | None = Field(description="Whose it is; null where nobody was named.")
    content: str
    created_at: datetime = Field(description="When its conversation was held.")
    updated_at: datetime = Field(description="When the newest of it was said, or a person last changed it.")
    source_conversation_id: str | None
    importance: int = Field(ge=0, le=10)
    tags: list[str]
    pinned: bool
    agent: str = Field(description="Who wrote the present text: extractive, a model, admin or a token.")
    version: int
    sources: list[Source]

    @classmethod
    def of(cls, memory: Memory, conversation_id: str | None, sources: Sequence[Source]) -> MemoryAnswer:
        """Return a memory as it goes over the wire."""
        return cls(
            id=memory.memory_id,
            user_id=memory.subject.named,
            content=memory.content,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            source_conversation_id=conversation_id,
            importance=memory.importance,
            tags=memory.tags,
            pinned=memory.pinned,
            agent=memory.agent,
            version=memory.version,
            sources=list(sources),
        )


class MemoryList(Answer):
    """Memories, last updated first."""

    memories: list[MemoryAnswer]
    cursor: str | None = None


class MadeRoom(Answer):
    """How room was made at the cap."""

    memory_id: int
    outcome: Outcome
    reason: str

    @classmethod
    def of(cls, room: Room) -> MadeRoom:
        """Return how room was made, as it goes over the wire."""
        return cls(memory_id=room.removed_id, outcome=room.outcome, reason=room.reason)


class WrittenMemory(MemoryAnswer):
    """A memory, and what went for it."""

    made_room: list[MadeRoom]


class EditedMemory(Success):
    """A memory after a change."""

    memory: MemoryAnswer


class DeletedMemory(Success):
    """A memory is gone."""

    note: str | None = Field(None, description="What is left to do after an erasure, where something is.")


class RestoredMemory(Success):
    """A memory after a change was taken back, and what went for it."""

    memory: MemoryAnswer
    made_room: list[MadeRoom]


class ChangeAnswer(Answer):
    """One thing that happened to a memory."""

    change_id: int
    memory_id: int
    kind: ChangeKind
    actor: str
    reason: str
    before: str | None
    after: str | None
    related_memory_id: int | None
    job_id: str | None
    at: datetime

    @classmethod
    def of(cls, change: Change) -> ChangeAnswer:
        """Return a change as it goes over the wire."""
        return cls(
            change_id=change.change_id,
            memory_id=change.memory_id,
            kind=ChangeKind(change.kind),
            actor=change.actor,
            reason=change.reason,
            before=change.before,
            after=change.after,
            related_memory_id=change.related_memory_id,
            job_id=change.job_id,
            at=change.at,
        )


class ChangeList(Answer):
    """Changes: of one memory oldest first, of an app newest first."""

    changes: list[ChangeAnswer]
    cursor: str | None = None


class CompactionDay(Answer):
    """How room was made on a day, by outcome."""

    day: date = Field(description="UTC.")
    compactions: int
    outcomes: dict[Outcome, int]


class CompactionDays(Answer):
    """How room was made, day by day, the oldest first; days on which none was made too."""

    app_id: str
    user_id: str | None = Field(description="Null: of all of the app's memories.")
    compactions: int
    days: list[CompactionDay]

    @classmethod
    def of(
        cls, app_id: str, user_id: str | None, days: Sequence[date], counted: Mapping[tuple[date, Outcome], int]
    ) -> CompactionDays:
        """Return the counts of some days as they go over the wire."""
        each = [{outcome: counted.get((day, outcome), 0) for outcome in Outcome} for day in days]
        told = [
            CompactionDay(day=day, compactions=sum(outcomes.values()), outcomes=outcomes)
            for day, outcomes in zip(days, each, strict=True)
        ]
        return cls(app_id=app_id, user_id=user_id, compactions=sum(one.compactions for one in told), days=told)
