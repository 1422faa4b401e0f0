"""The Celery tasks of a worker: thin, they parse what came and call one pipeline."""

from dataclasses import dataclass
from typing import Any

from celery import Celery
from celery.exceptions import Reject
from pydantic import ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from shared.base.errors import Configuration, Transient
from shared.contracts.jobs import CANARY_TASK, JOB_TYPES, JobKind, JobMessage, task_name, wrong_fields
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import JobFailed
from worker.wiring import WorkerServices

PATIENCE_SECONDS = 20.0


@dataclass
class WorkerProcess:
    """What the tasks of a pool process call; built after the fork."""

    prepared: WorkerServices | None = None

    @property
    def services(self) -> WorkerServices:
        """What the tasks call. Raises: Configuration when this process was never prepared."""
        if self.prepared is None:
            raise Configuration("This process was not prepared; run the worker with the prefork pool.")
        return self.prepared


def register_tasks(app: Celery, process: WorkerProcess) -> None:
    @app.task(name=CANARY_TASK)
    def canary() -> None:
        """Do nothing; that it arrived tells a worker that it still hears its queue."""

    @app.task(name=task_name(JobKind.END_CONVERSATION))
    def end_conversation(*unnamed: Any, **fields: Any) -> None:
        # Fields that nobody knows, so that a message with unnamed arguments is refused as a whole.
        understood = {**fields, **{f"argument {index}": "" for index, _ in enumerate(unnamed)}}
        # There is no job row yet: while the database is away the message goes back to its queue.
        patiently = Retrying(
            retry=retry_if_exception_type(Transient),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            stop=stop_after_delay(PATIENCE_SECONDS),
            reraise=True,
        )
        try:
            for attempt in patiently:
                with attempt:
                    process.services.end_conversation(understood)
        except Transient as error:
            raise Reject(error.message, requeue=True) from error

    for kind in JOB_TYPES:
        _register_job(app, process, kind)


def _register_job(app: Celery, process: WorkerProcess, kind: JobKind) -> None:
    @app.task(name=task_name(kind), throws=(JobFailed,))
    def carry_out(*unnamed: Any, **payload: Any) -> None:
        # With unnamed arguments it is none of ours: empty, it does not parse.
        message = _parse(kind, payload if not unnamed else {}, process.services.metrics)
        process.services.attempts.run(message, kind, process.services.pipelines[kind])


def _parse(kind: JobKind, payload: dict[str, Any], metrics: Metrics) -> JobMessage:
    """Return the message. Raises: JobFailed for one that does not parse; the sweeper sends its job again."""
    try:
        return JobMessage.model_validate(payload)
    except ValidationError as error:
        metrics.dead_letters.labels(kind).inc()
        get_logger().error("job_message_malformed", wrong=wrong_fields(JobMessage, error.errors()))
        raise JobFailed("the message does not parse; its job, if any, will be sent again") from error
