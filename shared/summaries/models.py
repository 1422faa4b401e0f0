"""Summaries of a conversation that goes on. They belong to it, and never leave it."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey, UtcDateTime


class Summary(Base):
    """Bullets over the messages of a conversation from one position to another, both included."""

    __tablename__ = "summaries"
    __table_args__ = (
        Index("ix_summaries_conversation_key_key", "conversation_key", "key"),
        CheckConstraint("length(content) > 0", name="content_not_empty"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    summary_id: Mapped[str] = mapped_column(String(40), unique=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    conversation_key: Mapped[int] = mapped_column(ForeignKey("conversations.key", ondelete="CASCADE"))
    conversation_id: Mapped[str] = mapped_column(String(200))
    content: Mapped[str] = mapped_column(Text)
    agent: Mapped[str] = mapped_column(String(200))
    from_position: Mapped[int]
    to_position: Mapped[int]
    tokens: Mapped[int]
    vector: Mapped[bytes | None] = mapped_column(LargeBinary)
    """float32, little-endian; None while it has none by ``vector_model``."""
    vector_model: Mapped[str | None] = mapped_column(String(200))
    job_id: Mapped[str | None] = mapped_column(String(40))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
