"""That a composition was used: its documents were read, or a session began with it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.causes import Cause
from shared.errors import Conflict
from shared.sessions.compositions.queries import get_composition
from shared.sessions.models import Composition, Making
from shared.sessions.queries import lock_project_by_key
from shared.sessions.registry.changes import ChangeKind, note, touch

MOST_SESSIONS = 1000
"""Remembered as having used a composition; the first to be noted go first."""
NOT_READY = "composition_not_ready"


def count_use(session: Session, composition: Composition, now: datetime) -> None:
    """Count that a composition's documents were read."""
    mine = update(Composition).where(Composition.key == composition.key)
    session.execute(mine.values(uses=Composition.uses + 1, last_used=now))


def note_session(session: Session, app_id: str, composition_id: str, session_id: str, cause: Cause) -> Composition:
    """Note that a session used a composition; noted once, however often it is said. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    composition = get_composition(session, app_id, composition_id)
    refuse_unready(composition)
    project = lock_project_by_key(session, composition.project_key)
    composition.last_used = project.last_accessed = cause.at
    if session_id in composition.used_in_sessions:
        return composition
    composition.uses += 1
    composition.used_in_sessions = [*composition.used_in_sessions, session_id][-MOST_SESSIONS:]
    touch(project, cause.at)
    note(session, project, composition_id, ChangeKind.USED, cause, session_id=session_id)
    return composition


def refuse_unready(composition: Composition) -> None:
    """Raises: Conflict for a composition that is not whole."""
    if composition.state == Making.READY:
        return
    what = f"failed ({composition.failure}); ask for it again" if composition.failure else "is being made"
    raise Conflict(
        f"Composition {composition.name} {what}.",
        code=NOT_READY,
        details={"state": composition.state, "job": composition.job_id},
    )
