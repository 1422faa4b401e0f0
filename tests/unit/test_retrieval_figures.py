"""What many retrievals amount to, and when a release may go out by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.search.models import RetrievalPurpose
from shared.search.statistics import (
    GateVerdict,
    RetrievalRecord,
    SearchMode,
    duration_statistics,
    judge_release,
    retrieval_statistics,
)

AT = datetime(2026, 3, 4, tzinfo=UTC)
FLAGS: dict[SearchMode, dict[str, Any]] = {
    SearchMode.DENSE: {"hybrid": False, "chunking": True},
    SearchMode.HYBRID: {"hybrid": True, "chunking": False},
    SearchMode.CHUNKED: {"hybrid": True, "chunking": True},
}
FAST = (100.0,) * 20


def row(
    total: float = 10.0,
    *,
    results: int = 1,
    top: float | None = 0.5,
    flags: Mapping[str, Any] = FLAGS[SearchMode.CHUNKED],
    sources: Mapping[str, int] | None = None,
    used: int | None = None,
    budget: int | None = None,
    **stages: float,
) -> RetrievalRecord:
    return RetrievalRecord(
        "notes",
        None,
        RetrievalPurpose.SEARCH,
        AT,
        results,
        top,
        sources or {},
        {"total": total, **stages},
        flags,
        used,
        budget,
    )


def rows(**durations: Sequence[float]) -> list[RetrievalRecord]:
    """Return retrievals of each way, by their durations; ways that are not named are fast enough."""
    wanted = {way: durations.get(way.value, FAST) for way in SearchMode}
    return [row(total, flags=FLAGS[way]) for way, each in wanted.items() for total in each]


def test_durations_are_told_by_their_mean_and_how_long_most_took() -> None:
    figures = duration_statistics([float(one) for one in range(1, 102)])
    assert (figures.count, figures.mean) == (101, 51)
    assert (figures.p50, figures.p95, figures.p99) == (51, 96, 100)


def test_figures_add_up_what_each_retrieval_noted() -> None:
    figures = retrieval_statistics(
        [
            row(10, top=0.8, sources={"words": 2, "appDense": 1}, used=250, budget=1000, rank=4.0),
            row(
                30,
                top=0.4,
                sources={"words": 1},
                flags={**FLAGS[SearchMode.HYBRID], "widened": True},
                used=0,
                budget=500,
            ),
            row(20, results=0, top=None, flags={**FLAGS[SearchMode.DENSE], "degraded": ["vectors", "words"]}),
            row(20, results=0, top=None, flags={**FLAGS[SearchMode.DENSE], "degraded": ["vectors"]}),
        ]
    )
    assert (figures.retrievals, figures.hit_rate) == (4, 0.5)
    assert figures.mean_top_score == pytest.approx(0.6)
    assert figures.stages["total"] == duration_statistics([10, 30, 20, 20]) and figures.stages[
        "rank"
    ] == duration_statistics([4])
    assert figures.sources == {"words": 3, "appDense": 1}
    assert figures.flags == {"hybrid": 0.5, "chunking": 0.75, "widened": 0.25}
    assert figures.degraded == {"vectors": 2, "words": 1}
    # Searches hand nothing out, so only the two contexts count.
    assert figures.budget_used == pytest.approx(0.125)


@pytest.mark.parametrize("way", list(SearchMode))
def test_a_way_with_fewer_than_twenty_queries_is_not_judged_however_fast_they_are(way: SearchMode) -> None:
    gate = judge_release(rows(**{way.value: FAST[:19]}), 100, 100)
    assert gate.modes[way].verdict is GateVerdict.NOT_ENOUGH_QUERIES and "at least 20" in gate.modes[way].why
    assert all(gate.modes[other].verdict is GateVerdict.PASSES for other in SearchMode if other is not way)
    assert gate.verdict is judge_release(rows(), 100, 100).verdict is GateVerdict.PASSES


def test_an_installation_that_searches_in_one_way_and_makes_no_summaries_is_judged_by_that_way() -> None:
    assert judge_release(rows(dense=(), hybrid=()), 0, 0).verdict is GateVerdict.PASSES
    assert judge_release(rows(dense=(), hybrid=(), chunked=[1000.0] * 20), 0, 0).verdict is GateVerdict.FAILS
    assert judge_release([], 0, 0).verdict is judge_release(rows(dense=(), hybrid=(), chunked=[1.0] * 19), 9, 9).verdict
    assert judge_release([], 0, 0).verdict is GateVerdict.NOT_ENOUGH_QUERIES


def test_the_three_best_similarities_are_added_up_place_by_place() -> None:
    noted = [replace(row(), top_similarities=alike) for alike in ([0.9, 0.5, 0.1], [0.7], [])]
    assert retrieval_statistics(noted).mean_top_similarities == pytest.approx([0.8, 0.5, 0.1])


@pytest.mark.parametrize(
    ("durations", "slow"),
    [
        pytest.param([180.0] * 20, "", id="a mean of exactly 180 ms passes"),
        pytest.param([180.1] * 20, "mean", id="a higher one does not"),
        pytest.param([100.0] * 18 + [200.0] * 2, "", id="95 of 100 within exactly 200 ms pass"),
        pytest.param([100.0] * 18 + [200.1] * 2, "p95", id="more than that do not"),
        pytest.param([100.0] * 98 + [700.0] * 2, "", id="99 of 100 within exactly 700 ms pass"),
        pytest.param([100.0] * 98 + [701.0] * 2, "p99", id="more than that do not pass"),
        pytest.param([1000.0] * 20, "mean 1000 ms > 180; p95 1000 ms > 200; p99 1000 ms > 700", id="all of it"),
    ],
)
def test_a_way_passes_when_mean_p95_and_p99_are_within_their_limits(durations: list[float], slow: str) -> None:
    gate = judge_release(rows(hybrid=durations), 100, 100)
    assert gate.verdict is gate.modes[SearchMode.HYBRID].verdict is (GateVerdict.FAILS if slow else GateVerdict.PASSES)
    assert gate.modes[SearchMode.HYBRID].why.startswith(slow or "fast enough")


@pytest.mark.parametrize(
    ("asked", "made", "verdict"),
    [
        pytest.param(100, 99, GateVerdict.PASSES, id="99 of 100"),
        pytest.param(100, 98, GateVerdict.FAILS, id="98 of 100"),
        pytest.param(1, 1, GateVerdict.PASSES, id="the only one"),
        pytest.param(0, 0, GateVerdict.NOT_ENOUGH_QUERIES, id="none was asked for"),
    ],
)
def test_ninety_nine_of_a_hundred_summaries_must_have_been_made(asked: int, made: int, verdict: GateVerdict) -> None:
    gate = judge_release(rows(), asked, made)
    assert gate.summaries is verdict
    assert gate.verdict is (GateVerdict.FAILS if verdict is GateVerdict.FAILS else GateVerdict.PASSES)
    assert (gate.summaries_asked, gate.summaries_made) == (asked, made)
