"""How each retrieval went, kept for some weeks: counts and durations, and nothing of what was asked or found."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey
from shared.db.types import UtcDateTime


class Asker(StrEnum):
    """What a retrieval was for; a closed set, so it can label a metric."""

    SEARCH = "search"
    CONTEXT = "context"


class Retrieval(Base):
    """One retrieval; durations in milliseconds."""

    __tablename__ = "retrievals"
    __table_args__ = (Index("ix_retrievals_app_id_at", "app_id", "at"), {"sqlite_autoincrement": True})

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    conversation_key: Mapped[int | None] = mapped_column(BigInteger)
    """Not a foreign key: the conversation may be erased, and the figures stay."""
    asker: Mapped[str] = mapped_column(String(10))
    at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    results: Mapped[int]
    top_score: Mapped[float | None]
    top_similarities: Mapped[list[float]] = mapped_column(JSON, default=list, server_default="[]")
    """Of the three results most like the question, the best first: cosines, where there were vectors."""
    sources: Mapped[dict[str, Any]] = mapped_column(JSON)
    """How many results each way of finding brought: conversationDense, appDense, words, summaries, profile."""
    durations: Mapped[dict[str, Any]] = mapped_column(JSON)
    """By stage: total, words, embed, dense, rank."""
    flags: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The tuning in force, and what was degraded."""
    tokens_used: Mapped[int | None]
    token_budget: Mapped[int | None]
