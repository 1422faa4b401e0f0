"""Reads what takes long in a large installation beside those who ask for it.

While a reading is quick, whoever asks starts one and waits for it. Once it takes longer, it goes on in a thread of its
own, who asks is shown the last one, and the next begins a minute later at the earliest, and when fifty times what this
one took has passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from shared.errors import AfterthoughtError
from shared.telemetry.logging import get_logger

_PATIENCE_SECONDS = 0.1
_LEAST_BETWEEN_SECONDS = 60.0
_REST = 50
T = TypeVar("T")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What was read."""

    value: T
    begun_at: float
    """Seconds of the reader's clock."""


class BackgroundReader(Generic[T]):
    """Reads one thing, in at most one thread at a time."""

    def __init__(
        self,
        name: str,
        read: Callable[[], T],
        seconds_now: Callable[[], float] = time.monotonic,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self.patience_seconds = patience_seconds
        """How long one who asks may wait; what takes longer is not read anew for each."""
        self._name = name
        self._read = read
        self._seconds_now = seconds_now
        self._changing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._took = 0.0
        self._not_before = float("-inf")
        self._last: Reading[T] | None = None

    def latest(self) -> Reading[T] | None:
        """Return the last reading, one of this moment where it is quick; None before the first has ended."""
        with self._changing:
            is_under_way = self._thread is not None and self._thread.is_alive()
            if not is_under_way and (self._is_quick() or self._seconds_now() >= self._not_before):
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None and self._is_quick():
            thread.join(self.patience_seconds)
        return self._last

    def age(self, reading: Reading[T]) -> float:
        """Return how long ago a reading was begun, in seconds."""
        return self._seconds_now() - reading.begun_at

    def wait(self, seconds: float) -> None:
        """Wait for a reading that is under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _is_quick(self) -> bool:
        return self._took <= self.patience_seconds

    def _run(self) -> None:
        begun_at = self._seconds_now()
        try:
            self._last = Reading(self._read(), begun_at)
        except (AfterthoughtError, SQLAlchemyError) as error:
            get_logger().warning("reading_failed", reading=self._name, error=type(error).__name__)
        ended_at = self._seconds_now()
        self._took = ended_at - begun_at
        self._not_before = ended_at + max(_LEAST_BETWEEN_SECONDS, _REST * self._took)
