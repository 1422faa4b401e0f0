"""A worker's own objects inside the test process, beside the interface: no queue, no Redis, a frozen clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from sqlalchemy import select

from shared.base.clock import Clock
from shared.contracts.jobs import JobKind, JobMessage
from shared.jobs.dispatch import take_due
from shared.jobs.models import Job
from shared.telemetry.metrics import Metrics
from tests.support.api import NO_REDIS
from tests.support.settings import default_settings
from worker.pipelines.attempt import JobFailed
from worker.wiring import WorkerServices, wire


@contextmanager
def open_worker(
    url: str, home: Path, clock: Clock, registry: CollectorRegistry, **chosen: Any
) -> Iterator[WorkerServices]:
    settings = default_settings(database_url=url, redis_url=NO_REDIS, home=home, embedding="ngrams", **chosen)
    worker = wire(settings, Metrics(registry), "node", clock)
    try:
        yield worker
    finally:
        worker.database.dispose()
        if settings.model is not None:
            # A worker's connections end with its process; all agents ask over one.
            worker.pipelines[JobKind.CREATE_MEMORY].agent.chat.close()  # type: ignore[attr-defined]


def work_off(worker: WorkerServices, clock: Clock) -> None:
    """Carry out every due job, as workers would."""
    for _ in range(10_000):
        with worker.database.write() as session:
            sent = take_due(session, clock.now(), 100, 60)
            kinds = dict(
                session.execute(select(Job.job_id, Job.kind).where(Job.job_id.in_([j.job_id for j in sent]))).all()
            )
        if not sent:
            return
        for one in sent:
            kind = JobKind(kinds[one.job_id])
            message = JobMessage(job_id=one.job_id, fence=one.fence)
            try:
                worker.attempts.run(message, kind, worker.pipelines[kind])
            except JobFailed:
                continue
