"""Writing down what was read in a transcript: the session's row, its marked parts and the files it touched."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from shared.apps.queries import get_installed_app, lock_app
from shared.causes import Cause
from shared.errors import Conflict, Purged
from shared.sessions import queries
from shared.sessions.markers import PlacedMarker
from shared.sessions.models import KeepitMarker, Project, RecordedSession, SessionFile
from shared.sessions.registry import projects
from shared.sessions.registry.changes import ChangeKind, note, touch
from shared.sessions.registry.intake import Intake
from shared.sessions.registry.naming import sanitise
from shared.sessions.registry.projects import ALREADY_REGISTERED
from shared.sessions.transcripts.overview import Overview

_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Place:
    """Where a session is to stand."""

    app_id: str
    project_id: str
    session_id: str
    epoch: int
    """Of the app when this was begun: what was erased since is not brought back."""


def lock_place(session: Session, place: Place) -> None:
    """Lock the app of a place. Raises: NotFound, Conflict, Purged."""
    epoch = lock_app(session, place.app_id).purge_epoch
    get_installed_app(session, place.app_id)
    if epoch != place.epoch:
        raise Purged(f"App {place.app_id} was erased or purged meanwhile; ask again if it is still wanted.")


def enter(session: Session, place: Place, intake: Intake, cause: Cause) -> RecordedSession:
    """Register a session, and its project where there is none yet. Raises: Conflict, Purged."""
    lock_place(session, place)
    refuse_known(session, place.app_id, place.session_id)
    project = _project(session, place, intake.overview, cause)
    recorded = RecordedSession(
        app_id=place.app_id,
        project_key=project.key,
        session_id=place.session_id,
        original_file=intake.original_file,
        registered_at=cause.at,
        last_accessed=cause.at,
    )
    describe(recorded, intake.size_bytes, intake.sha256, intake.overview, cause.at)
    session.add(recorded)
    session.flush()
    keep_parts(session, recorded, intake.overview)
    touch(project, cause.at)
    size = {"sizeBytes": intake.size_bytes, "markers": len(intake.overview.markers)}
    note(session, project, place.session_id, ChangeKind.REGISTERED, cause, after=size, session_id=place.session_id)
    return recorded


def refuse_known(session: Session, app_id: str, session_id: str) -> None:
    """Raises: Conflict where a session is registered already."""
    known = queries.find_session(session, app_id, session_id)
    if known is None:
        return
    project = queries.project_by_key(session, known.project_key)
    raise Conflict(
        f"Session {session_id} is registered already, in project {project.project_id}. Sync it to take in what was "
        "added, or unregister it first.",
        code=ALREADY_REGISTERED,
        details={"projectId": project.project_id, "sessionId": session_id},
    )


def describe(recorded: RecordedSession, size_bytes: int, sha256: str, overview: Overview, now: datetime) -> None:
    """Write down what a session's copy amounts to."""
    recorded.size_bytes, recorded.sha256, recorded.synced_at = size_bytes, sha256, now
    recorded.original_tokens = min(overview.original_tokens, _MOST_TOKENS)
    recorded.original_messages = overview.original_messages
    recorded.counts, recorded.details = dict(overview.counts), dict(overview.details)
    recorded.marker_problems = list(overview.marker_problems)
    recorded.first_timestamp, recorded.last_timestamp = overview.first_timestamp, overview.last_timestamp


def keep_parts(session: Session, recorded: RecordedSession, overview: Overview) -> None:
    """Keep a session's files and marked parts; a part that was known keeps its row, its weight and its fates."""
    session.execute(delete(SessionFile).where(SessionFile.session_key == recorded.key))
    rows = [
        {"session_key": recorded.key, "path": one.path, "touches": one.touches, "changed": one.changed}
        for one in overview.files
    ]
    if rows:
        session.execute(insert(SessionFile), rows)
    known = {one.marker_id: one for one in queries.markers_of(session, recorded.key)}
    for ordinal, placed in enumerate(overview.markers):
        row = known.pop(placed.marker_id, None) or _marker(session, recorded, placed)
        _fill(row, ordinal, placed)
    for gone in known.values():
        session.delete(gone)
    session.flush()


def _marker(session: Session, recorded: RecordedSession, placed: PlacedMarker) -> KeepitMarker:
    row = KeepitMarker(session_key=recorded.key, marker_id=placed.marker_id)
    session.add(row)
    return row


def _fill(row: KeepitMarker, ordinal: int, placed: PlacedMarker) -> None:
    found = placed.found
    row.ordinal, row.message_uuid, row.said_at = ordinal, placed.message_uuid, placed.said_at
    row.weight, row.content, row.context = found.weight, found.content, found.context
    row.start, row.end = found.start, found.end


def _project(session: Session, place: Place, overview: Overview, cause: Cause) -> Project:
    if queries.find_project(session, place.app_id, place.project_id) is not None:
        return queries.lock_project(session, place.app_id, place.project_id)
    folders = [str(folder) for folder in overview.details["folders"]] or [place.project_id]
    path = next((folder for folder in folders if sanitise(folder) == place.project_id), folders[0])
    return projects.create(session, place.app_id, path, cause, project_id=place.project_id)
