"""Looks up the text that events are about; what was erased since is not found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from shared.contracts.events import EventKind
from shared.conversations.models import Answer, Conversation, Message
from shared.events.models import Event
from shared.memories.models import Memory

_ABOUT_MEMORIES = (EventKind.MEMORY_CREATED, EventKind.MEMORY_CHANGED)
HAVE_CONTENT = (EventKind.ANSWER_SENT, EventKind.ANSWER_PENDING, *_ABOUT_MEMORIES)
"""Kinds of events that are about a text."""
Contents = dict[int, str | None]
"""Texts by the row of the event that is about them."""


def contents_of(session: Session, events: Sequence[Event]) -> Contents:
    """Return the text each of some events is about, as it stands now; None where it stands no more."""
    found: Contents = {event.row: None for event in events if event.kind in HAVE_CONTENT}
    found |= _memories(session, [event for event in events if event.kind in _ABOUT_MEMORIES])
    found |= _pending(session, [event for event in events if event.kind == EventKind.ANSWER_PENDING])
    return found | _messages(session, [event for event in events if event.kind == EventKind.ANSWER_SENT])


def _memories(session: Session, events: Sequence[Event]) -> Contents:
    ids = [int(event.subject) for event in events if event.subject is not None]
    if not ids:
        return {}
    query = select(Memory.memory_id, Memory.app_id, Memory.content).where(Memory.memory_id.in_(ids))
    texts = {(app_id, str(memory_id)): content for memory_id, app_id, content in session.execute(query)}
    return {event.row: texts.get((event.app_id, event.subject or "")) for event in events}


def _pending(session: Session, events: Sequence[Event]) -> Contents:
    ids = _subjects(events)
    if not ids:
        return {}
    query = select(Answer.answer_id, Answer.app_id, Answer.content).where(Answer.answer_id.in_(ids))
    texts = {(app_id, answer_id): content for answer_id, app_id, content in session.execute(query)}
    return {event.row: texts.get((event.app_id, event.subject or "")) for event in events}


def _messages(session: Session, events: Sequence[Event]) -> Contents:
    wanted = {(event.app_id, event.conversation_id, event.subject) for event in events if event.subject is not None}
    if not wanted:
        return {}
    name = (Conversation.app_id, Conversation.conversation_id, Message.message_id)
    query = select(*name, Message.content).join(Conversation, Conversation.key == Message.conversation_key)
    texts: dict[tuple[str, str | None, str | None], str]
    texts = {(row[0], row[1], row[2]): row[3] for row in session.execute(query.where(tuple_(*name).in_(wanted)))}
    return {event.row: texts.get((event.app_id, event.conversation_id, event.subject)) for event in events}


def _subjects(events: Iterable[Event]) -> list[str]:
    return [event.subject for event in events if event.subject is not None]
