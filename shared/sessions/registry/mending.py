"""Versions and compositions whose job has ended without them: said to have failed, so that nothing waits for them."""

from __future__ import annotations

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.causes import Cause
from shared.db.transactions import Transactions
from shared.sessions import queries
from shared.sessions.compositions import ending
from shared.sessions.models import Composition, Compression, CompressionPart, Making, RecordedSession
from shared.sessions.registry.changes import ChangeKind, note

JOB_ENDED = "its job ended without it"
_AT_ONCE = 50


def mend(database: Transactions, cause: Cause) -> int:
    """Let go of what no job makes any more; return how many were let go of."""
    with database.read() as session:
        versions = [(app_id, one.key) for one, app_id in queries.left_working(session, _AT_ONCE)]
        compositions = [(one.app_id, one.key) for one in queries.left_composing(session, _AT_ONCE)]
    for app_id, key in versions:
        with database.write() as session:
            _fail_version(session, app_id, key, cause)
    for app_id, key in compositions:
        with database.write() as session:
            _fail_composition(session, app_id, key, cause)
    return len(versions) + len(compositions)


def _fail_version(session: Session, app_id: str, key: int, cause: Cause) -> None:
    lock_app(session, app_id)
    version = session.get(Compression, key)
    if version is None or version.state != Making.WORKING:
        return
    recorded = session.get_one(RecordedSession, version.session_key)
    project = queries.lock_project_by_key(session, recorded.project_key)
    version.state, version.finished_at = Making.FAILED, cause.at
    session.execute(delete(CompressionPart).where(CompressionPart.compression_key == key))
    note(session, project, version.version_id, ChangeKind.FAILED, cause, session_id=recorded.session_id)
    ending.hasten(session, version, cause.at)


def _fail_composition(session: Session, app_id: str, key: int, cause: Cause) -> None:
    lock_app(session, app_id)
    composition = session.get(Composition, key)
    if composition is None or composition.state != Making.WORKING:
        return
    ending.fail(session, queries.lock_project_by_key(session, composition.project_key), composition, JOB_ENDED, cause)
