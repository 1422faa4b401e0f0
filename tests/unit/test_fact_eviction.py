"""Which facts go: scores, ties, expiry and the dry run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.facts.categories import Category
from shared.facts.retention import PRUNE_TO, RetainedFact, by_score, dry_run, evicted, score

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROJECT, PREFERENCE, IDENTITY = Category.PROJECT, Category.PREFERENCE, Category.IDENTITY


def fact(
    category: Category, days: float, confidence: float = 0.75, fact_id: int = 1, pinned: bool = False
) -> RetainedFact:
    return RetainedFact(fact_id, category, confidence, NOW - timedelta(days=days), pinned)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (fact(PROJECT, 30, 0.6), 40),
        (fact(PREFERENCE, 30, 0.9), 10),
        (fact(IDENTITY, 30, 0.75), 20),
        (fact(PROJECT, 0), 0),
        (fact(PROJECT, 1, 0.0), 80),
        (fact(PROJECT, -5), 0),
    ],
    ids=["project", "preference", "identity", "of-today", "no-confidence", "from-the-future"],
)
def test_a_score_is_age_by_weight_over_confidence(held: RetainedFact, expected: float) -> None:
    assert score(held, NOW) == pytest.approx(expected)


@pytest.mark.parametrize(("category", "days"), [(PROJECT, 60), (PREFERENCE, 180), (IDENTITY, 365)])
def test_a_fact_stands_until_its_time_has_passed_unless_it_is_pinned(category: Category, days: int) -> None:
    [expiring] = dry_run([fact(category, days), fact(category, days, pinned=True)], NOW).expiring
    assert (expiring.at, expiring.fact.pinned) == (NOW, False)


def test_equal_scores_go_by_age_then_by_number() -> None:
    same = [fact(PROJECT, 0, fact_id=3), fact(PROJECT, -2, fact_id=1), fact(PROJECT, 0, fact_id=2)]
    assert [one.fact.fact_id for one in by_score(same, NOW)] == [2, 3, 1]


def test_nothing_goes_at_120_and_one_at_121() -> None:
    facts = [fact(PREFERENCE, i, fact_id=i) for i in range(1, PRUNE_TO + 1)]
    assert evicted(facts, NOW) == []
    [gone] = evicted([*facts, fact(PREFERENCE, 0, fact_id=999)], NOW)
    assert gone.fact.fact_id == PRUNE_TO


def test_pinned_facts_count_and_stay() -> None:
    facts = [fact(PROJECT, 50, fact_id=i, pinned=i <= 10) for i in range(1, 131)]
    gone = {one.fact.fact_id for one in evicted(facts, NOW)}
    assert len(gone) == 10 and not gone & set(range(1, 11))


def test_a_dry_run_names_what_goes_for_so_many_more_and_what_expires_next() -> None:
    facts = [fact(PREFERENCE, 1, fact_id=i) for i in range(1, 120)] + [fact(PROJECT, 59, fact_id=500)]
    assert dry_run(facts, NOW).going == ()
    run = dry_run(facts, NOW, more=2)
    assert run.going == (500, 1)
    assert (run.expiring[0].fact.fact_id, run.expiring[0].at) == (500, NOW + timedelta(days=1))
    assert len(run.scores) == 120


@given(
    st.lists(st.tuples(st.sampled_from(Category), st.floats(-10, 900), st.floats(0, 1)), min_size=1, max_size=150),
    st.integers(0, 10),
    st.integers(0, 30),
)
def test_what_goes_always_scores_at_least_as_high_as_what_stays(
    drawn: list[tuple[Category, float, float]], pins: int, more: int
) -> None:
    facts = [fact(c, days, sure, i, i < pins) for i, (c, days, sure) in enumerate(drawn)]
    gone = {one.fact.fact_id for one in evicted(facts, NOW, more)}
    stays = [score(one, NOW) for one in facts if one.fact_id not in gone and not one.pinned]
    assert all(score(one, NOW) >= max(stays, default=0) for one in facts if one.fact_id in gone)
    assert len(gone) == min(max(len(facts) + more - PRUNE_TO, 0), max(len(facts) - pins, 0))
