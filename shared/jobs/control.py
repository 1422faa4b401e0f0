"""What a person may do to a job: cancel it, or replay one that ended without its result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Select, update
from sqlalchemy.orm import Session

from shared.contracts.jobs import WorkClass
from shared.errors import Conflict, NotFound
from shared.jobs import queries
from shared.jobs.models import FINISHED, OPEN, Job, JobState
from shared.jobs.ownership import abandon
from shared.jobs.tenant_queues import refresh

NEVER = -1
"""The epoch of a job that may not be replayed; those of apps count from 0."""


def cancel(session: Session, job_id: str, actor: str, now: datetime) -> Job:
    """Stop a job that has not finished. Raises: NotFound, Conflict."""
    job = _locked(session, job_id)
    if job.state == JobState.CANCELLED:
        return job
    if job.state not in OPEN:
        raise Conflict(f"Job {job_id} is already {job.state}; only an unfinished job can be cancelled.")
    abandon(session, [job], f"cancelled by {actor}", now)
    return job


def replay(session: Session, job_id: str, epoch: int, now: datetime) -> Job:
    """Run a dead or cancelled job again, with fresh attempts. Raises: NotFound, Conflict."""
    job = _locked(session, job_id)
    if job.state not in (JobState.DEAD, JobState.CANCELLED):
        raise Conflict(f"Job {job_id} is {job.state}; only a dead or cancelled job can be replayed.")
    if job.work_class == WorkClass.DELIVERY:
        return _run_again(session, job, now)
    if job.epoch != epoch:
        raise Conflict(f"Job {job_id} was asked for before the app's memories were purged; it cannot be replayed.")
    if job.conversation_key is None and job.conversation_id is not None:
        raise Conflict(f"What job {job_id} was about has been erased; it cannot be replayed.")
    return _run_again(session, job, now)


def _run_again(session: Session, job: Job, now: datetime) -> Job:
    job.state, job.attempts, job.reason = JobState.PENDING, 0, None
    job.due_at, job.finished_at, job.started_at = now, None, None
    refresh(session, job.app_id, job.work_class, now)
    return job


def abandon_all(
    session: Session,
    app_id: str,
    reason: str,
    now: datetime,
    work_classes: Collection[WorkClass] = tuple(WorkClass),
    conversations: Select[int] | None = None,
) -> Sequence[Job]:
    """Cancel every unfinished job of an app in some work classes, or about some conversations only; return them."""
    jobs = queries.lock_open_of_app(session, app_id, work_classes, conversations)
    abandon(session, jobs, reason, now)
    return jobs


def forbid_replays(session: Session, conversations: Select[int]) -> None:
    """Let no ended job about some conversations be replayed: what it would write was purged."""
    ended = (Job.conversation_key.in_(conversations), Job.state.in_(FINISHED))
    session.execute(update(Job).where(*ended).values(epoch=NEVER))


def _locked(session: Session, job_id: str) -> Job:
    job = queries.lock_job(session, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.", details={"jobId": job_id})
    return job
