"""Server-sent events: what a listener is told as it happens, until it leaves or is sent home.

Each write waits until the client has taken the one before, and everything is read in pages, so a slow client holds one
page and no more. A silent stream sends a heartbeat, which also moves the client's place on past what is not for it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from loop.energy_news import EnergyNews
from loop.listening import PAGE, Ear, Page
from loop.streams import Hub, Listener

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
    energy_told: tuple[Any, ...] | None = None

    @property
    def wait_seconds(self) -> float:
        """How long to wait for news."""
        most = min(LOOK_SECONDS, self.heartbeat_seconds)
        return min(most, ENERGY_SECONDS) if self.with_energy else most


class EventStream(StreamingResponse):
    """A stream that gives its listener back however it ends."""

    def __init__(self, body: AsyncIterator[bytes], listener: Listener) -> None:
        super().__init__(body, headers=_HEADERS, media_type="text/event-stream")
        self._listener = listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._listener.close()


class Reading:
    """The threads in which listeners read; few, so that requests find theirs free however many listen."""

    def __init__(self, energy: EnergyNews) -> None:
        self._energy = energy
        self._limiter = CapacityLimiter(_THREADS)

    async def page(self, ear: Ear, after: int, limit: int = PAGE) -> Page | None:
        """Return the next page of a listener."""
        return await run_sync(ear.next_page, after, limit, limiter=self._limiter)

    async def newest(self, ear: Ear) -> int:
        """Return the newest position."""
        return await run_sync(ear.newest, limiter=self._limiter)

    async def energy(self) -> dict[str, Any]:
        """Return the energy."""
        return await run_sync(self._energy.now, limiter=self._limiter)


async def follow(
    ear: Ear, reading: Reading, hub: Hub, listener: Listener, after: int, pace: Pace
) -> AsyncIterator[bytes]:
    """Yield events after a position for as long as the listener stays and may listen."""
    yield b": listening\n" + _place(after)
    while not hub.is_closing:
        page = await reading.page(ear, after)
        if page is None:
            return
        after = page.cursor
        for part in _told(page):
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
            yield b": still listening\n" + _place(after)


async def _energy(reading: Reading, pace: Pace) -> bytes | None:
    """Return the energy when its status, or a whole unit of it, has changed."""
    found = await reading.energy()
    known = (found["status"], int(found["level"] // 1), found["deferredJobs"])
    if known == pace.energy_told:
        return None
    pace.energy_told = known
    return _event("energy", found)


def _told(page: Page) -> list[bytes]:
    parts = [] if page.gap is None else [_event("gap", page.gap.as_fields())]
    return parts + [_event(one.kind, one.as_fields(), one.position) for one in page.events]


def _event(kind: str, fields: dict[str, Any], position: int | None = None) -> bytes:
    place = b"" if position is None else f"id: {position}\n".encode()
    return place + f"event: {kind}\n".encode() + b"data: " + orjson.dumps(fields) + b"\n\n"


def _place(position: int) -> bytes:
    """Return what moves a client's place on without an event."""
    return f"id: {position}\n\n".encode()
