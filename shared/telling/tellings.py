"""The one form in which an event leaves the house, on a stream, in a long poll and to a webhook."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy.orm import Session

from shared.events.models import Event
from shared.telling.queries import HAVE_CONTENT, contents_of

TEST_KIND = "webhook.test"


class Telling(BaseModel):
    """An event as listeners are told of it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    position: int | None = Field(description="What a listener resumes after; null for a test.")
    kind: str = Field(description="What happened.", examples=["memory.created"])
    app_id: str
    conversation_id: str | None
    subject: str | None = Field(description="Id of the message, memory, answer or job it is about.")
    details: dict[str, Any] = Field(description="Numbers and words of closed sets.")
    at: datetime
    content: str | None = Field(
        None, description="The text it is about, as it stands when it is told; null when it stands no more."
    )

    def as_fields(self) -> dict[str, Any]:
        """Return it as it goes over the wire; kinds that are about no text have no content."""
        return self.model_dump(mode="json", by_alias=True, exclude=set() if self.kind in HAVE_CONTENT else {"content"})


def tell(session: Session, events: Sequence[Event]) -> list[Telling]:
    """Return events with the text they are about."""
    contents = contents_of(session, events)
    return [
        Telling(
            position=event.position,
            kind=event.kind,
            app_id=event.app_id,
            conversation_id=event.conversation_id,
            subject=event.subject,
            details=event.details,
            at=event.at,
            content=contents.get(event.row),
        )
        for event in events
    ]


def trial(app_id: str, webhook_id: str, at: datetime) -> Telling:
    """Return what a webhook is told when its owner wants to see whether it works."""
    return Telling(
        position=None, kind=TEST_KIND, app_id=app_id, conversation_id=None, subject=webhook_id, details={}, at=at
    )
