"""Who changed what in a project, and that its manifest has to be written anew."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.sessions.models import Project, SessionChange


class ChangeKind(StrEnum):
    """What was done."""

    CREATED = "created"
    REGISTERED = "registered"
    SYNCED = "synced"
    UNREGISTERED = "unregistered"
    REMOVED = "removed"
    CHANGED = "changed"
    WEIGHED = "weighed"
    """A marker was given another weight, or its own back."""
    COMPRESSED = "compressed"
    COMPOSED = "composed"
    USED = "used"
    FAILED = "failed"
    LINKED = "linked"
    JUDGED = "judged"
    AGED = "aged"
    IMPORTED = "imported"


def touch(project: Project, now: datetime) -> None:
    """Say that what a project's manifest shows has changed."""
    project.revision += 1
    project.last_modified = now


def note(
    session: Session,
    project: Project,
    subject: str,
    kind: str,
    cause: Cause,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    *,
    session_id: str | None = None,
) -> SessionChange:
    """Write down a change: ids, counts and settings, never what was said or marked."""
    change = SessionChange(
        app_id=project.app_id,
        project_id=project.project_id,
        session_id=session_id,
        subject=subject[:200],
        kind=kind,
        actor=cause.actor[:200],
        reason=cause.reason[:300],
        before=before or {},
        after=after or {},
        at=cause.at,
    )
    session.add(change)
    return change
