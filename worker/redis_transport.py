"""Kombu's Redis transport, for a worker that must not end because of what a stranger put on its lists.

Kombu decodes an entry of a list in the middle of its event loop, and an error there ends the worker, and the one that
is started after it, at the next such entry. What is no message of Celery's is exchanged for one to the intake, which
makes a dead letter of it; nothing of what it said is kept.
"""

from __future__ import annotations

import base64
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from kombu.utils.uuid import uuid

from shared.contracts.jobs import JobKind, Queue, task_name
from shared.telemetry.logging import get_logger

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
