"""Giving a marked part another weight than its message says. Versions that are made already stay as they are."""

from __future__ import annotations

from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.causes import Cause
from shared.sessions import queries
from shared.sessions.models import KeepitMarker
from shared.sessions.registry.changes import ChangeKind, note, touch


def weigh(
    session: Session, app_id: str, session_id: str, marker_id: str, weight: int | None, cause: Cause
) -> KeepitMarker:
    """Put ``weight`` (hundredths) in the place of what is written; None takes that back. Raises: NotFound."""
    lock_app(session, app_id)
    found = queries.get_session(session, app_id, session_id)
    project = queries.lock_project_by_key(session, found.project_key)
    recorded = queries.lock_session(session, app_id, session_id)
    marker = queries.get_marker(session, recorded, marker_id)
    before = {"weight": marker.weight_in_force}
    marker.override_weight = weight
    marker.overridden_by = None if weight is None else cause.actor
    marker.overridden_at = None if weight is None else cause.at
    after = {"weight": marker.weight_in_force}
    touch(project, cause.at)
    note(session, project, marker_id, ChangeKind.WEIGHED, cause, before, after, session_id=session_id)
    session.flush()
    return marker
