"""What a person may do to a job: cancel it, or replay one that ended without its result."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, update
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.base.errors import Conflict, NotFound
from shared.contracts.jobs import JOB_TYPES, JobKind, WorkClass
from shared.jobs import queries
from shared.jobs.models import FINISHED, NO_SEQUENCE, OPEN, Job, JobState
from shared.jobs.ownership import abandon
from shared.jobs.queries import JobFilter
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
    if job.kind not in JOB_TYPES:
        if job.kind == JobKind.END_CONVERSATION:
            raise Conflict(f"{job_id} is a message that never became a job; send it again, correctly.")
        raise Conflict(f"This release does no jobs of the kind {job.kind}; replay {job_id} with one that does.")
    # A purge of memories stops no delivery: what it tells is looked up when it is told (decision 9).
    if job.work_class == WorkClass.DELIVERY:
        return _run_again(session, job, now)
    if job.epoch != epoch:
        raise Conflict(f"Job {job_id} was asked for before the app's memories were purged; it cannot be replayed.")
    # The key goes with its conversation (ON DELETE SET NULL); the id stays, and tells that there was one.
    if job.conversation_key is None and job.conversation_id is not None:
        raise Conflict(f"What job {job_id} was about has been erased; it cannot be replayed.")
    return _run_again(session, job, now)


def forget_finished(session: Session, state: JobState, before: datetime, limit: int) -> int:
    """Delete those of the oldest ``limit`` jobs of a state that ended before then; return how many.

    What one of them was asked for is not asked for again: a conversation ends once, facts are extracted from where the
    last job stopped, a position is delivered once, and numbers of versions are not given out twice.
    """
    old = queries.ended_before(session, state, before, limit)
    if old:
        session.execute(delete(Job).where(Job.seq.in_(old)))
    return len(old)


@dataclass(frozen=True)
class ReplayRound:
    """What one round over the dead letters came to."""

    replayed: int
    refused: int
    """They stay dead: what they were about was purged or erased, or they never became jobs."""
    last: int | None
    """The ``seq`` to go on above; None when that was all."""


def replay_dead(session: Session, job_filter: JobFilter, after: int, limit: int, now: datetime) -> ReplayRound:
    """Run the first ``limit`` dead letters that match again, oldest first. ``job_filter.state`` has to be DEAD."""
    found = queries.first_jobs(session, job_filter, after, limit)
    # Locked as for one job, in one order everywhere, so that no purge comes between the epoch and the job.
    app_ids = sorted({job.app_id for job in found if job.app_id is not None})
    epochs = {app_id: lock_app(session, app_id).purge_epoch for app_id in app_ids}
    refused = 0
    for job in found:
        try:
            replay(session, job.job_id, epochs.get(job.app_id or "", 0), now)
        except Conflict:
            refused += 1  # Or somebody else replayed it a moment ago.
    return ReplayRound(len(found) - refused, refused, found[-1].seq if len(found) == limit else None)


def _run_again(session: Session, job: Job, now: datetime) -> Job:
    # Its fence was raised when it ended, so a message of its former life begins nothing.
    job.state, job.attempts, job.reason, job.deferral = JobState.PENDING, 0, None, None
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


def detach_user(session: Session, app_id: str, conversations: Select[int] | None = None) -> None:
    """Have no ended job of an app, or about some conversations only, name a user any more; none can be replayed."""
    ended = update(Job).where(Job.app_id == app_id, Job.state.in_(FINISHED), Job.sequence != NO_SEQUENCE)
    mine = ended if conversations is None else ended.where(Job.conversation_key.in_(conversations))
    session.execute(mine.values(sequence=NO_SEQUENCE))


def _locked(session: Session, job_id: str) -> Job:
    job = queries.lock_job(session, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.", details={"jobId": job_id})
    return job
