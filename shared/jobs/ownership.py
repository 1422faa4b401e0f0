"""A job has one owner at a time: claimed, kept by heartbeats, finished or failed; taken back when the owner is silent.

Every change of owner raises the job's fence. Whoever finishes must show the fence it was given, in the transaction
that writes its result, so a stale owner's result is refused however late it comes.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.base.errors import LeaseLost
from shared.base.setting_groups import JobSettings
from shared.jobs import queries, tenant_queues
from shared.jobs.dispatch import defer
from shared.jobs.models import FINISHED, Deferral, Job, JobState

SWEEP_LIMIT = 500
HORIZON = timedelta(days=1)
_LEAST_WAIT = timedelta(seconds=1)
Swept = Counter[tuple[str, JobState]]
"""Jobs that were taken back, by kind and the state they went to."""


@dataclass(frozen=True)
class Claim:
    """A job in its owner's hands."""

    job_id: str
    fence: int
    kind: str
    app_id: str
    conversation_key: int | None
    conversation_id: str | None
    epoch: int
    attempt: int
    max_attempts: int
    created_at: datetime
    payload: dict[str, Any] = field(default_factory=dict)
    traceparent: str | None = None


@dataclass(frozen=True)
class Owner:
    """Who asks for a job, and how to know that an earlier owner is gone."""

    name: str
    """``node/pid``."""
    is_gone: Callable[[str], bool]
    """Whether the owner of that name certainly does not run any more."""


def claim(session: Session, job_id: str, fence: int, owner: Owner, until: datetime, now: datetime) -> Claim | None:
    """Begin a job that was sent under ``fence``; None when the message is stale or a duplicate.

    A message delivered again because its worker was killed finds the job running under the next fence; it is taken
    over only when that owner certainly is gone.
    """
    job = queries.lock_job(session, job_id)
    if job is None or not _may_begin(job, fence, owner):
        return None
    job.state = JobState.RUNNING
    # The same message, should it come twice, then begins nothing the second time.
    job.fence += 1
    job.attempts += 1
    job.lease_owner = owner.name
    job.leased_until = until
    job.started_at = now
    session.flush()
    return Claim(
        job.job_id, job.fence, job.kind, job.app_id or "", job.conversation_key, job.conversation_id, job.epoch,
        job.attempts, job.max_attempts, job.created_at, job.payload, job.traceparent,
    )  # fmt: skip


def _may_begin(job: Job, fence: int, owner: Owner) -> bool:
    if job.state == JobState.QUEUED:
        return job.fence == fence
    # Delivered again because its process was killed. It is taken over only from one that certainly is gone; everything
    # else waits for the lease, or two would work at it. A last attempt is left to the sweep, which ends and counts it.
    left_behind = job.state == JobState.RUNNING and job.fence == fence + 1 and job.attempts < job.max_attempts
    return left_behind and owner.is_gone(job.lease_owner or "")


def beat(session: Session, claim: Claim, until: datetime) -> bool:
    """Renew the lease; False when the job is no longer this owner's."""
    # One statement, so that nobody takes the job over between a look and the renewal.
    renewed = session.execute(
        update(Job)
        .where(Job.job_id == claim.job_id, Job.fence == claim.fence, Job.state == JobState.RUNNING)
        .values(leased_until=until)
    )
    return bool(renewed.rowcount)  # type: ignore[attr-defined]


def finish(session: Session, claim: Claim, state: JobState, now: datetime, reason: str | None = None) -> None:
    """End a job in the transaction that writes its result. Raises: LeaseLost."""
    job = _lock_claimed(session, claim)
    _end(job, state, reason, now)
    session.flush()
    tenant_queues.refresh(session, job.app_id, job.work_class, now)


def confirm(session: Session, claim: Claim) -> None:
    """Make sure of a job before part of its result is written. Raises: LeaseLost."""
    _lock_claimed(session, claim)


def postpone(
    session: Session, claim: Claim, why: str, until: datetime, now: datetime, changed_at: datetime | None = None
) -> None:
    """Defer a job its app's budget does not cover until then, with what waits behind it; the attempt does not count.

    ``changed_at``: when the locked app was last changed; after the job was begun, its budget may be another one now.

    Raises: LeaseLost.
    """
    job = _lock_claimed(session, claim)
    # The budget may have been raised since the job was begun: then it competes again at once.
    if changed_at is not None and job.started_at is not None and changed_at > job.started_at:
        until = now
    job.state, job.fence, job.attempts = JobState.DEFERRED, job.fence + 1, max(0, job.attempts - 1)
    job.lease_owner = job.leased_until = None
    job.deferral, job.deferred_since, job.reason = Deferral.BUDGET, now, why
    session.flush()
    tenant_queues.throttle_app(session, claim.app_id, job.work_class, tenant_queues.Throttle(until, why), now)
    defer(session, Deferral.BUDGET, why, now, app_id=claim.app_id)


def await_provider(session: Session, claim: Claim, why: str, now: datetime) -> None:
    """Defer a job until its model's server answers again; the attempt does not count. Raises: LeaseLost."""
    job = _lock_claimed(session, claim)
    job.state, job.fence, job.attempts = JobState.DEFERRED, job.fence + 1, max(0, job.attempts - 1)
    job.lease_owner = job.leased_until = None
    job.deferral, job.deferred_since, job.reason = Deferral.PROVIDER, now, why
    session.flush()
    tenant_queues.refresh(session, job.app_id, job.work_class, now)


def fail(
    session: Session, claim: Claim, reason: str, now: datetime, settings: JobSettings, until: datetime | None = None
) -> JobState:
    """Record a failed attempt: try again later, or dead letter when attempts are used up. Raises: LeaseLost.

    ``until``: when it is tried again, where that is not for the number of attempts to say.
    """
    job = _lock_claimed(session, claim)
    state = _try_again(job, reason, now, settings)
    if until is not None and state is JobState.RETRYING:
        job.due_at = until
    tenant_queues.refresh(session, job.app_id, job.work_class, now)
    return state


def give_up(session: Session, claim: Claim, reason: str, now: datetime) -> JobState:
    """Make a job a dead letter whatever attempts it has left: another would fail as well. Raises: LeaseLost."""
    finish(session, claim, JobState.DEAD, now, reason)
    return JobState.DEAD


def wait(session: Session, claim: Claim, why: str, until: datetime, now: datetime) -> None:
    """Try a job again from ``until`` on, in a second at the earliest; the attempt does not count. Raises: LeaseLost."""
    job = _lock_claimed(session, claim)
    _give_back(job, why, max(until, now + _LEAST_WAIT))
    job.attempts = max(0, job.attempts - 1)
    tenant_queues.refresh(session, job.app_id, job.work_class, now)


def sweep(
    session: Session,
    now: datetime,
    settings: JobSettings,
    horizon: timedelta = HORIZON,
    ended: Callable[[Session, Job], None] = lambda _session, _job: None,
) -> Swept:
    """Take back what was leased and lost; return how many jobs of which kind went to which state.

    ``ended`` is called with each job that has no attempt left.

    No lease runs beyond ``horizon``: one that does was given before the clock was set back, and is taken back too.
    """
    swept: Swept = Counter()
    expired = queries.lock_expired(session, now, now + horizon, SWEEP_LIMIT)
    for job in expired:
        state = _take_back(job, now, settings)
        swept[job.kind, state] += 1
        if state is JobState.DEAD:
            ended(session, job)
    tenant_queues.refresh_all(session, expired, now)
    return swept


def release_node(session: Session, node: str, now: datetime, settings: JobSettings) -> int:
    """Take back at once what a former worker of this name was running; called when its successor starts."""
    jobs = queries.lock_owned_by(session, node)
    for job in jobs:
        if job.attempts < job.max_attempts:
            _take_back(job, now, settings, at_once=True)
        else:
            job.leased_until = now  # Its last attempt: the sweep ends and counts it.
    tenant_queues.refresh_all(session, jobs, now)
    return len(jobs)


def _take_back(job: Job, now: datetime, settings: JobSettings, at_once: bool = False) -> JobState:
    # Nobody began it, so no attempt was used; its message begins nothing once it is sent under the next fence.
    if job.state == JobState.QUEUED:
        job.state, job.leased_until, job.due_at = JobState.PENDING, None, now
        return JobState.PENDING
    state = _try_again(job, f"its worker {job.lease_owner} was lost", now, settings)
    if at_once and state is JobState.RETRYING:
        job.due_at = now
    return state


def _lock_claimed(session: Session, claim: Claim) -> Job:
    job = queries.lock_job(session, claim.job_id)
    if job is None or job.fence != claim.fence or job.state != JobState.RUNNING:
        raise LeaseLost(f"Job {claim.job_id} has another owner now; this result is dropped.")
    return job


def _try_again(job: Job, reason: str, now: datetime, settings: JobSettings) -> JobState:
    if job.attempts >= job.max_attempts:
        _end(job, JobState.DEAD, f"{reason} (attempt {job.attempts} of {job.max_attempts})", now)
        return JobState.DEAD
    _give_back(job, reason, now + retry_wait(settings, max(1, job.attempts)))
    return JobState.RETRYING


def retry_wait(settings: JobSettings, attempts: int, chance: Callable[[], float] = random.random) -> timedelta:
    """Return how long to wait after ``attempts`` (>= 1) failed ones."""
    # Half of it is random: what failed together must not come back together.
    # The exponent is bounded, because a float overflows beyond 1023.
    full = min(settings.retry_max_seconds, settings.retry_base_seconds * 2.0 ** min(attempts - 1, 60))
    return timedelta(seconds=full * (0.5 + 0.5 * chance()))


def _give_back(job: Job, reason: str, due_at: datetime) -> None:
    job.state = JobState.RETRYING
    job.fence += 1
    job.reason = reason
    job.lease_owner = job.leased_until = None
    job.due_at = due_at


def _end(job: Job, state: JobState, reason: str | None, now: datetime) -> None:
    if state not in FINISHED:
        raise ValueError(f"{state} is not a final state")
    job.state = state
    job.fence += 1
    job.reason = reason
    job.lease_owner = job.leased_until = None
    job.finished_at = now


def abandon(session: Session, jobs: Sequence[Job], reason: str, now: datetime) -> None:
    """Cancel unfinished jobs whoever owns them; the owners' results will be refused."""
    for job in jobs:
        _end(job, JobState.CANCELLED, reason, now)
    tenant_queues.refresh_all(session, jobs, now)
