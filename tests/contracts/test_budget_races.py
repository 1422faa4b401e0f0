"""Budgets hold when several spend at once: the loop's thinking and the workers' memory work are one app's spending."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.base.errors import OverBudget
from shared.energy import ledger
from shared.energy.budget import to_micro
from shared.energy.ledger import Booking
from shared.llm.calls import CallOutcome, ModelCall, Prospect, WorkKind
from tests.contracts.test_governing_promises import set_app
from tests.support.house import House

pytestmark = pytest.mark.both_databases

SPENDERS = 6
ROUNDS = 8


def test_spenders_of_one_app_never_pass_its_budget_together(house: House) -> None:
    set_app(house, hourly_budget_micro=to_micro(100))
    together = threading.Barrier(SPENDERS)

    def spend(number: int) -> int:
        meter = house.accountant.meter(Booking("notes", f"job{number}", None))
        made = 0
        for _ in range(ROUNDS):
            together.wait(30)
            try:
                meter.reserve(Prospect(WorkKind.THINK, "ollama:x", 900, 100))
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
