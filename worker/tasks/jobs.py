"""The tasks of jobs, one a kind: parse the message, and make one attempt at the job it names."""

from __future__ import annotations

from typing import Any

from celery import Celery
from pydantic import ValidationError

from shared.contracts.jobs import ROUTES, JobKind, JobMessage, wrong_fields
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import JobFailed
from worker.tasks.registry import Ready


def register_jobs(app: Celery, ready: Ready) -> None:
    """Register a task for each kind that is dispatched."""
    for kind, (task, _) in ROUTES.items():
        _register(app, ready, kind, task)


def _register(app: Celery, ready: Ready, kind: JobKind, task: str) -> None:
    @app.task(name=task, throws=(JobFailed,))
    def carry_out(*unnamed: Any, **payload: Any) -> None:
        message = _parse(kind, payload if not unnamed else {}, ready.now.metrics)
        ready.now.attempts.run(message, kind, ready.now.pipelines[kind])


def _parse(kind: JobKind, payload: dict[str, Any], metrics: Metrics) -> JobMessage:
    """Return the message. Raises: JobFailed for one that does not parse; the sweeper sends its job again."""
    try:
        return JobMessage.model_validate(payload)
    except ValidationError as error:
        metrics.dead_letters.labels(kind).inc()
        get_logger().error("job_message_malformed", wrong=wrong_fields(JobMessage, error.errors()))
        raise JobFailed("the message does not parse; its job, if any, will be sent again") from error
