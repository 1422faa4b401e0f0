"""Wakes those who listen for events when there are new ones, and sends them home when the loop is stopped.

A listener is woken, never handed an event: what it missed it reads from the database in pages, at its own pace, so a
slow one costs no memory. Who may listen, and what they are told, is in ``loop/api/routes/events.py``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from shared.broker import EVENTS_NEWS
from shared.errors import Limit

MOST_LISTENERS = 500


class Listener:
    """One open stream or long poll, in the event loop that serves it."""

    def __init__(self, let_go: Callable[[Listener], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._let_go = let_go

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
        self._news.clear()
        return True

    def close(self) -> None:
        """Listen no more."""
        self._let_go(self)


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
        """How many listen."""
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

    def tell(self) -> None:
        """Wake all listeners."""
        with self._changing:
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener.wake()

    def close(self) -> None:
        """Send all listeners home, and whoever comes later."""
        self._closing.set()
        self.tell()

    def _leave(self, listener: Listener) -> None:
        with self._changing:
            self._listeners.discard(listener)


def is_of_events(news: str) -> bool:
    """Whether news from the other processes is that there are new events."""
    return news.startswith(EVENTS_NEWS)
