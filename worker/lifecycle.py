"""What a worker does when it starts, forks, listens and stops.

A worker that stays connected but hears nothing (as can happen when Redis restarts) is found by its own canary: a tiny
task on a queue only it consumes. An idle worker that does not get it back in time ends itself, and whoever supervises
it starts it again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

DEAF = 70
"""Exit status of a worker that found itself deaf."""


def is_gone(owner: str, node: str) -> bool:
    """Whether the owner ``node/pid`` was a process of this node on this machine and runs no more."""
    name, _, pid = owner.rpartition("/")
    if name != node or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def private_queue(node: str) -> str:
    """Return the queue only this worker consumes."""
    return f"canary.{node}"


@dataclass
class Hearing:
    """When something last came from the queue."""

    silence_seconds: float
    heard_at: float = field(default_factory=time.monotonic)
    sent_at: float | None = None

    def hear(self) -> None:
        """Note that a message came."""
        self.heard_at = time.monotonic()
        self.sent_at = None

    def is_deaf(self) -> bool:
        """Whether a canary has been out for longer than a worker with ears would need."""
        return self.sent_at is not None and time.monotonic() - self.sent_at > self.silence_seconds


class Watch:
    """Sends canaries while the worker is idle, and ends it when they do not come back."""

    def __init__(
        self, hearing: Hearing, send: Callable[[], bool], is_busy: Callable[[], bool], give_up: Callable[[], None]
    ) -> None:
        self._hearing = hearing
        self._send = send
        self._is_busy = is_busy
        self._give_up = give_up
        self._over = threading.Event()

    def start(self) -> None:
        """Watch from a thread of its own."""
        threading.Thread(target=self._run, name="canary", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(self._hearing.silence_seconds / 4):
            self.look()

    def look(self) -> None:
        """Look once: nothing is wrong while busy or heard of lately; a lost canary means deaf."""
        if self._is_busy():
            self._hearing.hear()
        elif self._hearing.is_deaf():
            self._give_up()
        elif self._hearing.sent_at is None and self._send():
            self._hearing.sent_at = time.monotonic()
