"""Reads of the jobs table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from shared.errors import NotFound
from shared.outbox.models import IN_FLIGHT, OPEN, WAITING, Job, JobState, Turn


@dataclass(frozen=True)
class JobFilter:
    """Narrows a listing; None means any."""

    state: JobState | None = None
    app_id: str | None = None
    kind: str | None = None
    conversation_key: int | None = None


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
    return session.scalar(query, execution_options={"populate_existing": True})


def list_jobs(session: Session, wanted: JobFilter, limit: int, before: int | None = None) -> Sequence[Job]:
    """Return jobs, newest first; ``before`` is the ``seq`` to go on below."""
    query = select(Job).order_by(Job.seq.desc()).limit(limit)
    for column, value in (
        (Job.state, wanted.state),
        (Job.app_id, wanted.app_id),
        (Job.kind, wanted.kind),
        (Job.conversation_key, wanted.conversation_key),
    ):
        if value is not None:
            query = query.where(column == value)
    return session.scalars(query if before is None else query.where(Job.seq < before)).all()


def jobs_of_conversation(session: Session, conversation_key: int) -> Sequence[Job]:
    """Return the jobs a conversation gave rise to, oldest first."""
    return session.scalars(select(Job).where(Job.conversation_key == conversation_key).order_by(Job.seq)).all()


def heads_by_app(now: datetime, limit: int) -> Select[int]:
    """Return the query for the next due job of each app that has none in flight, longest unserved app first.

    At most one job of an app is in flight: its memories are rewritten in order, and no app can crowd out another.
    What another loop has locked is skipped.
    """
    busy = aliased(Job)
    in_flight = select(busy.app_id).where(busy.state.in_(IN_FLIGHT), busy.app_id.is_not(None))
    place = func.row_number().over(partition_by=Job.app_id, order_by=(Job.priority, Job.seq)).label("place")
    due = (
        select(Job.seq, place).where(Job.state.in_(WAITING), Job.due_at <= now, Job.app_id.not_in(in_flight)).subquery()
    )
    heads = (
        select(Job.seq)
        .join(due, due.c.seq == Job.seq)
        .outerjoin(Turn, Turn.app_id == Job.app_id)
        .where(due.c.place == 1, Job.state.in_(WAITING))
        .order_by(Job.priority, Turn.served_at.asc().nulls_first(), Job.seq)
        .limit(limit)
    )
    return heads.with_for_update(of=Job, skip_locked=True)


def lock_due(session: Session, now: datetime) -> Sequence[int]:
    """Return the ``seq`` of due jobs that are not yet deferred, locked; those in other hands come later."""
    query = select(Job.seq).where(Job.state.in_((JobState.PENDING, JobState.RETRYING)), Job.due_at <= now)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def lock_expired(session: Session, now: datetime, horizon: datetime, limit: int) -> Sequence[Job]:
    """Return jobs in flight whose lease has run out, or runs beyond ``horizon``, locked."""
    query = select(Job).where(_is_expired(now, horizon)).order_by(Job.leased_until).limit(limit)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def _is_expired(now: datetime, horizon: datetime) -> ColumnElement[bool]:
    return and_(Job.state.in_(IN_FLIGHT), or_(Job.leased_until < now, Job.leased_until > horizon))


def lock_due_beyond(session: Session, horizon: datetime) -> Sequence[Job]:
    """Return waiting jobs that are due only beyond ``horizon``, locked."""
    query = select(Job).where(Job.state.in_(WAITING), Job.due_at > horizon).order_by(Job.seq)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def lock_owned_by(session: Session, node: str) -> Sequence[Job]:
    """Return running jobs of one worker node, locked."""
    owned = Job.lease_owner.startswith(f"{node}/", autoescape=True)
    running = select(Job).where(Job.state == JobState.RUNNING, owned).order_by(Job.seq)
    return session.scalars(running.with_for_update()).all()


def lock_open_of_app(session: Session, app_id: str) -> Sequence[Job]:
    """Return every unfinished job of an app, locked."""
    unfinished = select(Job).where(Job.app_id == app_id, Job.state.in_(OPEN)).order_by(Job.seq)
    return session.scalars(unfinished.with_for_update()).all()


def has_due(session: Session, now: datetime) -> bool:
    """Whether any job waits and is due."""
    return session.scalar(select(Job.seq).where(Job.state.in_(WAITING), Job.due_at <= now).limit(1)) is not None


def has_expired(session: Session, now: datetime, horizon: datetime) -> bool:
    """Whether the lease of any job in flight has run out, or any job stands beyond ``horizon``."""
    beyond = and_(Job.state.in_(WAITING), Job.due_at > horizon)
    return any(session.scalar(select(Job.seq).where(p).limit(1)) for p in (_is_expired(now, horizon), beyond))


def count_in_flight(session: Session) -> int:
    """Return how many jobs are sent and not finished."""
    return session.scalar(select(func.count()).select_from(Job).where(Job.state.in_(IN_FLIGHT))) or 0


def count_by_state(session: Session) -> dict[tuple[str, str], int]:
    """Return the number of jobs by (kind, state)."""
    rows = session.execute(select(Job.kind, Job.state, func.count()).group_by(Job.kind, Job.state))
    return {(kind, state): count for kind, state, count in rows}


def count_ended_at(session: Session, app_id: str, state: JobState, at: datetime) -> dict[str, int]:
    """Return by kind how many of an app's jobs ended in a state at one moment."""
    query = select(Job.kind, func.count()).where(Job.app_id == app_id, Job.state == state, Job.finished_at == at)
    return {kind: count for kind, count in session.execute(query.group_by(Job.kind))}  # noqa: C416


def oldest_waiting(session: Session) -> dict[str, datetime]:
    """Return when the oldest waiting job of each kind was written."""
    rows = session.execute(select(Job.kind, func.min(Job.created_at)).where(Job.state.in_(WAITING)).group_by(Job.kind))
    return {kind: at for kind, at in rows}  # noqa: C416 - dict() takes a result for a mapping
