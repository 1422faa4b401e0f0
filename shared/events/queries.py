"""Reads of events and webhooks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from shared.base.errors import NotFound, Operation
from shared.db.queries import given_numbers
from shared.events.models import Event, EventCount, Webhook

THE_COUNT = "events"


@dataclass(frozen=True)
class EventFilter:
    """Narrows what a listener hears; None means any, and no kinds mean all."""

    app_id: str | None = None
    kinds: tuple[str, ...] = ()
    conversation_id: str | None = None
    among: Select[str] | None = None
    """Only what happens in the conversations whose ids this selects."""
    untold: tuple[str, ...] = ()
    """Kinds that are not heard, whichever are asked for."""


@dataclass(frozen=True)
class Extent:
    """Which positions there are: those above ``forgotten``, up to ``placed``."""

    published: int = 0
    forgotten: int = 0


def extent(session: Session) -> Extent:
    """Return which positions are given out and kept."""
    row = session.execute(
        select(EventCount.published, EventCount.forgotten).where(EventCount.name == THE_COUNT)
    ).first()
    return Extent() if row is None else Extent(row[0], row[1])


def lock_count(session: Session) -> EventCount | None:
    """Return the row that counts positions, locked until the transaction ends."""
    query = select(EventCount).where(EventCount.name == THE_COUNT).with_for_update()
    # Read over: a row known from before the lock would give positions out a second time.
    return session.scalar(query, execution_options={"populate_existing": True})


def has_unplaced(session: Session) -> bool:
    return session.scalar(select(Event.row).where(Event.position.is_(None)).limit(1)) is not None


def lock_unplaced(session: Session, limit: int) -> Sequence[Event]:
    """Return the oldest events without a position, locked."""
    query = select(Event).where(Event.position.is_(None)).order_by(Event.row).limit(limit)
    return session.scalars(query.with_for_update()).all()


def oldest_unplaced(session: Session) -> datetime | None:
    """Return when the oldest event without a position happened."""
    return session.scalar(select(Event.at).where(Event.position.is_(None)).order_by(Event.row).limit(1))


def events_after(session: Session, event_filter: EventFilter, after: int, upto: int, limit: int) -> Sequence[Event]:
    """Return events by position, those above ``after`` and not above ``upto``."""
    query = select(Event).where(Event.position > after, Event.position <= upto).order_by(Event.position).limit(limit)
    if event_filter.app_id is not None:
        query = query.where(Event.app_id == event_filter.app_id)
    if event_filter.kinds:
        query = query.where(Event.kind.in_(event_filter.kinds))
    if event_filter.conversation_id is not None:
        query = query.where(Event.conversation_id == event_filter.conversation_id)
    if event_filter.untold:
        query = query.where(Event.kind.not_in(event_filter.untold))
    if event_filter.among is not None:
        query = query.where(Event.conversation_id.in_(event_filter.among))
    return session.scalars(query).all()


def event_at(session: Session, position: int) -> Event | None:
    """Return the event of a position, unless it was forgotten or erased."""
    return session.scalar(select(Event).where(Event.position == position))


def has_older(session: Session, than: datetime) -> bool:
    return session.scalar(select(Event.row).where(Event.at < than).limit(1)) is not None


def older_rows(session: Session, than: datetime, limit: int, needed: Sequence[int]) -> Sequence[tuple[int, int]]:
    """Return row and position of placed events that happened before then, but those at positions that are needed."""
    numbers, number = given_numbers("needed")
    query = select(Event.row, Event.position).where(Event.at < than, Event.position.is_not(None))
    unneeded = query.where(Event.position.not_in(select(number).select_from(numbers)))
    rows = session.execute(unneeded.order_by(Event.at).limit(limit), {"needed": needed})
    return [(row, position) for row, position in rows if position is not None]


def count_events(session: Session, app_id: str, names: Collection[str] | None = None) -> int:
    """Return how many events of an app, or of some of its conversations (by their ids), are kept."""
    query = select(func.count()).select_from(Event).where(Event.app_id == app_id)
    if names is not None:
        query = query.where(Event.conversation_id.in_(names))
    return session.scalar(query) or 0


def webhooks_of(session: Session, app_id: str) -> Sequence[Webhook]:
    """Return an app's webhooks, oldest first."""
    query = select(Webhook).where(Webhook.app_id == app_id)
    return session.scalars(query.order_by(Webhook.created_at, Webhook.webhook_id)).all()


def listening_webhooks(session: Session, app_ids: Sequence[str]) -> Sequence[Webhook]:
    query = select(Webhook).where(Webhook.app_id.in_(app_ids), Webhook.disabled_at.is_(None))
    return session.scalars(query.order_by(Webhook.webhook_id)).all()


def get_webhook(session: Session, app_id: str, webhook_id: str, lock: bool = False) -> Webhook:
    """Return an app's webhook, locked if wished. Raises: NotFound."""
    webhook = session.get(Webhook, webhook_id, with_for_update=lock or None)
    if webhook is None or webhook.app_id != app_id:
        raise NotFound(
            f"App {app_id} has no webhook {webhook_id}; {{operation}} lists those it has.",
            details={"appId": app_id, "webhookId": webhook_id},
            operation=Operation("listWebhooks", {"appId": app_id}),
        )
    return webhook


def count_webhooks(session: Session, app_id: str) -> int:
    return session.scalar(select(func.count()).select_from(Webhook).where(Webhook.app_id == app_id)) or 0
