"""What happens, as it happens: streams, and long polls for clients that cannot hold one."""

from __future__ import annotations

import time
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from loop.api.dependencies import AppInPath, LimitInQuery, Reads, RequestContext
from loop.api.errors import ErrorAnswer
from loop.api.event_stream import LOOK_SECONDS, EventStream, EventSubscription, Pace, Page, Reading, follow
from loop.api.policy import OF_ADMIN, OF_APP, Trait, Whose, policy, under
from loop.api.schema import ResponseModel
from loop.streams import EnergyNews, Listener
from shared.apps.queries import get_installed_app
from shared.base.errors import Invalid
from shared.contracts.values import LARGEST_INTEGER, EventKind, Id
from shared.conversations.queries import ids_of
from shared.event_payloads import EventPayload
from shared.events.queries import EventFilter


class GapAnswer(ResponseModel):
    """Events that were asked for and are not kept any more."""

    after: int
    kept_after: int = Field(description="Only events after this position are kept; the listener goes on here.")


class EventList(ResponseModel):
    """Events by position."""

    events: list[EventPayload]
    cursor: int = Field(description="What to ask after next.")
    gap: GapAnswer | None = Field(description="What was lost to age; null when nothing was.")


router = APIRouter(tags=["Events"], route_class=under(OF_APP))
LONGEST_WAIT_SECONDS = 60
_TOO_MANY: dict[int | str, dict[str, Any]] = {
    429: {"model": ErrorAnswer, "description": "Too many streams are open; Retry-After says when to try again."}
}
_STREAM: dict[int | str, dict[str, Any]] = _TOO_MANY | {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Server-sent events."}
}
_KINDS = ", ".join(EventKind)
_OF_APPROVAL = (EventKind.ANSWER_PENDING, EventKind.ANSWER_REJECTED)
"""Not told to a user's own token: what a person is yet to approve is not said to them."""

After = Annotated[
    int | None, Query(ge=0, le=LARGEST_INTEGER, description="Only events after this position; else from now on.")
]
Kinds = Annotated[str | None, Query(max_length=500, description=f"Only these kinds, by commas, of: {_KINDS}.")]
Conversation = Annotated[Id | None, Query(alias="conversationId", description="Only events of this conversation.")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT_SECONDS, description="Seconds to wait for an event.")]
LastEventId = Annotated[
    str | None, Header(pattern=r"^[0-9]{0,19}$", description="As `after`; a browser sends it when it comes back.")
]


async def _reading(request: Request) -> Reading:
    """Return the threads all listeners of this interface share."""
    state = request.app.state
    if not hasattr(state, "reading"):
        state.reading = Reading(EnergyNews(state.loop.database, state.loop.regulator))
    found: Reading = state.reading
    return found


Readers = Annotated[Reading, Depends(_reading)]


@router.get("/apps/{appId}/stream", response_class=Response, responses=_STREAM, summary="Follow an app's events")
@policy(OF_APP, Trait.WAITS, whose=Whose.BY_ROUTE)
async def follow_app(
    request: Request,
    ctx: Reads,
    reading: Readers,
    app_id: AppInPath,
    after: After = None,
    kinds: Kinds = None,
    conversation_id: Conversation = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Stream what happens in an app. Resume with `Last-Event-ID` or `after`; without either it begins now.

    Each event has its position as `id`, its kind as `event`, and as `data` a JSON object with position, kind, appId,
    conversationId, subject, details, at and, for kinds about a text, content. An event `gap` says what was lost to age.
    """
    event_filter = _filter(ctx, app_id, kinds, conversation_id)
    # Before the stream is opened: its status cannot be changed once it has begun.
    await run_in_threadpool(_refuse_uninstalled, ctx, app_id)
    return await _stream(request, ctx, reading, event_filter, _start(after, last_event_id))


@router.get("/stream", response_class=Response, responses=_STREAM, summary="Follow everything")
@policy(OF_ADMIN, Trait.WAITS)
async def follow_all(
    request: Request,
    ctx: Reads,
    reading: Readers,
    after: After = None,
    kinds: Kinds = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Stream what happens in every app, and the energy as it changes. Needs the admin token."""
    event_filter = EventFilter(None, _kinds(kinds))
    return await _stream(request, ctx, reading, event_filter, _start(after, last_event_id), with_energy=True)


@router.get("/apps/{appId}/events", response_model=EventList, responses=_TOO_MANY, summary="Wait for an app's events")
@policy(OF_APP, Trait.WAITS, whose=Whose.BY_ROUTE)
async def poll_events(
    request: Request,
    ctx: Reads,
    reading: Readers,
    app_id: AppInPath,
    after: After = None,
    wait: Wait = 0,
    kinds: Kinds = None,
    conversation_id: Conversation = None,
    limit: LimitInQuery = 100,
) -> Response:
    """List an app's events after a position; when there are none, wait for one. Without `after`: from now on."""
    subscription = EventSubscription(ctx.loop, ctx.caller, _filter(ctx, app_id, kinds, conversation_id))
    await run_in_threadpool(_refuse_uninstalled, ctx, app_id)
    # Before the first look, or what happens in between would wake nobody.
    listener = ctx.loop.hub.listen()
    try:
        page = await _wait_for_page(subscription, reading, listener, after, limit, wait)
    finally:
        listener.close()
    gap = None if page.gap is None else page.gap.as_fields()
    body = {"events": [one.as_fields() for one in page.events], "cursor": page.cursor, "gap": gap}
    return Response(orjson.dumps(body), media_type="application/json")


async def _wait_for_page(
    subscription: EventSubscription, reading: Reading, listener: Listener, after: int | None, limit: int, wait: float
) -> Page:
    until = time.monotonic() + wait
    start = await reading.newest(subscription) if after is None else after
    while True:
        page = await reading.page(subscription, start, limit)
        if page is None:
            return Page((), start)
        left = until - time.monotonic()
        if page.events or page.gap is not None or left <= 0 or subscription.loop.hub.is_closing:
            return page
        start = page.cursor
        await listener.wait(min(left, LOOK_SECONDS))


async def _stream(
    request: Request,
    ctx: RequestContext,
    reading: Reading,
    event_filter: EventFilter,
    after: int | None,
    with_energy: bool = False,
) -> Response:
    subscription = EventSubscription(ctx.loop, ctx.caller, event_filter)
    start = await reading.newest(subscription) if after is None else after
    listener = ctx.loop.hub.listen()
    pace = Pace(ctx.loop.settings.stream_heartbeat_seconds, with_energy)
    return EventStream(follow(subscription, reading, ctx.loop.hub, listener, start, pace), listener)


def _filter(ctx: RequestContext, app_id: str, kinds: str | None, conversation_id: str | None) -> EventFilter:
    own = ctx.caller.user_id
    if own is None:
        return EventFilter(app_id, _kinds(kinds), conversation_id)
    return EventFilter(app_id, _kinds(kinds), conversation_id, ids_of(app_id, own), _OF_APPROVAL)


def _start(after: int | None, last_event_id: str | None) -> int | None:
    """Return where to go on; what a client that comes back says itself is newer than its address."""
    return int(last_event_id) if last_event_id else after


def _kinds(given: str | None) -> tuple[str, ...]:
    named = [part.strip() for part in (given or "").split(",") if part.strip()]
    unknown = [name for name in named if name not in set(EventKind)]
    if unknown:
        raise Invalid(f"kinds: there is no kind {unknown[0][:50]}; there are {_KINDS}.")
    return tuple(named)


def _refuse_uninstalled(ctx: RequestContext, app_id: str) -> None:
    with ctx.read() as session:
        get_installed_app(session, app_id)
