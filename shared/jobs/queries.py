"""Reads of the jobs table."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    SQLColumnExpression,
    String,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.orm import Session, aliased

from shared.base.errors import NotFound
from shared.contracts.jobs import INDEX_PRIORITY, JobKind, WorkClass
from shared.jobs.models import IN_FLIGHT, OPEN, WAITING, Deferral, Job, JobState, TenantQueue

# Written out as their partial indexes have them: for SQLite, SQLAlchemy would write "awake = 1", which finds no index.
_AWAKE, _ASLEEP = text("tenant_queues.awake"), text("NOT tenant_queues.awake")
_WAITS_FOR_PROVIDER = text("jobs.state = 'deferred' AND jobs.deferral = 'provider_away'")
_COMPETES = or_(Job.deferral.is_(None), Job.deferral != Deferral.PROVIDER)
"""Of a waiting job: a job whose provider is away leaves its place to what needs none."""
LOOK_AHEAD = 1_000
"""Due jobs of a tenant queue among which one is looked for that may be sent."""
_APP, _CLASS = bindparam("app_id", type_=String), bindparam("work_class", type_=String)
_Text = str | SQLColumnExpression[str] | SQLColumnExpression[str | None]


@dataclass(frozen=True)
class JobFilter:
    """Narrows a listing; None means any."""

    state: JobState | None = None
    app_id: str | None = None
    kind: str | None = None
    conversation_key: int | None = None
    reason: str | None = None
    """Part of the reason it has, in any case of letters."""

    def conditions(self) -> list[ColumnElement[bool]]:
        filters = {
            Job.state: self.state,
            Job.app_id: self.app_id,
            Job.kind: self.kind,
            Job.conversation_key: self.conversation_key,
        }
        equal = [column == value for column, value in filters.items() if value is not None]
        return equal if self.reason is None else [*equal, Job.reason.icontains(self.reason, autoescape=True)]


def get_job(session: Session, job_id: str) -> Job:
    """Return one job. Raises: NotFound."""
    job = session.scalar(select(Job).where(Job.job_id == job_id))
    if job is None:
        raise NotFound(f"There is no job {job_id}.", details={"jobId": job_id})
    return job


def get_by_dedupe(session: Session, dedupe: str) -> Job | None:
    """Return the job that already stands for the same work."""
    return session.scalar(select(Job).where(Job.dedupe == dedupe))


def lock_job(session: Session, job_id: str) -> Job | None:
    """Return one job, locked until the transaction ends, or None."""
    query = select(Job).where(Job.job_id == job_id).with_for_update()
    # Read anew: what the session knows of it may be from before the lock.
    return session.scalar(query, execution_options={"populate_existing": True})


def list_jobs(session: Session, job_filter: JobFilter, limit: int, before: int | None = None) -> Sequence[Job]:
    """Return jobs, newest first; ``before`` is the ``seq`` to go on below."""
    query = select(Job).where(*job_filter.conditions()).order_by(Job.seq.desc()).limit(limit)
    return session.scalars(query if before is None else query.where(Job.seq < before)).all()


def first_jobs(session: Session, job_filter: JobFilter, after: int, limit: int) -> Sequence[Job]:
    """Return jobs, oldest first; ``after`` is the ``seq`` to go on above."""
    query = select(Job).where(*job_filter.conditions(), Job.seq > after).order_by(Job.seq).limit(limit)
    return session.scalars(query).all()


def ended_before(session: Session, state: JobState, before: datetime, limit: int) -> list[int]:
    """Return the ``seq`` of those of the oldest ``limit`` jobs of a state that ended before then."""
    # The time is compared below: a query that did would look at every job of the state where none is old enough.
    oldest = select(Job.seq, Job.finished_at).where(Job.state == state).order_by(Job.seq).limit(limit)
    return [seq for seq, at in session.execute(oldest) if at is not None and at < before]


def count_jobs(session: Session, job_filter: JobFilter, after: int = 0) -> dict[str, int]:
    """Return by kind how many jobs there are, above the ``seq`` of ``after``."""
    query = select(Job.kind, func.count()).where(*job_filter.conditions(), Job.seq > after)
    return {kind: count for kind, count in session.execute(query.group_by(Job.kind).order_by(Job.kind))}  # noqa: C416


def jobs_of_conversation(session: Session, conversation_key: int) -> Sequence[Job]:
    """Return the jobs a conversation gave rise to, oldest first."""
    return session.scalars(select(Job).where(Job.conversation_key == conversation_key).order_by(Job.seq)).all()


def get_open(session: Session, conversation_key: int, kind: str) -> Job | None:
    query = select(Job).where(Job.conversation_key == conversation_key, Job.kind == kind, Job.state.in_(OPEN))
    return session.scalar(query.order_by(Job.seq).limit(1))


def is_open_in_tenant_queue(app_id: SQLColumnExpression[str], kind: JobKind) -> ColumnElement[bool]:
    """Say of an app that a job of a kind about its indexes is unfinished; by the indexes of its tenant queue."""
    mine = (Job.app_id == app_id, Job.work_class == WorkClass.THOUGHT, Job.kind == kind)
    # All jobs about indexes have this priority: by it the index passes over the app's other waiting jobs.
    waits = select(Job.seq).where(*mine, Job.priority == INDEX_PRIORITY, is_in_state(WAITING)).exists()
    return or_(waits, select(Job.seq).where(*mine, is_in_state(IN_FLIGHT)).exists())


def last_of_kind(session: Session, app_id: str, kind: JobKind) -> Job | None:
    """Return the job of a kind that an app asked for last."""
    query = select(Job).where(Job.app_id == app_id, Job.kind == kind).order_by(Job.seq.desc()).limit(1)
    return session.scalar(query, execution_options={"populate_existing": True})


def conversations_with_open(session: Session, app_id: str, kind: str) -> Sequence[int]:
    query = select(Job.conversation_key).where(Job.app_id == app_id, Job.kind == kind, Job.state.in_(OPEN))
    return [key for key in session.scalars(query) if key is not None]


def next_to_send(
    session: Session, app_id: str, work_class: str, now: datetime, *, is_locked: bool = False
) -> Job | None:
    """Return the first due job of a tenant queue whose sequence has none in flight; None when none may be sent.

    ``is_locked``: it is locked, and None where another has it. What another has in hand is waited for in a later tick
    and not passed over: a sequence's jobs keep their order.
    """
    mine = {"app_id": app_id, "work_class": work_class, "now": now, "look_ahead": LOOK_AHEAD}
    options = {"populate_existing": is_locked}
    found = (session.scalar(one, mine, execution_options=options) for one in _next(work_class, is_locked))
    return next((job for job in found if job is not None), None)


@cache  # To put them together takes five times as long as to carry them out, and they are asked for with every job.
def _next(work_class: str, is_locked: bool) -> Sequence[Select[Job]]:
    # A bound, so that a look costs the same however many wait behind one job. What lies beyond it is reached when
    # something before it is sent or finishes.
    mine = (*_waiting_in_tenant_queue(_APP, _CLASS), Job.due_at <= bindparam("now"))
    due = select(Job.seq, Job.priority, Job.sequence).where(*mine).order_by(Job.priority, Job.seq)
    first = due.limit(bindparam("look_ahead", type_=Integer)).subquery("due")
    free = select(first.c.seq).where(~_has_in_flight(_APP, _CLASS, first.c.sequence))
    next_ = free.order_by(first.c.priority, first.c.seq).limit(1).scalar_subquery()
    found = [select(Job).where(Job.seq == next_), *([_next_beyond()] if work_class == WorkClass.DELIVERY else [])]
    return [one.where(is_in_state(WAITING)).with_for_update(skip_locked=True) for one in found] if is_locked else found


def _next_beyond() -> Select[Job]:
    # Without a bound: what waits for a webhook that hangs, however much it is, must not hide what is for the others.
    mine = (*_waiting_in_tenant_queue(_APP, _CLASS), Job.due_at <= bindparam("now"))
    free = select(Job.seq).where(*mine, ~_has_in_flight(_APP, _CLASS, Job.sequence))
    return select(Job).where(Job.seq == free.order_by(Job.priority, Job.seq).limit(1).scalar_subquery())


def next_to_wait_for(session: Session, app_id: str, work_class: str, now: datetime) -> Job | None:
    """Return the job of a tenant queue that will be due first of those that are not yet due."""
    mine = (*_waiting_in_tenant_queue(app_id, work_class), Job.due_at > now)
    return session.scalar(select(Job).where(*mine).order_by(Job.due_at, Job.seq).limit(1))


def first_waiting(session: Session, app_id: str, work_class: str) -> Job | None:
    """Return the first waiting job of a tenant queue, whether it may be sent or not."""
    mine = _waiting_in_tenant_queue(app_id, work_class)
    return session.scalar(select(Job).where(*mine).order_by(Job.priority, Job.seq).limit(1))


def seqs_of_sequence(app_id: str, work_class: str, sequence: str) -> Select[int]:
    """Select the ``seq`` of the waiting jobs of a sequence, locked; those in other hands are left to them."""
    mine = _waiting_in_tenant_queue(app_id, work_class)
    return select(Job.seq).where(*mine, Job.sequence == sequence).order_by(Job.seq).with_for_update(skip_locked=True)


def _waiting_in_tenant_queue(app_id: _Text, work_class: _Text) -> tuple[ColumnElement[bool], ...]:
    return Job.app_id == app_id, Job.work_class == work_class, is_in_state(WAITING), _COMPETES


def _has_in_flight(app_id: _Text, work_class: _Text, sequence: SQLColumnExpression[str]) -> ColumnElement[bool]:
    """Say of a sequence of a tenant queue that a job of it is sent and not finished."""
    sent = aliased(Job)
    mine = (sent.app_id == app_id, sent.work_class == work_class, sent.sequence == sequence)
    return select(sent.seq).where(*mine, is_in_state(IN_FLIGHT, sent)).exists()


def count_in_flight_of_app(session: Session, app_id: str) -> int:
    """Return how many jobs of an app that cost energy are sent and not finished."""
    mine = (Job.app_id == app_id, Job.work_class == WorkClass.THOUGHT, is_in_state(IN_FLIGHT))
    return session.scalar(select(func.count()).select_from(Job).where(*mine)) or 0


def lock_tenant_queue(session: Session, app_id: str, work_class: str) -> TenantQueue | None:
    """Return a tenant queue, locked until the transaction ends, or None."""
    query = (
        select(TenantQueue).where(TenantQueue.app_id == app_id, TenantQueue.work_class == work_class).with_for_update()
    )
    return session.scalar(query, execution_options={"populate_existing": True})


def lock_next_tenant_queues(session: Session, work_class: str, limit: int) -> Sequence[TenantQueue]:
    """Return the awake tenant queues whose turn is next, locked; those in other hands are skipped."""
    query = (
        select(TenantQueue)
        .where(TenantQueue.work_class == work_class, _AWAKE)
        .order_by(TenantQueue.start_tag, TenantQueue.head_seq)
        .limit(limit)
    )
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def lock_tenant_queues_asleep_until(session: Session, at: datetime) -> Sequence[TenantQueue]:
    """Return the sleeping tenant queues whose time comes by ``at``, the first to come first, locked."""
    query = select(TenantQueue).where(_ASLEEP, TenantQueue.ready_at <= at).order_by(TenantQueue.ready_at).limit(500)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def has_awake(session: Session, work_class: str) -> bool:
    return (
        session.scalar(select(TenantQueue.app_id).where(TenantQueue.work_class == work_class, _AWAKE).limit(1))
        is not None
    )


def has_asleep_until(session: Session, at: datetime) -> bool:
    """Whether the time of any sleeping tenant queue comes by ``at``."""
    return session.scalar(select(TenantQueue.app_id).where(_ASLEEP, TenantQueue.ready_at <= at).limit(1)) is not None


def stale_tenant_queues(session: Session) -> Sequence[tuple[str, str]]:
    """Return the app and work class of tenant queues that seem not to know of a waiting job.

    Looks at every waiting job. Where something is in flight, it may lie beyond ``LOOK_AHEAD``, and all be well.
    """
    behind = _has_in_flight(Job.app_id, Job.work_class, Job.sequence)
    waiting = (
        select(Job.app_id, Job.work_class, func.max(case((behind, 0), else_=1)).label("free"))
        .where(is_in_state(WAITING), _COMPETES, Job.app_id.is_not(None))
        .group_by(Job.app_id, Job.work_class)
        .subquery()
    )
    stale = (
        select(waiting.c.app_id, waiting.c.work_class)
        .outerjoin(
            TenantQueue, and_(TenantQueue.app_id == waiting.c.app_id, TenantQueue.work_class == waiting.c.work_class)
        )
        .where(
            or_(
                TenantQueue.app_id.is_(None),
                TenantQueue.head_seq.is_(None),
                and_(TenantQueue.ready_at.is_(None), waiting.c.free == 1),
            )
        )
        .order_by(waiting.c.app_id, waiting.c.work_class)
    )
    return [(app_id, work_class) for app_id, work_class in session.execute(stale)]


def count_held(session: Session, now: datetime) -> int:
    """Return how many apps have something to do and no budget for it."""
    query = (
        select(func.count())
        .select_from(TenantQueue)
        .where(TenantQueue.held_until > now, TenantQueue.head_seq.is_not(None))
    )
    return session.scalar(query) or 0


def lock_undeferred(
    session: Session, now: datetime, limit: int, app_id: str | None = None, kinds: Collection[str] = ()
) -> Sequence[int]:
    """Return the ``seq`` of due jobs that cost energy and are not yet deferred, locked; of one app or of all.

    ``kinds``: only those of these kinds, whatever else they are deferred for.
    """
    query = select(Job.seq).where(*_undeferred(now)) if app_id is None else _undeferred_of(app_id, now, kinds)
    return session.scalars(query.order_by(Job.due_at, Job.seq).limit(limit).with_for_update(skip_locked=True)).all()


def has_undeferred(session: Session, now: datetime) -> bool:
    """Whether any due job that costs energy is not yet deferred."""
    first = select(Job.seq).where(*_undeferred(now)).order_by(Job.due_at, Job.seq).limit(1)
    return session.scalar(first) is not None


def _undeferred(now: datetime) -> tuple[ColumnElement[bool], ...]:
    states = (JobState.PENDING, JobState.RETRYING)
    # A literal, as in `is_in_state`: the partial index names the work class.
    return is_in_state(states), Job.work_class == literal_column(f"'{WorkClass.THOUGHT}'"), Job.due_at <= now


def _undeferred_of(app_id: str, now: datetime, kinds: Collection[str]) -> Select[int]:
    # By the index of its tenant queue, which holds the deferred ones too.
    mine = (Job.app_id == app_id, Job.work_class == WorkClass.THOUGHT, is_in_state(WAITING), _COMPETES)
    query = select(Job.seq).where(*mine)
    if kinds:
        return query.where(Job.due_at <= now, Job.kind.in_(kinds))
    # What waited for energy may now wait for its app's budget. What was asked for since ``now`` was read is held with
    # the rest: its tenant queue sleeps from here on, and nothing would look at it again to say so.
    return query.where(
        or_(Job.due_at <= now, Job.state == JobState.PENDING),
        or_(Job.state != JobState.DEFERRED, Job.deferral != Deferral.BUDGET),
    )


def why_provider_is_awaited(session: Session) -> str | None:
    """Return why the first job waits for its model's server; None where none does."""
    return session.scalar(select(Job.reason).where(_WAITS_FOR_PROVIDER).order_by(Job.seq).limit(1))


def lock_waiting_for_provider(session: Session, limit: int) -> Sequence[Job]:
    """Return jobs that wait for their model's server, first asked for first, locked."""
    query = select(Job).where(_WAITS_FOR_PROVIDER).order_by(Job.seq).limit(limit)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def has_sent(session: Session) -> bool:
    """Whether any job that costs energy was sent and nobody has begun it."""
    query = select(Job.seq).where(Job.state == JobState.QUEUED, Job.work_class == WorkClass.THOUGHT)
    return session.scalar(query.limit(1)) is not None


def lock_sent(session: Session, work_class: str) -> Sequence[Job]:
    """Return the jobs that were sent and that nobody has begun, locked."""
    # One that is locked is being begun: what was begun is finished, or what was paid would be lost (decision 12).
    query = select(Job).where(Job.state == JobState.QUEUED, Job.work_class == work_class).order_by(Job.seq)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def count_deferred(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(Job).where(Job.state == JobState.DEFERRED)) or 0


def count_apps_waiting(session: Session) -> dict[str, int]:
    waiting = select(TenantQueue.work_class, func.count()).where(TenantQueue.head_seq.is_not(None))
    rows = session.execute(waiting.group_by(TenantQueue.work_class))
    return {work_class: count for work_class, count in rows}  # noqa: C416


def deferred_by_cause(session: Session) -> dict[Deferral, tuple[int, datetime | None]]:
    """Return by what they wait for how many jobs are deferred, and since when the first of them is."""
    since, cause = func.min(Job.deferred_since), func.coalesce(Job.deferral, Deferral.ENERGY.value)
    query = select(cause, func.count(), since).where(Job.state == JobState.DEFERRED).group_by(cause)
    return {Deferral(cause): (count, first) for cause, count, first in session.execute(query)}


def held_until(session: Session, job: Job) -> datetime | None:
    """Return until when the budget of a job's app allows nothing more."""
    return session.scalar(
        select(TenantQueue.held_until).where(TenantQueue.app_id == job.app_id, TenantQueue.work_class == job.work_class)
    )


def count_deferred_before(session: Session, seq: int) -> int:
    """Return how many deferred jobs were asked for before that one."""
    query = select(func.count()).select_from(Job).where(Job.state == JobState.DEFERRED, Job.seq < seq)
    return session.scalar(query) or 0


def lock_expired(session: Session, now: datetime, horizon: datetime, limit: int) -> Sequence[Job]:
    """Return jobs in flight whose lease has run out, or runs beyond ``horizon``, locked."""
    query = select(Job).where(_is_expired(now, horizon)).order_by(Job.leased_until).limit(limit)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def _is_expired(now: datetime, horizon: datetime) -> ColumnElement[bool]:
    return and_(is_in_state(IN_FLIGHT), or_(Job.leased_until < now, Job.leased_until > horizon))


def lock_due_beyond(session: Session, horizon: datetime) -> Sequence[Job]:
    """Return waiting jobs that are due only beyond ``horizon``, locked."""
    query = select(Job).where(is_in_state(WAITING), Job.due_at > horizon).order_by(Job.seq)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def lock_owned_by(session: Session, node: str) -> Sequence[Job]:
    owned = Job.lease_owner.startswith(f"{node}/", autoescape=True)
    running = select(Job).where(Job.state == JobState.RUNNING, owned).order_by(Job.seq)
    return session.scalars(running.with_for_update()).all()


def lock_open_of_app(
    session: Session, app_id: str, work_classes: Collection[WorkClass], conversations: Select[int] | None = None
) -> Sequence[Job]:
    """Return every unfinished job of an app on some work classes, or only those about some conversations, locked."""
    unfinished = select(Job).where(Job.app_id == app_id, Job.state.in_(OPEN), Job.work_class.in_(work_classes))
    if conversations is not None:
        unfinished = unfinished.where(Job.conversation_key.in_(conversations))
    # Locked ones are waited for and not skipped: a job that is just ending must not write what is erased meanwhile.
    return session.scalars(unfinished.order_by(Job.seq).with_for_update()).all()


def has_expired(session: Session, now: datetime, horizon: datetime) -> bool:
    """Whether the lease of any job in flight has run out, or reaches beyond ``horizon``."""
    return session.scalar(select(Job.seq).where(_is_expired(now, horizon)).limit(1)) is not None


def lock_held_beyond(session: Session, horizon: datetime) -> Sequence[TenantQueue]:
    """Return tenant queues that a budget holds back until beyond ``horizon``, locked."""
    query = (
        select(TenantQueue).where(TenantQueue.held_until > horizon).order_by(TenantQueue.app_id, TenantQueue.work_class)
    )
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def is_any_beyond(session: Session, due_horizon: datetime, throttle_horizon: datetime) -> bool:
    """Whether a waiting job is due only beyond a time, or a tenant queue held back. Looks at every waiting job."""
    late = select(Job.seq).where(is_in_state(WAITING), Job.due_at > due_horizon)
    throttled = select(TenantQueue.app_id).where(TenantQueue.held_until > throttle_horizon)
    return session.scalar(late.limit(1)) is not None or session.scalar(throttled.limit(1)) is not None


def positions_to_deliver(session: Session) -> list[int]:
    """Return the positions of events whose delivery to a webhook is under way, or failed and can be replayed."""
    deliveries = (Job.kind == JobKind.DELIVER_WEBHOOK, Job.state.in_((*OPEN, JobState.DEAD)))
    positions = session.scalars(select(Job.payload["position"].as_integer()).where(*deliveries).distinct())
    return [position for position in positions if position is not None]


def count_in_flight(session: Session, work_class: str = WorkClass.THOUGHT) -> int:
    """Return how many jobs of a work class are sent and not finished."""
    query = select(func.count()).select_from(Job).where(is_in_state(IN_FLIGHT), Job.work_class == work_class)
    return session.scalar(query) or 0


def count_asked_since(session: Session, kind: JobKind, since: datetime) -> int:
    new = (Job.seq > last_asked_before(session, since), Job.created_at >= since)
    return session.scalar(select(func.count()).select_from(Job).where(Job.kind == kind, *new)) or 0


def last_asked_before(session: Session, at: datetime) -> int:
    """Return the ``seq`` of the last job that was asked for before a time; 0 for none. Looks at those after it alone.

    Handed over as a value, it lets the planner of PostgreSQL know how few come after it.
    """
    return session.scalar(select(Job.seq).where(Job.created_at < at).order_by(Job.seq.desc()).limit(1)) or 0


def count_ended_at(session: Session, app_id: str, state: JobState, at: datetime) -> dict[str, int]:
    """Return by kind how many of an app's jobs ended in a state at one moment."""
    query = select(Job.kind, func.count()).where(Job.app_id == app_id, Job.state == state, Job.finished_at == at)
    return {kind: count for kind, count in session.execute(query.group_by(Job.kind))}  # noqa: C416


def is_in_state(states: Collection[JobState], job: type[Job] = Job) -> ColumnElement[bool]:
    # Written out as literals: with bound values SQLite cannot tell that a partial index holds what is asked for.
    return job.state.in_(bindparam(None, [state.value for state in states], expanding=True, literal_execute=True))
