"""Times as people read them: in the zone of the browser that shows them, which is said, and in one form on all pages.

A browser says its zone in a cookie, set by every page. Of the very first page it is not known yet: that shows UTC's.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nicegui import ui

UNKNOWN = "–"
_COOKIE = "time_zone"
_MOST_CHARACTERS = 64
_REPORT = f"""<script>
document.cookie = "{_COOKIE}=" + Intl.DateTimeFormat().resolvedOptions().timeZone
  + "; path=/; max-age=31536000; samesite=strict";
</script>"""
_STEPS = (("minute", 60), ("hour", 3600), ("day", 86400), ("month", 30 * 86400), ("year", 365 * 86400))


def report_zone() -> None:
    """Have the browsers of all pages say their zone."""
    ui.add_head_html(_REPORT, shared=True)


def zone() -> ZoneInfo:
    """Return the zone of the browser that looks at the page which is being built or used."""
    name = ui.context.client.request.cookies.get(_COOKIE, "")[:_MOST_CHARACTERS]
    try:
        return ZoneInfo(name)
    # Anybody can write a cookie: a name of no zone, of a folder, or of a file elsewhere.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def local(at: datetime) -> datetime:
    """Return a time as the browser's clock shows it."""
    return at.astimezone(zone())


def long_day(at: date) -> str:
    """Return a date: 5 Feb 2026."""
    return f"{at.day} {at:%b %Y}"


def day(at: datetime | None) -> str:
    """Return the date of a time."""
    return UNKNOWN if at is None else long_day(local(at))


def clock(at: datetime | None) -> str:
    """Return the time of a day, with its zone."""
    return UNKNOWN if at is None else f"{local(at):%H:%M %Z}"


def minute(at: datetime | None) -> str:
    """Return a date and a time, with its zone."""
    return UNKNOWN if at is None else f"{day(at)}, {clock(at)}"


def time_range(first: datetime | None, last: datetime | None) -> str:
    """Return from when to when something went on."""
    if first is None or last is None:
        return UNKNOWN
    return f"{day(first)}, {local(first):%H:%M} – {clock(last) if day(first) == day(last) else minute(last)}"


def day_group(at: datetime) -> str:
    """Return the group of days a time is in, for a list that is ordered by time."""
    today, its_day = local(datetime.now(UTC)).date(), local(at).date()
    if its_day >= today:
        return "Today"
    if its_day == today - timedelta(days=1):
        return "Yesterday"
    return "Last 7 days" if its_day > today - timedelta(days=7) else f"{its_day:%B %Y}"


def ago(at: datetime) -> str:
    """Return how long ago something was."""
    seconds = (datetime.now(UTC) - at).total_seconds()
    if seconds < 60:
        return "just now"
    name, length = [step for step in _STEPS if seconds >= step[1]][-1]
    count = int(seconds // length)
    return f"{count} {name}{'' if count == 1 else 's'} ago"


def show_time(at: datetime, before: str = "") -> ui.label:
    """Show how long ago something was, after some words; the exact time as a tooltip."""
    return ui.label(f"{before} {ago(at)}".strip()).classes("muted text-xs").tooltip(minute(at))
