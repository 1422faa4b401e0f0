"""Which version of a session serves best."""

from __future__ import annotations

import pytest

from shared.sessions.compose.plan import (
    ComponentForm,
    VersionCriteria,
    freshness,
    select_best,
    version_score,
)
from shared.sessions.models import RecordedSession, SessionVersion

SIZE = 1000


def version(number: int, tokens: int, **more: float) -> SessionVersion:
    stats = {"preserved": more.pop("preserved", 0), "summarized": more.pop("summarised", 0)}
    figures = {"ratio": 10.0, "source_bytes": SIZE} | more
    return SessionVersion(number=number, output_tokens=tokens, keepit_stats=stats, settings={}, **figures)


def chosen(original: int, *candidates: SessionVersion, **criteria: object) -> int | ComponentForm:
    recorded = RecordedSession(original_tokens=original, size_bytes=SIZE)
    best = select_best(recorded, candidates, VersionCriteria(**criteria))  # type: ignore[arg-type]
    return best.number if isinstance(best, SessionVersion) else best


def test_with_no_versions_at_all_but_an_original_that_fits_the_original_is_used() -> None:
    assert chosen(4000, max_tokens=4000) is ComponentForm.ORIGINAL
    assert chosen(4001, max_tokens=4000) is ComponentForm.COMPRESS


def test_without_a_limit_the_original_is_used() -> None:
    assert chosen(10**9, version(1, 10)) is ComponentForm.ORIGINAL


@pytest.mark.parametrize(
    ("candidate", "criteria", "points"),
    [
        pytest.param(version(1, 1000), {"max_tokens": 1000}, 1.0, id="all of the budget"),
        pytest.param(version(1, 500), {"max_tokens": 1000}, 0.75, id="half of the budget"),
        pytest.param(version(1, 1001), {"max_tokens": 1000}, 0.1, id="over the budget"),
        pytest.param(version(1, 1, ratio=10), {"preferred_ratio": 30}, 0.6, id="20 off the ratio preferred"),
        pytest.param(version(1, 1, ratio=100), {"preferred_ratio": 30}, 0.5, id="far off the ratio preferred"),
        pytest.param(version(1, 1, preserved=1, summarised=3), {"preserve_keepits": True}, 0.625, id="a quarter kept"),
        pytest.param(version(1, 1), {"preserve_keepits": True}, 1.0, id="nothing marked"),
        pytest.param(
            version(1, 500, ratio=10, preserved=1, summarised=1),
            {"max_tokens": 1000, "preferred_ratio": 30, "preserve_keepits": True},
            0.75 * 0.6 * 0.75,
            id="all of it together",
        ),
    ],
)
def test_the_score_is_the_seeds(candidate: SessionVersion, criteria: dict[str, float], points: float) -> None:
    assert version_score(candidate, VersionCriteria(**criteria)) == pytest.approx(points)  # type: ignore[arg-type]


def test_the_version_that_uses_most_of_the_budget_wins() -> None:
    assert chosen(9000, version(1, 300), version(2, 900), version(3, 600), max_tokens=1000) == 2


def test_a_best_score_below_a_half_needs_a_new_version() -> None:
    lossy = version(1, 10, preserved=0, summarised=5)
    assert chosen(9000, lossy, max_tokens=1000, preserve_keepits=True) is ComponentForm.COMPRESS
    assert chosen(9000, version(1, 1001), max_tokens=1000) is ComponentForm.COMPRESS


def test_a_fresh_version_goes_before_a_stale_one_that_scores_higher() -> None:
    stale, fresh = version(1, 990, source_bytes=900), version(2, 200)
    assert chosen(9000, stale, fresh, max_tokens=1000) == 2
    assert chosen(9000, stale, max_tokens=1000) == 1


@pytest.mark.parametrize(("covers", "number"), [(1000, 1), (999, 2), (900, 2), (889, 2), (888, 3), (500, 6), (0, 10)])
def test_freshness_runs_from_1_for_all_of_it_to_10_for_none(covers: int, number: int) -> None:
    stale = version(1, 990, source_bytes=covers)
    assert freshness(stale, SIZE) == number
    assert chosen(9000, stale, max_tokens=1000, min_freshness=number) == 1
    if number > 1:
        assert chosen(9000, stale, max_tokens=1000, min_freshness=number - 1) is ComponentForm.COMPRESS


def test_a_version_that_uses_too_little_is_not_good_where_that_is_asked() -> None:
    tiny = version(1, 100)
    assert chosen(9000, tiny, max_tokens=1000) == 1
    assert chosen(9000, tiny, max_tokens=1000, least_use=0.5) is ComponentForm.COMPRESS
    assert chosen(9000, version(1, 500), max_tokens=1000, least_use=0.5) == 1
