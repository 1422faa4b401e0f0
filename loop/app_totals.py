"""What the busiest apps have and use: the only metrics that name apps.

There may be many thousand apps, and a label has to stay bounded, so only those that spent most energy in a day are
named, ``AFTERTHOUGHT_METRICS_APPS`` at most. They are counted with the totals, beside the scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from loop.totals import Gauge, Totals, Values
from shared.db.transactions import Transactions
from shared.energy.budget import to_units
from shared.energy.ledger import busiest_apps, spent_by_app
from shared.facts.queries import count_standing_by_app
from shared.jobs.counts import unfinished_by_app
from shared.jobs.models import OPEN, WAITING
from shared.llm.calls import WorkKind
from shared.memories.queries import compactions_by_app, count_by_app
from shared.telemetry.metrics import CompactionOutcome

APP_ENERGY = Gauge("app_energy_spent_units", "Energy spent in the last hour, by kind of work.", ("app", "kind"))
APP_JOBS = Gauge("app_jobs", "Unfinished jobs, by state.", ("app", "state"))
APP_OLDEST = Gauge(
    "app_oldest_waiting_job_seconds", "Age of the oldest job that waits, for whatever reason; 0 for none.", ("app",)
)
APP_COMPACTIONS = Gauge("app_compactions", "Times room was made in the last 24 hours, by how.", ("app", "outcome"))
APP_MEMORIES = Gauge("app_memories", "Memories that stand.", ("app",))
APP_FACTS = Gauge("app_facts", "Facts that stand, pinned ones included.", ("app",))
GAUGES_OF_APPS = (APP_ENERGY, APP_JOBS, APP_OLDEST, APP_COMPACTIONS, APP_MEMORIES, APP_FACTS)
_HOUR, _DAY = timedelta(hours=1), timedelta(hours=24)


def count_of_apps(database: Transactions, now: datetime, most: int) -> Totals:
    """Count what the busiest apps have, each count in a session of its own. Raises: Transient."""
    totals: Totals = {}
    if most == 0:
        return totals
    with database.read() as session:
        apps = busiest_apps(session, now - _DAY, most)
    for count in _COUNTS:
        with database.read() as session:
            totals |= count(session, apps, now)
    return totals


def _energy(session: Session, apps: Sequence[str], now: datetime) -> Totals:
    spent = spent_by_app(session, apps, now - _HOUR)
    return {APP_ENERGY: {(app, kind): to_units(spent.get((app, kind), 0)) for app in apps for kind in WorkKind}}


def _jobs(session: Session, apps: Sequence[str], now: datetime) -> Totals:
    found = unfinished_by_app(session, apps)
    counts: Values = {(app, state): found.get((app, state), (0, now))[0] for app in apps for state in OPEN}
    oldest = {app: min(found.get((app, state), (0, now))[1] for state in WAITING) for app in apps}
    ages: Values = {(app,): max(0.0, (now - since).total_seconds()) for app, since in oldest.items()}
    return {APP_JOBS: counts, APP_OLDEST: ages}


def _compactions(session: Session, apps: Sequence[str], now: datetime) -> Totals:
    made = compactions_by_app(session, apps, now - _DAY)
    return {APP_COMPACTIONS: {(app, outcome): made[app, outcome] for app in apps for outcome in CompactionOutcome}}


def _memories(session: Session, apps: Sequence[str], _now: datetime) -> Totals:
    counts = count_by_app(session, apps)
    return {APP_MEMORIES: {(app,): counts.get(app, 0) for app in apps}}


def _facts(session: Session, apps: Sequence[str], _now: datetime) -> Totals:
    counts = count_standing_by_app(session, apps)
    return {APP_FACTS: {(app,): counts.get(app, 0) for app in apps}}


_COUNTS: tuple[Callable[[Session, Sequence[str], datetime], Totals], ...] = (
    _energy,
    _jobs,
    _compactions,
    _memories,
    _facts,
)
