"""What a question asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query import TimeSpan, fit_to_time_spans, identifiers_of, read_question, time_spans_of, without_names

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
        ("What did Caroline’s friend say?", "What did friend say?"), ("did CAROLINE call", "did call"),
        ("Carolines are flowers", "Carolines are flowers"), ("Caroline", "Caroline"), ("Caroline?", "Caroline?"),
    ],
)  # fmt: skip
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


_TALK = """Use `renderChart(data)` before updateUI. We also call parse_json(payload) and handleError(err).
```ts
function fetchPatientData(record_id: string) {
```"""


def test_names_are_found_in_prose_in_calls_between_back_ticks_and_in_fences() -> None:
    assert identifiers_of(_TALK) == {
        "renderchart", "updateui", "parse_json", "handleerror", "fetchpatientdata", "record_id",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Need help with parse_json errors", {"parse_json"}, id="snake case"),
        pytest.param("the MAX_RETRIES constant", {"max_retries"}, id="capitals"),
        pytest.param("override __init__ and _private", {"__init__", "_private"}, id="leading underscores"),
        pytest.param("a DataFrame of rows", {"dataframe"}, id="the name of a class"),
        pytest.param("look into tokens.py please", {"tokens.py"}, id="a file"),
        pytest.param("set `retries` to 3", {"retries"}, id="a plain name between back-ticks"),
        pytest.param("`np.float32` is slow", {"np.float32"}, id="a dotted name between back-ticks"),
        pytest.param("```\nclass Lighthouse:\n```", {"lighthouse"}, id="what a fence defines"),
        pytest.param("```\nif (ready) while(true)\n```", set(), id="a keyword is no call"),
        pytest.param("Caroline went to London (with Mel).", set(), id="prose"),
        pytest.param("the class of 2023 and its function", set(), id="words of code in prose"),
        pytest.param("", set(), id="nothing"),
    ],
)
def test_identifiers_of(text: str, expected: set[str]) -> None:
    assert identifiers_of(text) == expected


@given(st.text())
def test_any_text_is_read_and_names_are_lower_case(text: str) -> None:
    assert all(name == name.lower() for name in identifiers_of(text))


def test_a_file_is_found_behind_hyphens_however_many_there_are() -> None:
    assert identifiers_of(f"see --my-notes.py and {'a-' * 100_000}") == {"my-notes.py"}


ASKED_AT = datetime(2023, 10, 20, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("What happened on 7 May 2023?", ("2023-05-07", "2023-05-08"), id="day, month, year"),
        pytest.param("on the 7th of May, 2023", ("2023-05-07", "2023-05-08"), id="in words"),
        pytest.param("on May 7th 2022", ("2022-05-07", "2022-05-08"), id="month first"),
        pytest.param("on Dec. 3", ("2022-12-03", "2022-12-04"), id="without a year: the last one"),
        pytest.param("since 2023-01-05", ("2023-01-05", "2023-01-06"), id="as numbers"),
        pytest.param("in May 2022", ("2022-05-01", "2022-06-01"), id="a month"),
        pytest.param("What did she do in December?", ("2022-12-01", "2023-01-01"), id="a month without a year"),
        pytest.param("June, 2023 was hot", ("2023-06-01", "2023-07-01"), id="a month and a year alone"),
        pytest.param("in 2021", ("2021-01-01", "2022-01-01"), id="a year"),
        pytest.param("in the summer of 2022", ("2022-06-01", "2022-09-01"), id="a season"),
        pytest.param("last winter", ("2022-12-01", "2023-03-01"), id="a season over the year's end"),
        pytest.param("yesterday", ("2023-10-19", "2023-10-20"), id="yesterday"),
        pytest.param("today", ("2023-10-20", "2023-10-21"), id="today"),
    ],
)
def test_date_words_are_read(text: str, expected: tuple[str, str]) -> None:
    [stretch] = time_spans_of(text, ASKED_AT)
    assert (f"{stretch.start:%Y-%m-%d}", f"{stretch.end:%Y-%m-%d}") == expected


@pytest.mark.parametrize(
    "text",
    ["I may go", "May I come in?", "on 31 February", "2023-13-45", "march on", "15 people", "", "in 5 days' time"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert time_spans_of(text, ASKED_AT) == ()


@pytest.mark.parametrize(
    ("text", "days"),
    [("two weeks ago", 14), ("3 days ago", 3), ("a year ago", 365), ("last week", 7), ("last month", 30)],
)
def test_a_relative_date_counts_from_now(text: str, days: int) -> None:
    [stretch] = time_spans_of(text, ASKED_AT)
    assert stretch.start <= ASKED_AT - timedelta(days=days) <= stretch.end


def test_several_dates_are_all_read() -> None:
    assert len(time_spans_of("between 1 May 2023 and 3 May 2023", ASKED_AT)) == 2


def test_a_moment_fits_less_the_further_away_it_is() -> None:
    [may] = time_spans_of("in May 2023", ASKED_AT)
    fits = [fit_to_time_spans(datetime(2023, *day, tzinfo=UTC), [may]) for day in ((5, 20), (6, 3), (6, 10), (7, 1))]
    assert fits[0] == 1 and fits == sorted(fits, reverse=True) and 0 < fits[2] < fits[1] < 1 and fits[3] == 0


def test_what_happened_is_talked_about_after_rather_than_before() -> None:
    [day] = time_spans_of("on 7 May 2023", ASKED_AT)
    assert fit_to_time_spans(day.end + timedelta(days=5), [day]) > fit_to_time_spans(
        day.start - timedelta(days=5), [day]
    )


def test_without_a_date_nothing_fits() -> None:
    assert fit_to_time_spans(ASKED_AT, ()) == 0


@given(st.text(), st.integers(0, 40_000))
def test_any_text_is_read(text: str, days: int) -> None:
    now = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(days=days)
    for one in time_spans_of(text, now):
        assert isinstance(one, TimeSpan) and one.start < one.end
        assert 0 <= fit_to_time_spans(now, [one]) <= 1


@pytest.mark.parametrize(
    ("text", "plainly"),
    [("in ſpring", "in spring"), ("3 ſeptember", "3 september"), ("ſix days ago", "six days ago"), ("in wınter", "")],
)
def test_letters_that_pass_for_others_are_read_as_those_or_not_at_all(text: str, plainly: str) -> None:
    assert time_spans_of(text, ASKED_AT) == time_spans_of(plainly, ASKED_AT)
