"""Profiles on their way from one installation to another: only with the consent they stand on, and never against one
that was withdrawn where they arrive.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from shared.profiles import queries
from shared.profiles.consent import grant, write
from shared.profiles.content import Content, content_of


@dataclass(frozen=True)
class Agreed:
    """A profile and when its user agreed to it."""

    user_id: str
    content: Content
    agreed_at: datetime
    created_at: datetime
    updated_at: datetime


def agreed(session: Session, app_id: str) -> list[Agreed]:
    """Return an app's profiles, as far as their users agree."""
    return [
        Agreed(
            profile.user_id,
            content_of(profile.fields, profile.notes),
            consent.changed_at,
            profile.created_at,
            profile.updated_at,
        )
        for profile, consent in queries.agreed_profiles(session, app_id)
    ]


def take(session: Session, app_id: str, new: Agreed, actor: str, now: datetime) -> bool:
    """Put a profile into a locked app unless its user has one there, or withdrew consent; say whether it is in."""
    present = queries.consent_of(session, app_id, new.user_id)
    if present is not None and not present.given:
        return False
    if queries.agreed_profile(session, app_id, new.user_id) is not None:
        return False
    consent = grant(session, app_id, new.user_id, actor, now)
    if present is None:
        consent.changed_at = min(new.agreed_at, now)
    profile = write(session, app_id, new.user_id, new.content, actor, now)
    profile.created_at, profile.updated_at = new.created_at, new.updated_at
    return True
