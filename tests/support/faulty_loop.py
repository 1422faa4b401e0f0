"""A real loop with fault points around sending a job: ``python -m tests.support.faulty_loop``."""

from __future__ import annotations

import sys

from celery import Celery

import loop.wiring
from loop.__main__ import main
from shared.contracts.jobs import JobMessage, Queue
from tests.support.faultpoints import Point, reach


def _install() -> None:
    send = loop.wiring.send

    def faulty_send(app: Celery, task: str, queue: Queue, message: JobMessage, priority: int) -> None:
        reach(Point.BEFORE_SEND)
        send(app, task, queue, message, priority)
        reach(Point.AFTER_SEND)

    loop.wiring.send = faulty_send


if __name__ == "__main__":
    _install()
    sys.exit(main())
