"""Profiles, consents, and the audit that shows the gate between them working.

A user is one within an app; an app that names no users has one, whose id is empty.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey
from shared.db.types import UtcDateTime

ONLY_USER = ""
"""The user of an app that names none."""


class Consent(Base):
    """Whether a user agrees to having a profile; without a row, they do not."""

    __tablename__ = "consents"

    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    given: Mapped[bool]
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_by: Mapped[str] = mapped_column(String(200))


class Profile(Base):
    """What a user agreed to have kept; stands only while the consent does."""

    __tablename__ = "profiles"

    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    fields: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    notes: Mapped[str] = mapped_column(Text, default="")
    version: Mapped[int] = mapped_column(default=1)
    vector: Mapped[bytes | None] = mapped_column(LargeBinary)
    """float32, little-endian; None while it has none by ``vector_model``."""
    vector_model: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class AuditKind(StrEnum):
    """What happened at the gate."""

    GRANTED = "granted"
    REVOKED = "revoked"
    WRITTEN = "written"
    ERASED = "erased"
    USED = "used"
    """A profile went into a context or a search."""
    WITHHELD = "withheld"
    """A profile was asked for without consent."""


class AuditEntry(Base):
    """One line of the audit; it holds no text of a profile. ``count`` lines of one kind in an hour are one."""

    __tablename__ = "profile_audit"
    __table_args__ = (
        Index("ix_profile_audit_app_id_user_id_key", "app_id", "user_id", "key"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    user_id: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(10))
    actor: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(String(500), default="")
    count: Mapped[int] = mapped_column(default=1)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_at: Mapped[datetime] = mapped_column(UtcDateTime)
