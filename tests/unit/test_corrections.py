"""What a later statement puts right in an earlier one, and what it leaves alone."""

from __future__ import annotations

import pytest

from worker.agent.corrections import differ_in_values_only, with_spelling_of, with_values_of


@pytest.mark.parametrize(
    ("said", "later", "right"),
    [
        ("I take Euthyrox 57 in the morning", "sorry, 75 not 57. 75 micrograms", "I take Euthyrox 75 in the morning"),
        ("the hall is free on the 3rd", "no wait, not the 3rd, the 12th", "the hall is free on the 12th"),
        ("table for 6 people", "Wait not 6, 8", "table for 8 people"),
        ("el 13 de junio creo", "no espera, el 20 de junio", "el 20 de junio creo"),
        ("du 12 au 17 mai", "oups, donc du 14 au 19, le 12 je travaille", "du 14 au 19 mai"),
        ("息子は5歳です", "あ、6歳でした", "息子は6歳です"),
        ("we run python 3.12 with uv", "we are on python 3.13 since Monday", "we run python 3.13 with uv"),
        ("I have 2 cats", "I have 3 dogs", "I have 2 cats"),
        ("pages 57-75", "see 57-75", "pages 57-75"),
        ("I moved 24 November 2026", "I started 25 November 2026", "I moved 24 November 2026"),
        ("no number here", "it is 12", "no number here"),
    ],
)
def test_a_value_is_put_right_where_it_is_plain_which(said: str, later: str, right: str) -> None:
    assert with_values_of(said, later) == right


@pytest.mark.parametrize(
    ("said", "later", "right"),
    [
        ("I live in Gronigen", "typo, Groningen", "I live in Groningen"),
        ("a table of Eiche", "quatsch, nicht Eiche, ESCHE", "a table of ESCHE"),
        ("my sister Maja sings", "she sings on Monday", "my sister Maja sings"),
        ("I live in Ghent", "I live in Bruges", "I live in Ghent"),
    ],
)
def test_a_word_is_spelt_as_it_was_meant(said: str, later: str, right: str) -> None:
    assert with_spelling_of(said, later) == right


def test_only_values_may_differ() -> None:
    assert differ_in_values_only("python 3.12 with uv", "python 3.13 with uv")
    assert not differ_in_values_only("python 3.12 with uv", "python 3.12 with pip")
