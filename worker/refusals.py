"""Log lines about messages that never reach a task: Celery would print the whole message, which may hold anything."""

from __future__ import annotations

import logging

from shared.telemetry.logging import get_logger

_CONSUMERS = ("celery.worker.consumer.consumer", "celery.worker.consumer", "celery.worker.strategy")
_REFUSALS = {
    "Received unregistered task": "no task of that name",
    "Received invalid task message": "not a message of Celery's, or of a content type that is not accepted",
    "Received and deleted unknown message": "not a message of Celery's",
    "Can't decode message body": "its body cannot be decoded",
}


class WithoutMessages(logging.Filter):
    """Lets through what a consumer says, but for lines that print a message; those are said anew without it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether Celery's own line may be printed."""
        template = str(record.msg)
        why = next((why for beginning, why in _REFUSALS.items() if template.startswith(beginning)), None)
        if why is None:
            return True
        get_logger().error("queue_message_refused", why=why)
        return False


def keep_messages_out_of_logs() -> None:
    """Have refused messages told without their content."""
    for name in _CONSUMERS:
        logging.getLogger(name).addFilter(WithoutMessages())
