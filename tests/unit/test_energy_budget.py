"""The arithmetic of energy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.energy.budget import (
    FLOOR,
    FULL,
    MICRO,
    BudgetStatus,
    Prices,
    Status,
    budget_status,
    drained,
    may_start,
    price,
    refilled,
    seconds_until_open,
    status_of,
    to_micro,
)  # fmt: skip
from shared.llm.calls import CallOutcome, ModelCall, WorkKind

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEVELS = st.integers(FLOOR, FULL)


@pytest.mark.parametrize(
    ("units", "status"),
    [(100, "high"), (50.1, "high"), (50, "medium"), (20.1, "medium"), (20, "low"), (0.1, "low"), (0, "urgent"),
     (-50, "urgent")],
)  # fmt: skip
def test_a_level_has_a_word(units: float, status: str) -> None:
    assert status_of(to_micro(units)) is Status(status)


@pytest.mark.parametrize(
    ("budget", "spent", "status"),
    [(100, 50, "within"), (0, 0, "depleted"), (25.5, 25.5, "depleted"), (50, 80, "exceeded"), (None, 99, None)],
)
def test_a_budget_says_where_spending_stands(budget: float | None, spent: float, status: str | None) -> None:
    got = budget_status(None if budget is None else to_micro(budget), to_micro(spent))
    assert got == (BudgetStatus(status) if status else None)


@given(LEVELS, st.integers(0, 10**9), st.floats(0, 1e6), st.floats(0, 1000))
def test_a_level_never_leaves_its_bounds(micro: int, cost: int, seconds: float, rate: float) -> None:
    level = drained(refilled(micro, NOON, NOON + timedelta(seconds=seconds), rate), cost)
    assert FLOOR <= level <= FULL


@given(LEVELS, st.integers(0, 500), st.integers(0, 30 * MICRO), st.integers(0, 100))
def test_nothing_starts_at_or_below_the_gate_and_never_more_than_wanted(
    micro: int, in_flight: int, typical: int, wanted: int
) -> None:
    jobs = may_start(micro, 20.0, in_flight, typical, wanted)
    assert 0 <= jobs <= wanted
    assert jobs == 0 or micro > 20 * MICRO
    assert jobs or not wanted or micro <= 20 * MICRO or in_flight


@given(LEVELS, st.floats(0.1, 100))
def test_waiting_as_long_as_said_opens_the_gate(micro: int, rate: float) -> None:
    seconds = seconds_until_open(micro, 20.0, rate)
    assert seconds is not None
    later = refilled(micro, NOON, NOON + timedelta(seconds=seconds + 0.001), rate)
    assert may_start(later + 1, 20.0, 0, MICRO, 1) == 1


PRICES = Prices(0.01, 0.05, 1.5, 0.01)


@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_a_call_costs_what_it_used_however_it_ended_and_never_by_time(outcome: CallOutcome) -> None:
    slow, quick = (ModelCall(WorkKind.CREATE, "ollama:m", 100, 20, False, outcome, s) for s in (900.0, 0.1))
    assert price(slow, PRICES) == price(quick, PRICES) == to_micro(2.0)


def test_the_extractive_agent_is_charged_a_hundredth() -> None:
    call = ModelCall(WorkKind.COMPACT, "extractive", 1000, 100, True, CallOutcome.ANSWERED, 0.001)
    assert price(call, PRICES) == to_micro(15.0 * 1.5 / 100)
