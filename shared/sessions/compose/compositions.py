"""The life of a composition's row: whole, failed, used or removed; and letting go of what no job makes any more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.errors import Conflict
from shared.db.base import Transactions
from shared.jobs.models import OPEN
from shared.jobs.ownership import abandon
from shared.jobs.queries import lock_job
from shared.jobs.tenant_queues import refresh_all
from shared.sessions.compose.documents import ComposedContext
from shared.sessions.compose.queries import get_composition, lock_waiting_for, rows_of
from shared.sessions.compress.versions import fail_version
from shared.sessions.models import (
    BuildState,
    Composition,
    CompositionComponent,
    Project,
    RecordedSession,
    SessionVersion,
)
from shared.sessions.queries import abandoned, lock_project_by_key
from shared.sessions.registry.projects import SessionChangeKind, record_change, touch, use_sessions


def complete_composition(
    session: Session,
    project: Project,
    composition: Composition,
    composed: ComposedContext,
    digests: Mapping[str, str],
    cause: Cause,
) -> None:
    """Say that a composition is whole, its files being in place; its versions and sessions were used by this."""
    composition.state, composition.finished_at, composition.failure = BuildState.READY, cause.at, None
    composition.total_tokens, composition.total_messages = composed.tokens, composed.messages()
    composition.digests = dict(digests)
    rows = rows_of(session, [composition.key])[composition.key]
    for row, part in zip(rows, composed.parts, strict=True):
        row.component.tokens, row.component.left_out = part.tokens, part.left_out
        row.recorded.last_accessed = row.project.last_accessed = cause.at
        if row.compression is not None:
            row.compression.uses += 1
            row.compression.last_used = cause.at
    for key in sorted({project.key, *(row.project.key for row in rows)}):
        touch(session.get_one(Project, key), cause.at)
    after = {"tokens": composed.tokens, "budget": composition.budget, "sessions": len(rows)}
    record_change(
        session,
        project,
        composition.composition_id,
        SessionChangeKind.COMPOSED,
        cause,
        {},
        {"name": composition.name} | after,
    )


def fail_composition(session: Session, project: Project, composition: Composition, why: str, cause: Cause) -> None:
    """Say that a composition came to nothing, and let go of the sessions and versions it was to be made of."""
    composition.state, composition.finished_at, composition.failure = BuildState.FAILED, cause.at, why[:500]
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    record_change(
        session, project, composition.composition_id, SessionChangeKind.FAILED, cause, {}, {"name": composition.name}
    )


def remove_composition(session: Session, project: Project, composition: Composition, cause: Cause) -> None:
    """Remove a composition of a locked project, and stop its job; its files are removed after the commit."""
    # What it was made of, nothing that was said.
    before = {
        "name": composition.name,
        "state": composition.state,
        "tokens": composition.total_tokens,
        "request": composition.request,
    }
    job = None if composition.job_id is None else lock_job(session, composition.job_id)
    if job is not None and job.state in OPEN:
        abandon(session, [job], "its composition was removed", cause.at)
    record_change(session, project, composition.composition_id, SessionChangeKind.REMOVED, cause, before)
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    session.delete(composition)
    touch(project, cause.at)
    session.flush()


def wake_waiting(session: Session, compression: SessionVersion, now: datetime) -> int:
    """Have the compositions that wait for a version look again at once; return how many do.

    Call it in the transaction in which the version's making ends, whichever way.
    """
    jobs = lock_waiting_for(session, compression.key)
    for job in jobs:
        job.due_at = min(job.due_at, now)
    session.flush()
    refresh_all(session, jobs, now)
    return len(jobs)


MOST_SESSIONS = 1000
"""Remembered as having used a composition; the first to be noted go first."""
NOT_READY = "composition_not_ready"


def count_composition_use(session: Session, composition: Composition, now: datetime) -> None:
    """Count that a composition's documents were read."""
    # Its sessions may be of several projects, whose rows others lock in other orders, but only under the app's lock.
    lock_app(session, composition.app_id)
    use_sessions(session, _component_sessions(session, composition), now)
    mine = update(Composition).where(Composition.key == composition.key)
    session.execute(mine.values(uses=Composition.uses + 1, last_used=now))


def record_session_use(
    session: Session, app_id: str, composition_id: str, session_id: str, cause: Cause
) -> Composition:
    """Note that a session used a composition; noted once, however often it is said. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    composition = get_composition(session, app_id, composition_id)
    refuse_unready(composition)
    project = lock_project_by_key(session, composition.project_key)
    composition.last_used = project.last_accessed = cause.at
    use_sessions(session, _component_sessions(session, composition), cause.at)
    if session_id in composition.used_in_sessions:
        return composition
    composition.uses += 1
    composition.used_in_sessions = [*composition.used_in_sessions, session_id][-MOST_SESSIONS:]
    touch(project, cause.at)
    record_change(session, project, composition_id, SessionChangeKind.USED, cause, session_id=session_id)
    return composition


def _component_sessions(session: Session, composition: Composition) -> list[RecordedSession]:
    return [row.recorded for row in rows_of(session, [composition.key])[composition.key]]


def refuse_unready(composition: Composition) -> None:
    """Raises: Conflict for a composition that is not whole."""
    if composition.state == BuildState.READY:
        return
    what = f"failed ({composition.failure}); ask for it again" if composition.failure else "is being made"
    raise Conflict(
        f"Composition {composition.name} {what}.",
        code=NOT_READY,
        details={"state": composition.state, "job": composition.job_id},
    )


JOB_ENDED = "its job ended without it"
_AT_ONCE = 50


def fail_abandoned(database: Transactions, cause: Cause) -> int:
    """Let go of what no job makes any more; return how many were let go of."""
    with database.read() as session:
        left = abandoned(session, _AT_ONCE)
    for app_id, kind, key in left:
        with database.write() as session:
            lock_app(session, app_id)
            making: Any = session.get(kind, key)
            if making is None or making.state != BuildState.WORKING:
                continue
            if isinstance(making, SessionVersion):
                recorded = session.get_one(RecordedSession, making.session_key)
                project = lock_project_by_key(session, recorded.project_key)
                fail_version(session, making, cause.at)
                record_change(
                    session, project, making.version_id, SessionChangeKind.FAILED, cause, session_id=recorded.session_id
                )
                wake_waiting(session, making, cause.at)
            else:
                fail_composition(session, lock_project_by_key(session, making.project_key), making, JOB_ENDED, cause)
    return len(left)
