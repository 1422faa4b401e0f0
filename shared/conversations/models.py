"""Conversations and their messages. An app names them; our integer keys join them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from shared.base.subjects import Subject, subject_of
from shared.db.base import Base, BigKey, UtcDateTime, partial


class MemoryMode(StrEnum):
    """What a conversation has to do with memory; each is stricter than the one before."""

    ON = "on"
    READ = "read"
    """What is remembered is recalled in it; nothing of it is remembered."""
    OFF = "off"
    """Nothing is recalled in it, and nothing of it is remembered."""

    @classmethod
    def strictest(cls, *modes: str) -> MemoryMode:
        return max(map(cls, modes), key=list(cls).index)


class Conversation(Base):
    """A conversation; its ``conversation_id`` is unique within its app only."""

    __tablename__ = "conversations"
    __table_args__ = (
        UniqueConstraint("app_id", "conversation_id"),
        Index("ix_conversations_app_id_key", "app_id", "key"),
        Index("ix_conversations_app_id_updated_at", "app_id", "updated_at"),
        Index("ix_conversations_app_id_user_id", "app_id", "user_id"),
        Index("ix_conversations_facts_due_at", "facts_due_at", **partial("facts_due_at IS NOT NULL")),
        Index("ix_conversations_kept_apart", "app_id", **partial("memory <> 'on'")),
        Index("ix_conversations_silent_until", "silent_until", **partial("silent_until IS NOT NULL")),
        Index("ix_conversations_summary_due_at", "summary_due_at", **partial("summary_due_at IS NOT NULL")),
        Index("ix_conversations_unanswered", "app_id", "key", **partial("unanswered_since IS NOT NULL")),
        # Indexes, and copies of them in memory, name places by the key: it must not be another conversation's later.
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    conversation_id: Mapped[str] = mapped_column(String(200))
    user_id: Mapped[str | None] = mapped_column(String(200))
    energy_budget_micro: Mapped[int | None] = mapped_column(BigInteger)
    # `metadata` is taken in classes of SQLAlchemy's.
    details: Mapped[dict[str, Any]] = mapped_column("metadata", JSON, default=dict)
    time_zone: Mapped[str | None] = mapped_column(String(64))
    """Whose days are meant in it, an IANA name; None: its user's, or what its messages came with."""
    memory: Mapped[str] = mapped_column(String(4), default=MemoryMode.ON, server_default=MemoryMode.ON)
    """Of ``MemoryMode``."""
    message_count: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    snoozed_until: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    woken_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When its last snooze ended, until something new is said."""
    unanswered_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the oldest user message came that no answer follows."""
    focus_since: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    """``unanswered_since`` while the loop may think about it; None while it is hidden, or not the loop's to answer."""
    think_after: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    """The loop leaves it alone until then: a turn failed, or the model awaits energy."""
    think_attempts: Mapped[int] = mapped_column(default=0)
    """Turns in a row that brought no answer."""
    facts_seen: Mapped[int] = mapped_column(default=0)
    """Messages from the beginning of which the facts have been extracted; moves in the transaction of those facts."""
    facts_due_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When facts are to be extracted of what was said since; None when nothing waits, or a job is on its way."""
    summarised: Mapped[int] = mapped_column(default=0)
    """Messages from the beginning that summaries have covered."""
    turns_since_summary: Mapped[int] = mapped_column(default=0)
    """Messages of the assistant since the last summary."""
    summary_due_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a summary is to be made; None when none is due, or a job is on its way."""
    end_after_minutes: Mapped[int | None]
    """Of silence; None: only when it is told to."""
    silent_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When it ends unless something is said; None where only being told ends it, or it has ended."""
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    end_reason: Mapped[str | None] = mapped_column(String(500))

    @property
    def subject(self) -> Subject:
        """Whose it is: what is remembered of it belongs to them."""
        return subject_of(self.app_id, self.user_id)

    @property
    def is_remembered(self) -> bool:
        """Whether anything may be drawn from it, or shown of it in another conversation."""
        return self.memory == MemoryMode.ON


class Message(Base):
    """One message; ``position`` counts from 0 within its conversation."""

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_key", "position"),
        UniqueConstraint("conversation_key", "message_id"),
        Index("ix_messages_app_id_key", "app_id", "key"),
        Index("ix_messages_system", "conversation_key", **partial("role = 'system'")),
        Index("ix_messages_results", "conversation_key", "call_position", **partial("call_position IS NOT NULL")),
        Index("ix_messages_offsets", "conversation_key", "position", **partial("utc_offset_minutes IS NOT NULL")),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    conversation_key: Mapped[int] = mapped_column(ForeignKey("conversations.key"))
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    position: Mapped[int]
    message_id: Mapped[str] = mapped_column(String(200))
    role: Mapped[str] = mapped_column(String(20))
    name: Mapped[str | None] = mapped_column(String(200))
    content: Mapped[str] = mapped_column(Text)
    """Its text: what is shown, searched and thought about."""
    # Else SQLAlchemy would write None as JSON's null, which is not NULL.
    payload: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """The message as it was sent, where role, content and name do not say all of it: parts, calls of tools."""
    payload_chars: Mapped[int | None]
    """So many characters a model reads of the payload."""
    call_position: Mapped[int | None]
    """Where the call stands whose result it is: they stay or go together."""
    tokens: Mapped[int | None]
    """Its length as the app's provider counted it, where the app said so."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    utc_offset_minutes: Mapped[int | None]
    """The offset its time came with; None where it came without one, or with UTC's, which says nothing of a place."""


class AnswerState(StrEnum):
    """Where an answer of the loop's stands."""

    PENDING = "pending"
    """A person is to approve it."""
    SENT = "sent"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    """Something was said, or the conversation ended, before it was approved."""


class Answer(Base):
    """An answer the loop thought out. One conversation's message is answered at most once.

    The text stands here only while it waits for approval.
    """

    __tablename__ = "answers"
    __table_args__ = (
        # Whatever races, one answer to a message stands (decision 11).
        Index(
            "uq_answers_standing",
            "conversation_key",
            "answers_position",
            unique=True,
            **partial("state IN ('pending','sent')"),
        ),
        Index("ix_answers_app_id_state_key", "app_id", "state", "key"),
        Index("ix_answers_conversation_key_answers_position", "conversation_key", "answers_position"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    answer_id: Mapped[str] = mapped_column(String(40), unique=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    conversation_key: Mapped[int] = mapped_column(ForeignKey("conversations.key"))
    conversation_id: Mapped[str] = mapped_column(String(200))
    answers_position: Mapped[int]
    """Position of the last message it answers."""
    state: Mapped[str] = mapped_column(String(12))
    content: Mapped[str | None] = mapped_column(Text)
    model: Mapped[str] = mapped_column(String(200))
    message_id: Mapped[str | None] = mapped_column(String(200))
    reason: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    decided_by: Mapped[str | None] = mapped_column(String(100))
