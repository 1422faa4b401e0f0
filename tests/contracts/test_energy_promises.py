"""What the ledger and the level promise, over each database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import insert, inspect, literal, select, true

from loop.regulator import Regulator
from shared.base.errors import OverBudget
from shared.energy import ledger
from shared.energy.budget import FLOOR, FULL, to_micro, to_units
from shared.energy.ledger import LedgerAccount
from shared.energy.models import Spending
from shared.jobs import dispatch
from shared.jobs.models import Deferral, JobState
from shared.llm.calls import CallEstimate, CallOutcome, ModelCall, WorkKind
from tests.contracts.test_governing_promises import set_app
from tests.support.house import House
from tests.support.relaying import spend
from tests.support.settings import default_settings

pytestmark = pytest.mark.both_databases


def regulator(house: House, refill: float = 1.0) -> Regulator:
    return Regulator(house.database, house.clock, default_settings(energy_refill_per_second=refill))


def spend_often(house: House, times: int, micro: int) -> None:
    """Book rows of ``micro`` micro-units each, as fast as a database can."""
    spend(house, to_units(micro))
    columns = [column for column in inspect(Spending).columns if column.name != "entry"]
    numbers = select(literal(2).label("number")).cte(recursive=True)
    numbers = numbers.union_all(select(numbers.c.number + 1).where(numbers.c.number < times))
    with house.database.write() as session:
        [first] = session.scalars(select(Spending.entry).where(Spending.micro == micro))
        copies = select(*columns).where(Spending.entry == first).join(numbers, true())
        session.execute(insert(Spending).from_select([column.name for column in columns], copies))


def level(house: House, refill: float = 1.0) -> float:
    with house.database.read() as session:
        return regulator(house, refill).reading(session).level


def test_the_ledgers_sum_equals_what_was_drawn_and_the_level_stays_above_its_floor(house: House) -> None:
    govern = regulator(house, refill=0)
    for units in (70.000001, 90.5, 33.3):
        spend(house, units)
        govern.settle()
    with house.database.read() as session:
        assert ledger.drawn(session) == to_micro(70.000001 + 90.5 + 33.3)
    assert level(house, 0) == to_units(FLOOR)


def test_what_users_ask_is_booked_on_the_app_and_holds_no_memory_work_back(house: House) -> None:
    govern, now = regulator(house, refill=0), house.clock.now()
    with house.database.write() as session:
        asked = CallEstimate(WorkKind.CHAT, "ollama:test", 900, 100)
        ledger.reserve(
            session, asked, LedgerAccount("notes", None, None), to_micro(90), now, now + timedelta(seconds=60)
        )
    with house.database.read() as session:
        assert govern.reading(session).reserved == 0
    spend(house, 500, kind="chat")
    with house.database.read() as session:
        assert ledger.unsettled(session) == 0 and ledger.has_unsettled(session)
    govern.settle()
    with house.database.read() as session:
        assert not ledger.has_unsettled(session)
        assert ledger.spent_by_window(session, "notes", house.clock.now())["total"] == to_micro(500)
    assert level(house, 0) == to_units(FULL)


@pytest.mark.parametrize(("drawn", "starts"), [(80.0, 0), (79.9, 1)], ids=["at 20 %", "at 20.1 %"])
def test_memory_work_starts_only_above_the_gate_and_then_the_oldest_first(
    house: House, drawn: float, starts: int
) -> None:
    for i in range(3):
        house.install(f"app{i}")
        house.converse(f"app{i}", "c", "text")
    spend(house, drawn)
    govern = regulator(house, refill=0)
    govern.settle()
    with house.database.write() as session:
        allowance = govern.allowance(session)
        assert bool(allowance.jobs) is bool(starts)
        if not starts:
            dispatch.defer(session, Deferral.ENERGY, allowance.why or "", house.clock.now())
        sent = dispatch.take_due(session, house.clock.now(), min(allowance.jobs, 1), 60)
    oldest = house.jobs()[-1]
    assert [one.job_id for one in sent] == ([oldest.job_id] if starts else [])
    assert starts or {j.state for j in house.jobs()} == {JobState.DEFERRED}


def test_more_rows_than_a_statement_takes_values_are_settled_exactly(house: House) -> None:
    spend_often(house, 66_000, 7)
    while regulator(house, 0).settle():
        pass
    with house.database.read() as session:
        assert ledger.drawn(session) == 7 * 66_000


SPENDERS = 6
ROUNDS = 8


def test_spenders_of_one_app_never_pass_its_budget_together(house: House) -> None:
    set_app(house, hourly_budget_micro=to_micro(100))
    together = threading.Barrier(SPENDERS)

    def spend(number: int) -> int:
        meter = house.accountant.meter(LedgerAccount("notes", f"job{number}", None))
        made = 0
        for _ in range(ROUNDS):
            together.wait(30)
            try:
                meter.reserve(CallEstimate(WorkKind.THINK, "ollama:x", 900, 100))
            except OverBudget:
                continue
            meter(ModelCall(WorkKind.THINK, "ollama:x", 900, 100, False, CallOutcome.ANSWERED, 0.1))
            made += 1
        return made

    with ThreadPoolExecutor(SPENDERS) as pool:
        made = sum(pool.map(spend, range(SPENDERS)))
    with house.database.read() as session:
        spent = ledger.spent_by_window(session, "notes", house.clock.now())["last1h"]
    assert made == 7, "each costs 14 of the 100 units, and what is covered is done"
    assert spent == to_micro(98)
