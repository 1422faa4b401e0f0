"""The task of ``deliver_webhook`` jobs."""

from __future__ import annotations

from typing import Any

from celery import Celery
from pydantic import ValidationError

from shared.contracts.jobs import DELIVER_WEBHOOK_TASK, JobKind, JobMessage, wrong_fields
from shared.telemetry.logging import get_logger
from worker.pipelines.attempt import JobFailed
from worker.tasks.registry import Ready


def register_deliver_webhook(app: Celery, ready: Ready) -> None:
    """Register the task; a payload that does not parse is counted, and the sweeper sends its job again."""

    @app.task(name=DELIVER_WEBHOOK_TASK, throws=(JobFailed,))
    def deliver_webhook(*unnamed: Any, **payload: Any) -> None:
        try:
            message = JobMessage.model_validate(payload if not unnamed else {})
        except ValidationError as error:
            ready.now.metrics.dead_letters.labels(JobKind.DELIVER_WEBHOOK).inc()
            get_logger().error("job_message_malformed", wrong=wrong_fields(JobMessage, error.errors()))
            raise JobFailed("the message does not parse; its job, if any, will be sent again") from error
        ready.now.attempts.run(message, JobKind.DELIVER_WEBHOOK, ready.now.deliver_webhook)
