"""What lies in the Redis queues: how many messages, and whether any holds more than ids.

Reads Celery's lists as they are; takes nothing out. Our own messages carry ids only, but an app may put words of its
own on the intake queue, and an erasure must say so.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Iterator
from typing import Any

import orjson
import redis
from pydantic import ValidationError

from shared.broker import BROKER_ERRORS
from shared.contracts.jobs import EndConversationMessage, JobMessage, Queue

PRIORITIES = range(10)
_SCAN_LIMIT = 20_000
_UNACKNOWLEDGED = "unacked"


def queue_keys(queue: Queue) -> list[str]:
    """Return the lists a queue is kept in, one a priority. Source: kombu's Redis transport with our separator."""
    return [queue.value if priority == 0 else f"{queue.value}:{priority}" for priority in PRIORITIES]


def depths(client: redis.Redis) -> dict[Queue, int] | None:
    """Return how many messages wait in each queue, or None when Redis does not answer."""
    try:
        with client.pipeline(transaction=False) as pipe:
            for queue in Queue:
                for key in queue_keys(queue):
                    pipe.llen(key)
            counts = pipe.execute()
    except BROKER_ERRORS:
        return None
    width = len(PRIORITIES)
    return {queue: sum(counts[i * width : (i + 1) * width]) for i, queue in enumerate(Queue)}


def erase_text(client: redis.Redis, app_id: str) -> int | None:
    """Return how many messages may hold words of an app, and where none does, have Redis forget those it held.

    None when it could not be looked at or not be forgotten yet: ask again.
    """
    count = _count_text(client, app_id)
    return None if count == 0 and not forget_past(client) else count


def _count_text(client: redis.Redis, app_id: str) -> int | None:
    """Return how many messages may hold words of an app; None when Redis does not answer or there is too much."""
    try:
        messages = list(_messages(client))
    except BROKER_ERRORS:
        return None
    if len(messages) > _SCAN_LIMIT:
        return None
    return sum(_may_hold_text(message, app_id) for message in messages)


def forget_past(client: redis.Redis) -> bool:
    """Have Redis write its append-only file anew, so that messages long taken stand in no file.

    False while it writes for an earlier asker, whose file may still hold what was taken since, or when it is away. A
    Redis of somebody else's may forbid it; what it keeps, and for how long, is then its owner's to say.
    """
    try:
        if client.info("persistence").get("aof_enabled"):
            client.bgrewriteaof()
    except redis.exceptions.NoPermissionError:
        return True
    except BROKER_ERRORS:
        return False
    return True


def _messages(client: redis.Redis) -> Iterator[bytes | str]:
    for queue in Queue:
        for key in queue_keys(queue):
            yield from client.lrange(key, 0, _SCAN_LIMIT)
    for delivered in client.hvals(_UNACKNOWLEDGED):
        # An entry is ``[message, exchange, routing key]``; what is not counts as a message that may hold anything.
        entry: Any = None
        with contextlib.suppress(orjson.JSONDecodeError):
            entry = orjson.loads(delivered)
        yield orjson.dumps(entry[0] if isinstance(entry, list) and entry else None)


def _may_hold_text(message: bytes | str, app_id: str) -> bool:
    """Whether a message holds more than ids, unless it says itself that it is another app's."""
    try:
        args, fields, _ = orjson.loads(base64.b64decode(orjson.loads(message)["body"]))
    except (orjson.JSONDecodeError, binascii.Error, KeyError, TypeError, ValueError):
        return True
    if args or not isinstance(fields, dict):
        return True
    if not fields or fields.get("appId", fields.get("app_id")) not in (None, app_id):
        return False
    with contextlib.suppress(ValidationError):
        JobMessage.model_validate(fields)
        return False
    with contextlib.suppress(ValidationError):
        return bool(EndConversationMessage.model_validate(fields).reason)
    return True
