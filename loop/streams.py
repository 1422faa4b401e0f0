"""News for those who listen live: from other processes over Redis, to open streams, and the energy as they see it.

A listener is woken, never handed an event: what it missed it reads from the database in pages, at its own pace, so a
slow one costs no memory. Redis' news are best effort: a tick finds everything by itself a little later. Who may listen,
and what they are told, is in ``loop/api/routes/events.py``.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import redis

from loop.regulator import Regulator
from shared.base.errors import Limit
from shared.broker import BROKER_ERRORS, EVENTS_NEWS, NOTICES
from shared.db.base import Transactions
from shared.energy.budget import percentage_of, status_of, to_units
from shared.jobs.queries import count_deferred
from shared.telemetry.logging import get_logger

MOST_LISTENERS = 500


class Listener:
    """One open stream or long poll, in the event loop that serves it."""

    def __init__(self, on_close: Callable[[Listener], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._on_close = on_close

    def wake(self) -> None:
        """Say from any thread that there is something new."""
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:
            return  # its server has ended, and the listener with it

    async def wait(self, seconds: float) -> bool:
        """Wait for news, for so long at most; True when there is some."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        # Before the listener reads: what happens from now on wakes it once more.
        self._news.clear()
        return True

    def close(self) -> None:
        self._on_close(self)


class Hub:
    """Everybody who listens to this loop."""

    def __init__(self, most: int = MOST_LISTENERS) -> None:
        self._most = most
        self._listeners: set[Listener] = set()
        self._changing = threading.Lock()
        self._closing = threading.Event()

    @property
    def is_closing(self) -> bool:
        """Whether listeners are to leave."""
        return self._closing.is_set()

    @property
    def listening(self) -> int:
        return len(self._listeners)

    def listen(self) -> Listener:
        """Join, from within an event loop; ``close`` the listener in the end. Raises: Limit."""
        listener = Listener(self._leave)
        with self._changing:
            if len(self._listeners) >= self._most:
                raise Limit(
                    f"{self._most} streams are open, and that is the most; close one, or ask again a little later.",
                    code="too_many",
                )
            self._listeners.add(listener)
        return listener

    def announce(self) -> None:
        with self._changing:
            listeners = tuple(self._listeners)
        # Woken outside the lock: one that leaves at this very moment takes it.
        for listener in listeners:
            listener.wake()

    def close(self) -> None:
        """Send all listeners home, and whoever comes later."""
        # Before they are woken, or one would find nothing new and wait on.
        self._closing.set()
        self.announce()

    def _leave(self, listener: Listener) -> None:
        with self._changing:
            self._listeners.discard(listener)


def is_of_events(news: str) -> bool:
    return news.startswith(EVENTS_NEWS)


class Notices:
    """A subscriber in a thread of its own that connects again for as long as it is not stopped."""

    def __init__(self, client: redis.Redis, on_news: Callable[[str], None], pause_seconds: float = 1.0) -> None:
        self._client = client
        self._on_news = on_news
        self._pause_seconds = pause_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)
        self._log = get_logger()
        self._lost = False

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        self._over.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as channel:  # type: ignore[no-untyped-call]
                    channel.subscribe(NOTICES)
                    if self._lost:
                        self._log.info("notices_heard_again")
                    self._lost = False
                    while not self._over.is_set():
                        # Not for ever, so that a stop is seen within a second.
                        message = channel.get_message(timeout=1.0)
                        if message is not None and isinstance(message["data"], bytes):
                            self._on_news(message["data"].decode(errors="replace"))
            except BROKER_ERRORS as error:
                # Once for each outage: a line a second would bury what else is said while Redis is away.
                if not self._lost:
                    self._log.warning("notices_lost", error=type(error).__name__)
                self._lost = True
                self._over.wait(self._pause_seconds)


# A little less than the second at which each stream asks (``event_stream.ENERGY_SECONDS``).
_FRESH_SECONDS = 0.9


@dataclass
class EnergyNews:
    """The latest reading, shared."""

    database: Transactions
    regulator: Regulator
    _reading: threading.Lock = field(default_factory=threading.Lock, init=False)
    _read_at: float = field(default=float("-inf"), init=False)
    _fields: dict[str, Any] = field(default_factory=dict, init=False)

    def now(self) -> dict[str, Any]:
        """Return level, percentage, status and deferred jobs."""
        # Held while it is read: of many streams one reads, and the others are handed what it read.
        with self._reading:
            if time.monotonic() - self._read_at >= _FRESH_SECONDS:
                # Not the whole reading: its share of memory work goes through a day of the ledger.
                with self.database.read() as session:
                    level, deferred = self.regulator.level(session), count_deferred(session)
                self._fields = {
                    "level": round(to_units(level), 3),
                    "percentage": round(percentage_of(level), 3),
                    "status": status_of(level).value,
                    "deferredJobs": deferred,
                }
                self._read_at = time.monotonic()
            return self._fields
