"""A worker that also knows one bare Celery task, which only notes when it ran: the yardstick for our jobs."""

from __future__ import annotations

import sys
import time

from shared.broker import connect_redis
from worker.__main__ import main

BARE_TASK = "bench.bare"
BARE_KEY = "bench.bare.ran_at"


def register() -> None:
    """Add the bare task to the worker's application."""
    from worker.celery_app import app, settings  # reads the settings when imported

    client = connect_redis(settings)

    @app.task(name=BARE_TASK)
    def bare(sent_at: float) -> None:
        client.rpush(BARE_KEY, f"{sent_at} {time.time()}")


if __name__ == "__main__":
    register()
    sys.exit(main())
