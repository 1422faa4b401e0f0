"""What only accumulates with the years, what the busiest apps have, and what lies in the Redis queues, counted.

To count it is to read it all, so this is done beside the scrape where it takes long (``loop.regulator``). A label has
to stay bounded, so only the apps that spent most energy in a day are named, ``AFTERTHOUGHT_METRICS_APPS`` at most.
Celery's lists are read as they are, and nothing is taken out. Our own messages carry ids only, but an app may put words
of its own on the intake queue, and an erasure must say so.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
import redis
from pydantic import ValidationError
from sqlalchemy.orm import Session

from shared.base.choices import Category, FactState
from shared.broker import BROKER_ERRORS
from shared.contracts.jobs import EndConversationMessage, JobKind, JobMessage, Queue
from shared.conversations.queries import count_conversations, spent_of_budgets
from shared.db.base import Transactions
from shared.energy.budget import BudgetStatus, budget_status, to_units
from shared.energy.ledger import busiest_apps, spent_by_app
from shared.facts.queries import count_by_category, count_standing_by_app
from shared.jobs.counts import count_by_state, unfinished_by_app
from shared.jobs.models import FINISHED, OPEN, WAITING
from shared.llm.calls import WorkKind
from shared.memories.queries import compactions_by_app, count_all, count_by_app, count_remembering
from shared.sessions.models import BuildState
from shared.sessions.queries import count_all_sessions, count_all_versions
from shared.telemetry.metrics import CompactionOutcome

PINNED = "pinned"
Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Gauge:
    """One gauge of the catalogue."""

    name: str
    text: str
    labels: tuple[str, ...] = ()


Totals = dict[Gauge, Values]

JOBS = Gauge("jobs", "Jobs by kind and state; those unfinished are counted at each scrape.", ("kind", "state"))
APPS = Gauge("apps", "Installed apps.")
APPS_REMEMBERING = Gauge("apps_with_memories", "Installed apps with at least one memory.")
UTILISATION = Gauge("memory_utilisation_ratio", "Installed apps with a memory, of all installed, 0..1.")
MEMORIES = Gauge("memories", "Memories that stand, of all apps.")
FACTS = Gauge(
    "facts", "Facts by category and state; a pinned one counts as pinned and not as standing.", ("category", "state")
)
SESSIONS = Gauge("recorded_sessions", "Registered sessions, of all apps.")
SESSION_BYTES = Gauge("recorded_session_bytes", "What the copies of their originals take in the store.")
VERSIONS = Gauge("session_versions", "Versions of sessions, by where they stand.", ("state",))
CONVERSATIONS = Gauge("conversations", "Conversations by state.", ("state",))
BUDGETS = Gauge("conversation_budgets", "Open conversations with an energy budget, by where they stand.", ("status",))
# Those that stand above: what is told of single apps follows further down.
GAUGES_OF_TOTALS = tuple(one for one in vars().values() if isinstance(one, Gauge))


def count_totals(database: Transactions) -> Totals:
    """Count everything, each count in a session of its own, so that none is open for longer. Raises: Transient."""
    totals: Totals = {}
    for count in _COUNTS:
        with database.read() as session:
            totals |= count(session)
    return totals


def one(value: float) -> Values:
    """Return the value of a gauge without labels."""
    return {(): value}


def _of_each(counts: Mapping[str, int], keys: Iterable[str]) -> Values:
    """Return the values of a gauge of one label; 0 where nothing was counted."""
    return {(key,): counts.get(key, 0) for key in keys}


def _jobs(session: Session) -> Totals:
    counts = count_by_state(session)
    return {JOBS: {(kind, state): counts.get((kind, state), 0) for kind in JobKind for state in FINISHED}}


def _apps(session: Session) -> Totals:
    apps, remembering = count_remembering(session)
    return {APPS: one(apps), APPS_REMEMBERING: one(remembering), UTILISATION: one(remembering / apps if apps else 0.0)}


def _facts(session: Session) -> Totals:
    counts: Counter[tuple[str, ...]] = Counter()
    for (category, state, is_pinned), count in count_by_category(session).items():
        counts[category, PINNED if is_pinned else state] += count
    states = (FactState.STANDING, PINNED, FactState.REPLACED, FactState.DELETED)
    return {FACTS: {(category, state): counts[category, state] for category in Category for state in states}}


def _conversations(session: Session) -> Totals:
    is_open, ended = count_conversations(session)
    return {CONVERSATIONS: {("open",): is_open, ("ended",): ended}}


def _budgets(session: Session) -> Totals:
    standing = Counter(budget_status(budget, spent) for budget, spent in spent_of_budgets(session))
    return {BUDGETS: {(status,): standing[status] for status in BudgetStatus}}


def _sessions(session: Session) -> Totals:
    number, size_bytes = count_all_sessions(session)
    return {SESSIONS: one(number), SESSION_BYTES: one(size_bytes)}


_COUNTS: tuple[Callable[[Session], Totals], ...] = (
    lambda session: {MEMORIES: one(count_all(session))},
    lambda session: {VERSIONS: _of_each(count_all_versions(session), BuildState)},
    *(_jobs, _apps, _facts, _conversations, _budgets, _sessions),
)


APP_ENERGY = Gauge("app_energy_spent_units", "Energy spent in the last hour, by kind of work.", ("app", "kind"))
APP_JOBS = Gauge("app_jobs", "Unfinished jobs, by state.", ("app", "state"))
APP_OLDEST = Gauge(
    "app_oldest_waiting_job_seconds", "Age of the oldest job that waits, for whatever reason; 0 for none.", ("app",)
)
APP_COMPACTIONS = Gauge("app_compactions", "Times room was made in the last 24 hours, by how.", ("app", "outcome"))
APP_MEMORIES = Gauge("app_memories", "Memories that stand.", ("app",))
APP_FACTS = Gauge("app_facts", "Facts that stand, pinned ones included.", ("app",))
GAUGES_OF_APPS = tuple(one for one in vars().values() if isinstance(one, Gauge) and one not in GAUGES_OF_TOTALS)
_HOUR, _DAY = timedelta(hours=1), timedelta(hours=24)


def count_of_apps(database: Transactions, now: datetime, most: int) -> Totals:
    """Count what the busiest apps have, each count in a session of its own. Raises: Transient."""
    totals: Totals = {}
    if most == 0:
        return totals
    with database.read() as session:
        apps = busiest_apps(session, now - _DAY, most)
    for count in _APP_COUNTS:
        with database.read() as session:
            totals |= count(session, apps, now)
    return totals


def _energy(session: Session, apps: Sequence[str], now: datetime) -> Totals:
    spent = spent_by_app(session, apps, now - _HOUR)
    return {APP_ENERGY: {(app, kind): to_units(spent.get((app, kind), 0)) for app in apps for kind in WorkKind}}


def _app_jobs(session: Session, apps: Sequence[str], now: datetime) -> Totals:
    found = unfinished_by_app(session, apps)
    counts: Values = {(app, state): found.get((app, state), (0, now))[0] for app in apps for state in OPEN}
    oldest = {app: min(found.get((app, state), (0, now))[1] for state in WAITING) for app in apps}
    ages: Values = {(app,): max(0.0, (now - since).total_seconds()) for app, since in oldest.items()}
    return {APP_JOBS: counts, APP_OLDEST: ages}


def _compactions(session: Session, apps: Sequence[str], now: datetime) -> Totals:
    made = compactions_by_app(session, apps, now - _DAY)
    return {APP_COMPACTIONS: {(app, outcome): made[app, outcome] for app in apps for outcome in CompactionOutcome}}


_APP_COUNTS: tuple[Callable[[Session, Sequence[str], datetime], Totals], ...] = (
    lambda session, apps, _: {APP_MEMORIES: _of_each(count_by_app(session, apps), apps)},
    lambda session, apps, _: {APP_FACTS: _of_each(count_standing_by_app(session, apps), apps)},
    *(_energy, _app_jobs, _compactions),
)


PRIORITIES = range(10)
_SCAN_LIMIT = 20_000
_UNACKNOWLEDGED = "unacked"


def queue_keys(queue: Queue) -> list[str]:
    """Return the lists a queue is kept in, one a priority. Source: kombu's Redis transport with our separator."""
    return [queue.value if priority == 0 else f"{queue.value}:{priority}" for priority in PRIORITIES]


def depths(client: redis.Redis) -> dict[Queue, int] | None:
    """Return how many messages wait in each queue, or None when Redis does not answer."""
    try:
        with client.pipeline(transaction=False) as pipe:
            for queue in Queue:
                for key in queue_keys(queue):
                    pipe.llen(key)
            counts = pipe.execute()
    except BROKER_ERRORS:
        return None
    width = len(PRIORITIES)
    return {queue: sum(counts[i * width : (i + 1) * width]) for i, queue in enumerate(Queue)}


def erase_text(client: redis.Redis, app_id: str) -> int | None:
    """Return how many messages may hold words of an app, and where none does, have Redis forget those it held.

    None when it could not be looked at or not be forgotten yet: ask again.
    """
    count = _count_text(client, app_id)
    return None if count == 0 and not forget_past(client) else count


def _count_text(client: redis.Redis, app_id: str) -> int | None:
    """Return how many messages may hold words of an app; None when Redis does not answer or there is too much."""
    try:
        messages = list(_messages(client))
    except BROKER_ERRORS:
        return None
    if len(messages) > _SCAN_LIMIT:
        return None
    return sum(_may_hold_text(message, app_id) for message in messages)


def forget_past(client: redis.Redis) -> bool:
    """Have Redis write its append-only file anew, so that messages long taken stand in no file.

    False while it writes for an earlier asker, whose file may still hold what was taken since, or when it is away. A
    Redis of somebody else's may forbid it; what it keeps, and for how long, is then its owner's to say.
    """
    try:
        if client.info("persistence").get("aof_enabled"):
            client.bgrewriteaof()
    except redis.exceptions.NoPermissionError:
        return True
    except BROKER_ERRORS:
        return False
    return True


def _messages(client: redis.Redis) -> Iterator[bytes | str]:
    for queue in Queue:
        for key in queue_keys(queue):
            # One more than may be looked at (the end counts): by that it is told that there are too many.
            yield from client.lrange(key, 0, _SCAN_LIMIT)
    for delivered in client.hvals(_UNACKNOWLEDGED):
        # An entry is ``[message, exchange, routing key]``; what is not counts as a message that may hold anything.
        entry: Any = None
        with contextlib.suppress(orjson.JSONDecodeError):
            entry = orjson.loads(delivered)
        yield orjson.dumps(entry[0] if isinstance(entry, list) and entry else None)


def _may_hold_text(message: bytes | str, app_id: str) -> bool:
    """Whether a message holds more than ids, unless it says itself that it is another app's."""
    try:
        args, fields, _ = orjson.loads(base64.b64decode(orjson.loads(message)["body"]))
    # What cannot be read may hold anything.
    except (orjson.JSONDecodeError, binascii.Error, KeyError, TypeError, ValueError):
        return True
    if args or not isinstance(fields, dict):
        return True
    # A message without fields (a canary) says nothing.
    if not fields or fields.get("appId", fields.get("app_id")) not in (None, app_id):
        return False
    # Both shapes forbid other fields, so what parses holds ids alone, but for a reason in free words.
    with contextlib.suppress(ValidationError):
        JobMessage.model_validate(fields)
        return False
    with contextlib.suppress(ValidationError):
        return bool(EndConversationMessage.model_validate(fields).reason)
    return True
