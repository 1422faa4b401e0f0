"""Memories, where they came from, and everything that ever happened to them.

``app_memories`` holds only what stands; its ``slot`` makes the database itself refuse an eleventh of
one subject (a user of an app, or the app itself where nobody is named: an empty ``user_id``). Every memory that
was ever made keeps its row in ``memory_origins``, so that ids are never reused and history has something to point at.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool
from sqlalchemy import JSON, BigInteger, Boolean, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from shared.base.subjects import NOBODY, Subject
from shared.contracts.values import Importance, Tags
from shared.db.base import Base, BigKey, UtcDateTime

SLOTS = 10
"""Places a subject has at the very most, whatever the settings say."""


class Origin(Base):
    """The making of one memory: at most one per conversation and purge epoch."""

    __tablename__ = "memory_origins"
    __table_args__ = (UniqueConstraint("conversation_key", "epoch"), {"sqlite_autoincrement": True})

    memory_id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    user_id: Mapped[str] = mapped_column(String(200), default=NOBODY, server_default=NOBODY)
    conversation_key: Mapped[int | None] = mapped_column(ForeignKey("conversations.key", ondelete="SET NULL"))
    conversation_id: Mapped[str | None] = mapped_column(String(200))
    epoch: Mapped[int]
    agent: Mapped[str] = mapped_column(String(200))
    """``extractive``, ``ollama:NAME``, ``by hand`` or ``import``."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class MemoryText(BaseModel):
    """What a memory says."""

    content: Annotated[str, Field(min_length=1, examples=["Prefers meetings after 2 pm."])]


class MemoryAttributes(BaseModel):
    """What whoever writes a memory may say of it beside its text.

    Bodies of HTTP, new memories, history and archives take these from here; each is a column of the same name.
    """

    model_config = ConfigDict(frozen=True)

    importance: Importance = 5
    tags: Tags = Field(default_factory=list)
    pinned: StrictBool = False


WRITTEN = (*MemoryText.model_fields, *MemoryAttributes.model_fields)
"""The columns of a memory that are what was written."""


def written_texts(columns: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each text among the columns, which may hold a secret, after words that tell where it stands."""
    for name in WRITTEN:
        value = columns.get(name)
        if isinstance(value, str):
            yield f"{name}: it", value
        elif isinstance(value, list):
            yield from ((f"{name}: one", text) for text in value)


class Memory(Base):
    """A memory that stands, in one of its subject's places."""

    __tablename__ = "app_memories"
    __table_args__ = (
        # Nobody is an empty user id: two NULLs count as different, and would let an eleventh in (decision 19).
        UniqueConstraint("app_id", "user_id", "slot"),
        CheckConstraint(f"slot >= 1 AND slot <= {SLOTS}", name="slot_within_cap"),
        CheckConstraint("importance >= 0 AND importance <= 10", name="importance_in_range"),
        CheckConstraint("length(content) > 0", name="content_not_empty"),
        Index("ix_app_memories_app_id_user_id_updated_at", "app_id", "user_id", "updated_at"),
    )

    memory_id: Mapped[int] = mapped_column(
        ForeignKey("memory_origins.memory_id"), primary_key=True, autoincrement=False
    )
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    user_id: Mapped[str] = mapped_column(String(200), default=NOBODY, server_default=NOBODY)
    slot: Mapped[int]
    content: Mapped[str] = mapped_column(Text)
    importance: Mapped[int] = mapped_column(default=5)
    tags: Mapped[list[str]] = mapped_column(JSON, default=list)
    pinned: Mapped[bool] = mapped_column(Boolean, default=False)
    agent: Mapped[str] = mapped_column(String(200))
    """Who wrote the present text."""
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When its conversation was held."""
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When the newest of what it holds was said, or a person last changed it: memories are in this order."""

    @property
    def subject(self) -> Subject:
        return Subject(self.app_id, self.user_id)


class MemorySource(Base):
    """A conversation whose words stand in a memory, and which of its messages."""

    __tablename__ = "memory_sources"

    memory_id: Mapped[int] = mapped_column(ForeignKey("app_memories.memory_id", ondelete="CASCADE"), primary_key=True)
    conversation_key: Mapped[int] = mapped_column(ForeignKey("conversations.key"), primary_key=True, index=True)
    message_ids: Mapped[list[str]] = mapped_column(JSON, default=list)


class ChangeKind(StrEnum):
    """What happened to a memory."""

    CREATED = "created"
    EDITED = "edited"
    MERGED = "merged"
    """Rewritten so that it takes in another memory."""
    ABSORBED = "absorbed"
    """Taken into another memory; no longer stands alone."""
    REMOVED = "removed"
    GAVE_WAY = "gave_way"
    """Made, but given no place."""
    RESTORED = "restored"
    ERASED = "erased"


class Change(Base):
    """One change: who, why, before and after. A purge empties the texts and leaves the rest."""

    __tablename__ = "memory_history"
    __table_args__ = (
        Index("ix_memory_history_app_id_change_id", "app_id", "change_id"),
        {"sqlite_autoincrement": True},
    )

    change_id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    memory_id: Mapped[int] = mapped_column(ForeignKey("memory_origins.memory_id"), index=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    kind: Mapped[str] = mapped_column(String(12))
    actor: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    before: Mapped[str | None] = mapped_column(Text)
    after: Mapped[str | None] = mapped_column(Text)
    source_keys: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Keys of the conversations whose words stand in ``before`` or ``after``."""
    standing: Mapped[dict[str, object]] = mapped_column(JSON, default=dict)
    """Importance, tags, pin and sources at that moment, so that it can be restored."""
    related_memory_id: Mapped[int | None] = mapped_column(BigInteger)
    job_id: Mapped[str | None] = mapped_column(String(40))
    at: Mapped[datetime] = mapped_column(UtcDateTime)
