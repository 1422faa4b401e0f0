"""What a worker does when it starts, forks, listens and stops.

A worker that stays connected but hears nothing (as can happen when Redis restarts) is found by its own canary: a tiny
task on a queue only it consumes. An idle worker that does not get it back in time ends itself, and so does one that
still holds a task long after its time limit; whoever supervises it starts it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

GAVE_UP = 70
"""Exit status of a worker that found itself deaf or stuck."""


def private_queue(node: str) -> str:
    """Return the queue only this worker consumes."""
    return f"canary.{node}"


@dataclass
class Hearing:
    """Keeps when a canary was sent, until any message comes."""

    silence_seconds: float
    sent_at: float | None = None

    def hear(self) -> None:
        """Note that a message came."""
        self.sent_at = None

    def is_deaf(self) -> bool:
        """Whether a canary has not come back for longer than the allowed silence."""
        return self.sent_at is not None and time.monotonic() - self.sent_at > self.silence_seconds


@dataclass
class Watchdog:
    """Sends canaries while the worker is idle, and ends it when they do not come back or a task never ends."""

    hearing: Hearing
    send: Callable[[], bool]
    held: Callable[[], Iterable[str]]
    """Names the tasks in hand."""
    give_up: Callable[[str], None]
    """Is told why, and does not return in a real worker."""
    longest_task_seconds: float
    announce: Callable[[], object] = lambda: None
    """Tells the others, at every look, that this worker is well."""
    _held_since: dict[str, float] = field(default_factory=dict, init=False)
    _over: threading.Event = field(default_factory=threading.Event, init=False)

    def start(self) -> None:
        """Watch from a thread of its own."""
        threading.Thread(target=self._run, name="canary", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._over.set()

    def _run(self) -> None:
        self.announce()
        while not self._over.wait(self.hearing.silence_seconds / 4):
            self.look()

    def look(self) -> None:
        """Look once: a task in hand must end in time, and an idle worker must hear its canary."""
        now = time.monotonic()
        self._held_since = {task: self._held_since.get(task, now) for task in self.held()}
        if any(now - since > self.longest_task_seconds for since in self._held_since.values()):
            self.give_up("a task is in hand long after its time limit")
        elif self.hearing.is_deaf() and not self._held_since:
            self.give_up("its own canary did not come back")
        else:
            self.announce()
            if self._held_since:
                self.hearing.hear()
            elif self.hearing.sent_at is None:
                # Noted before it is sent: a canary can be back before the call that sends it returns.
                self.hearing.sent_at = now
                if not self.send():
                    self.hearing.sent_at = None
