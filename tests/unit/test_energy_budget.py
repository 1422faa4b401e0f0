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
    Status,
    affordable_at,
    averaged,
    budget_status,
    drained,
    expected_wait,
    may_start,
    must_shed,
    price,
    refilled,
    seconds_until_open,
    status_of,
    to_micro,
)  # fmt: skip
from shared.llm.calls import EXTRACTIVE, CallOutcome, ModelCall, WorkKind
from tests.support.settings import default_settings

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


PRICES = default_settings(price_prompt_token=0.01, price_completion_token=0.05, compaction_price_factor=1.5)


@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_a_call_costs_what_it_used_however_it_ended_and_never_by_time(outcome: CallOutcome) -> None:
    slow, quick = (ModelCall(WorkKind.CREATE, "ollama:m", 100, 20, False, outcome, s) for s in (900.0, 0.1))
    assert price(slow, PRICES) == price(quick, PRICES) == to_micro(2.0)


def test_the_extractive_agent_is_charged_a_hundredth() -> None:
    call = ModelCall(WorkKind.COMPACT, "extractive", 1000, 100, True, CallOutcome.ANSWERED, 0.001)
    assert price(call, PRICES) == to_micro(15.0 * 1.5 / 100)


def test_the_small_model_is_charged_by_its_factor_and_no_other_is() -> None:
    prices = PRICES.model_copy(update={"small_model": "ollama:small", "small_model_price_factor": 0.25})
    models = ("ollama:small", "ollama:large")
    small, large = (ModelCall(WorkKind.THINK, model, 100, 20, False, CallOutcome.ANSWERED, 1.0) for model in models)
    assert (price(small, prices), price(large, prices)) == (to_micro(0.5), to_micro(2.0))


def test_embedding_with_a_model_is_charged_by_its_factor_and_the_built_in_one_as_before() -> None:
    prices = PRICES.model_copy(update={"embedding_price_factor": 0.02})
    models = ("ollama:embedder", EXTRACTIVE)
    asked, built_in = (ModelCall(WorkKind.EMBED, model, 1000, 0, False, CallOutcome.ANSWERED, 1.0) for model in models)
    assert (price(asked, prices), price(built_in, prices)) == (to_micro(0.2), to_micro(0.1))


SPENT = st.lists(st.tuples(st.integers(0, 7200), st.integers(0, 50)), max_size=30)


@given(SPENT, st.integers(0, 100), st.integers(0, 100))
def test_a_budget_covers_a_need_from_when_it_says_and_not_before(
    spent: list[tuple[int, int]], budget: int, need: int
) -> None:
    now, span = NOON + timedelta(hours=2), timedelta(hours=1)
    rows = sorted((NOON + timedelta(seconds=at), micro) for at, micro in spent)

    def covered(at: datetime) -> bool:
        return sum(micro for when, micro in rows if at - span < when) + need <= budget

    when = affordable_at(rows, budget, span, need, now)
    if when is None:
        assert need > budget
        return
    assert when >= now and covered(when)
    assert when == now or not covered(when - timedelta(seconds=1))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50))
def test_an_average_stays_between_the_least_and_the_most(costs: list[int]) -> None:
    average = 0
    for calls, cost in enumerate(costs):
        average = averaged(average, calls, cost)
        assert min(costs) - 1 <= average <= max(costs)
    assert averaged(0, 0, costs[0]) == costs[0]


def test_an_average_follows_when_costs_change() -> None:
    average = 100
    for calls in range(20, 80):
        average = averaged(average, calls, 1000)
    assert 990 <= average <= 1000


@given(LEVELS, st.integers(0, 50), st.integers(0, 20 * MICRO), st.floats(0.1, 100))
def test_the_more_wait_before_a_job_the_later_it_is_expected(micro: int, ahead: int, typical: int, rate: float) -> None:
    sooner, later = (expected_wait(micro, 20.0, rate, n, typical) for n in (ahead, ahead + 1))
    assert sooner is not None and later is not None and 0 <= sooner <= later
    assert expected_wait(micro, 20.0, 0.0, 1000, MICRO) is None


@given(LEVELS, st.integers(0, 200 * MICRO), st.integers(0, 30 * MICRO), st.integers(0, 50))
def test_what_is_under_way_is_left_to_it(micro: int, under_way: int, typical: int, wanted: int) -> None:
    jobs = may_start(micro, 20.0, under_way, typical, wanted)
    free = micro - 20 * MICRO - under_way
    assert jobs == 0 or free > 0 or not under_way
    # The last one that starts may reach below the gate, none after it does.
    assert jobs <= 1 or typical == 0 or (jobs - 1) * typical < free


@given(LEVELS)
def test_shedding_begins_where_nothing_is_left(micro: int) -> None:
    assert must_shed(micro) is (micro <= 0)
