"""The only place where the loop's objects are built."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread

import redis
from celery import Celery
from prometheus_client import CollectorRegistry

from loop.mandate import MandateKeeper
from loop.notices import Notices
from loop.regulator import Regulator, Rules
from loop.steps.finish_erasures import FinishErasures
from loop.steps.mend_lanes import MendLanes
from loop.steps.relay_jobs import RelayJobs
from loop.steps.settle_energy import SettleEnergy
from loop.steps.step import Step
from loop.steps.upkeep import Upkeep
from loop.steps.wake_snoozed import WakeSnoozed
from loop.ticker import Ticker
from shared.broker import connect_redis, make_celery, send, workers_heard
from shared.clock import Clock, SystemClock
from shared.contracts.jobs import JobMessage, Queue
from shared.credentials import read_or_make_admin_token
from shared.db.engine import Database
from shared.outbox.retry import RetryRule
from shared.presence import my_name
from shared.settings import Settings
from shared.telemetry.metrics import Metrics

Drain = Callable[[float], object]
"""Finishes or lets go of what was begun, within so many seconds."""
_STANDING_DOWN_SECONDS = 2.0
_NOTICES_SECONDS = 2.0
CLOCK_DOUBT = timedelta(minutes=1)
"""How far the clocks of two machines may be apart without harm."""


@dataclass(frozen=True)
class Loop:
    """Everything the central process is made of."""

    settings: Settings
    clock: Clock
    database: Database
    celery: Celery
    redis: redis.Redis
    metrics: Metrics
    regulator: Regulator
    mandate: MandateKeeper
    ticker: Ticker
    notices: Notices
    admin_token: str
    draining: Event = field(default_factory=Event)
    """Set once the process was asked to stop; readiness is false from then on."""
    drains: Sequence[Drain] = ()
    """What else has to finish or let go of what it began before the process ends."""

    def start(self) -> None:
        """Begin to tick and to listen for news."""
        self.notices.start()
        self.ticker.start()
        self.mandate.start(self.ticker.look)

    def workers(self) -> list[str]:
        """Return the workers heard of lately. Raises: any of BROKER_ERRORS."""
        return workers_heard(self.redis, self.clock.now().timestamp() - self.settings.worker_silence_seconds)

    def drain(self, seconds: float) -> None:
        """Finish what was begun within so many seconds, begin nothing new, and let another loop regulate."""
        self.draining.set()
        self.ticker.end()
        until = time.monotonic() + seconds
        others = [Thread(target=drain, args=(seconds,), name="drain", daemon=True) for drain in self.drains]
        for thread in others:
            thread.start()
        self.ticker.stop(seconds)
        for thread in others:
            thread.join(max(0.0, until - time.monotonic()))
        self.mandate.stand_down(_STANDING_DOWN_SECONDS)

    def stop(self) -> None:
        """Let go of everything, having drained."""
        self.drain(self.settings.drain_seconds)
        self.notices.stop(_NOTICES_SECONDS)
        self.celery.close()
        self.redis.close()
        self.database.dispose()


def wire(settings: Settings, clock: Clock | None = None) -> Loop:
    """Build the loop of an installation. Raises: Configuration."""
    clock = clock or SystemClock()
    database = Database(settings.database)
    celery = make_celery(settings)
    client = connect_redis(settings)
    metrics = Metrics(CollectorRegistry())
    draining = Event()
    mandate = MandateKeeper(database, clock, my_name(), settings.lock_seconds, metrics)
    fenced = mandate.transactions
    regulator = Regulator(
        fenced,
        clock,
        Rules(settings.energy_refill_per_second, settings.energy_gate_percent, settings.in_flight_jobs),
    )

    def send_job(task: str, queue: Queue, message: JobMessage, priority: int) -> None:
        send(celery, task, queue, message, priority)

    relay = RelayJobs(fenced, clock, regulator, send_job, settings.queued_seconds, metrics, is_over=draining.is_set)
    rule = RetryRule(settings.retry_base_seconds, settings.retry_max_seconds)
    keep_keys = timedelta(hours=settings.idempotency_hours)
    longest = max(settings.lease_seconds, settings.queued_seconds, settings.retry_max_seconds)
    horizon = timedelta(seconds=longest) + CLOCK_DOUBT
    longest_call = timedelta(seconds=settings.task_hard_limit_seconds)
    upkeep = Upkeep(fenced, clock, rule, keep_keys, metrics, horizon, longest_call=longest_call)
    steps: list[Step] = [
        relay, SettleEnergy(regulator), upkeep, WakeSnoozed(fenced, clock), FinishErasures(fenced),
        MendLanes(fenced, clock),
    ]  # fmt: skip
    ticker = Ticker(steps, settings.tick_seconds, metrics, mandate)
    return Loop(
        settings=settings,
        clock=clock,
        database=database,
        celery=celery,
        redis=client,
        metrics=metrics,
        regulator=regulator,
        mandate=mandate,
        ticker=ticker,
        notices=Notices(client, lambda _: ticker.wake()),
        admin_token=read_or_make_admin_token(settings),
        draining=draining,
    )
