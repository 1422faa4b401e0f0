"""What is read when Prometheus asks: levels, depths, ages and counts that stand in the database and in Redis.

One short transaction a scrape. What Redis alone knows is left out while it is down, and ``afterthought_redis_up`` says
so. ``docs/reference/metrics.md`` is generated from this catalogue and from ``shared.telemetry.metrics``.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from loop.queue_contents import depths
from loop.release import release
from loop.wiring import Loop
from shared.apps.queries import count_apps
from shared.broker import BROKER_ERRORS
from shared.choices import FactState
from shared.contracts.jobs import JobKind, Queue, WorkClass
from shared.conversations.queries import count_conversations, count_unanswered, oldest_owed, spent_of_budgets
from shared.energy.budget import FLOOR, BudgetStatus, budget_status, to_units
from shared.errors import Transient
from shared.events.queries import oldest_unplaced
from shared.facts.categories import Category
from shared.facts.queries import count_by_category
from shared.jobs.models import Deferral, JobState
from shared.jobs.queries import count_apps_waiting, count_by_state, count_held, deferred_by_cause, oldest_waiting
from shared.memories.queries import count_all, count_remembering
from shared.search.index_queries import count_all_unembedded
from shared.search.word_index import is_present
from shared.sessions.models import BuildState
from shared.sessions.queries import count_all_sessions, count_all_versions

PINNED = "pinned"
Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Gauge:
    """One gauge of the catalogue."""

    name: str
    text: str
    labels: tuple[str, ...] = ()


ENERGY_LEVEL = Gauge("energy_level_units", "Energy level now, -50..100.")
ENERGY_FLOOR = Gauge("energy_floor_units", "The lowest the energy level can be.")
ENERGY_GATE = Gauge("energy_gate_units", "Memory work starts only above this level.")
ENERGY_SHARE = Gauge("energy_memory_share_ratio", "Share of memory work in the energy spent in 24 hours, 0..1.")
ENERGY_RESERVED = Gauge("energy_reserved_units", "Set aside for model calls under way.")
JOBS = Gauge("jobs", "Jobs by kind and state.", ("kind", "state"))
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
APPS = Gauge("apps", "Installed apps.")
APPS_REMEMBERING = Gauge("apps_with_memories", "Installed apps with at least one memory.")
UTILISATION = Gauge("memory_utilisation_ratio", "Installed apps with a memory, of all installed, 0..1.")
MEMORIES = Gauge("memories", "Memories that stand, of all apps.")
FACTS = Gauge(
    "facts", "Facts by category and state; a pinned one counts as pinned and not as standing.", ("category", "state")
)
UNEMBEDDED = Gauge("unembedded_messages", "Messages whose vectors are still to be made, of all apps.")
WORD_INDEX = Gauge("word_index_present", "Whether there is a word index; without it, words are not found.")
SEARCH_CACHE = Gauge("search_cache_bytes", "Memory that the vectors of searched apps take in this loop.")
SESSIONS = Gauge("recorded_sessions", "Registered sessions, of all apps.")
SESSION_BYTES = Gauge("recorded_session_bytes", "What the copies of their originals take in the store.")
VERSIONS = Gauge("session_versions", "Versions of sessions, by where they stand.", ("state",))
CONVERSATIONS = Gauge("conversations", "Conversations by state.", ("state",))
REGULATING = Gauge("regulating", "Whether this loop regulates; over all loops the sum is 1.")
TICK_AGE = Gauge("tick_age_seconds", "Time since the last finished tick.")
THINKING = Gauge("thinking", "Whether this loop answers conversations: a model is set and thinking is switched on.")
UNANSWERED = Gauge("unanswered_conversations", "Open conversations in which a user's message waits for an answer.")
OLDEST_UNANSWERED = Gauge(
    "oldest_unanswered_seconds", "Age of the oldest message that the loop is to answer; 0 when none waits for it."
)
BUDGETS = Gauge("conversation_budgets", "Open conversations with an energy budget, by where they stand.", ("status",))
STREAMS = Gauge("streams_open", "Streams and long polls that are open at this loop.")
UNPLACED = Gauge("unplaced_event_seconds", "Age of the oldest event that listeners cannot hear of yet; 0 for none.")
BUILD = Gauge("build_info", "Always 1; the label tells the version.", ("version",))

CATALOGUE = (
    ENERGY_LEVEL,
    ENERGY_FLOOR,
    ENERGY_GATE,
    ENERGY_SHARE,
    ENERGY_RESERVED,
    JOBS,
    DEFERRED,
    OLDEST_DEFERRED,
    OLDEST,
    APPS_WAITING,
    APPS_HELD,
    DEPTH,
    WORKERS,
    REDIS_UP,
    DATABASE_UP,
    APPS,
    APPS_REMEMBERING,
    UTILISATION,
    MEMORIES,
    FACTS,
    UNEMBEDDED,
    WORD_INDEX,
    SEARCH_CACHE,
    SESSIONS,
    SESSION_BYTES,
    VERSIONS,
    CONVERSATIONS,
    THINKING,
    UNANSWERED,
    OLDEST_UNANSWERED,
    BUDGETS,
    REGULATING,
    TICK_AGE,
    STREAMS,
    UNPLACED,
    BUILD,
)


class StateGauges(Collector):
    """Reads every gauge of the catalogue anew for each scrape."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges as they stand now."""
        return [_family(gauge, values) for gauge, values in self._read()]

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges without values, so that registering reads nothing."""
        return [_family(gauge, {}) for gauge in CATALOGUE]

    def _read(self) -> Iterator[tuple[Gauge, Values]]:
        yield BUILD, {(release(),): 1}
        yield STREAMS, _one(self._loop.hub.listening)
        yield REGULATING, _one(self._loop.leadership.fence is not None)
        yield SEARCH_CACHE, _one(self._loop.searching.matrices.bytes)
        yield TICK_AGE, _one(self._loop.ticker.age())
        yield THINKING, _one(self._loop.settings.model is not None and self._loop.settings.thinking)
        waiting = depths(self._loop.redis)
        yield REDIS_UP, _one(waiting is not None)
        if waiting is not None:
            yield DEPTH, {(queue.value,): waiting[queue] for queue in Queue}
            with contextlib.suppress(*BROKER_ERRORS):
                yield WORKERS, _one(len(self._loop.workers()))
        try:
            with self._loop.database.read() as session:
                now = self._loop.clock.now()
                unplaced = oldest_unplaced(session)
                found = [*self._energy(session), *_jobs(session, now), *_contents(session)]
                found += self._unanswered(session, now)
        except Transient:
            yield DATABASE_UP, _one(False)
            return
        yield DATABASE_UP, _one(True)
        yield from found
        yield UNPLACED, _one(_age(unplaced, now))

    def _energy(self, session: Session) -> list[tuple[Gauge, Values]]:
        reading = self._loop.regulator.reading(session)
        return [
            (ENERGY_LEVEL, _one(reading.level)),
            (ENERGY_FLOOR, _one(to_units(FLOOR))),
            (ENERGY_GATE, _one(reading.gate_percent)),
            (ENERGY_SHARE, _one(reading.memory_share or 0.0)),
            (ENERGY_RESERVED, _one(reading.reserved)),
        ]

    def _unanswered(self, session: Session, now: datetime) -> list[tuple[Gauge, Values]]:
        oldest = oldest_owed(session, now - timedelta(hours=self._loop.settings.answer_within_hours))
        standing = Counter(budget_status(budget, spent) for budget, spent in spent_of_budgets(session))
        return [
            (UNANSWERED, _one(count_unanswered(session))),
            (OLDEST_UNANSWERED, _one(_age(oldest, now))),
            (BUDGETS, {(status.value,): standing[status] for status in BudgetStatus}),
        ]


def _jobs(session: Session, now: datetime) -> list[tuple[Gauge, Values]]:
    counts, oldest = count_by_state(session), oldest_waiting(session, now)
    by_state: Values = {
        (kind.value, state.value): counts.get((kind, state), 0) for kind in JobKind for state in JobState
    }
    ages: Values = {(kind.value,): _age(oldest.get(kind), now) for kind in JobKind}
    waiting, deferred = count_apps_waiting(session), deferred_by_cause(session)
    found = {cause: deferred.get(cause, (0, None)) for cause in Deferral}
    return [
        (JOBS, by_state),
        (OLDEST, ages),
        (DEFERRED, {(cause.value,): count for cause, (count, _) in found.items()}),
        (OLDEST_DEFERRED, {(cause.value,): _age(since, now) for cause, (_, since) in found.items()}),
        (APPS_WAITING, {(work_class.value,): waiting.get(work_class, 0) for work_class in WorkClass}),
        (APPS_HELD, _one(count_held(session, now))),
    ]


def _contents(session: Session) -> list[tuple[Gauge, Values]]:
    apps, remembering = count_apps(session), count_remembering(session)
    is_open, ended = count_conversations(session)
    (sessions, size_bytes), versions = count_all_sessions(session), count_all_versions(session)
    return [
        (APPS, _one(apps)),
        (APPS_REMEMBERING, _one(remembering)),
        (UTILISATION, _one(remembering / apps if apps else 0.0)),
        (MEMORIES, _one(count_all(session))),
        (FACTS, _facts(session)),
        (UNEMBEDDED, _one(count_all_unembedded(session))),
        (WORD_INDEX, _one(is_present(session))),
        (CONVERSATIONS, {("open",): is_open, ("ended",): ended}),
        (SESSIONS, _one(sessions)),
        (SESSION_BYTES, _one(size_bytes)),
        (VERSIONS, {(state.value,): versions.get(state, 0) for state in BuildState}),
    ]


def _facts(session: Session) -> Values:
    counts: Counter[tuple[str, ...]] = Counter()
    for (category, state, is_pinned), count in count_by_category(session).items():
        counts[category, PINNED if is_pinned else state] += count
    states = [FactState.STANDING.value, PINNED, FactState.REPLACED.value, FactState.DELETED.value]
    return {(one.value, state): counts[one.value, state] for one in Category for state in states}


def _one(value: float) -> Values:
    return {(): value}


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def _family(gauge: Gauge, values: Values) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"afterthought_{gauge.name}", gauge.text, labels=gauge.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
