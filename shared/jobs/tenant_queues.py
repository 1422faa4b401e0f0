"""Whose turn it is: one tenant queue an app and work class, in the order of start-time fair queueing.

An app's tenant queue moves on by a quantum over its weight with every job it is given, and the one that has moved least
is next. An app that was idle joins in where the others are, so it neither waits for their backlog nor owes its absence.
It may have several jobs in flight, one a sequence: it is awake while one is due whose sequence has none in flight.
A priority is a head start of so many turns, never a right of way for ever. Source: Goyal, Vin and Cheng, 1996.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.contracts.jobs import WorkClass
from shared.db.inserting import insert_if_absent
from shared.jobs import queries
from shared.jobs.models import Job, TenantQueue, VirtualTime

QUANTUM = 1_000_000
"""Virtual time of one job of an app of weight 1."""
HEAD_START = 2 * QUANTUM
"""What one step of priority is worth."""


@dataclass(frozen=True)
class Throttle:
    """An app's budget allows nothing more for now."""

    until: datetime
    why: str


@dataclass(frozen=True)
class ScheduleLimits:
    """What limits how an app is served: its share beside the others, and what holds it back."""

    weight: int = 1
    throttle: Throttle | None = None
    away: frozenset[str] = frozenset()
    """Kinds of jobs whose model's server is away, or has no such model."""
    why_away: str = ""


def start_tag_of(served: int, priority: int) -> int:
    """Return where a head stands; the least is next."""
    return served + priority * HEAD_START


def served_after(served: int, weight: int) -> int:
    """Return an app's virtual time once it was given one more job."""
    return served + QUANTUM // max(1, weight)


def refresh(session: Session, app_id: str | None, work_class: str, now: datetime) -> None:
    """Bring a tenant queue up to date with its app's jobs; call it in every transaction that changes them."""
    if app_id is not None:
        bring_up_to_date(session, _tenant_queue(session, app_id, work_class), now)


def bring_up_to_date(session: Session, tenant_queue: TenantQueue, now: datetime) -> None:
    if tenant_queue.held_until is not None and tenant_queue.held_until <= now:
        tenant_queue.held_until = tenant_queue.held_why = None
    head, due_at = _head(session, tenant_queue.app_id, tenant_queue.work_class, now)
    if head is None:
        tenant_queue.head_seq, tenant_queue.ready_at, tenant_queue.awake = None, None, False
        return
    if not tenant_queue.awake:
        # Let a tenant queue come back where the others are: after having had nothing, and after having slept. What
        # was behind its own jobs in flight comes back no further behind than its priority keeps it: the turns it
        # could not use are not owed to it, or it would have them all in a row once it has many sequences.
        round_ = session.get(VirtualTime, tenant_queue.work_class)
        waited = tenant_queue.head_seq is not None and tenant_queue.ready_at is None
        lag = head.priority * HEAD_START if waited else 0
        tenant_queue.served = max(tenant_queue.served, (round_.virtual if round_ is not None else 0) - lag)
    held_until = tenant_queue.held_until
    tenant_queue.ready_at = due_at if due_at is None or held_until is None else max(due_at, held_until)
    tenant_queue.awake = tenant_queue.ready_at is not None and tenant_queue.ready_at <= now
    tenant_queue.head_seq = head.seq
    tenant_queue.start_tag = start_tag_of(tenant_queue.served, head.priority)


def _head(session: Session, app_id: str, work_class: str, now: datetime) -> tuple[Job | None, datetime | None]:
    """Return the job that may be sent, or will be due, first, and when; without a time what only waits for others."""
    head = queries.next_to_send(session, app_id, work_class, now)
    if head is None:
        head = queries.next_to_wait_for(session, app_id, work_class, now)
    if head is not None:
        return head, head.due_at
    return queries.first_waiting(session, app_id, work_class), None


def refresh_all(session: Session, jobs: Iterable[Job], now: datetime) -> None:
    """Bring the tenant queues of several jobs up to date, in one order everywhere."""
    for app_id, work_class in sorted({(job.app_id, job.work_class) for job in jobs if job.app_id is not None}):
        refresh(session, app_id, work_class, now)


def wake(session: Session, now: datetime) -> int:
    """Let the tenant queues compete whose time has come; return how many."""
    tenant_queues = queries.lock_tenant_queues_asleep_until(session, now)
    for tenant_queue in tenant_queues:
        bring_up_to_date(session, tenant_queue, now)
    return len(tenant_queues)


def serve(session: Session, tenant_queue: TenantQueue, weight: int, now: datetime) -> None:
    """Move a tenant queue on that was given a job."""
    # Compared by the statement itself: a tenant queue served by another transaction meanwhile must not be set back.
    ahead = (
        update(VirtualTime)
        .where(VirtualTime.work_class == tenant_queue.work_class, VirtualTime.virtual < tenant_queue.served)
        .values(virtual=tenant_queue.served)
    )
    moved = session.execute(ahead)
    if not moved.rowcount and session.get(VirtualTime, tenant_queue.work_class) is None:  # type: ignore[attr-defined]
        insert_if_absent(session, VirtualTime, work_class=tenant_queue.work_class, virtual=tenant_queue.served)
    tenant_queue.served = served_after(tenant_queue.served, weight)
    bring_up_to_date(session, tenant_queue, now)


def throttle(session: Session, tenant_queue: TenantQueue, reason: Throttle, now: datetime) -> None:
    """Keep a tenant queue back until its app's budget allows more."""
    tenant_queue.held_until, tenant_queue.held_why = reason.until, reason.why[:300]
    bring_up_to_date(session, tenant_queue, now)


def throttle_app(session: Session, app_id: str, work_class: str, reason: Throttle, now: datetime) -> None:
    """Keep an app's tenant queue back until its budget allows more."""
    throttle(session, _tenant_queue(session, app_id, work_class), reason, now)


def get_throttle(session: Session, app_id: str, work_class: str) -> Throttle | None:
    """Return what keeps an app's tenant queue back."""
    tenant_queue = session.get(TenantQueue, (app_id, work_class))
    if tenant_queue is None or tenant_queue.held_until is None:
        return None
    return Throttle(tenant_queue.held_until, tenant_queue.held_why or "")


def release(session: Session, app_id: str, now: datetime) -> None:
    """Let an app compete again at once, as when its budget was changed."""
    for work_class in WorkClass:
        tenant_queue = _tenant_queue(session, app_id, work_class)
        tenant_queue.held_until = tenant_queue.held_why = None
        bring_up_to_date(session, tenant_queue, now)


def reconcile(session: Session, now: datetime) -> int:
    """Make every tenant queue agree with the jobs, as after another release wrote jobs; return how many did not."""
    stale = queries.stale_tenant_queues(session)
    return sum(_reconcile_one(session, app_id, work_class, now) for app_id, work_class in stale)


def _reconcile_one(session: Session, app_id: str, work_class: str, now: datetime) -> bool:
    tenant_queue = _tenant_queue(session, app_id, work_class)
    before = (tenant_queue.head_seq, tenant_queue.ready_at)
    bring_up_to_date(session, tenant_queue, now)
    return before != (tenant_queue.head_seq, tenant_queue.ready_at)


def _tenant_queue(session: Session, app_id: str, work_class: str) -> TenantQueue:
    tenant_queue = queries.lock_tenant_queue(session, app_id, work_class)
    if tenant_queue is None:
        # Added by whoever is first, and then locked: two that begin at once must wait for each other.
        insert_if_absent(session, TenantQueue, app_id=app_id, work_class=work_class)
        tenant_queue = queries.lock_tenant_queue(session, app_id, work_class)
    assert tenant_queue is not None
    return tenant_queue
