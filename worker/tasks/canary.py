"""The task by which a worker finds out whether it still hears its queue."""

from __future__ import annotations

from celery import Celery

from shared.contracts.jobs import CANARY_TASK


def register_canary(app: Celery) -> None:
    """Register the task."""

    @app.task(name=CANARY_TASK)
    def canary() -> None:
        """Do nothing; that it arrived is all."""
