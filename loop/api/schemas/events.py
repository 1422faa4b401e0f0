"""Events as a long poll answers them."""

from __future__ import annotations

from pydantic import Field

from loop.api.schemas.wire import Answer
from shared.event_payloads import EventPayload


class GapAnswer(Answer):
    """Events that were asked for and are not kept any more."""

    after: int
    kept_after: int = Field(description="Only events after this position are kept; the listener goes on here.")


class EventList(Answer):
    """Events by position."""

    events: list[EventPayload]
    cursor: int = Field(description="What to ask after next.")
    gap: GapAnswer | None = Field(description="What was lost to age; null when nothing was.")
