"""What a tick looks for is found by an index, however much has piled up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.orm import Session

from loop.regulator import Regulator
from loop.steps.due_jobs import EndSilent, EnqueueEmbedding, EnqueueExtraction, WakeSnoozed
from loop.steps.publish_events import PublishEvents
from loop.steps.sessions import AgeSessions, IndexSessions, ScanSessions, TendSessions
from loop.steps.settlement import SettleFacts
from loop.steps.upkeep import ForgetOld, ProbeProvider, Upkeep
from shared.apps.models import Budgets
from shared.contracts.jobs import WorkClass
from shared.conversations.queries import oldest_unanswered
from shared.energy import ledger
from shared.facts.queries import count_by_category
from shared.jobs import queries
from shared.jobs.models import Deferral, JobState
from shared.sessions.registry.registration import Registrar
from shared.sessions.store import Store
from tests.support.house import House
from tests.support.relaying import Relay, spend
from tests.support.settings import default_settings

pytestmark = pytest.mark.both_databases

BIG = (
    *("jobs", "tenant_queues", "energy_ledger", "conversations", "events", "facts", "fact_history", "unembedded"),
    *("memory_history", "retrievals", "idempotency_keys"),
    *("projects", "recorded_sessions", "compressions", "compositions", "session_changes"),
)
"""What grows with the backlog, with time or with the number of apps."""


class Looks:
    """Every SELECT of a piece of work, and how SQLite carries it out."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._said: list[tuple[str, Any]] = []

    def during(self, work: Any) -> list[str]:
        """Return the steps of all looks that went through a big table from end to end."""

        def hear(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            if statement.startswith(("SELECT", "WITH")):
                self._said.append((statement, parameters))

        event.listen(Engine, "before_cursor_execute", hear)
        try:
            work()
        finally:
            event.remove(Engine, "before_cursor_execute", hear)
        assert self._said
        with self._house.database.read() as session:
            return [step for said in self._said for step in _steps(session, *said) if _is_a_walk(step)]


def _steps(session: Session, statement: str, parameters: Any) -> Iterator[str]:
    for row in session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters):
        yield row[3]


def _is_a_walk(step: str) -> bool:
    found = re.match(r"SCAN (\w+)(.*)", step)
    return found is not None and found[1] in BIG and not re.search("INDEX (ix_|uq_compressions_working)", found[2])


@pytest.fixture
def busy(sqlite_url: str) -> Iterator[House]:
    """An app with jobs that wait for energy, one that is sent, and spending that is not settled."""
    house = House(sqlite_url)
    for app_id in ("a", "b"):
        house.install(app_id)
        house.converse(app_id, "c1", "text")
    spend(house, 5, "a")
    yield house
    house.database.dispose()


def govern(house: House) -> Regulator:
    return Regulator(house.database, house.clock, default_settings(energy_refill_per_second=0.0))


def test_no_step_of_a_tick_goes_through_everything(busy: House) -> None:
    regulator, day = govern(busy), timedelta(days=1)
    steps = (
        PublishEvents(busy.database, busy.clock, lambda _: None, day, 3, busy.metrics),
        Upkeep(busy.database, busy.clock, busy.settings, busy.metrics),
        WakeSnoozed(busy.database, busy.clock),
        EndSilent(busy.database, busy.clock, busy.settings),
        EnqueueExtraction(busy.database, busy.clock, 5),
        SettleFacts(busy.database, busy.clock, busy.metrics),
        EnqueueEmbedding(busy.database, busy.clock, busy.embedder.name, 5),
        ProbeProvider(busy.database, busy.clock, lambda: True),
        ForgetOld(busy.database, busy.clock, busy.settings, busy.metrics),
    )

    def tick() -> None:
        for step in steps:
            step.run()
        regulator.settle()
        with busy.database.read() as session:
            regulator.allowance(session)
            oldest_unanswered(session, busy.clock.now() - day)
            ledger.affordable(session, "a", Budgets(1, 1), 5, busy.clock.now())

    assert Looks(busy).during(tick) == []


def test_no_step_that_tends_sessions_goes_through_all_of_them(busy: House, tmp_path: Path) -> None:
    database, clock, metrics, store = busy.database, busy.clock, busy.metrics, Store(tmp_path)
    scanning = ScanSessions(
        database, clock, store, Registrar(database, store, default_settings(sessions_max_mb=1)), 30, metrics
    )
    steps = (
        TendSessions(database, clock, store, metrics, default_settings()),
        AgeSessions(database, clock, store, metrics, default_settings()),
        IndexSessions(database, store),
        scanning,
    )

    def tick() -> None:
        for step in steps:
            step.run()
        scanning.drain(10)

    assert Looks(busy).during(tick) == []


def test_facts_are_counted_without_reading_their_texts_and_vectors(busy: House) -> None:
    asked: list[str] = []
    with busy.database.read() as session:
        event.listen(session.connection(), "before_cursor_execute", lambda *call: asked.append(call[2]))
        count_by_category(session)
        [look] = asked
        assert [step for step in _steps(session, look, ()) if "SCAN" in step] == [
            "SCAN facts USING COVERING INDEX ix_facts_category_state_last_seen"
        ]


@pytest.mark.parametrize("units", [0.0, 95.0], ids=["with energy", "without energy"])
def test_the_relay_goes_through_no_backlog(busy: House, units: float) -> None:
    spend(busy, units, "a")
    govern(busy).settle()
    assert Looks(busy).during(Relay(busy, govern(busy)).step.run) == []


def test_what_may_be_sent_next_is_found_in_indexes_alone(busy: House) -> None:
    looks: list[tuple[str, Any]] = []
    with busy.database.read() as session:
        event.listen(session.connection(), "before_cursor_execute", lambda *call: looks.append((call[2], call[3])))
        assert queries.next_to_send(session, "a", WorkClass.THOUGHT, busy.clock.now()) is not None
        assert queries.next_to_wait_for(session, "a", WorkClass.THOUGHT, busy.clock.now()) is None
        [steps, later] = [list(_steps(session, *look)) for look in looks[:2]]
    read = [re.sub(r" \(.*", "", step) for step in steps if " INDEX " in step]
    assert read == [
        "SEARCH jobs USING COVERING INDEX ix_jobs_tenant_queue_waiting",
        "SEARCH jobs_1 USING COVERING INDEX ix_jobs_tenant_queue_in_flight",
    ]
    assert later == ["SEARCH jobs USING INDEX ix_jobs_tenant_queue_due (app_id=? AND work_class=? AND due_at>?)"]


def test_a_backlog_without_energy_is_looked_at_and_not_written_to(busy: House) -> None:
    spend(busy, 95, "a")
    regulator = govern(busy)
    regulator.settle()
    relay = Relay(busy, regulator)
    relay.step.run()
    assert {job.state for job in busy.jobs()} == {JobState.DEFERRED}
    with busy.database.write() as writing:
        # Whoever wants to write now would wait, and fail.
        writing.execute(text("UPDATE energy_level SET at = at"))
        assert Relay(busy, regulator).step.run() is False
    busy.converse("a", "c2", "text")
    relay.step.run()
    assert {job.deferral for job in busy.jobs()} == {Deferral.ENERGY}
