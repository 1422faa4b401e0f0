"""Server-sent events: what a listener is told as it happens, until it leaves or is sent home.

Each write waits until the client has taken the one before, and everything is read in pages, so a slow client holds one
page and no more. A silent stream sends a heartbeat, which also moves the client's place on past what is not for it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from loop.streams import EnergyNews, Hub, Listener
from loop.wiring import Loop
from shared.apps.models import Scope
from shared.apps.queries import Caller, get_app, is_in_force, token_digest_of
from shared.event_payloads import EventPayload, payloads_of
from shared.events.queries import EventFilter, events_after, extent

PAGE = 100


@dataclass(frozen=True)
class Gap:
    """Events a listener asked for that are not kept any more."""

    after: int
    kept_after: int
    """The listener goes on after this position."""

    def as_fields(self) -> dict[str, Any]:
        return {"after": self.after, "keptAfter": self.kept_after}


@dataclass(frozen=True)
class Page:
    """The next events of a listener."""

    events: Sequence[EventPayload]
    cursor: int
    """Everything up to here has been told, or is not for this listener."""
    is_full: bool = False
    """Whether there may be more at once."""
    gap: Gap | None = None


@dataclass(frozen=True)
class EventSubscription:
    """Who listens, and to what."""

    loop: Loop
    caller: Caller
    event_filter: EventFilter

    def newest(self) -> int:
        with self.loop.database.read() as session:
            return extent(session).published

    def next_page(self, after: int, limit: int = PAGE) -> Page | None:
        """Return what comes after a position; None when the listener may not listen any more."""
        with self.loop.database.read() as session:
            # Whether the caller's token is still in force, and the app still installed.
            app_id, login = self.event_filter.app_id, self.caller.login_digest
            # Who has logged out, or a copy of what they had, listens no longer.
            if login is not None and token_digest_of(session, login, self.loop.clock.now()) is None:
                return None
            if self.caller.scope is not Scope.ADMIN and not is_in_force(session, self.caller):
                return None
            if app_id is not None and get_app(session, app_id).uninstalled_at is not None:
                return None
            # Read first and nothing beyond it: what gets a position meanwhile comes with the next page.
            there = extent(session)
            gap = Gap(after, there.forgotten) if after < there.forgotten else None
            # A position beyond the newest is another installation's, or was given out before a backup was put back.
            gap = Gap(after, there.published) if after > there.published else gap
            start = after if gap is None else gap.kept_after
            found = events_after(session, self.event_filter, start, there.published, limit)
            is_full = len(found) == limit
            # A page that is not full was looked for up to the newest, however far ahead of the last that fits the
            # filter.
            cursor = found[-1].position if is_full else there.published
            return Page(payloads_of(session, found), cursor or 0, is_full, gap)


LOOK_SECONDS = 5.0
"""A listener looks by itself this often, should news have been lost."""
ENERGY_SECONDS = 1.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_THREADS = 4


@dataclass
class Pace:
    """How often a stream speaks though it has nothing to say, and who else it listens to."""

    heartbeat_seconds: float
    with_energy: bool = False
    spoken_at: float = field(default_factory=time.monotonic)
    energy_sent: tuple[Any, ...] | None = None

    @property
    def wait_seconds(self) -> float:
        most = min(LOOK_SECONDS, self.heartbeat_seconds)
        return min(most, ENERGY_SECONDS) if self.with_energy else most


class EventStream(StreamingResponse):
    """A stream that gives its listener back however it ends."""

    def __init__(self, body: AsyncIterator[bytes], listener: Listener) -> None:
        super().__init__(body, headers=_HEADERS, media_type="text/event-stream")
        self._listener = listener

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._listener.close()


class Reading:
    """The threads in which listeners read; few, so that requests find theirs free however many listen."""

    def __init__(self, energy: EnergyNews) -> None:
        self._energy = energy
        self._limiter = CapacityLimiter(_THREADS)

    async def page(self, subscription: EventSubscription, after: int, limit: int = PAGE) -> Page | None:
        """Return the next page of a listener."""
        return await run_sync(subscription.next_page, after, limit, limiter=self._limiter)

    async def newest(self, subscription: EventSubscription) -> int:
        return await run_sync(subscription.newest, limiter=self._limiter)

    async def energy(self) -> dict[str, Any]:
        return await run_sync(self._energy.now, limiter=self._limiter)


async def follow(
    subscription: EventSubscription, reading: Reading, hub: Hub, listener: Listener, after: int, pace: Pace
) -> AsyncIterator[bytes]:
    """Yield events after a position for as long as the listener stays and may listen."""
    # Said first: who is cut off before the first event comes back to this position.
    yield b": listening\n" + _position_frame(after)
    while not hub.is_closing:
        page = await reading.page(subscription, after)
        if page is None:
            return
        after = page.cursor
        parts = [] if page.gap is None else [_event("gap", page.gap.as_fields())]
        parts += [_event(one.kind, one.as_fields(), one.position) for one in page.events]
        for part in parts:
            pace.spoken_at = time.monotonic()
            yield part
        if page.is_full:
            continue
        if pace.with_energy and (news := await _energy(reading, pace)):
            yield news
        await listener.wait(pace.wait_seconds)
        # News that is not for this listener must not keep it silent.
        if time.monotonic() - pace.spoken_at >= pace.heartbeat_seconds:
            pace.spoken_at = time.monotonic()
            yield b": still listening\n" + _position_frame(after)


async def _energy(reading: Reading, pace: Pace) -> bytes | None:
    """Return the energy when its status, or a whole unit of it, has changed."""
    found = await reading.energy()
    known = (found["status"], int(found["level"] // 1), found["deferredJobs"])
    if known == pace.energy_sent:
        return None
    pace.energy_sent = known
    return _event("energy", found)


def _event(kind: str, fields: dict[str, Any], position: int | None = None) -> bytes:
    event_id = b"" if position is None else f"id: {position}\n".encode()
    return event_id + f"event: {kind}\n".encode() + b"data: " + orjson.dumps(fields) + b"\n\n"


def _position_frame(position: int) -> bytes:
    """Return what moves a client's place on without an event."""
    return f"id: {position}\n\n".encode()
