"""Relative times said in a conversation, rewritten as dates, so that a memory stays true when it is read later.

``yesterday`` said on 8 May 2023 becomes ``7 May 2023``. Only phrases with one clear reading are rewritten; the others
are left as they were said.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from shared.text.words import MONTHS, NUMERALS, WEEKDAYS

_COUNTS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(NUMERALS[:11]) if number}
_COUNT = r"\d{1,2}|" + "|".join(_COUNTS)
_RELATIVE = re.compile(
    rf"""\b(?:(?:on|in)\s+)?(?:
      (?P<day>(?:the\s+)?day\s+before\s+yesterday|yesterday(?:\s+(?:morning|afternoon|evening|night))?|last\s+night
        |today|tonight|this\s+(?:morning|afternoon|evening)|tomorrow(?:\s+(?:morning|afternoon|evening|night))?)
     |(?P<side>last|this\s+past|this\s+coming|next)\s+(?P<unit>{"|".join(WEEKDAYS)}|weekend|week|month|year
        |spring|summer|autumn|fall|winter)
     |this\s+(?P<now>month|year)
     |(?P<count>{_COUNT})\s+(?P<units>day|week|month|year)s?\s+ago
     |(?P<vague>(?:a\s+)?few|(?:a\s+)?couple(?:\s+of)?)\s+(?P<vague_units>days|weeks)\s+ago
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def resolve(text: str, said_on: date) -> str:
    """Return ``text`` with its relative times as dates, seen from the day it was said."""
    return _RELATIVE.sub(lambda match: _dated(match, said_on), text)


def written(day: date) -> str:
    """Return a day as ``7 May 2023``."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def month_of(day: date) -> str:
    """Return a day's month as ``May 2023``."""
    return f"{MONTHS[day.month - 1]} {day.year}"


def _dated(match: re.Match[str], said_on: date) -> str:
    if match["day"]:
        return _day(match["day"].lower(), said_on)
    if match["unit"]:
        return _neighbour(match["side"].lower(), match["unit"].lower(), said_on)
    if match["now"]:
        return month_of(said_on) if match["now"].lower() == "month" else str(said_on.year)
    if match["count"]:
        return _ago(match["count"].lower(), match["units"].lower(), said_on)
    amount = "couple" if "couple" in match["vague"].lower() else "few"
    return f"{amount} {match['vague_units'].lower()} before {written(said_on)}"


def _day(phrase: str, said_on: date) -> str:
    if "before" in phrase:
        return written(said_on - timedelta(days=2))
    if phrase.startswith(("yesterday", "last")):
        return written(said_on - timedelta(days=1))
    return written(said_on + timedelta(days=1) if phrase.startswith("tomorrow") else said_on)


def _neighbour(side: str, unit: str, said_on: date) -> str:
    ahead = side in ("next", "this coming")
    if unit == "month":
        return _months_from(said_on, 1 if ahead else -1)
    if unit == "year":
        return str(said_on.year + (1 if ahead else -1))
    if unit in ("week", "weekend"):
        return f"{unit} {'after' if ahead else 'before'} {written(said_on)}"
    if unit.capitalize() in WEEKDAYS:
        return _weekday(unit.capitalize(), ahead, said_on)
    return f"{unit} {_season_year(unit, ahead, said_on)}"


def _weekday(name: str, ahead: bool, said_on: date) -> str:
    distance = (WEEKDAYS.index(name) - said_on.weekday()) % 7 or 7
    return f"{name} {written(said_on + timedelta(days=distance if ahead else (distance - 7 or -7)))}"


def _season_year(season: str, ahead: bool, said_on: date) -> int:
    """Return the year of the nearest such season that lies wholly on the named side of the day."""
    first_month = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[season]
    if ahead:
        return said_on.year if said_on.month < first_month else said_on.year + 1
    return said_on.year if said_on.month >= first_month + 3 else said_on.year - 1


def _ago(count: str, unit: str, said_on: date) -> str:
    number = _COUNTS.get(count) or int(count)
    if unit == "day":
        return written(said_on - timedelta(days=number))
    if unit == "week":
        return f"{count} week{'s' if number != 1 else ''} before {written(said_on)}"
    return _months_from(said_on, -number) if unit == "month" else str(said_on.year - number)


def _months_from(day: date, months: int) -> str:
    index = day.year * 12 + day.month - 1 + months
    return f"{MONTHS[index % 12]} {index // 12}"
