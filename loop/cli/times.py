"""Times as files write them: ISO 8601, RFC 2822, seconds or milliseconds since 1970, and MongoDB's ``$date``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from loop.cli.bad_lines import UnusableFile, shown

_EARLIEST_SECONDS, _MILLISECONDS_FROM = 1e8, 1e11
"""From 1973 on: a small number is no time of a chat but a year, or a count."""
_YEARS = range(1970, 3000)
"""What the service takes."""
_DIGITS = re.compile(r"-?\d{9,13}(?:\.\d+)?")
_RFC_2822 = re.compile(r"(?:[A-Za-z]{3},\s*)?\d{1,2}\s+[A-Za-z]{3}\s+\d{4}\s+\d{1,2}:\d\d(?::\d\d)?\s+\S.*")
_NAMED_UTC = re.compile(r"\s*(?:UTC|GMT)$")
_WITHOUT_OFFSET = re.compile(r"[Zz]$|-0000$")
_WRITTEN = timezone(timedelta(0), "+00:00")
"""UTC where a file says it as an offset, as it is wall time somewhere, and not as ``Z``, as programs write times."""


def moment(given: Any) -> datetime | None:
    """Return a time of a file with the offset it has there; one without any is UTC. Raises: UnusableFile."""
    if given is None or given == "":
        return None
    try:
        read = _since_1970(given) if _is_number(given) else _written(given)
        year = None if read is None else read.astimezone(UTC).year
        if year in _YEARS:
            return read
    except (ValueError, OverflowError, OSError, TypeError):
        year = None
    if year is not None:
        side = f"after {_YEARS[-1]}" if year > _YEARS[-1] else f"before {_YEARS[0]}"
        raise UnusableFile(f"{shown(given)} lies {side}; no chat is of that time")
    raise UnusableFile(f"{shown(given)} is no time; write it as 2026-03-01T12:00:00Z")


def as_text(at: datetime) -> str:
    """Return a time as it is sent: with its offset, or with ``Z`` where the file had none."""
    return at.isoformat().replace("+00:00", "Z") if at.tzinfo is UTC else at.isoformat()


def _is_number(given: Any) -> bool:
    if isinstance(given, str):
        return _DIGITS.fullmatch(given.strip()) is not None
    return isinstance(given, int | float) and not isinstance(given, bool)


def _since_1970(given: Any) -> datetime | None:
    number = float(given)
    if not number >= _EARLIEST_SECONDS:
        return None
    return datetime.fromtimestamp(number / 1000 if number >= _MILLISECONDS_FROM else number, UTC)


def _written(given: Any) -> datetime | None:
    if isinstance(given, Mapping):
        inner = given.get("$date")
        inner = inner.get("$numberLong") if isinstance(inner, Mapping) else inner
        return None if isinstance(inner, Mapping) else moment(inner)
    if not isinstance(given, str):
        return None
    text = given.strip()
    if _RFC_2822.fullmatch(text):
        read = parsedate_to_datetime(text)
    else:
        read = datetime.fromisoformat(_NAMED_UTC.sub("", text))
    if read.tzinfo is None or _WITHOUT_OFFSET.search(text) or _NAMED_UTC.search(text):
        return read.replace(tzinfo=UTC)
    return read if read.utcoffset() else read.replace(tzinfo=_WRITTEN)
