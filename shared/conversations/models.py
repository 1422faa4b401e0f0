"""Conversations and their messages. An app names them; our integer keys join them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey
from shared.db.types import UtcDateTime


class Conversation(Base):
    """A conversation; its ``conversation_id`` is unique within its app only."""

    __tablename__ = "conversations"
    __table_args__ = (
        UniqueConstraint("app_id", "conversation_id"),
        Index("ix_conversations_app_id_key", "app_id", "key"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    conversation_id: Mapped[str] = mapped_column(String(200))
    user_id: Mapped[str | None] = mapped_column(String(200))
    energy_budget_micro: Mapped[int | None] = mapped_column(BigInteger)
    details: Mapped[dict[str, Any]] = mapped_column("metadata", JSON, default=dict)
    message_count: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    snoozed_until: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    end_reason: Mapped[str | None] = mapped_column(String(500))


class Message(Base):
    """One message; ``position`` counts from 0 within its conversation."""

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_key", "position"),
        UniqueConstraint("conversation_key", "message_id"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    conversation_key: Mapped[int] = mapped_column(ForeignKey("conversations.key"))
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    position: Mapped[int]
    message_id: Mapped[str] = mapped_column(String(200))
    role: Mapped[str] = mapped_column(String(20))
    name: Mapped[str | None] = mapped_column(String(200))
    content: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
