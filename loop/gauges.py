"""What is read when Prometheus asks: levels, depths, ages and counts that stand in the database and in Redis.

One short transaction a scrape reads how things stand now, and only rows of what is unfinished; what only accumulates,
and what is told of single apps, is in ``loop.totals``. What Redis alone knows is left out while it is down, and
``afterthought_redis_up`` says so.
``docs/reference/metrics.md`` is generated from this catalogue and from ``shared.telemetry.metrics``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from loop.totals import GAUGES_OF_APPS, GAUGES_OF_TOTALS, JOBS, Gauge, Totals, Values, depths, one
from loop.wiring import Loop
from shared.base.errors import Transient
from shared.base.installation import release
from shared.broker import BROKER_ERRORS
from shared.contracts.jobs import JobKind, Queue, WorkClass
from shared.conversations.queries import count_unanswered, oldest_owed
from shared.energy.breaker import find_pause
from shared.energy.budget import FLOOR, to_units
from shared.events.queries import oldest_unplaced
from shared.jobs.counts import count_unfinished, oldest_waiting
from shared.jobs.models import OPEN, Deferral
from shared.jobs.queries import count_apps_waiting, count_held, deferred_by_cause
from shared.search.index_queries import count_all_unembedded
from shared.search.word_index import is_present

ENERGY_LEVEL = Gauge("energy_level_units", "Energy level now, -50..100.")
ENERGY_FLOOR = Gauge("energy_floor_units", "The lowest the energy level can be.")
ENERGY_GATE = Gauge("energy_gate_units", "Memory work starts only above this level.")
ENERGY_SHARE = Gauge("energy_memory_share_ratio", "Share of memory work in the energy spent in 24 hours, 0..1.")
ENERGY_RESERVED = Gauge("energy_reserved_units", "Set aside for model calls under way.")
DEFERRED = Gauge("deferred_jobs", "Deferred jobs, by what they wait for.", ("cause",))
OLDEST_DEFERRED = Gauge(
    "oldest_deferred_job_seconds", "How long the first deferred job has been so, by what it waits for; 0 for none.",
    ("cause",),
)  # fmt: skip
OLDEST = Gauge(
    "oldest_waiting_job_seconds", "Age of the oldest job that waits for its turn, deferred ones left out; 0 for none.",
    ("kind",),
)  # fmt: skip
APPS_WAITING = Gauge("apps_waiting", "Apps with a job that waits, by what it competes for.", ("work_class",))
APPS_HELD = Gauge("apps_held", "Apps that have work and no budget left for it.")
DEPTH = Gauge("queue_depth", "Messages in a Redis queue that no worker has taken.", ("queue",))
WORKERS = Gauge("workers", "Workers heard of lately.")
REDIS_UP = Gauge("redis_up", "Whether Redis answered this scrape.")
DATABASE_UP = Gauge("database_up", "Whether the database answered this scrape.")
UNEMBEDDED = Gauge("unembedded_messages", "Messages whose vectors are still to be made, of all apps.")
WORD_INDEX = Gauge("word_index_present", "Whether there is a word index; without it, words are not found.")
SEARCH_CACHE = Gauge("search_cache_bytes", "Memory that the vectors of searched apps take in this loop.")
THINKING = Gauge("thinking", "Whether this loop answers conversations: a model is set and thinking is switched on.")
UNANSWERED = Gauge("unanswered_conversations", "Open conversations in which a user's message waits for an answer.")
OLDEST_UNANSWERED = Gauge(
    "oldest_unanswered_seconds", "Age of the oldest message that the loop is to answer; 0 when none waits for it."
)
BREAKER = Gauge(
    "model_breaker_open",
    "Whether 18 of the last 20 jobs got nothing usable from the model, so that the built-in agent does them.",
)
REGULATING = Gauge("regulating", "Whether this loop regulates; over all loops the sum is 1.")
TICK_AGE = Gauge("tick_age_seconds", "Time since the last finished tick.")
STREAMS = Gauge("streams_open", "Streams and long polls that are open at this loop.")
UNPLACED = Gauge("unplaced_event_seconds", "Age of the oldest event that listeners cannot hear of yet; 0 for none.")
BUILD = Gauge("build_info", "Always 1; the label tells the version.", ("version",))
TOTALS_AGE = Gauge(
    "totals_age_seconds", "Age of the totals, which are counted beside the scrape where that takes long."
)

# JOBS is imported: it stands among the totals, to which the unfinished jobs are added at each scrape.
_OF_STATE = [one for one in vars().values() if isinstance(one, Gauge) and one is not JOBS]
CATALOGUE = (*_OF_STATE, *GAUGES_OF_TOTALS, *GAUGES_OF_APPS)


class StateGauges(Collector):
    """Reads every gauge of the catalogue for each scrape."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return [_family(gauge, values) for gauge, values in self._read()]

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges without values, so that registering reads nothing."""
        return [_family(gauge, {}) for gauge in CATALOGUE]

    def _read(self) -> Iterator[tuple[Gauge, Values]]:
        yield BUILD, {(release(),): 1}
        yield STREAMS, one(self._loop.hub.listening)
        yield REGULATING, one(self._loop.leadership.fence is not None)
        yield SEARCH_CACHE, one(self._loop.searching.matrices.bytes)
        yield TICK_AGE, one(self._loop.ticker.age())
        yield THINKING, one(self._loop.settings.thinks)
        waiting = depths(self._loop.redis)
        yield REDIS_UP, one(waiting is not None)
        if waiting is not None:
            yield DEPTH, {(queue.value,): waiting[queue] for queue in Queue}
            # Redis may go away between two commands.
            with contextlib.suppress(*BROKER_ERRORS):
                yield WORKERS, one(len(self._loop.workers()))
        try:
            with self._loop.database.read() as session:
                now = self._loop.clock.now()
                unfinished = count_unfinished(session)
                oldest = oldest_owed(session, now - timedelta(hours=self._loop.settings.answer_within_hours))
                unanswered = [(UNANSWERED, one(count_unanswered(session))), (OLDEST_UNANSWERED, one(_age(oldest, now)))]
                # Gathered before any is told: where the database goes away in the middle, none of it is.
                found = [*self._energy(session), *_waiting(session, now), *unanswered]
                model = self._loop.settings.model
                found.append((BREAKER, one(model is not None and find_pause(session, model) is not None)))
        except Transient:
            yield DATABASE_UP, one(False)
            return
        yield DATABASE_UP, one(True)
        yield from found
        yield ENERGY_SHARE, one(self._loop.regulator.memory_share() or 0.0)
        # What was counted last, if anything was yet; the unfinished jobs are those of this moment.
        counted, totals = self._loop.totals.latest(), Totals()
        if counted is not None:
            totals = {**counted.value, TOTALS_AGE: one(self._loop.totals.age(counted))}
        of_now: Values = {(kind, state): unfinished.get((kind, state), 0) for kind in JobKind for state in OPEN}
        yield from (totals | {JOBS: {**totals.get(JOBS, {}), **of_now}}).items()

    def _energy(self, session: Session) -> list[tuple[Gauge, Values]]:
        reading = self._loop.regulator.reading(session)
        return [
            (ENERGY_LEVEL, one(reading.level)),
            (ENERGY_FLOOR, one(to_units(FLOOR))),
            (ENERGY_GATE, one(reading.gate_percent)),
            (ENERGY_RESERVED, one(reading.reserved)),
        ]


def _waiting(session: Session, now: datetime) -> list[tuple[Gauge, Values]]:
    oldest = oldest_waiting(session, now)
    waiting, deferred = count_apps_waiting(session), deferred_by_cause(session)
    found = {cause: deferred.get(cause, (0, None)) for cause in Deferral}
    return [
        (OLDEST, {(kind.value,): _age(oldest.get(kind), now) for kind in JobKind}),
        (DEFERRED, {(cause.value,): count for cause, (count, _) in found.items()}),
        (OLDEST_DEFERRED, {(cause.value,): _age(since, now) for cause, (_, since) in found.items()}),
        (APPS_WAITING, {(work_class.value,): waiting.get(work_class, 0) for work_class in WorkClass}),
        (APPS_HELD, one(count_held(session, now))),
        (UNEMBEDDED, one(count_all_unembedded(session))),
        (WORD_INDEX, one(is_present(session))),
        (UNPLACED, one(_age(oldest_unplaced(session), now))),
    ]


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def _family(gauge: Gauge, values: Values) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"afterthought_{gauge.name}", gauge.text, labels=gauge.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
