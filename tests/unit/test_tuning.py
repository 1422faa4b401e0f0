"""Values of the tuning: clamped where they are numbers, refused where they make no sense."""

from __future__ import annotations

import math

import pytest

from shared.base.errors import Invalid
from shared.base.search_settings import Tuning
from shared.base.settings import Settings
from shared.search.models import EVERYWHERE
from shared.search.tuning import NAMES, TuningInForce, TuningSource, acceptable, overlay, tuning_of

PLAIN = TuningInForce(Tuning(), dict.fromkeys(NAMES, TuningSource.SETTING))


def test_the_settings_are_what_is_in_force_where_nothing_was_changed() -> None:
    chosen = Settings(token_budget=700, formula="weighted", hybrid=False, _env_file=None)  # type: ignore[call-arg]
    assert tuning_of(chosen) == Tuning(hybrid=False, token_budget=700, formula="weighted")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        pytest.param("token_budget", 99, 100, id="budget below"),
        pytest.param("token_budget", 100, 100, id="least budget"),
        pytest.param("token_budget", 5001, 5000, id="budget above"),
        pytest.param("summary_frequency", -1, 0, id="frequency below"),
        pytest.param("summary_frequency", 0, 0, id="off"),
        pytest.param("summary_frequency", 101, 100, id="frequency above"),
        pytest.param("metrics_days", 0, 1, id="days below"),
        pytest.param("metrics_days", 366, 365, id="days above"),
        pytest.param("alpha", 1, 1.0, id="a whole weight"),
        pytest.param("hybrid", False, False, id="a flag"),
    ],
)
def test_numbers_are_brought_within_their_bounds(name: str, given: object, kept: object) -> None:
    assert acceptable({name: given}) == {name: kept}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("token_budget", True), ("token_budget", "100"), ("token_budget", 100.5), ("hybrid", 1), ("hybrid", None),
        ("formula", "seed"), ("alpha", -0.1), ("alpha", 1.1), ("alpha", math.nan), ("alpha", True), ("alpha", "0.6"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(name: str, given: object) -> None:
    with pytest.raises(Invalid, match=name):
        acceptable({name: given})


@pytest.mark.parametrize(
    ("weights", "balanced"),
    [
        pytest.param((0.6, 0.3, 0.1), True, id="one"),
        pytest.param((0.6, 0.3, 0.11), True, id="one hundredth above"),
        pytest.param((0.6, 0.3, 0.09), True, id="one hundredth below"),
        pytest.param((0.6, 0.3, 0.111), False, id="more above"),
        pytest.param((0.6, 0.3, 0.089), False, id="more below"),
        pytest.param((0, 0, 1), True, id="identifiers alone"),
    ],
)
def test_weights_add_up_to_one_within_a_hundredth(weights: tuple[float, ...], balanced: bool) -> None:
    chosen = dict(zip(("alpha", "beta", "gamma"), weights, strict=True))
    if balanced:
        assert overlay(PLAIN, chosen, TuningSource.APP).tuning.gamma == weights[2]
    else:
        with pytest.raises(Invalid, match="add up"):
            overlay(PLAIN, chosen, TuningSource.APP)


def test_what_was_chosen_says_where_it_comes_from_and_what_is_unknown_counts_for_nothing() -> None:
    there = overlay(PLAIN, {"hybrid": False, "of_a_later_release": 1}, TuningSource.EVERYWHERE)
    here = overlay(there, {"token_budget": 300}, TuningSource.APP)
    assert (here.tuning.hybrid, here.tuning.token_budget, here.tuning.chunking) == (False, 300, True)
    assert [here.sources[name] for name in ("hybrid", "token_budget", "chunking")] == ["everywhere", "app", "setting"]
    assert set(here.sources) == set(NAMES) and EVERYWHERE not in here.sources
