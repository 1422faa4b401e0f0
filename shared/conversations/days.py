"""Whose day it is: times as the clock of the person showed them who said something.

The one place that decides it; see ``TimeZones``. What reads "today", heads messages with a day or tells a model a date
goes by it. Source: decision 0036.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, case, func, select
from sqlalchemy.orm import Session

from shared.apps.models import App, UserSettings
from shared.conversations.models import Conversation, Message
from shared.db.queries import given_numbers
from shared.search.models import LAST_POSITION, POSITION_BITS


@dataclass(frozen=True, slots=True)
class TimeZones:
    """What tells where somebody was when they said something; what is known of it first decides, and else UTC."""

    conversation: str | None = None
    user: str | None = None
    utc_offset_minutes: int | None = None
    """Of the message; where it came without one, of the last before it that had one, else of the first behind it."""
    app: str | None = None

    def local(self, at: datetime) -> datetime:
        """Return a time as the person's clock showed it."""
        named = self.conversation or self.user
        if named is None and self.utc_offset_minutes is not None:
            return at.astimezone(timezone(timedelta(minutes=self.utc_offset_minutes)))
        zone = named or self.app
        if not zone:
            return at.astimezone(UTC)
        offset = at.astimezone(ZoneInfo(zone)).utcoffset()
        # Not in the named zone: Python compares two times of one by what its clock showed, even after it was put back.
        return at.astimezone(timezone(offset or timedelta()))


def offset_of(written: datetime) -> int | None:
    """Return the minutes of the offset a time was written with; None for UTC, which is how programs write times."""
    offset = written.utcoffset()
    return int(offset.total_seconds()) // 60 if offset else None


def offset_at(
    conversation_key: SQLColumnExpression[int], position: SQLColumnExpression[int] | int
) -> ColumnElement[int | None]:
    """Return the offset that holds at a place of a conversation, as ``TimeZones`` has it."""
    known = select(Message.utc_offset_minutes).limit(1)
    known = known.where(Message.conversation_key == conversation_key, Message.utc_offset_minutes.is_not(None))
    before = known.where(Message.position <= position).order_by(Message.position.desc())
    behind = known.where(Message.position > position).order_by(Message.position)
    return func.coalesce(before.scalar_subquery(), behind.scalar_subquery())


def zone_columns(offset: ColumnElement[int | None]) -> tuple[SQLColumnExpression[Any], ...]:
    """Return the columns ``TimeZones`` is made of; the offset is looked up only where no zone was named."""
    named = func.coalesce(Conversation.time_zone, UserSettings.time_zone)
    return (Conversation.time_zone, UserSettings.time_zone, case((named.is_(None), offset)), App.time_zone)


_DOC_IDS, _DOC_ID = given_numbers("places")
_KEY, _POSITION = _DOC_ID // (LAST_POSITION + 1), _DOC_ID % (LAST_POSITION + 1)
# Written once: building a statement takes longer than these take to run.
_AT_DOC_IDS = (
    select(_DOC_ID, *zone_columns(offset_at(Conversation.key, _POSITION)))
    .select_from(_DOC_IDS)
    .join(Conversation, Conversation.key == _KEY)
    .join(App, App.app_id == Conversation.app_id)
    .outerjoin(
        UserSettings, and_(UserSettings.app_id == Conversation.app_id, UserSettings.user_id == Conversation.user_id)
    )
)


def zones_at(session: Session, doc_ids: Sequence[int]) -> dict[int, TimeZones]:
    """Return what tells where somebody was, for each place: a doc id, as of ``shared.search.models``.

    A conversation that is gone has none.
    """
    if not doc_ids:
        return {}
    found = session.connection().execute(_AT_DOC_IDS, {"places": doc_ids})
    return {doc_id: TimeZones(*known) for doc_id, *known in found}


def local_times(session: Session, messages: Sequence[Message]) -> list[datetime]:
    """Return when each message was said, as the clock of the person showed it."""
    doc_ids = [_doc_id(one.conversation_key, one.position) for one in messages]
    zones = zones_at(session, doc_ids)
    return [zones[doc_id].local(one.created_at) for doc_id, one in zip(doc_ids, messages, strict=True)]


def _doc_id(conversation_key: int, position: int) -> int:
    return conversation_key << POSITION_BITS | min(position, LAST_POSITION)


def zones_now(session: Session, conversation_key: int) -> TimeZones:
    """Return what tells where somebody is now: at the end of a conversation."""
    doc_id = _doc_id(conversation_key, LAST_POSITION)
    return zones_at(session, [doc_id])[doc_id]
