"""The intake task: apps that speak Celery end their conversations with it."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.exceptions import Reject
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from shared.contracts.jobs import END_CONVERSATION_TASK
from shared.errors import Transient
from worker.tasks.registry import Ready

PATIENCE_SECONDS = 20.0


def register_end_conversation(app: Celery, ready: Ready) -> None:
    """Register the task. There is no job row yet: while the database is away the message goes back to its queue."""

    @app.task(name=END_CONVERSATION_TASK)
    def end_conversation(*unnamed: Any, **fields: Any) -> None:
        understood = {**fields, **{f"argument {place}": "" for place, _ in enumerate(unnamed)}}
        try:
            for attempt in _patiently():
                with attempt:
                    ready.now.end_conversation(understood)
        except Transient as error:
            raise Reject(error.message, requeue=True) from error


def _patiently() -> Retrying:
    return Retrying(
        retry=retry_if_exception_type(Transient),
        wait=wait_random_exponential(multiplier=0.2, max=5),
        stop=stop_after_delay(PATIENCE_SECONDS),
        reraise=True,
    )
