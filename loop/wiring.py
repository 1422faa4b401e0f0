"""The only place where the loop's objects are built."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Thread

import redis
from celery import Celery
from prometheus_client import CollectorRegistry

from loop.leadership import LeaderElection
from loop.message_search import SearchServices, make_search_services
from loop.regulator import BackgroundReader, Regulator
from loop.steps.due_jobs import EndSilent, EnqueueEmbedding, EnqueueExtraction, EnqueueSummaries, WakeSnoozed
from loop.steps.publish_events import PublishEvents
from loop.steps.relay_jobs import RelayJobs, kinds_in_need
from loop.steps.sessions import AgeSessions, IndexSessions, ScanSessions, TendSessions
from loop.steps.settlement import SettleEnergy, SettleFacts
from loop.steps.upkeep import FinishErasures, ForgetOld, ProbeProvider, ReconcileTenantQueues, Upkeep
from loop.streams import Hub, Notices, is_of_events
from loop.thinking.situation import Chooser
from loop.thinking.thinker import ChooseAndThink, Thinker
from loop.ticker import Step, Ticker
from loop.totals import Totals, count_of_apps, count_totals
from shared.base.clock import CLOCK_DOUBT, Clock, SystemClock
from shared.base.credentials import read_or_make_admin_token
from shared.base.process import my_name
from shared.base.settings import Settings
from shared.broker import EVENTS_NEWS, connect_redis, make_celery, notify, send, workers_heard
from shared.context.sources import RecallSources
from shared.contracts.jobs import JobMessage, Queue
from shared.db.base import Transactions
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.budget import to_micro
from shared.events.addresses import Resolve, resolve
from shared.llm.providers import ModelProbe, embedder_name, make_tool_chat
from shared.llm.tools import ToolChat
from shared.search.tuning import tuning_of
from shared.sessions.registry.registration import Registrar
from shared.sessions.store import Store
from shared.telemetry.metrics import Metrics
from shared.telemetry.tracing import Tracing, start_tracing

Drain = Callable[[float], object]
"""Finishes or lets go of what was begun, within so many seconds."""
_FIRST_GUESS = 12.0
"""Units a creation is taken to cost until one has: 10 to 15 by the default prices. Source: decisions, "Energy"."""
_STEPPING_DOWN_SECONDS = 2.0
_NOTICES_SECONDS = 2.0
_BOOKING_SECONDS = 10.0
"""Beside the longest model call; then what was set aside for it is free again."""


@dataclass(frozen=True)
class Foundation:
    """What everything else in the process is built on."""

    settings: Settings
    clock: Clock
    database: Database
    celery: Celery
    redis: redis.Redis
    metrics: Metrics
    leadership: LeaderElection
    fenced: Transactions
    """The database, for what only the regulating loop may write."""
    regulator: Regulator
    hub: Hub
    draining: Event
    """Set once the process was asked to stop; readiness is false from then on."""
    store: Store
    """Where the files of recorded sessions lie."""
    tracing: Tracing


@dataclass(frozen=True)
class Loop(Foundation):
    """Everything the central process is made of."""

    ticker: Ticker
    notices: Notices
    searching: SearchServices
    registrar: Registrar
    admin_token: str
    totals: BackgroundReader[Totals]
    """What only accumulates, for the scrape."""
    resolve: Resolve = resolve
    """How the names in the addresses of webhooks are looked up."""
    drains: Sequence[Drain] = ()
    """What else has to finish or let go of what it began before the process ends."""

    def start(self) -> None:
        self.notices.start()
        self.searching.records.start()
        self.ticker.start()
        # After the ticker, whose health it asks about.
        self.leadership.start(self.ticker.look)

    def workers(self) -> list[str]:
        """Return the workers heard of lately. Raises: any of BROKER_ERRORS."""
        return _live_workers(self.redis, self.clock, self.settings)

    def drain(self, seconds: float) -> None:
        """Finish what was begun within so many seconds, begin nothing new, and let another loop regulate."""
        self.draining.set()
        self.ticker.end()
        until = time.monotonic() + seconds
        # At the same time, as each of them may need all of it.
        others = [Thread(target=drain, args=(seconds,), name="drain", daemon=True) for drain in self.drains]
        for thread in others:
            thread.start()
        self.ticker.stop(seconds)
        for thread in others:
            thread.join(max(0.0, until - time.monotonic()))
        # Last: what is finished until here may be written only while this loop regulates.
        self.leadership.step_down(_STEPPING_DOWN_SECONDS)

    def stop(self) -> None:
        self.drain(self.settings.drain_seconds)
        self.notices.stop(_NOTICES_SECONDS)
        self.celery.close()
        self.redis.close()
        self.database.dispose()
        self.tracing.stop()


def _live_workers(client: redis.Redis, clock: Clock, settings: Settings) -> list[str]:
    return workers_heard(client, clock.now().timestamp() - settings.worker_silence_seconds)


def wire(settings: Settings, clock: Clock | None = None) -> Loop:
    """Build the loop of an installation. Raises: Configuration."""
    base = _base(settings, clock or SystemClock())
    searching = make_search_services(settings, base.database, base.clock, base.metrics)
    # Looked up when it is called: the ticker is built below, out of the thinker.
    thinker = _thinker(base, searching.reach, lambda: ticker.wake())
    scan = ScanSessions(
        base.fenced, base.clock, base.store, Registrar(base.fenced, base.store, settings),
        settings.sessions_scan_seconds, base.metrics,
    )  # fmt: skip
    ticker = Ticker(_steps(base, thinker, scan), settings.tick_seconds, base.metrics, base.leadership)
    drains: list[Drain] = [lambda _: base.hub.close(), searching.records.drain, scan.drain]
    # What hears of news from the other processes.

    def hear(news: str) -> None:
        if is_of_events(news):
            base.hub.announce()
        else:
            ticker.wake()

    return Loop(
        **vars(base),
        ticker=ticker,
        notices=Notices(base.redis, hear),
        searching=searching,
        # Not fenced: every loop carries out requests, whether it regulates or not.
        registrar=Registrar(base.database, base.store, settings),
        admin_token=read_or_make_admin_token(settings),
        totals=BackgroundReader("totals", lambda: _totals(base)),
        drains=drains if thinker is None else [*drains, thinker.drain],
    )


def _base(settings: Settings, clock: Clock) -> Foundation:
    database = Database(settings.database)
    metrics = Metrics(CollectorRegistry())
    leadership = LeaderElection(database, clock, my_name(), settings.lock_seconds, metrics)
    fenced = leadership.transactions
    first_guess = to_micro(_FIRST_GUESS * (1 if settings.model else settings.extractive_fraction))
    return Foundation(
        settings=settings,
        clock=clock,
        database=database,
        celery=make_celery(settings),
        redis=connect_redis(settings),
        metrics=metrics,
        leadership=leadership,
        fenced=fenced,
        regulator=Regulator(fenced, clock, settings, first_guess),
        hub=Hub(),
        draining=Event(),
        store=Store(settings.sessions_path),
        tracing=start_tracing(settings, "afterthought-loop"),
    )


def _totals(base: Foundation) -> Totals:
    of_apps = count_of_apps(base.database, base.clock.now(), base.settings.metrics_apps)
    return count_totals(base.database) | of_apps


def _steps(base: Foundation, thinker: Thinker | None, scan: ScanSessions) -> list[Step]:
    """Return what a tick does, in order."""
    fenced, clock, regulator = base.fenced, base.clock, base.regulator

    def announce(position: int) -> None:
        base.hub.announce()
        notify(base.redis, f"{EVENTS_NEWS}{position}")

    keep, attempts = timedelta(hours=base.settings.event_hours), base.settings.webhook_max_attempts
    publish = PublishEvents(base.fenced, base.clock, announce, keep, attempts, base.metrics)
    steps: list[Step] = [
        # Publish before relay: the deliveries it asks for are sent in the same tick.
        publish, _relay(base), SettleEnergy(regulator), _upkeep(base), WakeSnoozed(fenced, clock),
        FinishErasures(fenced, base.store, base.redis), ReconcileTenantQueues(fenced, clock),
        ProbeProvider(fenced, clock, ModelProbe(base.settings)),
        EndSilent(fenced, clock, base.settings),
        EnqueueExtraction(fenced, clock, base.settings.job_max_attempts),
        SettleFacts(fenced, clock, base.metrics),
        EnqueueSummaries(fenced, clock, base.settings.job_max_attempts, tuning_of(base.settings)),
        ForgetOld(fenced, clock, base.settings, base.metrics),
        EnqueueEmbedding(fenced, clock, embedder_name(base.settings.embedding), base.settings.job_max_attempts),
        scan, TendSessions(fenced, clock, base.store, base.metrics, base.settings), IndexSessions(fenced, base.store),
        AgeSessions(fenced, clock, base.store, base.metrics, base.settings),
    ]  # fmt: skip
    if thinker is not None:
        steps.append(ChooseAndThink(Chooser(fenced, clock, base.settings, regulator.level), thinker))
    return steps


def _relay(base: Foundation) -> RelayJobs:
    def send_job(task: str, queue: Queue, message: JobMessage, priority: int) -> None:
        send(base.celery, task, queue, message, priority)

    settings = base.settings
    return RelayJobs(
        base.fenced,
        base.clock,
        base.regulator,
        send_job,
        settings.queued_seconds,
        base.metrics,
        is_over=base.draining.is_set,
        need_server=kinds_in_need(settings),
        count_workers=lambda: len(_live_workers(base.redis, base.clock, settings)),
    )


def _upkeep(base: Foundation) -> Upkeep:
    settings = base.settings
    longest = max(settings.lease_seconds, settings.queued_seconds, settings.retry_max_seconds)
    return Upkeep(
        base.fenced,
        base.clock,
        settings,
        base.metrics,
        timedelta(seconds=longest) + CLOCK_DOUBT,
        longest_call=timedelta(seconds=settings.hard_limit_seconds),
    )


def _thinker(base: Foundation, reach: RecallSources, on_free: Callable[[], None]) -> Thinker | None:
    """Return what thinks about conversations; None without a model, or when thinking is switched off."""
    settings = base.settings
    if settings.model is None or not settings.thinks:
        return None

    def make(model: str) -> ToolChat:
        return make_tool_chat(model, settings)

    longest = settings.model_timeout_seconds + _BOOKING_SECONDS
    accountant = Accountant(base.database, base.clock, settings, base.metrics, longest, base.tracing)
    return Thinker(
        base.fenced, base.clock, settings, make, accountant, base.regulator.level, base.metrics, reach, on_free
    )
