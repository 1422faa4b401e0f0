"""Relays due jobs to their queues when the energy allows it, and marks them deferred when it does not.

The lease is committed before the message is sent, and no transaction is open while it is. A crash in between leaves a
queued job that nobody begins; the sweep offers it again.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from loop.regulator import Allowance, Regulator
from shared.base.clock import Clock
from shared.base.errors import Transient
from shared.base.setting_groups import provider_of
from shared.base.settings import Settings
from shared.broker import BROKER_ERRORS
from shared.contracts.jobs import JOB_TYPES, JobKind, JobMessage, ModelNeed, Queue, WorkClass, task_name
from shared.db.base import Transactions
from shared.jobs import dispatch, queries
from shared.jobs.dispatch import DEFER_LIMIT, Dispatch
from shared.jobs.models import Deferral
from shared.jobs.tenant_queues import ScheduleLimits
from shared.llm.providers import is_known_small
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

SendJob = Callable[[str, Queue, JobMessage, int], None]
"""Puts (task, queue, message, priority) on the broker; raises ``Transient``."""
BROKER_PAUSE_SECONDS = 1.0
_COUNT_SECONDS = 1.0


def kinds_in_need(settings: Settings) -> frozenset[JobKind]:
    """Return the kinds of jobs that cannot be done while the model's server is away."""
    # As far as it is known without the server, which is away when it matters.
    large = None if settings.model is None or is_known_small(settings.model, settings) else settings.model
    models = {ModelNeed.CHAT: settings.model, ModelNeed.LARGE_CHAT: large, ModelNeed.EMBEDDING: settings.embedding}
    served = {need for need, model in models.items() if model is not None and provider_of(model) is not None}
    return frozenset(kind for kind, job_type in JOB_TYPES.items() if job_type.needs in served)


@dataclass
class RelayJobs:
    """Sends, defers and calls back jobs as the regulator allows."""

    database: Transactions
    clock: Clock
    regulator: Regulator
    send: SendJob
    queued_seconds: float
    metrics: Metrics
    most_deliveries: int = 32
    is_over: Callable[[], bool] = lambda: False
    """Whether the loop was asked to stop, so that nothing more is sent."""
    need_server: frozenset[str] = frozenset()
    """Kinds of jobs that are not sent while the model's server is away."""
    count_workers: Callable[[], int] = lambda: 1
    """How many were heard of lately; raises any of BROKER_ERRORS."""
    _counted_at: float = -math.inf
    name = "relay_jobs"
    every_seconds = 0.0

    def run(self) -> bool:
        """Send what may be sent; True when more may follow at once."""
        now = self.clock.now()
        self._look_at_workers()
        with self.database.read() as session:
            if not self._has_work(session, now):
                return False
        with self.database.write() as session:
            allowance = self.regulator.allowance(session)
            shed, deferred = 0, 0
            if allowance.why is not None:
                shed = dispatch.revoke(session, allowance.why, now) if allowance.shed else 0
                deferred = dispatch.defer(session, Deferral.ENERGY, allowance.why, now)
            # Deliveries spend no energy, and so have slots of their own.
            delivery_slots = max(0, self.most_deliveries - queries.count_in_flight(session, WorkClass.DELIVERY))
            why_away = queries.why_provider_is_awaited(session)
            throttled, waiting = [], False

            def limits_of(session: Session, app_id: str, kind: str) -> ScheduleLimits:
                nonlocal waiting
                if why_away is not None and kind in self.need_server:
                    waiting = True
                    return ScheduleLimits(away=self.need_server, why_away=why_away)
                limits = self.regulator.schedule_limits(session, app_id, kind)
                if limits.throttle is not None:
                    throttled.append(app_id)
                return limits

            leased = dispatch.take_due(session, now, allowance.jobs, self.queued_seconds, limits_of)
            deliveries = dispatch.take_due(
                session, now, delivery_slots, self.queued_seconds, work_class=WorkClass.DELIVERY
            )
        self._report(allowance, shed, deferred, throttled)
        # After the commit: a worker can be so quick that it would not find the job leased yet.
        sent = self._send_all(leased + deliveries)
        # At once again where as much was done as may be at a time: there may be more behind it.
        return (
            deferred == DEFER_LIMIT
            or waiting
            or (sent and (0 < allowance.jobs == len(leased) or 0 < delivery_slots == len(deliveries)))
        )

    def _look_at_workers(self) -> None:
        """Count the workers once a second, with no transaction open; while the broker is away, as many as before."""
        if time.monotonic() - self._counted_at >= _COUNT_SECONDS:
            self._counted_at = time.monotonic()
            with contextlib.suppress(*BROKER_ERRORS):
                self.regulator.note_workers(self.count_workers())

    def _has_work(self, session: Session, now: datetime) -> bool:
        """Whether there is anything to send, to defer or to call back; a backlog without energy is looked at only."""
        if queries.has_asleep_until(session, now) or queries.has_awake(session, WorkClass.DELIVERY):
            return True
        waits, sent = queries.has_awake(session, WorkClass.THOUGHT), queries.has_sent(session)
        if not waits and not sent:
            return False
        allowance = self.regulator.allowance(session)
        if allowance.why is not None and queries.has_undeferred(session, now):
            return True
        return (waits and allowance.jobs > 0) or (sent and allowance.shed)

    def _report(self, allowance: Allowance, shed: int, deferred: int, throttled: list[str]) -> None:
        if shed:
            self.metrics.jobs_shed.inc(shed)
            get_logger().warning("jobs_called_back", count=shed, why=allowance.why)
        if deferred:
            self.metrics.energy_deferrals.inc(deferred)
            get_logger().info("jobs_deferred", count=deferred, why=allowance.why)
        self.metrics.budget_deferrals.inc(len(throttled))
        for app_id in throttled:
            get_logger().info("app_held_by_budget", app_id=app_id)

    def _send_all(self, leased: list[Dispatch]) -> bool:
        for number, job in enumerate(leased):
            if self.is_over():
                # Not left to the sweep, which waits until the leases are over.
                get_logger().info("jobs_handed_back", jobs=len(leased) - number)
                self._hand_back(leased[number:], wait_seconds=0.0)
                return False
            try:
                kind = JobKind(job.kind)
                message = JobMessage(job_id=job.job_id, fence=job.fence)
                self.send(task_name(kind), JOB_TYPES[kind].queue, message, job.priority)
                self.metrics.jobs_sent.labels(job.kind).inc()
            except Transient as error:
                self.metrics.broker_failures.inc()
                get_logger().warning("broker_refused", jobs=len(leased) - number, error=error.message)
                self._hand_back(leased[number:], BROKER_PAUSE_SECONDS)
                return False
        return bool(leased)

    def _hand_back(self, unsent: list[Dispatch], wait_seconds: float) -> None:
        with self.database.write() as session:
            dispatch.hand_back(session, unsent, self.clock.now(), wait_seconds)
