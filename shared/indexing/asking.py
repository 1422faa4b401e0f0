"""Asks for the work on an app's indexes: one job of a kind at a time, and none at once after one that failed for good.

A model that is missing is mended by a person; until then a job now and then is enough to notice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from shared.contracts.jobs import INDEX_PRIORITY, JobKind
from shared.ids import new_id
from shared.indexing import queries
from shared.outbox.dispatch import NewJob, enqueue
from shared.outbox.models import OPEN, Job, JobState
from shared.outbox.queries import last_of_kind

REST_PER_ATTEMPT = timedelta(seconds=60)
"""After a job has failed for good, for each attempt it took."""
REST_AFTER_NOTHING = timedelta(seconds=60)
"""After one that found nothing to do although it looked as if there were."""


def may_ask(last: Job | None, now: datetime) -> bool:
    """Whether another job may be asked for, given the last one of its kind."""
    if last is None or last.finished_at is None:
        return last is None or last.state not in OPEN
    rest = {JobState.DEAD: REST_PER_ATTEMPT * last.attempts, JobState.NOTHING: REST_AFTER_NOTHING}
    # A job that ended in the future did so before the clock was set back.
    return not last.finished_at <= now < last.finished_at + rest.get(JobState(last.state), timedelta())


def may_ask_for_vectors(session: Session, app_id: str, now: datetime) -> bool:
    """Whether a job for the vectors of an app's messages may be asked for now."""
    last = last_of_kind(session, app_id, JobKind.EMBED_MESSAGES)
    said_since = last is not None and last.state == JobState.NOTHING and queries.has_unembedded(session, app_id)
    return said_since or may_ask(last, now)


def ask_for_vectors(session: Session, app_id: str, epoch: int, now: datetime, max_attempts: int) -> Job | None:
    """Ask for the vectors of a locked app's messages; None while a job is under way, or it is too early for another."""
    if not may_ask_for_vectors(session, app_id, now):
        return None
    return _enqueue(session, JobKind.EMBED_MESSAGES, app_id, epoch, now, max_attempts)


def ask_for_filling(session: Session, app_id: str, epoch: int, now: datetime, max_attempts: int) -> Job:
    """Ask for a back-fill of a locked app, or return the job that is under way."""
    last = last_of_kind(session, app_id, JobKind.INDEX_MESSAGES)
    if last is not None and last.state in OPEN:
        return last
    return _enqueue(session, JobKind.INDEX_MESSAGES, app_id, epoch, now, max_attempts)


def _enqueue(session: Session, kind: JobKind, app_id: str, epoch: int, now: datetime, max_attempts: int) -> Job:
    wanted = NewJob(
        kind=kind,
        app_id=app_id,
        dedupe=f"{kind}:{new_id('ask', now)}",
        epoch=epoch,
        priority=INDEX_PRIORITY,
        max_attempts=max_attempts,
    )
    return enqueue(session, wanted, now)
