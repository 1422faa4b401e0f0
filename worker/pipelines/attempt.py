"""One attempt at one job, whatever its kind: claim it, keep its lease alive, run it, record how it ended.

A pipeline finishes its job itself, in the transaction that writes its result; an attempt that fails is recorded here,
and the task then raises ``JobFailed`` so that no failure ever looks like a success to Celery either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import redis
from celery.exceptions import SoftTimeLimitExceeded

from shared.apps.queries import lock_app
from shared.broker import notify
from shared.clock import Clock
from shared.contracts.jobs import JobKind, JobMessage
from shared.db.engine import Database
from shared.errors import AfterthoughtError, Configuration, LeaseLost, NotYet, OverBudget, Purged, Transient
from shared.outbox import ownership
from shared.outbox.models import JobState
from shared.outbox.ownership import Claim, Owner
from shared.settings import JobSettings
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.ending import record_deferral, record_end

Pipeline = Callable[[Claim], JobState]
"""Carries a claimed job out and returns the state it finished the job in."""


class JobFailed(Exception):
    """The attempt failed, and the job's row says why and what comes next."""


@dataclass
class Attempts:
    """Runs pipelines under a lease."""

    database: Database
    clock: Clock
    owner: Owner
    settings: JobSettings
    metrics: Metrics
    news: redis.Redis

    def run(self, message: JobMessage, kind: JobKind, pipeline: Pipeline) -> None:
        """Carry out one delivery of a job. Raises: JobFailed, Transient."""
        held = self._claim(message)
        if held is None:
            get_logger().info("job_message_stale", job_id=message.job_id, fence=message.fence)
            self.metrics.stale_messages.labels(kind).inc()
            return
        begun = self.clock.now()
        with self._kept_alive(held):
            state, failure = self._attempt(held, pipeline)
        self._report(held, state, begun)
        if failure is not None:
            raise JobFailed(f"{held.job_id} is {state}: {failure}")

    def _claim(self, message: JobMessage) -> Claim | None:
        now = self.clock.now()
        with self.database.write() as session:
            return ownership.claim(session, message.job_id, message.fence, self.owner, self._until(now), now)

    def _attempt(self, held: Claim, pipeline: Pipeline) -> tuple[JobState | None, str | None]:
        try:
            return pipeline(held), None
        except (LeaseLost, Purged) as error:
            self._drop(held, error)
            return None, None
        except OverBudget as error:
            return self._defer(held, error), None
        except NotYet as error:
            return self._wait(held, error), None
        except SoftTimeLimitExceeded:
            return self._fail(held, "it took longer than the task's time limit")
        except AfterthoughtError as error:
            get_logger().warning("job_attempt_failed", error=error.code, **_named(held))
            return self._fail(held, f"{error.code}: {error.message}", isinstance(error, Configuration))
        # The top of a worker's work: an error nobody foresaw is logged whole and must not lose the job.
        except Exception as error:  # noqa: BLE001
            get_logger().exception("job_attempt_broke", **_named(held))
            return self._fail(held, f"unexpected {type(error).__name__}; the worker's log has the traceback")

    def _fail(self, held: Claim, reason: str, patiently: bool = False) -> tuple[JobState | None, str | None]:
        try:
            with self.database.write() as session:
                state = ownership.fail(session, held, reason, self.clock.now(), self.settings, patiently)
                if state is JobState.DEAD:
                    record_end(session, held, state, self.clock.now())
            return state, reason
        except LeaseLost as error:
            self._drop(held, error)
            return None, None

    def _wait(self, held: Claim, error: NotYet) -> JobState | None:
        get_logger().info("job_waits", job_id=held.job_id, app_id=held.app_id, until=error.until.isoformat())
        try:
            with self.database.write() as session:
                ownership.wait(session, held, error.message, error.until, self.clock.now())
            return JobState.RETRYING
        except LeaseLost as lost:
            self._drop(held, lost)
            return None

    def _defer(self, held: Claim, error: OverBudget) -> JobState | None:
        """Wait until the app's budget covers the work; nothing has failed."""
        get_logger().info("job_over_budget", job_id=held.job_id, app_id=held.app_id, until=error.until.isoformat())
        try:
            with self.database.write() as session:
                changed_at = lock_app(session, held.app_id).updated_at
                ownership.put_off(session, held, error.message, error.until, self.clock.now(), changed_at)
                record_deferral(session, held, self.clock.now())
        except LeaseLost as lost:
            self._drop(held, lost)
            return None
        return JobState.DEFERRED

    def _drop(self, held: Claim, error: AfterthoughtError) -> None:
        """Let go of a job that was purged or taken over; its row already says so."""
        get_logger().info("job_result_dropped", job_id=held.job_id, why=error.code)
        self.metrics.stale_messages.labels(held.kind).inc()

    def _report(self, held: Claim, state: JobState | None, begun: datetime) -> None:
        now = self.clock.now()
        self.metrics.job_duration.labels(held.kind).observe((now - begun).total_seconds())
        if state is JobState.RETRYING:
            self.metrics.job_retries.labels(held.kind).inc()
        elif state is JobState.DEFERRED:
            self.metrics.budget_deferrals.inc()
        elif state is not None:
            self.metrics.jobs_finished.labels(held.kind, state).inc()
            self.metrics.job_delay.labels(held.kind).observe((now - held.created_at).total_seconds())
        if state is JobState.DEAD:
            self.metrics.dead_letters.labels(held.kind).inc()
        get_logger().info("job_attempt_ended", kind=held.kind, state=state, **_named(held))
        notify(self.news, f"job:{held.job_id}:{state}")

    def _until(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.settings.lease_seconds)

    @contextmanager
    def _kept_alive(self, held: Claim) -> Iterator[None]:
        """Renew the lease from a thread of its own until the block ends or the job is somebody else's."""
        over = threading.Event()
        keeper = threading.Thread(target=self._beat, args=(held, over), name="lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join(timeout=self.settings.heartbeat_seconds)

    def _beat(self, held: Claim, over: threading.Event) -> None:
        while not over.wait(self.settings.heartbeat_seconds):
            try:
                with self.database.write() as session:
                    if not ownership.beat(session, held, self._until(self.clock.now())):
                        return
            except Transient as error:
                get_logger().warning("lease_not_renewed", job_id=held.job_id, error=error.code)


def _named(held: Claim) -> dict[str, str | int]:
    named: dict[str, str | int] = {"job_id": held.job_id, "app_id": held.app_id, "attempt": held.attempt}
    return named if held.conversation_id is None else named | {"conversation_id": held.conversation_id}
