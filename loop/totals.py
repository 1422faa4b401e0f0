"""What only accumulates with the years, counted: finished jobs, apps, conversations, memories, facts, sessions.

To count them is to read them all, so this is done beside the scrape where it takes long (``loop.background_reader``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.choices import FactState
from shared.contracts.jobs import JobKind
from shared.conversations.queries import count_conversations, spent_of_budgets
from shared.db.transactions import Transactions
from shared.energy.budget import BudgetStatus, budget_status
from shared.facts.categories import Category
from shared.facts.queries import count_by_category
from shared.jobs.counts import count_by_state
from shared.jobs.models import FINISHED
from shared.memories.queries import count_all, count_remembering
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
GAUGES_OF_TOTALS = (
    *(JOBS, APPS, APPS_REMEMBERING, UTILISATION, MEMORIES, FACTS),
    *(SESSIONS, SESSION_BYTES, VERSIONS, CONVERSATIONS, BUDGETS),
)


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


def _jobs(session: Session) -> Totals:
    counts = count_by_state(session)
    return {JOBS: {(kind, state): counts.get((kind, state), 0) for kind in JobKind for state in FINISHED}}


def _apps(session: Session) -> Totals:
    apps, remembering = count_remembering(session)
    return {
        APPS: one(apps),
        APPS_REMEMBERING: one(remembering),
        UTILISATION: one(remembering / apps if apps else 0.0),
    }


def _memories(session: Session) -> Totals:
    return {MEMORIES: one(count_all(session))}


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


def _versions(session: Session) -> Totals:
    versions = count_all_versions(session)
    return {VERSIONS: {(state,): versions.get(state, 0) for state in BuildState}}


_COUNTS: tuple[Callable[[Session], Totals], ...] = (
    _jobs,
    _apps,
    _memories,
    _facts,
    _conversations,
    _budgets,
    _sessions,
    _versions,
)
