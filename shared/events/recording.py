"""Writing an event in the transaction in which the thing happened, giving it its position, and forgetting old ones.

Only one loop gives positions at a time. They follow each other without holes and are never given out again, so that
whoever has read up to one has missed nothing below it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.contracts.jobs import JobKind
from shared.contracts.values import EventKind
from shared.db.inserting import insert_if_absent
from shared.events import queries
from shared.events.models import Event, EventCount, Webhook


def record(
    session: Session,
    kind: EventKind,
    app_id: str,
    now: datetime,
    *,
    conversation_id: str | None = None,
    subject: str | int | None = None,
    **details: str | int | float | None,
) -> None:
    """Add an event; listeners are told once the transaction has ended and the regulating loop has placed it."""
    session.add(
        Event(
            app_id=app_id,
            kind=kind,
            conversation_id=conversation_id,
            subject=None if subject is None else str(subject),
            details={name: value for name, value in details.items() if value is not None},
            at=now,
        )
    )


def record_end_of_job(
    session: Session,
    app_id: str | None,
    job_id: str,
    kind: str,
    state: str,
    now: datetime,
    conversation_id: str | None = None,
) -> None:
    """Add the event of a job that ended for good; that a webhook was told is not told again."""
    if app_id is None or kind == JobKind.DELIVER_WEBHOOK:
        return
    record(
        session,
        EventKind.JOB_FINISHED,
        app_id,
        now,
        conversation_id=conversation_id,
        subject=job_id,
        job=kind,
        state=state,
    )


_AT_ONCE = 500
"""Conversations whose events are deleted by one statement."""


@dataclass(frozen=True)
class PublishedEvent:
    """An event that now has a position."""

    position: int
    kind: str
    app_id: str
    at: datetime


def publish(session: Session, limit: int) -> list[PublishedEvent]:
    """Give the oldest unplaced events the next positions; return them."""
    unpublished = queries.lock_unplaced(session, limit)
    if not unpublished:
        return []
    count = _count(session)
    # Given here, by one loop, and not when events are recorded: transactions end in another order than they begin, and
    # whoever has read up to a position would miss what is committed below it later.
    published = [
        PublishedEvent(count.published + i, one.kind, one.app_id, one.at) for i, one in enumerate(unpublished, 1)
    ]
    positions = [{"row": one.row, "position": new.position} for one, new in zip(unpublished, published, strict=True)]
    session.execute(update(Event), positions)
    count.published = published[-1].position
    return published


def forget(session: Session, before: datetime, limit: int, needed: Sequence[int] = ()) -> int:
    """Delete placed events that happened before then, at most ``limit``, but those needed; return how many."""
    old = queries.older_rows(session, before, limit, needed)
    if old:
        count = _count(session)
        # The largest, not the last: after a clock was set back, later positions have earlier times.
        count.forgotten = max(count.forgotten, *(position for _, position in old))
        session.execute(delete(Event).where(Event.row.in_([row for row, _ in old])))
    return len(old)


def listeners(session: Session, published: Sequence[PublishedEvent]) -> list[tuple[PublishedEvent, Webhook]]:
    """Return which webhook is to be told of which event: app by app, and in order within an app."""
    webhooks = queries.listening_webhooks(session, sorted({one.app_id for one in published}))
    deliveries = [
        (one, webhook)
        for one in published
        for webhook in webhooks
        if webhook.app_id == one.app_id and (not webhook.kinds or one.kind in webhook.kinds)
    ]
    # By app, because the tenant queues of apps are locked in that order everywhere.
    return sorted(deliveries, key=lambda pair: pair[0].app_id)


def erase_of_app(session: Session, app_id: str) -> dict[str, int]:
    """Delete an app's events and webhooks; return how many of each."""
    return {
        "events": _deleted(session, delete(Event).where(Event.app_id == app_id)),
        "webhooks": _deleted(session, delete(Webhook).where(Webhook.app_id == app_id)),
    }


def erase_of_conversations(session: Session, app_id: str, names: Collection[str]) -> int:
    """Delete the events of some conversations of an app, by their ids; return how many."""
    ordered, deleted = sorted(names), 0
    for start in range(0, len(ordered), _AT_ONCE):
        some = Event.conversation_id.in_(ordered[start : start + _AT_ONCE])
        deleted += _deleted(session, delete(Event).where(Event.app_id == app_id, some))
    return deleted


def _count(session: Session) -> EventCount:
    count = queries.lock_count(session)
    if count is None:
        # Two may find no row; the second insert does nothing, and both go on from the same one, one after the other.
        insert_if_absent(session, EventCount, name=queries.THE_COUNT, published=0, forgotten=0)
        count = queries.lock_count(session)
    assert count is not None
    return count


def _deleted(session: Session, statement: object) -> int:
    return int(session.execute(statement).rowcount)  # type: ignore[call-overload]
