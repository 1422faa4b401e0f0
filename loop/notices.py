"""Listens for news on Redis and wakes the ticker; best effort, the tick finds everything by itself a little later."""

from __future__ import annotations

import threading
from collections.abc import Callable

import redis

from shared.broker import BROKER_ERRORS, NOTICES
from shared.telemetry.logging import get_logger


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
        """Begin to listen."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Stop listening."""
        self._over.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._listen()
            except BROKER_ERRORS as error:
                self._note_loss(error)
                self._over.wait(self._pause_seconds)

    def _note_loss(self, error: Exception) -> None:
        # Once for each outage: a line a second would bury what else is said while Redis is away.
        if not self._lost:
            self._log.warning("notices_lost", error=type(error).__name__)
        self._lost = True

    def _note_hearing(self) -> None:
        if self._lost:
            self._log.info("notices_heard_again")
        self._lost = False

    def _listen(self) -> None:
        with self._client.pubsub(ignore_subscribe_messages=True) as channel:  # type: ignore[no-untyped-call]
            channel.subscribe(NOTICES)
            self._note_hearing()
            while not self._over.is_set():
                message = channel.get_message(timeout=1.0)
                if message is not None and isinstance(message["data"], bytes):
                    self._on_news(message["data"].decode(errors="replace"))
