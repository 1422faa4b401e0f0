"""What a question asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query import read_question, without_names

NOW = datetime(2023, 10, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["When did she go?", "What year was it?", "Which day suits?", "How long ago was that?"]
)
def test_a_question_for_a_time_is_known(text: str) -> None:
    assert read_question(text, NOW).asks_when


def test_another_question_asks_for_no_time() -> None:
    assert not read_question("Where does she live?", NOW).asks_when


@pytest.mark.parametrize(
    "text", ["Need help with parse_json errors", "what is `x`?", "show me the function again", "which endpoint fails"]
)
def test_a_question_about_code_is_known(text: str) -> None:
    assert read_question(text, NOW).about_code


def test_a_question_about_people_is_not_about_code() -> None:
    assert not read_question("Which class did Maria take at the gym?", NOW).about_code


def test_names_are_capitalised_words_with_and_without_a_possessive() -> None:
    assert set(read_question("did Émile's sister meet Jean-Luc?", NOW).names) >= {"émile", "jean", "luc"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Caroline's friend say?", "What did friend say?"),
        ("What did Caroline’s friend say?", "What did friend say?"),
        ("did CAROLINE call", "did call"),
        ("Carolines are flowers", "Carolines are flowers"),
        ("Caroline", "Caroline"),
        ("Caroline?", "Caroline?"),
    ],
)
def test_names_of_speakers_are_left_out_of_what_is_embedded(text: str, expected: str) -> None:
    assert without_names(text, ["Caroline", ""]) == expected


def test_of_names_that_begin_alike_the_longer_is_left_out_whole() -> None:
    assert without_names("Does Ann-Marie sail?", ["ann", "ann-marie"]) == "Does sail?"


def test_names_are_taken_as_they_are_written() -> None:
    assert without_names("a.b met acb", ["a.b"]) == "met acb"


def test_without_known_names_nothing_is_left_out() -> None:
    assert without_names("What did  Caroline say?", []) == "What did  Caroline say?"


@given(st.text(), st.lists(st.text()))
def test_any_text_and_names_are_read(text: str, names: list[str]) -> None:
    read_question(text, NOW)
    assert bool(without_names(text, names).strip()) >= any(one.isalnum() for one in text)
