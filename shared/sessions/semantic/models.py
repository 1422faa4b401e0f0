"""Semantic memories and where each was found. Source: seed 004, "Semantic Memory Extraction"."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, Double, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey
from shared.db.types import UtcDateTime


class LearntKind(StrEnum):
    """What a semantic memory is about."""

    PATTERN = "pattern"
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"


class Verdict(StrEnum):
    """What a person said of a semantic memory."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


class SemanticMemory(Base):
    """What several sessions of a project have in common, or one of them decided."""

    __tablename__ = "semantic_memories"
    __table_args__ = (
        UniqueConstraint("project_key", "kind", "normal"),
        CheckConstraint("length(content) > 0", name="content_not_empty"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    memory_id: Mapped[str] = mapped_column(String(40), unique=True)
    project_key: Mapped[int] = mapped_column(ForeignKey("projects.key", ondelete="CASCADE"))
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    kind: Mapped[str] = mapped_column(String(12))
    content: Mapped[str] = mapped_column(Text)
    normal: Mapped[str] = mapped_column(String(64))
    """SHA-256 of its normal form: what says the same is one memory."""
    confidence: Mapped[float] = mapped_column(Double)
    """0..1; rises with its sources."""
    verdict: Mapped[str] = mapped_column(String(10), default=Verdict.PROPOSED)
    decided_by: Mapped[str | None] = mapped_column(String(200))
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    agent: Mapped[str] = mapped_column(String(200))
    extracted_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SemanticSource(Base):
    """Where a semantic memory was found."""

    __tablename__ = "semantic_sources"

    memory_key: Mapped[int] = mapped_column(
        ForeignKey("semantic_memories.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    session_key: Mapped[int] = mapped_column(
        ForeignKey("recorded_sessions.key", ondelete="CASCADE"), primary_key=True, autoincrement=False, index=True
    )
    message_uuid: Mapped[str] = mapped_column(String(200), primary_key=True)
    excerpt: Mapped[str] = mapped_column(Text)
