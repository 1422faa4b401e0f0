"""From written to sent: jobs are added in the caller's transaction, and handed out fairly once they are due.

Whether they may be handed out at all is the regulator's to say; carrying them over Redis is the loop's relay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.ids import new_id
from shared.outbox import queries
from shared.outbox.models import Job, JobState, Turn


@dataclass(frozen=True)
class NewJob:
    """What is asked for."""

    kind: str
    app_id: str
    dedupe: str
    """The same text means the same work; asking twice gives one job."""
    conversation_key: int | None = None
    conversation_id: str | None = None
    epoch: int = 0
    priority: int = 5
    max_attempts: int = 5
    payload: dict[str, Any] | None = None


@dataclass(frozen=True)
class Dispatch:
    """A job that was leased to the queue and has yet to be sent."""

    job_id: str
    fence: int
    kind: str
    priority: int


def enqueue(session: Session, wanted: NewJob, now: datetime) -> Job:
    """Write a job in the caller's transaction, or return the one that already stands for this work."""
    present = queries.get_by_dedupe(session, wanted.dedupe)
    if present is not None:
        return present
    job = Job(
        job_id=new_id("job", now),
        kind=wanted.kind,
        app_id=wanted.app_id,
        conversation_key=wanted.conversation_key,
        conversation_id=wanted.conversation_id,
        epoch=wanted.epoch,
        dedupe=wanted.dedupe,
        payload=wanted.payload or {},
        priority=wanted.priority,
        max_attempts=wanted.max_attempts,
        state=JobState.PENDING,
        created_at=now,
        due_at=now,
    )
    session.add(job)
    session.flush()
    return job


def bury(session: Session, kind: str, reason: str, now: datetime, app_id: str | None = None) -> Job:
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


def take_due(session: Session, now: datetime, limit: int, queued_seconds: float) -> list[Dispatch]:
    """Lease up to ``limit`` due jobs to the queue, at most one an app, longest unserved app first."""
    if limit <= 0:
        return []
    sent_off = (
        update(Job)
        .where(Job.seq.in_(queries.heads_by_app(now, limit)))
        .values(
            state=JobState.QUEUED,
            fence=Job.fence + 1,
            lease_owner=None,
            leased_until=now + timedelta(seconds=queued_seconds),
            deferred_since=None,
            reason=None,
        )
        .returning(Job.priority, Job.seq, Job.job_id, Job.fence, Job.kind, Job.app_id)
        .execution_options(synchronize_session=False)
    )
    jobs = sorted(session.execute(sent_off).all(), key=lambda job: (job.priority, job.seq))
    _note_turns(session, [job.app_id for job in jobs if job.app_id is not None], now)
    return [Dispatch(job.job_id, job.fence, job.kind, job.priority) for job in jobs]


def _note_turns(session: Session, app_ids: Sequence[str], now: datetime) -> None:
    known = session.execute(update(Turn).where(Turn.app_id.in_(app_ids)).values(served_at=now).returning(Turn.app_id))
    new = set(app_ids).difference(known.scalars())
    session.add_all(Turn(app_id=app_id, served_at=now) for app_id in sorted(new))


def hand_back(session: Session, sent: Sequence[Dispatch], now: datetime, wait_seconds: float) -> None:
    """Return jobs the broker would not take; each is offered again after ``wait_seconds``."""
    for one in sent:
        session.execute(
            update(Job)
            .where(Job.job_id == one.job_id, Job.fence == one.fence, Job.state == JobState.QUEUED)
            .values(state=JobState.PENDING, leased_until=None, due_at=now + timedelta(seconds=wait_seconds))
        )


def hasten(session: Session, now: datetime, horizon: timedelta) -> int:
    """Make jobs due that wait longer than any retry does, as after a clock was set back; return how many."""
    jobs = queries.lock_due_beyond(session, now + horizon)
    for job in jobs:
        job.due_at = now
    return len(jobs)


def defer(session: Session, why: str, now: datetime) -> int:
    """Mark every due job as deferred, saying why and since when; return how many are newly so."""
    due = queries.lock_due(session, now)
    if due:
        deferred = {"state": JobState.DEFERRED, "deferred_since": now, "reason": why}
        session.execute(update(Job), [{"seq": seq, **deferred} for seq in due])
    return len(due)
