"""What a worker does when it starts, forks, listens and stops.

A worker that stays connected but hears nothing (as can happen when Redis restarts) is found by its own canary: a tiny
task on a queue only it consumes. An idle worker that does not get it back in time ends itself, and so does one that
still holds a task long after its time limit; whoever supervises it starts it again.

Kombu's Redis transport, for a worker that must not end because of what a stranger put on its lists.

Kombu decodes an entry of a list in the middle of its event loop, and an error there ends the worker, and the one that
is started after it, at the next such entry. What is no message of Celery's is exchanged for one to the intake, which
makes a dead letter of it; nothing of what it said is kept.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from kombu.utils.uuid import uuid

from shared.contracts.jobs import JobKind, Queue, task_name
from shared.telemetry.logging import get_logger

GAVE_UP = 70
"""Exit status of a worker that found itself deaf or stuck."""


def private_queue(node: str) -> str:
    """Return the queue only this worker consumes."""
    return f"canary.{node}"


@dataclass
class HeartbeatMonitor:
    """Keeps when a canary was sent, until any message comes."""

    silence_seconds: float
    sent_at: float | None = None

    def note_heartbeat(self) -> None:
        self.sent_at = None

    def is_deaf(self) -> bool:
        """Whether a canary has not come back for longer than the allowed silence."""
        return self.sent_at is not None and time.monotonic() - self.sent_at > self.silence_seconds


@dataclass
class Watchdog:
    """Sends canaries while the worker is idle, and ends it when they do not come back or a task never ends."""

    monitor: HeartbeatMonitor
    send: Callable[[], bool]
    current_tasks: Callable[[], Iterable[str]]
    """Names the tasks in hand."""
    give_up: Callable[[str], None]
    """Is told why, and does not return in a real worker."""
    longest_task_seconds: float
    announce: Callable[[], object] = lambda: None
    """Tells the others, at every look, that this worker is well."""
    _held_since: dict[str, float] = field(default_factory=dict, init=False)
    _over: threading.Event = field(default_factory=threading.Event, init=False)

    def start(self) -> None:
        threading.Thread(target=self._run, name="canary", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        self.announce()
        # Several looks within the silence that others allow a worker, as one may come late.
        while not self._over.wait(self.monitor.silence_seconds / 4):
            self.look()

    def look(self) -> None:
        """Look once: a task in hand must end in time, and an idle worker must hear its canary."""
        now = time.monotonic()
        self._held_since = {task: self._held_since.get(task, now) for task in self.current_tasks()}
        if any(now - since > self.longest_task_seconds for since in self._held_since.values()):
            self.give_up("a task is in hand long after its time limit")
        # Only where it is idle: one that works may have no room to take its canary.
        elif self.monitor.is_deaf() and not self._held_since:
            self.give_up("its own canary did not come back")
        else:
            self.announce()
            if self._held_since:
                self.monitor.note_heartbeat()
            elif self.monitor.sent_at is None:
                # Noted before it is sent: a canary can be back before the call that sends it returns.
                self.monitor.sent_at = now
                if not self.send():
                    self.monitor.sent_at = None


_INSTEAD = base64.b64encode(b'[[], {"entryOfTheQueue": "no message"}, {}]').decode()
_FOREIGN = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


class TolerantChannel(redis.Channel):
    """Exchanges an entry that cannot be decoded."""

    connection: TolerantTransport

    def _brpop_read(self, **options: Any) -> bool | None:
        handed_over = self.connection.handed_over
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call, no-any-return]
        except _FOREIGN:
            # What goes wrong once an entry is decoded and handed over is no fault of the entry.
            if self.connection.handed_over != handed_over:
                raise
            self.connection._deliver(None, Queue.INTAKE.value)
            return True


class TolerantTransport(redis.Transport):
    """Exchanges an entry that is JSON, but no message."""

    Channel = TolerantChannel
    handed_over = 0
    """Entries that were decoded."""

    def _deliver(self, message: Any, queue: str) -> None:
        self.handed_over += 1
        if not self._is_message(message):
            get_logger().error("queue_message_refused", why="not a message of Celery's", queue=queue)
            message, queue = _instead(), Queue.INTAKE.value
        super()._deliver(message, queue)  # type: ignore[no-untyped-call]

    def _is_message(self, raw: Any) -> bool:
        try:
            where = raw["properties"]["delivery_info"]
            virtual.Message(raw, channel=self.channels[0])  # type: ignore[no-untyped-call]
            texts = (where["exchange"], where["routing_key"], raw["properties"]["delivery_tag"], raw["body"])
            return all(isinstance(text, str) for text in texts) and isinstance(raw["headers"], dict)
        except _FOREIGN:
            return False


def use_tolerant_transport() -> None:
    """Have every connection to a Redis that Kombu makes from now on in this process be such a one."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{TolerantTransport.__name__}"


def _instead() -> dict[str, Any]:
    """Return a message to the intake that it does not take."""
    message_id, queue = uuid(), Queue.INTAKE.value
    return {
        "body": _INSTEAD,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": task_name(JobKind.END_CONVERSATION), "id": message_id, "root_id": message_id},
        "properties": {
            "correlation_id": message_id,
            "delivery_info": {"exchange": queue, "routing_key": queue},
            "delivery_mode": 2,
            "delivery_tag": uuid(),
            "body_encoding": "base64",
            "priority": 0,
        },
    }
