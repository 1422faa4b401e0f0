"""The day somebody means by what they say: wherever they are, near midnight, when clocks change and years end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import cache
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from shared.conversations.days import TimeZones, offset_of
from worker.agent.dates import resolve

MONTHS = ("January", "February", "March", "April", "May", "June",
          "July", "August", "September", "October", "November", "December")  # fmt: skip
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def said(day: date) -> str:
    """Write a day as people do."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def month(day: date, step: int) -> str:
    """Write a month beside that of a day."""
    year, place = divmod(12 * day.year + day.month - 1 + step, 12)
    return f"{MONTHS[place]} {year}"


def weekday(day: date, name: str, step: int) -> str:
    """Write the next or the last day of a name, counted one by one."""
    day += timedelta(days=step)
    while WEEKDAYS[day.weekday()] != name:
        day += timedelta(days=step)
    return f"{name} {said(day)}"


MEANT: dict[str, Callable[[date], str]] = {
    "today": said, "tonight": said, "this morning": said, "yesterday": lambda day: said(day - timedelta(days=1)),
    "last night": lambda day: said(day - timedelta(days=1)),
    "the day before yesterday": lambda day: said(day - timedelta(days=2)),
    "tomorrow": lambda day: said(day + timedelta(days=1)),
    "tomorrow evening": lambda day: said(day + timedelta(days=1)),
    "the day after tomorrow": lambda day: said(day + timedelta(days=2)),
    "three days from now": lambda day: said(day + timedelta(days=3)),
    "2 days ago": lambda day: said(day - timedelta(days=2)), "next week": lambda day: f"the week after {said(day)}",
    "last weekend": lambda day: f"the weekend before {said(day)}",
    "two weeks ago": lambda day: f"two weeks before {said(day)}",
    "a few days ago": lambda day: f"a few days before {said(day)}",
    "a fortnight ago": lambda day: f"a fortnight before {said(day)}",
    "this weekend": lambda day: f"the weekend of {said(day + timedelta(days=5 - day.weekday()))}",
    "next Friday": lambda day: weekday(day, "Friday", 1), "last Monday": lambda day: weekday(day, "Monday", -1),
    "this month": lambda day: month(day, 0), "next month": lambda day: month(day, 1),
    "last month": lambda day: month(day, -1), "three months ago": lambda day: month(day, -3),
    "this year": lambda day: str(day.year), "next year": lambda day: str(day.year + 1),
    "last year": lambda day: str(day.year - 1), "5 years ago": lambda day: str(day.year - 5),
}  # fmt: skip
DAYS = [date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1),
        date(2024, 3, 31), date(2025, 6, 15), date(2026, 11, 30)]  # fmt: skip
NEAR_MIDNIGHT = [time(0, 0), time(0, 4, 59), time(12, 0), time(23, 55), time(23, 59, 59, 999_999)]
OFFSETS = [*(60 * hours for hours in range(-11, 15)), -570, -210, 330, 345, 525, 765]


def read(zones: TimeZones, at: datetime, phrase: str) -> str:
    """Read a phrase as the agent does of a message of that time."""
    return resolve(phrase, zones.local(at.astimezone(UTC)).date())


@pytest.mark.parametrize("phrase", MEANT)
def test_a_relative_word_means_the_day_of_the_messages_offset(phrase: str) -> None:
    for offset, day, clock in product(OFFSETS, DAYS, NEAR_MIDNIGHT):
        at = datetime.combine(day, clock, timezone(timedelta(minutes=offset)))
        # UTC's is how programs write times: it says nothing, and UTC is what is left.
        assert offset_of(at) == (offset or None)
        assert read(TimeZones(utc_offset_minutes=offset_of(at)), at, phrase) == MEANT[phrase](day), at


SHIFTING = ("Europe/Lisbon", "America/New_York", "America/Los_Angeles", "America/Santiago", "Africa/Casablanca",
            "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Auckland", "Pacific/Apia", "Asia/Kathmandu")  # fmt: skip


@cache
def around_changes(name: str) -> list[datetime]:
    """Return times near midnight on the days around each change of a zone's clocks, and at the end of years."""
    zone, found = ZoneInfo(name), []
    for nth in range(2 * 366):
        day = date(2025, 1, 1) + timedelta(days=nth)
        offsets = {datetime.combine(day + timedelta(days=step), time(), zone).utcoffset() for step in (-1, 0, 1, 2)}
        if len(offsets) > 1 or day.strftime("%m-%d") in ("12-31", "01-01"):
            for clock in NEAR_MIDNIGHT:
                for fold in (0, 1):
                    found.append(datetime.combine(day, clock, zone).replace(fold=fold))
    # A time that the clocks skipped was never shown.
    return [at for at in found if at.astimezone(UTC).astimezone(zone).replace(fold=0) == at.replace(fold=0)]


@pytest.mark.parametrize("phrase", MEANT)
def test_a_relative_word_means_the_day_of_the_named_zone_when_its_clocks_change(phrase: str) -> None:
    for name in SHIFTING:
        times = around_changes(name)
        assert len(times) >= 16
        for at in times:
            for zones in (TimeZones(conversation=name), TimeZones(user=name), TimeZones(app=name)):
                assert read(zones, at, phrase) == MEANT[phrase](at.date()), at


def test_of_all_that_is_known_the_nearest_to_what_was_said_decides() -> None:
    at = datetime(2026, 11, 24, 22, 30, tzinfo=UTC)
    known = ["Pacific/Auckland", "America/New_York", 120, "Asia/Kathmandu"]
    for nth, shown in enumerate(["25 11:30", "24 17:30", "25 00:30", "25 04:15", "24 22:30"]):
        assert f"{TimeZones(*[None] * nth, *known[nth:]).local(at):%d %H:%M}" == shown


def test_times_of_a_night_in_which_the_clocks_were_put_back_stay_in_their_order() -> None:
    zones = TimeZones(user="Europe/Lisbon")
    first, second = (zones.local(datetime(2026, 10, 25, hour, 30, tzinfo=UTC)) for hour in (0, 1))
    assert f"{first:%H:%M}" == f"{second:%H:%M}" == "01:30"
    assert first < second and second - first == timedelta(hours=1) and max(second, first) is second
