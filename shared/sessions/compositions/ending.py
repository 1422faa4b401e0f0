"""How a composition ends: whole, failed or removed; and how one that waits for a version hears that it is there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.outbox.lanes import refresh_all
from shared.outbox.models import OPEN
from shared.outbox.ownership import abandon
from shared.outbox.queries import lock_job
from shared.sessions.compositions import queries
from shared.sessions.compositions.documents import Composed
from shared.sessions.models import Composition, CompositionComponent, Compression, Making, Project
from shared.sessions.registry.changes import ChangeKind, note, touch


def complete(
    session: Session,
    project: Project,
    composition: Composition,
    composed: Composed,
    digests: Mapping[str, str],
    cause: Cause,
) -> None:
    """Say that a composition is whole, its files being in place; its versions and sessions were used by this."""
    composition.state, composition.finished_at, composition.failure = Making.READY, cause.at, None
    composition.total_tokens, composition.total_messages = composed.tokens, composed.messages()
    composition.digests = dict(digests)
    rows = queries.rows_of(session, [composition.key])[composition.key]
    for row, part in zip(rows, composed.parts, strict=True):
        row.component.tokens, row.component.left_out = part.tokens, part.left_out
        row.recorded.last_accessed = row.project.last_accessed = cause.at
        if row.compression is not None:
            row.compression.uses += 1
            row.compression.last_used = cause.at
    for key in sorted({project.key, *(row.project.key for row in rows)}):
        touch(session.get_one(Project, key), cause.at)
    after = {"tokens": composed.tokens, "budget": composition.budget, "sessions": len(rows)}
    note(
        session, project, composition.composition_id, ChangeKind.COMPOSED, cause, {}, {"name": composition.name} | after
    )


def fail(session: Session, project: Project, composition: Composition, why: str, cause: Cause) -> None:
    """Say that a composition came to nothing, and let go of the sessions and versions it was to be made of."""
    composition.state, composition.finished_at, composition.failure = Making.FAILED, cause.at, why[:500]
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    note(session, project, composition.composition_id, ChangeKind.FAILED, cause, {}, {"name": composition.name})


def remove(session: Session, project: Project, composition: Composition, cause: Cause) -> None:
    """Remove a composition of a locked project, and stop its job; its files are removed after the commit."""
    job = None if composition.job_id is None else lock_job(session, composition.job_id)
    if job is not None and job.state in OPEN:
        abandon(session, [job], "its composition was removed", cause.at)
    note(session, project, composition.composition_id, ChangeKind.REMOVED, cause, shown(composition))
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    session.delete(composition)
    touch(project, cause.at)
    session.flush()


def shown(composition: Composition) -> dict[str, Any]:
    """Return what the history keeps of a composition: what it was made of, nothing that was said."""
    return {
        "name": composition.name,
        "state": composition.state,
        "tokens": composition.total_tokens,
        "request": composition.request,
    }


def hasten(session: Session, compression: Compression, now: datetime) -> int:
    """Have the compositions that wait for a version look again at once; return how many do.

    Call it in the transaction in which the version's making ends, whichever way.
    """
    jobs = queries.lock_waiting_for(session, compression.key)
    for job in jobs:
        job.due_at = min(job.due_at, now)
    session.flush()
    refresh_all(session, jobs, now)
    return len(jobs)
