"""From written to sent: jobs are added in the caller's transaction, and handed out fairly once they are due.

Whether they may be handed out at all is the regulator's to say; carrying them over Redis is the loop's relay.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.base.clock import CLOCK_DOUBT
from shared.base.ids import new_id
from shared.contracts.jobs import JOB_TYPES, JobKind, JobPayload, WorkClass
from shared.jobs import queries, tenant_queues
from shared.jobs.models import NO_SEQUENCE, Deferral, Job, JobState, TenantQueue
from shared.telemetry.tracing import current_traceparent

DEFER_LIMIT = 500
"""Jobs marked at a time, so that a tick stays short however many wait."""
GetLimits = Callable[[Session, str, str], tenant_queues.ScheduleLimits]
"""Returns the limits under which an app's job of a kind may start."""


@dataclass(frozen=True)
class NewJob:
    """What is asked for."""

    kind: JobKind
    app_id: str
    dedupe: str
    """The same text means the same work; asking twice gives one job."""
    conversation_key: int | None = None
    conversation_id: str | None = None
    epoch: int = 0
    priority: int | None = None
    """As is usual for its kind, where none is given; the same goes for the work class."""
    work_class: WorkClass | None = None
    max_attempts: int = 5
    payload: JobPayload = field(default_factory=JobPayload)
    """Of the type that ``JOB_TYPES`` names for its kind."""
    due_at: datetime | None = None
    """Not before then."""
    sequence: str = NO_SEQUENCE
    """What it is done one after the other with: a user of the app, a webhook, or what no user can be called."""


@dataclass(frozen=True)
class Dispatch:
    """A job that was leased to the queue and has yet to be sent."""

    job_id: str
    fence: int
    kind: str
    priority: int


def enqueue(session: Session, new_job: NewJob, now: datetime) -> Job:
    """Write a job in the caller's transaction, or return the one that already stands for this work."""
    # Of two that ask at once, the second is refused by the unique index, with all of its transaction.
    existing = queries.get_by_dedupe(session, new_job.dedupe)
    if existing is not None:
        return existing
    job_type = JOB_TYPES[new_job.kind]
    if type(new_job.payload) is not job_type.payload:
        raise TypeError(f"A job {new_job.kind} takes a {job_type.payload.__name__}, as shared/contracts/jobs.py says.")
    columns = vars(new_job) | {
        "payload": new_job.payload.model_dump(by_alias=True),
        "priority": job_type.priority if new_job.priority is None else new_job.priority,
        "work_class": new_job.work_class or job_type.work_class,
        "due_at": max(now, new_job.due_at or now),
    }
    traceparent = current_traceparent()
    job = Job(**columns, job_id=new_id("job", now), state=JobState.PENDING, created_at=now, traceparent=traceparent)
    session.add(job)
    session.flush()
    tenant_queues.refresh(session, job.app_id, job.work_class, now)
    # Said at once: a throttled tenant queue sleeps, and nothing would look at this job again to say it.
    throttle = tenant_queues.get_throttle(session, new_job.app_id, job.work_class)
    if throttle is not None:
        job.state, job.deferral, job.deferred_since, job.reason = JobState.DEFERRED, Deferral.BUDGET, now, throttle.why
    return job


def dead_letter(session: Session, kind: str, reason: str, now: datetime, app_id: str | None = None) -> Job:
    """Write a dead letter for a message that never became work, so that it is seen and can be mended."""
    job = Job(
        job_id=new_id("job", now),
        kind=kind,
        app_id=app_id,
        state=JobState.DEAD,
        reason=reason,
        created_at=now,
        due_at=now,
        finished_at=now,
    )
    session.add(job)
    session.flush()
    return job


def take_due(
    session: Session,
    now: datetime,
    limit: int,
    queued_seconds: float,
    get_limits: GetLimits = lambda *_: tenant_queues.ScheduleLimits(),
    work_class: WorkClass = WorkClass.THOUGHT,
) -> list[Dispatch]:
    """Lease up to ``limit`` due jobs of a work class, one of a sequence, in the order of the tenant queues.

    An app that its limits throttle is passed over, and its due jobs say so; so do jobs whose model's server is away.
    """
    taken: list[Dispatch] = []
    tenant_queues.wake(session, now)
    while len(taken) < limit:
        remaining = limit - len(taken)
        found = queries.lock_next_tenant_queues(session, work_class, remaining)
        given = _take_round(session, found, remaining, now, queued_seconds, get_limits)
        taken += given
        session.flush()
        # Where none gave a job and all stay awake, others have the jobs, and looking again would find the same ones for
        # ever.
        if not given and all(tenant_queue.awake for tenant_queue in found):
            break
    return taken


def _take_round(
    session: Session,
    found: Sequence[TenantQueue],
    limit: int,
    now: datetime,
    queued_seconds: float,
    get_limits: GetLimits,
) -> list[Dispatch]:
    """Lease up to ``limit`` jobs of the locked tenant queues that are next, the least start tag first each time."""
    taken: list[Dispatch] = []
    heap = [(_position(tenant_queue), number) for number, tenant_queue in enumerate(found)]
    # Where there may be more tenant queues than these, one of them is next once these are past the last of these.
    last = max(heap)[0] if len(found) == limit else None
    heapify(heap)
    while heap and len(taken) < limit:
        position, number = heappop(heap)
        if last is not None and position > last:
            break
        sent = _take_head(session, found[number], now, queued_seconds, get_limits)
        if sent is not None:
            taken.append(sent)
            if found[number].awake:
                heappush(heap, (_position(found[number]), number))
    return taken


def _position(tenant_queue: TenantQueue) -> tuple[int, int]:
    return tenant_queue.start_tag, tenant_queue.head_seq or 0


def _take_head(
    session: Session, tenant_queue: TenantQueue, now: datetime, queued_seconds: float, get_limits: GetLimits
) -> Dispatch | None:
    job = queries.next_to_send(session, tenant_queue.app_id, tenant_queue.work_class, now, is_locked=True)
    if job is None:
        # Another took what was due, or has it in hand; only in the latter case does the tenant queue stay awake.
        tenant_queues.refresh(session, tenant_queue.app_id, tenant_queue.work_class, now)
        return None
    if job.kind not in JOB_TYPES:
        # Of a later release that was taken back: sent, it would stop the relay; left, it would keep its queue waiting.
        job.state, job.fence, job.finished_at = JobState.DEAD, job.fence + 1, now
        job.reason = f"no worker of this release does jobs of the kind {job.kind}; replay it with one that does"
        tenant_queues.bring_up_to_date(session, tenant_queue, now)
        return None
    limits = get_limits(session, tenant_queue.app_id, job.kind)
    if job.kind in limits.away:
        defer(session, Deferral.PROVIDER, limits.why_away, now, app_id=tenant_queue.app_id, kinds=limits.away)
        tenant_queues.bring_up_to_date(session, tenant_queue, now)
        return None
    if limits.throttle is not None:
        tenant_queues.throttle(session, tenant_queue, limits.throttle, now)
        defer(session, Deferral.BUDGET, limits.throttle.why, now, app_id=tenant_queue.app_id)
        return None
    # A fence of its own for each sending: a message of an earlier one begins nothing.
    job.state, job.fence, job.lease_owner = JobState.QUEUED, job.fence + 1, None
    job.leased_until = now + timedelta(seconds=queued_seconds)
    job.deferred_since = job.deferral = job.reason = None
    tenant_queues.serve(session, tenant_queue, limits.weight, now)
    return Dispatch(job.job_id, job.fence, job.kind, job.priority)


def hand_back(session: Session, sent: Sequence[Dispatch], now: datetime, wait_seconds: float) -> None:
    """Return jobs the broker would not take; each is offered again after ``wait_seconds``."""
    jobs = [job for one in sent if (job := queries.lock_job(session, one.job_id)) and job.fence == one.fence]
    # A worker may have begun one that the broker seemed not to take.
    jobs = [job for job in jobs if job.state == JobState.QUEUED]
    for job in jobs:
        job.state, job.leased_until, job.due_at = JobState.PENDING, None, now + timedelta(seconds=wait_seconds)
    tenant_queues.refresh_all(session, jobs, now)


def revoke(session: Session, why: str, now: datetime) -> int:
    """Defer the jobs that were sent and that nobody has begun, as when energy has run out; return how many."""
    jobs = queries.lock_sent(session, WorkClass.THOUGHT)
    for job in jobs:
        # Its message is still in the queue; under the old fence it begins nothing.
        job.state, job.leased_until, job.fence = JobState.DEFERRED, None, job.fence + 1
        job.deferral, job.deferred_since, job.reason = Deferral.ENERGY, now, why
    tenant_queues.refresh_all(session, jobs, now)
    return len(jobs)


LONGEST_HOLD = timedelta(days=1) + CLOCK_DOUBT
"""No budget has a longer window."""


def is_behind_clock(session: Session, now: datetime, horizon: timedelta) -> bool:
    """Whether a job waits longer than any retry does, or an app is held longer than any budget holds one."""
    return queries.is_any_beyond(session, now + horizon, now + LONGEST_HOLD)


def rebase_after_clock_change(session: Session, now: datetime, horizon: timedelta) -> tuple[int, int]:
    """After a clock was set back, times in a future that nothing reaches are now; return how many jobs' and apps'."""
    jobs = queries.lock_due_beyond(session, now + horizon)
    for job in jobs:
        job.due_at = now
    tenant_queues.refresh_all(session, jobs, now)
    # Locked last, and only what nobody else holds: whoever held one while it waits for another in `refresh_all` could
    # wait for somebody who waits for that one.
    throttled = queries.lock_held_beyond(session, now + LONGEST_HOLD)
    for tenant_queue in throttled:
        tenant_queue.held_until = tenant_queue.held_why = None
        tenant_queues.bring_up_to_date(session, tenant_queue, now)
    return len(jobs), len(throttled)


def defer_sequence(
    session: Session, app_id: str, work_class: WorkClass, sequence: str, until: datetime, now: datetime
) -> None:
    """Have what waits in a sequence wait until then, in the order it has."""
    earlier = queries.seqs_of_sequence(app_id, work_class, sequence).where(Job.due_at < until)
    session.execute(update(Job).where(Job.seq.in_(earlier)).values(due_at=until))
    tenant_queues.refresh(session, app_id, work_class, now)


def make_sequence_due(session: Session, app_id: str, work_class: WorkClass, sequence: str, now: datetime) -> None:
    later = queries.seqs_of_sequence(app_id, work_class, sequence).where(Job.due_at > now)
    session.execute(update(Job).where(Job.seq.in_(later)).values(due_at=now))
    tenant_queues.refresh(session, app_id, work_class, now)


def resume(session: Session, now: datetime) -> int:
    """Let jobs compete again that waited for their model's server, first asked for first; return how many."""
    jobs = queries.lock_waiting_for_provider(session, DEFER_LIMIT)
    for job in jobs:
        job.state, job.deferral, job.deferred_since, job.reason = JobState.PENDING, None, None, None
    session.flush()
    tenant_queues.refresh_all(session, jobs, now)
    return len(jobs)


def defer(
    session: Session,
    what: Deferral,
    why: str,
    now: datetime,
    limit: int = DEFER_LIMIT,
    app_id: str | None = None,
    kinds: Collection[str] = (),
) -> int:
    """Mark due jobs as deferred, of all apps, of one, or of some kinds of one, saying why and since when.

    Return how many are newly so.
    """
    due = queries.lock_undeferred(session, now, limit, app_id, kinds)
    if due:
        deferred = {"state": JobState.DEFERRED, "deferral": what, "deferred_since": now, "reason": why}
        session.execute(update(Job), [{"seq": seq, **deferred} for seq in due])
    return len(due)
