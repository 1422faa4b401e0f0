"""What sessions are found by, and links by which other projects may find them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey
from shared.db.types import UtcDateTime


class ProjectLink(Base):
    """A session of one project that another project is shown as well."""

    __tablename__ = "project_links"
    __table_args__ = (UniqueConstraint("session_key", "target_key"), {"sqlite_autoincrement": True})

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    link_id: Mapped[str] = mapped_column(String(40), unique=True)
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key", ondelete="CASCADE"))
    target_key: Mapped[int] = mapped_column(ForeignKey("projects.key", ondelete="CASCADE"), index=True)
    reason: Mapped[str] = mapped_column(String(300))
    linked_by: Mapped[str] = mapped_column(String(200))
    linked_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SessionPassage(Base):
    """A piece of a session or of one of its versions, by which it is found."""

    __tablename__ = "session_passages"
    __table_args__ = (
        Index("ix_session_passages_session_key_key", "session_key", "key"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key", ondelete="CASCADE"))
    compression_key: Mapped[int | None] = mapped_column(ForeignKey("compressions.key", ondelete="CASCADE"), index=True)
    """None for the original."""
    message_uuid: Mapped[str | None] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(20))
    text: Mapped[str] = mapped_column(Text)
    said_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SessionWord(Base):
    """A word of a passage, as a number that is another one in each app, so that no app's words slow another's."""

    __tablename__ = "session_words"
    __table_args__ = (Index("ix_session_words_passage_key", "passage_key"), {"sqlite_with_rowid": False})

    word: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    passage_key: Mapped[int] = mapped_column(
        ForeignKey("session_passages.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
