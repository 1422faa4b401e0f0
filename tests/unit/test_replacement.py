"""What is learned of changes: how its weights are remade, and that a fact is over by what ends it, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from ops.train_changes import apart, features, fitted, packed, pairs
from worker.agent.protocol import PresentFact
from worker.agent.replacement import WEIGHTS, likeliest_over


def known(*facts: str) -> list[PresentFact]:
    return [PresentFact(number, fact, "other", datetime(2026, 3, 1, tzinfo=UTC)) for number, fact in enumerate(facts)]


OTHERS = ("Has two parrots", "Likes jazz", "Daughter Mia is six")


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("Swim class is mondays at 7", "swim class is wednesdays at 8 now"),
        ("rent for the studio is 640", "studio rent is 700 from may"),
        ("rehearsal is at 6 in the chapel", "rehearsal got pushed to 7"),
        ("Owes their brother 2,000", "only 300 left that I owe my brother"),
        ("die Chorprobe ist donnerstags", "Chorprobe ist ab jetzt dienstags"),
        ("wesele jest 12 czerwca", "wesele przełożone na 3 lipca"),
    ],
)
def test_a_new_value_ends_the_one_fact_of_the_same_thing(fact: str, said: str) -> None:
    assert likeliest_over(said, known(*OTHERS, fact)) == len(OTHERS)


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("Swim class is mondays at 7", "missed swim class on monday, overslept"),
        ("we rehearse in the church hall on Tuesdays", "the church hall was freezing last night"),
        ("Drives a red Polo", "my cousin sold her Polo"),
        ("always use two decimals in tables", "three decimals for this one table, just today"),
        ("my sister lives in Tromsø", "my sister sent us a card from Tromsø"),
        ("die Chorprobe ist donnerstags", "die Chorprobe war gestern lang"),
        ("Is allergic to peanuts", "peanuts are off the menu at work from may"),
        ("Takes 10 mg of ramipril", "ramipril is 8 euro from may, it was 6"),
    ],
)
def test_what_only_names_the_same_thing_ends_nothing_and_no_harm_is_over_by_a_guess(fact: str, said: str) -> None:
    assert likeliest_over(said, known(*OTHERS, fact)) is None


def test_nothing_is_over_by_what_says_nothing() -> None:
    assert likeliest_over("", known(*OTHERS)) is None and likeliest_over("👍", known(*OTHERS)) is None


def test_the_pairs_are_of_several_writers_and_as_many_hold_as_are_over() -> None:
    found = pairs()
    assert {one.writer for one in found} == {1, 2, 3, 4, 5}
    assert 0.4 < np.mean([one.is_over for one in found]) < 0.7


def test_a_line_that_is_no_pair_is_named(tmp_path: Path) -> None:
    (tmp_path / "pairs-1.tsv").write_text("en\thome\tX\ti live in Leeds\tin York now\n", "utf-8")
    with pytest.raises(ValueError, match=r"pairs-1\.tsv: no pair: en"):
        pairs(tmp_path)


@pytest.mark.long
def test_the_weights_are_those_of_the_data() -> None:
    pytest.importorskip("sklearn", reason="needs the extra `train`")
    of = [*pairs(), *apart()]
    made = packed(fitted(*features(of), np.array([one.is_over for one in of])))
    with np.load(WEIGHTS) as stored:
        for name, weights in made.items():
            np.testing.assert_allclose(stored[name], weights, atol=1 if name == "cues" else 1e-3, rtol=1e-2)
