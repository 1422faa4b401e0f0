"""The one form in which an event leaves the installation: on a stream, in a long poll and to a webhook.

The text an event is about is looked up at that moment; what was erased since is not found.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from shared.contracts.values import EventKind
from shared.conversations.models import Answer, Conversation, Message
from shared.events.models import Event
from shared.memories.models import Memory

TEST_KIND = "webhook.test"


class EventPayload(BaseModel):
    """An event as it goes to listeners."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    position: int | None = Field(description="What a listener resumes after; null for a test.")
    kind: str = Field(description="What happened.", examples=["memory.created"])
    app_id: str
    conversation_id: str | None
    subject: str | None = Field(description="Id of the message, memory, fact, answer or job it is about.")
    details: dict[str, Any] = Field(description="Numbers and words of closed sets.")
    at: datetime
    content: str | None = Field(
        None, description="The text it is about, as it stands when it is told; null when it stands no more."
    )

    def as_fields(self) -> dict[str, Any]:
        """Return it as it goes over the wire; kinds that are about no text have no content."""
        return self.model_dump(
            mode="json", by_alias=True, exclude=set() if self.kind in KINDS_WITH_TEXT else {"content"}
        )


def payloads_of(session: Session, events: Sequence[Event]) -> list[EventPayload]:
    """Return events with the text they are about."""
    found: EventTexts = {event.row: None for event in events if event.kind in KINDS_WITH_TEXT}
    found |= _memories(session, [event for event in events if event.kind in _ABOUT_MEMORIES])
    found |= _pending(session, [event for event in events if event.kind == EventKind.ANSWER_PENDING])
    contents = found | _messages(session, [event for event in events if event.kind == EventKind.ANSWER_SENT])
    of_row = EventPayload.model_fields.keys() - {"content"}
    return [
        EventPayload(content=contents.get(event.row), **{name: getattr(event, name) for name in of_row})
        for event in events
    ]


def trial_payload(app_id: str, webhook_id: str, at: datetime) -> EventPayload:
    """Return the payload of a test that a webhook's owner asks for."""
    return EventPayload(
        position=None, kind=TEST_KIND, app_id=app_id, conversation_id=None, subject=webhook_id, details={}, at=at
    )


_ABOUT_MEMORIES = (EventKind.MEMORY_CREATED, EventKind.MEMORY_CHANGED)
KINDS_WITH_TEXT = (EventKind.ANSWER_SENT, EventKind.ANSWER_PENDING, *_ABOUT_MEMORIES)
"""Kinds of events that are about a text."""
EventTexts = dict[int, str | None]
"""Texts by the row of the event that is about them."""


def _memories(session: Session, events: Sequence[Event]) -> EventTexts:
    ids = [int(event.subject) for event in events if event.subject is not None]
    if not ids:
        return {}
    query = select(Memory.memory_id, Memory.app_id, Memory.content).where(Memory.memory_id.in_(ids))
    # By the app as well: whatever id an event has, it shows no other app's text.
    texts = {(app_id, str(memory_id)): content for memory_id, app_id, content in session.execute(query)}
    return {event.row: texts.get((event.app_id, event.subject or "")) for event in events}


def _pending(session: Session, events: Sequence[Event]) -> EventTexts:
    ids = [event.subject for event in events if event.subject is not None]
    if not ids:
        return {}
    query = select(Answer.answer_id, Answer.app_id, Answer.content).where(Answer.answer_id.in_(ids))
    texts = {(app_id, answer_id): content for answer_id, app_id, content in session.execute(query)}
    return {event.row: texts.get((event.app_id, event.subject or "")) for event in events}


def _messages(session: Session, events: Sequence[Event]) -> EventTexts:
    identities = {(event.app_id, event.conversation_id, event.subject) for event in events if event.subject is not None}
    if not identities:
        return {}
    name = (Conversation.app_id, Conversation.conversation_id, Message.message_id)
    query = select(*name, Message.content).join(Conversation, Conversation.key == Message.conversation_key)
    texts: dict[tuple[str, str | None, str | None], str]
    texts = {(row[0], row[1], row[2]): row[3] for row in session.execute(query.where(tuple_(*name).in_(identities)))}
    return {event.row: texts.get((event.app_id, event.conversation_id, event.subject)) for event in events}
