"""When a question asks about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query import TimeSpan, fit_to_time_spans, time_spans_of

NOW = datetime(2023, 10, 20, 15, tzinfo=UTC)


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
    [stretch] = time_spans_of(text, NOW)
    assert (f"{stretch.start:%Y-%m-%d}", f"{stretch.end:%Y-%m-%d}") == expected


@pytest.mark.parametrize(
    "text",
    ["I may go", "May I come in?", "on 31 February", "2023-13-45", "march on", "15 people", "", "in 5 days' time"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert time_spans_of(text, NOW) == ()


@pytest.mark.parametrize(
    ("text", "days"),
    [("two weeks ago", 14), ("3 days ago", 3), ("a year ago", 365), ("last week", 7), ("last month", 30)],
)
def test_a_relative_date_counts_from_now(text: str, days: int) -> None:
    [stretch] = time_spans_of(text, NOW)
    assert stretch.start <= NOW - timedelta(days=days) <= stretch.end


def test_several_dates_are_all_read() -> None:
    assert len(time_spans_of("between 1 May 2023 and 3 May 2023", NOW)) == 2


def test_a_moment_fits_less_the_further_away_it_is() -> None:
    [may] = time_spans_of("in May 2023", NOW)
    fits = [fit_to_time_spans(datetime(2023, *day, tzinfo=UTC), [may]) for day in ((5, 20), (6, 3), (6, 10), (7, 1))]
    assert fits[0] == 1 and fits == sorted(fits, reverse=True) and 0 < fits[2] < fits[1] < 1 and fits[3] == 0


def test_what_happened_is_talked_about_after_rather_than_before() -> None:
    [day] = time_spans_of("on 7 May 2023", NOW)
    assert fit_to_time_spans(day.end + timedelta(days=5), [day]) > fit_to_time_spans(
        day.start - timedelta(days=5), [day]
    )


def test_without_a_date_nothing_fits() -> None:
    assert fit_to_time_spans(NOW, ()) == 0


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
    assert time_spans_of(text, NOW) == time_spans_of(plainly, NOW)
