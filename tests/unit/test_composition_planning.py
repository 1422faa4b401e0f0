"""How a budget is shared among sessions, as which version each gets in, and which of its versions serves best."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.base.choices import AllocationStrategy as Strategy
from shared.base.errors import Invalid
from shared.sessions.compose.plan import (
    FLOOR,
    ComponentForm,
    ComponentPlan,
    ComponentWish,
    CompositionTerms,
    TokenNeed,
    VersionCriteria,
    allocate,
    freshness,
    plan_components,
    select_best,
    version_score,
)
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.models import BuildState, RecordedSession, SessionVersion

LONG = 10**6
SHARING = [Strategy.EQUAL, Strategy.PROPORTIONAL, Strategy.RECENT_FIRST]


def needs(*lengths: int) -> list[TokenNeed]:
    """Sessions of these lengths, the oldest first."""
    return [TokenNeed(length, length, len(lengths) - 1 - place) for place, length in enumerate(lengths)]


@pytest.mark.parametrize(
    ("strategy", "lengths", "available", "shares"),
    [
        pytest.param(Strategy.EQUAL, (LONG, LONG, LONG, LONG), 4000, (1000,) * 4, id="equal: the same for each"),
        pytest.param(Strategy.EQUAL, (LONG, LONG, LONG), 1000, (333, 333, 334), id="equal: an odd token"),
        pytest.param(Strategy.EQUAL, (100, LONG, LONG), 2100, (100, 1000, 1000), id="equal: a short one leaves some"),
        pytest.param(Strategy.EQUAL, (100, 200, 300), 9000, (100, 200, 300), id="equal: all there is"),
        pytest.param(
            Strategy.PROPORTIONAL, (10_000, 30_000), 4000 + 2 * FLOOR, (1000 + FLOOR, 3000 + FLOOR), id="by length"
        ),
        pytest.param(Strategy.PROPORTIONAL, (0, LONG), 1000, (0, 1000), id="proportional: nothing was said"),
        pytest.param(Strategy.PROPORTIONAL, (10, LONG * 99), 1000, (10, 990), id="proportional: none is starved"),
        pytest.param(
            Strategy.RECENT_FIRST, (LONG,) * 3, 6000 + 3 * FLOOR, (1000 + FLOOR, 2000 + FLOOR, 3000 + FLOOR),
            id="recent-first: sixths",
        ),
        pytest.param(
            Strategy.RECENT_FIRST, (LONG, LONG, 100), 6000 + 2 * FLOOR + 100, (2000 + FLOOR, 4000 + FLOOR, 100),
            id="recent-first: the newest needs little",
        ),
        pytest.param(
            Strategy.RECENT_FIRST, (100, LONG, LONG), 6228, (100, 2012 + FLOOR, 3018 + 970 + FLOOR),
            id="recent-first: what the oldest leaves is the newest's",
        ),
    ],
)  # fmt: skip
def test_each_strategy_shares_as_it_says(
    strategy: Strategy, lengths: tuple[int, ...], available: int, shares: tuple[int, ...]
) -> None:
    assert allocate(strategy, needs(*lengths), available) == shares


@given(st.sampled_from(SHARING), st.lists(st.integers(0, 5000), min_size=1, max_size=12), st.integers(64 * 12, 20_000))
def test_no_more_is_shared_than_there_is_and_none_gets_more_than_it_needs(
    strategy: Strategy, lengths: list[int], available: int
) -> None:
    shares = allocate(strategy, needs(*lengths), available)
    assert sum(shares) == min(available, sum(lengths))
    assert all(min(FLOOR, length) <= share <= length for share, length in zip(shares, lengths, strict=True))


@given(st.lists(st.integers(FLOOR, 5000), min_size=2, max_size=8), st.integers(64 * 8, 9000))
def test_recent_first_never_gives_an_older_one_more_than_a_newer_one_that_wants_as_much(
    lengths: list[int], available: int
) -> None:
    shares = allocate(Strategy.RECENT_FIRST, needs(*[max(lengths)] * len(lengths)), available)
    assert list(shares) == sorted(shares)


def test_a_budget_below_the_floors_is_refused_with_what_it_takes() -> None:
    with pytest.raises(Invalid) as refused:
        allocate(Strategy.EQUAL, needs(LONG, LONG), 2 * FLOOR - 1)
    assert refused.value.code == "budget_too_small" and refused.value.details["missing"] == 1


def test_custom_gives_what_was_said_and_makes_room_for_the_headings() -> None:
    asked = [TokenNeed(LONG, LONG, asked=3000), TokenNeed(LONG, LONG, asked=1000)]
    assert allocate(Strategy.CUSTOM, asked, 4100) == (3000, 1000)
    assert allocate(Strategy.CUSTOM, asked, 3960) == (2970, 990)


def wish(tokens: int, *versions: int, age: int = 0, running: int | None = None, **more: Any) -> ComponentWish:
    made = [version(n + 1, size, tokens / size) for n, size in enumerate(versions)]
    if running is not None:
        made.append(version(running, 0, 1.0, state=BuildState.WORKING))
    return of(tokens, *made, age=age, **more)


def of(tokens: int, *versions: SessionVersion, size: int = 9, **more: Any) -> ComponentWish:
    return ComponentWish(RecordedSession(original_tokens=tokens, size_bytes=size), versions, **more)


def version(number: int, tokens: int, ratio: float, *kept: int, **more: Any) -> SessionVersion:
    stats = dict(zip(("preserved", "summarized"), kept, strict=False))
    columns = {"number": number, "output_tokens": tokens, "ratio": ratio, "keepit_stats": stats, "source_bytes": 9}
    return SessionVersion(**{"state": BuildState.READY, "settings": {}} | columns | more)


def planned(*wishes: ComponentWish, available: int, strategy: Strategy = Strategy.EQUAL) -> list[ComponentPlan]:
    return plan_components(wishes, CompositionTerms(strategy, available))


def number(one: ComponentPlan) -> int | None:
    return None if one.version is None else one.version.number


def test_what_fits_is_used_as_it_is_and_what_does_not_is_compressed_to_fit() -> None:
    old, new = planned(wish(50_000, age=1), wish(900), available=2900)
    assert (new.way, new.allocation) == (ComponentForm.ORIGINAL, 900)
    assert (old.way, old.allocation) == (ComponentForm.COMPRESS, 2000)
    assert old.settings is not None and old.settings.compaction_ratio == 25 and old.settings.session_distance == 2


def test_what_a_chosen_version_leaves_goes_to_the_others() -> None:
    old, new = planned(wish(50_000, 1200, age=1), wish(50_000), available=4000)
    assert (old.way, number(old), old.allocation) == (ComponentForm.VERSION, 1, 1200)
    assert (new.way, new.allocation) == (ComponentForm.COMPRESS, 2800)


@pytest.mark.parametrize(("tokens", "available", "ratio"), [(1001, 1000, 2), (10**7, 1000, 100), (3001, 1000, 4)])
def test_the_ratio_is_rounded_up_and_stays_within_what_can_be_asked_for(
    tokens: int, available: int, ratio: int
) -> None:
    [one] = planned(wish(tokens), available=available)
    assert one.settings is not None and one.settings.compaction_ratio == ratio


def test_of_two_versions_that_fit_the_one_that_kept_what_was_marked_is_taken() -> None:
    lossy, whole = version(1, 1900, 26.0, 0, 5), version(2, 1500, 33.0, 5, 0)
    [one] = planned(of(50_000, lossy, whole), available=2000)
    assert (one.way, number(one)) == (ComponentForm.VERSION, 2)


def test_settings_that_were_named_have_a_new_version_made() -> None:
    settings = CompressionSettings()
    [one] = planned(wish(500, 400, recompress=settings), available=2000)
    assert (one.way, one.settings) == (ComponentForm.COMPRESS, settings)


def test_a_version_that_leaves_most_of_its_share_unused_is_followed_by_a_longer_one_but_not_by_the_same() -> None:
    [one] = planned(wish(50_000, 300), available=2000)
    assert (one.way, one.settings and one.settings.compaction_ratio) == (ComponentForm.COMPRESS, 25)
    same = version(1, 300, 160.0, settings={"compactionRatio": 25})
    [one] = planned(of(50_000, same), available=2000)
    assert (one.way, number(one)) == (ComponentForm.VERSION, 1)
    [one] = planned(of(50_000, same, size=10), available=2000)
    assert one.way is ComponentForm.COMPRESS


SIZE = 1000


def candidate(number: int, tokens: int, **more: Any) -> SessionVersion:
    stats = {"preserved": more.pop("preserved", 0), "summarized": more.pop("summarised", 0)}
    figures = {"ratio": 10.0, "source_bytes": SIZE, "settings": {}} | more
    return SessionVersion(number=number, output_tokens=tokens, keepit_stats=stats, **figures)


def chosen(original: int, *candidates: SessionVersion, **criteria: object) -> int | ComponentForm:
    recorded = RecordedSession(original_tokens=original, size_bytes=SIZE)
    best = select_best(recorded, candidates, VersionCriteria(**criteria))  # type: ignore[arg-type]
    return best.number if isinstance(best, SessionVersion) else best


ORIGINAL, COMPRESS, MOST = ComponentForm.ORIGINAL, ComponentForm.COMPRESS, {"max_tokens": 1000}
SKIPPED = candidate(1, 990, settings={"skipFirstMessages": 5})
LOSSY, STALE, TINY = candidate(1, 10, summarised=5), candidate(1, 990, source_bytes=900), candidate(1, 100)
SIZES = [candidate(1, 300), candidate(2, 900), candidate(3, 600)]
CHOICES: dict[str, tuple[int, list[SessionVersion], dict[str, Any], int | ComponentForm]] = {
    "an original that fits": (1000, [], MOST, ORIGINAL), "one that does not": (1001, [], MOST, COMPRESS),
    "no limit": (10**9, SIZES, {}, ORIGINAL), "most of the budget wins": (9000, SIZES, MOST, 2),
    "a score below a half": (9000, [LOSSY], MOST | {"preserve_keepits": True}, COMPRESS),
    "over the budget": (9000, [candidate(1, 1001)], MOST, COMPRESS),
    "a fresh one before a stale one that scores higher": (9000, [STALE, candidate(2, 200)], MOST, 2),
    "no stale one unless that is said to do": (9000, [STALE], MOST, COMPRESS),
    "a stale one where any will do": (9000, [STALE], MOST | {"min_freshness": 10}, 1),
    "none that skips the beginning": (9000, [SKIPPED], MOST, COMPRESS), "a tiny one": (9000, [TINY], MOST, 1),
    "a tiny one where more is to be used": (9000, [TINY], MOST | {"least_use": 0.5}, COMPRESS),
    "one that uses enough": (9000, [candidate(1, 500)], MOST | {"least_use": 0.5}, 1),
}  # fmt: skip


@pytest.mark.parametrize(("original", "versions", "criteria", "expected"), CHOICES.values(), ids=CHOICES)
def test_the_version_is_used_that_serves_best(
    original: int, versions: list[SessionVersion], criteria: dict[str, Any], expected: int | ComponentForm
) -> None:
    assert chosen(original, *versions, **criteria) == expected


KEPT, NEAR = {"preserve_keepits": True}, {"preferred_ratio": 30}
SCORES: dict[str, tuple[SessionVersion, dict[str, Any], float]] = {
    "all of the budget": (candidate(1, 1000), MOST, 1.0), "half of it": (candidate(1, 500), MOST, 0.75),
    "over the budget": (candidate(1, 1001), MOST, 0.1), "20 off the ratio": (candidate(1, 1, ratio=10), NEAR, 0.6),
    "far off the ratio": (candidate(1, 1, ratio=100), NEAR, 0.5), "nothing marked": (candidate(1, 1), KEPT, 1.0),
    "a quarter kept": (candidate(1, 1, preserved=1, summarised=3), KEPT, 0.625),
    "all together": (
        candidate(1, 500, ratio=10, preserved=1, summarised=1), MOST | NEAR | KEPT, 0.75 * 0.6 * 0.75),
}  # fmt: skip


@pytest.mark.parametrize(("version", "criteria", "points"), SCORES.values(), ids=SCORES)
def test_the_score_is_the_seeds(version: SessionVersion, criteria: dict[str, Any], points: float) -> None:
    assert version_score(version, VersionCriteria(**criteria)) == pytest.approx(points)


@pytest.mark.parametrize(("covers", "number"), [(1000, 1), (999, 2), (900, 2), (889, 2), (888, 3), (500, 6), (0, 10)])
def test_freshness_runs_from_1_for_all_of_it_to_10_for_none(covers: int, number: int) -> None:
    stale = candidate(1, 990, source_bytes=covers)
    assert freshness(stale, SIZE) == number
    assert chosen(9000, stale, max_tokens=1000, min_freshness=number) == 1
    if number > 1:
        assert chosen(9000, stale, max_tokens=1000, min_freshness=number - 1) is COMPRESS
