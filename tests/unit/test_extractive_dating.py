"""Relative times become dates, and others stay as they were said."""

from __future__ import annotations

from datetime import date

import pytest

from worker.agent.clauses import resolve

_THURSDAY = date(2023, 5, 25)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("went yesterday", "went 24 May 2023"),
        ("the day before yesterday", "23 May 2023"),
        ("tomorrow morning", "26 May 2023"),
        ("last Saturday", "Saturday 20 May 2023"),
        ("last Thursday", "Thursday 18 May 2023"),
        ("next Friday", "Friday 26 May 2023"),
        ("next Thursday", "Thursday 1 June 2023"),
        ("last week", "week before 25 May 2023"),
        ("next month", "June 2023"),
        ("last month", "April 2023"),
        ("last year", "2022"),
        ("two weeks ago", "two weeks before 25 May 2023"),
        ("3 days ago", "22 May 2023"),
        ("five months ago", "December 2022"),
        ("last summer", "summer 2022"),
        ("next winter", "winter 2023"),
        ("someday", "someday"),
        ("last but not least", "last but not least"),
        ("on Friday", "on Friday"),
    ],
)
def test_a_relative_time_is_written_as_a_date(said: str, meant: str) -> None:
    assert resolve(said, _THURSDAY) == meant


def test_the_year_is_crossed_correctly() -> None:
    assert resolve("yesterday", date(2024, 1, 1)) == "31 December 2023"
    assert resolve("last month", date(2024, 1, 31)) == "December 2023"
