"""Profiles, the consent they stand on, and the audit of what became of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from loop.api.schemas.erasures import Receipt
from loop.api.schemas.wire import Answer, AppId, Body, Flag
from shared.profiles.models import AuditEntry, AuditKind, Consent, Content, Context, Preferences, Profile, content_of

UserId = Annotated[str, Field(max_length=200, description="A user of the app; empty for an app that names none.")]


class ProfileItem(Content):
    """What a user agreed to have kept."""

    version: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, profile: Profile) -> ProfileItem:
        """Return a profile as it goes over the wire."""
        content = content_of(profile.fields, profile.notes)
        return cls(
            preferences=content.preferences,
            context=content.context,
            freeform_notes=content.freeform_notes,
            version=profile.version,
            created_at=profile.created_at,
            updated_at=profile.updated_at,
        )


class ProfileAnswer(Answer):
    """A user's profile, if they agree to having one."""

    app_id: str
    user_id: str
    consent: bool
    profile: ProfileItem | None = Field(description="null without consent, and before anything was written.")


class WriteProfile(Body):
    """What a profile is to say; it takes the place of all that it said."""

    preferences: Preferences = Preferences()
    context: Context = Context()
    freeform_notes: str = Field("", max_length=10_000)

    @property
    def content(self) -> Content:
        """The content to keep."""
        return Content(preferences=self.preferences, context=self.context, freeform_notes=self.freeform_notes)


class ChangeConsent(Body):
    """Whether a user agrees to having a profile."""

    app_id: AppId
    user_id: UserId = ""
    consent: Flag


class ConsentAnswer(Answer):
    """Whether a user agrees to having a profile."""

    app_id: str
    user_id: str
    consent: bool
    changed_at: datetime | None = Field(None, description="null where the user never said.")
    changed_by: str | None = None
    receipt: Receipt | None = Field(None, description="What was erased when the consent was taken back.")
    note: str | None = Field(None, description="What is left to do, where something is.")

    @classmethod
    def of(cls, app_id: str, user_id: str, consent: Consent | None) -> ConsentAnswer:
        """Return what a user said as it goes over the wire."""
        if consent is None:
            return cls(app_id=app_id, user_id=user_id, consent=False)
        at, by = consent.changed_at, consent.changed_by
        return cls(app_id=app_id, user_id=user_id, consent=consent.given, changed_at=at, changed_by=by)


class AuditLine(Answer):
    """Something that happened at the gate; it holds no text of a profile."""

    user_id: str
    kind: AuditKind
    actor: str
    count: int = Field(description="How often; the same use by the same caller within an hour is one line.")
    at: datetime
    last_at: datetime

    @classmethod
    def of(cls, line: AuditEntry) -> AuditLine:
        """Return a line as it goes over the wire."""
        return cls(
            user_id=line.user_id,
            kind=AuditKind(line.kind),
            actor=line.actor,
            count=line.count,
            at=line.at,
            last_at=line.last_at,
        )


class AuditList(Answer):
    """Lines of the audit, newest first."""

    audit: list[AuditLine]
    cursor: str | None
