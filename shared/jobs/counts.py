"""How many jobs there are, and since when, for those who watch."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from shared.jobs.models import OPEN, Job, JobState, TenantQueue
from shared.jobs.queries import is_in_state


def count_by_state(session: Session) -> dict[tuple[str, ...], int]:
    """Return the number of jobs by (kind, state). Looks at every job."""
    return _counted(session, select(Job.kind, Job.state, func.count()))


def count_unfinished(session: Session) -> dict[tuple[str, ...], int]:
    return _counted(session, select(Job.kind, Job.state, func.count()).where(Job.state.in_(OPEN)))


def unfinished_by_app(session: Session, app_ids: Collection[str]) -> dict[tuple[str, str], tuple[int, datetime]]:
    """Return how many jobs of apps are unfinished by (app, state), and when the first of them was written."""
    query = select(Job.app_id, Job.state, func.count(), func.min(Job.created_at)).where(
        is_in_state(OPEN), Job.app_id.in_(app_ids)
    )
    rows = session.execute(query.group_by(Job.app_id, Job.state))
    return {(str(app_id), state): (number, since) for app_id, state, number, since in rows}


def _counted(session: Session, query: Select[str, str, int]) -> dict[tuple[str, ...], int]:
    return {(kind, state): count for kind, state, count in session.execute(query.group_by(Job.kind, Job.state))}


def oldest_waiting(session: Session, now: datetime) -> dict[str, datetime]:
    """Return by kind when the oldest job was written that waits for its turn, not for energy nor for a budget."""
    is_throttled = (
        select(TenantQueue.app_id)
        .where(TenantQueue.app_id == Job.app_id, TenantQueue.work_class == Job.work_class, TenantQueue.held_until > now)
        .exists()
    )
    query = select(Job.kind, func.min(Job.created_at)).where(
        is_in_state((JobState.PENDING, JobState.RETRYING)), ~is_throttled
    )
    rows = session.execute(query.group_by(Job.kind))
    return {kind: at for kind, at in rows}  # noqa: C416 - dict() takes a result for a mapping
