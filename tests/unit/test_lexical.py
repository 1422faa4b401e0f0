"""Scores of places by words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.lexical import Posting, rarity, word_table
from shared.search.models import doc_id_of


def _at(*turns: tuple[int, int]) -> np.ndarray:
    return np.array(sorted(doc_id_of(*turn) or 0 for turn in turns), np.int64)


def test_a_place_with_more_and_rarer_words_scores_higher() -> None:
    table = word_table([Posting("rare", _at((1, 5))), Posting("usual", _at((1, 5), (2, 5), (3, 5)))], 100)
    turn = dict(zip(table.doc_ids.tolist(), table.turn.tolist(), strict=True))
    assert turn[doc_id_of(1, 5)] > turn[doc_id_of(2, 5)] > 0


def test_what_follows_a_word_soon_is_scored_by_it_and_what_comes_late_is_not() -> None:
    table = word_table([Posting("word", _at((1, 5)))], 100)
    window = table.scores(_at(*((1, at) for at in range(12)))).window.tolist()
    assert window[5] == max(window)
    assert window[6] > window[4] > 0, "an answer follows what it answers"
    assert window[9] > 0 and window[10] == 0 and window[0] == 0


def test_a_word_said_again_adds_less() -> None:
    once, twice, thrice = (
        float(
            word_table([Posting("word", _at(*((1, 5 + step) for step in range(n))))], 100).scores(_at((1, 5))).window[0]
        )
        for n in (1, 2, 3)
    )
    assert twice - once > 0 and (thrice - twice) < (twice - once)


def test_a_window_ends_with_its_conversation() -> None:
    last = (1 << 20) - 1
    table = word_table([Posting("word", _at((1, last)))], 100)
    assert table.scores(_at((2, 0))).window.tolist() == [0]
    assert [doc_id >> 20 for doc_id in table.best(5).tolist()] == [1] * len(table.best(5))


def test_words_that_were_not_looked_up_or_stand_nowhere_say_nothing() -> None:
    table = word_table([Posting("common", None), Posting("absent", _at())], 100)
    assert table.best(5).tolist() == []
    assert table.scores(_at((1, 0))).turn.tolist() == [0]


def test_the_best_come_with_what_lies_beside_them() -> None:
    table = word_table([Posting("word", _at((1, 5)))], 100)
    assert set(table.best(1).tolist()) == set(_at(*((1, at) for at in range(3, 8))).tolist())


@pytest.mark.parametrize(("standing_in", "messages"), [(0, 0), (0, 10), (10, 10), (20, 10)])
def test_rarity_is_never_negative(standing_in: int, messages: int) -> None:
    assert rarity(standing_in, messages) >= 0


@given(st.lists(st.sets(st.tuples(st.integers(1, 3), st.integers(0, 12)), min_size=1), min_size=1, max_size=4))
def test_scores_of_chosen_places_are_those_of_all(postings: list[set[tuple[int, int]]]) -> None:
    table = word_table([Posting(str(nth), _at(*turns)) for nth, turns in enumerate(postings)], 50)
    scores = table.scores(table.doc_ids)
    assert np.allclose(scores.turn, table.turn) and np.allclose(scores.window, table.window, atol=1e-4)
