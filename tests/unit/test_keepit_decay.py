"""Whether marked parts survive: the seed's examples, and every case on the boundary."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.base.choices import Aggressiveness
from shared.sessions.compress.settings import CompressionBase, KeepitDecay
from shared.sessions.markers import WEIGHT_PRESETS, survives, threshold

MIN, MOD, AGG = Aggressiveness.MINIMAL, Aggressiveness.MODERATE, Aggressiveness.AGGRESSIVE
_FRACTIONS = {MIN: Fraction(1, 10), MOD: Fraction(3, 10), AGG: Fraction(5, 10)}


@pytest.mark.parametrize(
    ("weight", "distance", "how", "ratio", "least", "kept"),
    [
        (80, 10, AGG, 30, 800, True),
        (80, 5, AGG, 30, 650, True),
        (25, 10, MOD, 15, 450, False),
        (50, 7, MIN, 5, 135, True),
        (100, 10, AGG, 100, 1500, True),
        (99, 10, AGG, 100, 1500, False),
        (80, 1000, AGG, 30, 800, True),
        (79, 10, AGG, 30, 800, False),
        (10, 0, MIN, 100, 100, True),
    ],
)
def test_the_examples_of_the_seed(
    weight: int, distance: int, how: Aggressiveness, ratio: int, least: int, kept: bool
) -> None:
    assert threshold(how, ratio, distance) == least
    assert survives(weight, how, ratio, distance) is kept


@pytest.mark.parametrize(
    ("how", "ratio", "distance", "weight"),
    [
        *((MIN, *one) for one in ((2, 10, 12), (4, 5, 12), (5, 2, 11), (5, 4, 12), (5, 10, 15))),
        *(
            (AGG, *one)
            for one in (
                (20, 4, 58), (32, 10, 82), (33, 10, 83), (34, 10, 84),
                (40, 2, 58), (40, 8, 82), (40, 9, 86), (45, 8, 86),
            )
        ),
    ],
)  # fmt: skip
def test_what_weighs_exactly_enough_survives_where_binary_fractions_say_no(
    how: Aggressiveness, ratio: int, distance: int, weight: int
) -> None:
    assert survives(weight, how, ratio, distance)
    assert not survives(weight - 1, how, ratio, distance)


def test_every_case_is_decided_as_exact_fractions_decide_it() -> None:
    for how, base in _FRACTIONS.items():
        for ratio in range(1, 101):
            for distance in range(13):
                least = base + Fraction(ratio, 100) * Fraction(min(distance, 10), 10)
                assert threshold(how, ratio, distance) == least * 1000
                expected = [weight == 100 or Fraction(weight, 100) >= least for weight in range(101)]
                assert [survives(weight, how, ratio, distance) for weight in range(101)] == expected


@given(
    weight=st.integers(0, 100), ratio=st.integers(1, 100), distance=st.integers(0, 1000),
    how=st.sampled_from(list(_FRACTIONS)), base=st.integers(0, 1000), farthest=st.integers(1, 1000),
    pinned=st.integers(1, 100),
)  # fmt: skip
def test_whatever_is_set_is_decided_as_exact_fractions_decide_it(
    weight: int, ratio: int, distance: int, how: Aggressiveness, base: int, farthest: int, pinned: int
) -> None:
    written = dict.fromkeys(("light", "moderate", "aggressive"), base / 1000)
    wire = {"compressionBase": written, "maxSessionDistance": farthest, "pinnedWeight": pinned / 100}
    decay = KeepitDecay.model_validate_json(KeepitDecay.model_validate(wire).model_dump_json(by_alias=True))
    least = Fraction(base, 1000) + Fraction(ratio, 100) * Fraction(min(distance, farthest), farthest)
    assert survives(weight, how, ratio, distance, decay) is (weight >= pinned or Fraction(weight, 100) >= least)


def test_the_presets_weigh_what_the_seed_says() -> None:
    assert list(WEIGHT_PRESETS.values()) == [100, 90, 75, 50, 25, 10]
    assert [CompressionBase().thousandths(how) for how in (MIN, MOD, AGG)] == [100, 300, 500]
