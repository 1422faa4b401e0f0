"""Profiles, what they may hold, consents, and the audit that shows the gate between them working.

A user is one within an app; an app that names no users has one, whose id is empty. Source: seed 002.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.base.closed import Closed
from shared.db.base import Base, BigKey, UtcDateTime
from shared.text.lines import clean

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


MOST_NOTES = 10_000
_ShortText = Annotated[str, Field(min_length=1, max_length=500)]
_ShortTexts = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=30)]


class _ContentPart(Closed):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Preferences(_ContentPart):
    """How a user wants things done."""

    coding_style: _ShortText | None = None
    preferred_languages: _ShortTexts = Field(default=[])
    framework_experience: _ShortTexts = Field(default=[])


class Context(_ContentPart):
    """What a user works on."""

    project_goals: _ShortText | None = None
    domain: _ShortText | None = None
    constraints: _ShortText | None = None


class Content(_ContentPart):
    """Everything a profile says."""

    preferences: Preferences = Preferences()
    context: Context = Context()
    freeform_notes: Annotated[str, Field(max_length=MOST_NOTES)] = ""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as they are stored; what says nothing is left out."""
        return self.model_dump(by_alias=True, exclude={"freeform_notes"}, exclude_defaults=True)


def content_of(fields: dict[str, Any], notes: str) -> Content:
    return Content.model_validate({**fields, "freeformNotes": notes})


def lines_of(content: Content) -> list[str]:
    """Return what a profile says as short lines, one for each field that says something."""
    preferences, context = content.preferences, content.context
    lines = (
        ("Coding style", preferences.coding_style or ""),
        ("Preferred languages", ", ".join(preferences.preferred_languages)),
        ("Experience with", ", ".join(preferences.framework_experience)),
        ("Goals", context.project_goals or ""),
        ("Domain", context.domain or ""),
        ("Constraints", context.constraints or ""),
        ("Notes", content.freeform_notes),
    )
    return [f"{title}: {clean(text)}" for title, text in lines if clean(text)]
