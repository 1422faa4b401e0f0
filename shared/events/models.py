"""Events, which carry ids and numbers but never text, and the addresses that are told of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey, UtcDateTime, partial


class Event(Base):
    """One thing that happened, written in the transaction in which it did.

    ``position`` is what listeners resume from. The regulating loop gives it out once the row is committed, so that
    whoever has read up to a position has missed nothing below it, whatever order transactions ended in.
    """

    __tablename__ = "events"
    __table_args__ = (
        Index("ix_events_unplaced", "row", **partial("position IS NULL")),
        Index("ix_events_app_id_position", "app_id", "position"),
        Index("ix_events_app_id_conversation_id", "app_id", "conversation_id"),
        Index("ix_events_at", "at"),
        {"sqlite_autoincrement": True},
    )

    row: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    position: Mapped[int | None] = mapped_column(BigInteger, unique=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    kind: Mapped[str] = mapped_column(String(40))
    conversation_id: Mapped[str | None] = mapped_column(String(200))
    subject: Mapped[str | None] = mapped_column(String(200))
    """Id of the message, memory, fact, answer or job it is about."""
    details: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """Numbers and words of closed sets."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)


class Webhook(Base):
    """An address of an app's own that is told of its events, signed with a secret both know."""

    __tablename__ = "webhooks"

    webhook_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    url: Mapped[str] = mapped_column(String(2000))
    secret: Mapped[str] = mapped_column(String(100))
    kinds: Mapped[list[str]] = mapped_column(JSON, default=list)
    """Kinds of events it is told of; empty means all."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    disabled_why: Mapped[str | None] = mapped_column(String(300))
    tried_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When something was last sent there, and how that went."""
    outcome: Mapped[str | None] = mapped_column(String(20))
    status: Mapped[int | None]
    failures: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """Attempts since it last took something."""
    failing_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    retry_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Until when nothing is sent there, since the last attempt failed."""


class EventCount(Base):
    """The one row that knows how far positions have been given out, and which were forgotten for their age."""

    __tablename__ = "event_counts"

    name: Mapped[str] = mapped_column(String(10), primary_key=True)
    # Counted, as the newest event may be forgotten, and its position must not be given out again.
    published: Mapped[int] = mapped_column(BigInteger, default=0)
    """The newest position."""
    forgotten: Mapped[int] = mapped_column(BigInteger, default=0)
    """Up to this one, events may have been deleted because they were old."""
