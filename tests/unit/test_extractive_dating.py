"""Relative times become dates, and others stay as they were said."""

from __future__ import annotations

from datetime import date

import pytest

from worker.agent.dates import resolve

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
        ("last week", "the week before 25 May 2023"),
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
        ("My exam is in two days.", "My exam is 27 May 2023."),
        ("My lease ends in 3 months.", "My lease ends August 2023."),
        ("I'm off in a week", "I'm off a week after 25 May 2023"),
        ("We meet in two weeks' time.", "We meet two weeks after 25 May 2023."),
        ("I leave the day after tomorrow.", "I leave 27 May 2023."),
        ("a couple of weeks ago", "a couple of weeks before 25 May 2023"),
        ("by the end of next week", "by the end of the week after 25 May 2023"),
        ("It expires next week.", "It expires the week after 25 May 2023."),
        ("I turned 40 this year.", "I turned 40 in 2023."),
        ("I turned 40 last month.", "I turned 40 in April 2023."),
        ("This year was hard.", "2023 was hard."),
        ("the end of last year", "the end of 2022"),
        ("My aunt called yesterday.", "My aunt called 24 May 2023."),
        ("I told her yesterday.", "I told her 24 May 2023."),
        ("She was named captain yesterday.", "She was named captain 24 May 2023."),
        ("I leave TOMORROW.", "I leave 26 May 2023."),
        ('A 5" screen came yesterday, and a case.', 'A 5" screen came 24 May 2023, and a case.'),
        ("I ran `make` today.", "I ran `make` 25 May 2023."),
    ],
)
def test_a_relative_time_is_written_as_a_date(said: str, meant: str) -> None:
    assert resolve(said, _THURSDAY) == meant


def test_the_year_is_crossed_correctly() -> None:
    assert resolve("yesterday", date(2024, 1, 1)) == "31 December 2023"
    assert resolve("last month", date(2024, 1, 31)) == "December 2023"


@pytest.mark.parametrize(
    "said",
    [
        "I work at Tomorrow Ltd in Leeds.",
        "Tomorrow Ltd pays me well.",
        "I read USA Today.",
        "I read USA TODAY.",
        "Our song is Yesterday by the Beatles.",
        "Yesterday by the Beatles is our song.",
        "I sing in a band named Last Year.",
        "The Day After Tomorrow is a film I like.",
        "I like The Day After Tomorrow.",
        "I use an app called today.",
        "a shop named tomorrow",
        "I watch the today show.",
        'He said "you are fired tomorrow" to me.',
        "He wrote \u201cI'm back tomorrow\u201d.",
        "He wrote 'I'm back tomorrow'.",
        "She wrote \u201eich bin tomorrow da\u201c.",
        "Il a dit \u00ab tomorrow \u00bb.",
        'so I am off tomorrow" is what he said',
        "Run `date = today` first.",
        '{"when": {"at": tomorrow}, "by": today}',
        "due=tomorrow",
        "today = date.today()",
        "today and every day",
        "every month, this month too",
        "yesterday's bread",
        "last year\u2019s model",
        "my last week at work",
        "half a year ago",
        "I read it in two days.",
        "I can do it in 3 days.",
        "twice in a week",
        "I quit ſix days ago.",
    ],
)
def test_names_quotations_code_possessives_and_durations_stay(said: str) -> None:
    assert resolve(said, _THURSDAY) == said
