"""What the pages say: words in the place of the interface's names, what it refuses, times, sizes and numbers.

The service says what to do in words of its interface, which nobody who looks at a page has in front of them. Times are
in the zone of the browser that shows them, which is said, and in one form on all pages: it says its zone in a cookie,
set by every page. Of the very first page it is not known yet: that shows UTC's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nicegui import ui

from afterthought_client import ApiError
from afterthought_client.models import VersionAnswer

Labels = Mapping[str, tuple[str, str]]
"""Of the interface's fields, by their names: what a page calls each, and what may stand in it."""
_ID = "letters, digits and any of . _ : @ -, beginning with a letter or a digit."
_FIELDS: Labels = {
    "fact": ("Memory", "write something, at most 500 characters."),
    "content": ("Text", "write something."),
    "query": ("Search", "write something, at most 4,000 characters."),
    "q": ("Search", "write something, at most 4,000 characters."),
    "label": ("Label", "at most 200 characters."),
    "reason": ("Reason", "at most 500 characters."),
    "appId": ("App", _ID),
    "userId": ("User", "1 to 200 characters, without those that cannot be seen."),
    "conversationId": ("Conversation", _ID),
    "tags": ("Tags", "at most 20, each of 1 to 50 characters."),
    "olderThanDays": ("Neither made nor used", "a whole number of days, 0 or more, and not so many."),
    "importance": ("Importance", "a whole number from 0 to 10."),
}
_BY_CODE = {
    "unauthenticated": "This token is unknown or revoked. Ask who runs the service for another.",
    "unknown_route": "This page asks for something that the service does not have: is it of another release?",
    "too_large": "That is too long. Make it shorter, or give it in parts.",
    "too_many": "That is too much at once. Try again in a moment.",
    "internal": "Something went wrong in the service. Its log says what.",
}
_HELP = {
    "installApp": "Install it under Administration.",
    "changeConsent": "Ask them, then agree under Profile.",
    "undoClearingFacts": "Take that back, or wait until it is final.",
    "syncSession": "Sync it first.",
    "registerSession": "Add it to memory first.",
    "listAnswers": "Look at those that wait.",
}
"""What to do, by the operation of the interface that would help."""
_HINT = r"\?[A-Za-z]+=|(?:GET|POST|PUT|PATCH|DELETE) /|/openapi\.json|Idempotency-Key"
"""How it shows that words are about the interface."""


KINDS = {
    "create_memory": "Write a memory",
    "compact_memories": "Make room for memories",
    "extract_facts": "Extract facts",
    "summarise": "Summarise",
    "embed": "Embed texts",
    "embed_messages": "Embed messages",
    "index_messages": "Index messages",
    "compress_session": "Shorten a session",
    "compose_context": "Compose a context",
    "learn_from_sessions": "Learn from sessions",
    "end_conversation": "End a conversation",
    "deliver_webhook": "Call a webhook",
    "think": "Think out an answer",
    "chat": "Apps' own questions",
}
"""Kinds of jobs, and of calls of models."""
STATES = {
    "pending": "waiting",
    "deferred": "deferred",
    "queued": "handed to a worker",
    "running": "running",
    "retrying": "to be tried again",
    "done": "done",
    "nothing": "done, nothing to keep",
    "dead": "dead letter",
    "cancelled": "cancelled",
}
"""Of jobs."""
_NAMES = {
    "provider_away": "the model's server is away",
    "prompt_cut": "the prompt was cut",
    "totalMs": "in all",
    "embedMs": "embed the question",
    "ftsMs": "words",
    "denseMs": "vectors",
    "rerankMs": "rank",
    "conversationDense": "vectors of the conversation",
    "globalDense": "vectors of the app",
    "ftsLexical": "words",
    "ticker": "clock of the loop",
}


def words_of(name: str) -> str:
    """Return what a page calls a name of the interface; one that is in no table is told in its own words."""
    known = KINDS | STATES | _NAMES
    return known.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


def author_of(model: str) -> str:
    """Return what a page calls who did a piece of work: a model by its name, or the rules that are built in."""
    return "the built-in agent" if model == "extractive" else model


def message_of(error: Exception, labels: Labels = {}) -> str:  # noqa: B006
    """Return an error in words for people; ``labels`` are those of a form, before what all pages call a field."""
    if not isinstance(error, ApiError):
        return str(error)
    if problems := problems_of(error, labels):
        return " ".join(problems.values())
    if only := error.details.get("onlyApp"):
        return f"This token opens only the app {only}."
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    operation = error.details.get("operation") or {}
    text = _before_hint(error.message, str(operation.get("route", "")).partition("?")[0])
    if text == error.message:
        for name, (label, _) in labels.items():
            text = re.sub(rf"\b{re.escape(name)}\b", label, text)
        return text
    return f"{text} {_HELP.get(operation.get('id', ''), '')}".strip()


def problems_of(error: ApiError, labels: Labels) -> dict[str, str]:
    """Return what is not accepted in words for people, by the interface's names of the fields it is about."""
    known, found = {**_FIELDS, **labels}, {}
    for one in error.details.get("fields") or ():
        name = one["field"].rpartition(".")[2]
        label, may_be = known.get(name, (one["field"], one["problem"]))
        found[name] = f"{label}: {may_be}"
    return found


def _before_hint(message: str, route: str) -> str:
    """Return a message up to the clause that names a route, an address or a parameter of the interface."""
    address = route.partition(" ")[2]
    found = re.search(f"{_HINT}|{re.escape(address)}" if address else _HINT, message)
    return message if found is None else re.sub(r"[;.:(][^;.:(]*$", "", message[: found.start()]).rstrip() + "."


UNKNOWN = "–"
_COOKIE = "time_zone"
"""In which the browser says its zone (``state.js``)."""
_MOST_CHARACTERS = 64
_STEPS = (("minute", 60), ("hour", 3600), ("day", 86400), ("month", 30 * 86400), ("year", 365 * 86400))


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


PRESETS = {1.0: "Pinned", 0.9: "Critical", 0.75: "Important", 0.5: "Notable", 0.25: "Minor", 0.1: "Hint"}
"""Weights that have a name."""
_NAME_CHARACTERS = 100
_UNITS = ("B", "kB", "MB", "GB")


def session_name(session_id: str, metadata: Mapping[str, Any]) -> str:
    """Return what people know a session by: its title, how its first prompt begins, or else its file's name."""
    name = str(metadata.get("title") or metadata.get("firstPrompt") or session_id)
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1].rstrip()}…"


def size(count: int | None) -> str:
    """Return a number of bytes as people say it."""
    if count is None:
        return UNKNOWN
    amount, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit == _UNITS[0] else f"{amount:,.1f} {unit}"


def short(tokens: int) -> str:
    """Return a number of tokens in a few characters."""
    return f"{tokens / 1000:,.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


def weight_name(weight: float) -> str:
    """Return the name of the heaviest preset that a weight reaches."""
    return next((name for least, name in PRESETS.items() if weight >= least), "Light")


def made_how(version: VersionAnswer) -> str:
    """Return what a version was made with, in a few words."""
    settings = version.settings
    skipped = version.statistics.get("skippedMessages") or settings.get("skipFirstMessages")
    skips = f", skips the first {skipped}" if skipped else ""
    if settings.get("mode") == "uniform":
        how = f"uniform {settings.get('compactionRatio') or 10}:1 {settings.get('aggressiveness') or ''}".strip()
    else:
        how = f"tiered {settings.get('tierPreset') or ('custom' if settings.get('customTiers') else 'standard')}"
    return how + skips


def number(value: float | None, places: int = 0, unit: str = "") -> str:
    """Return a number with separators; what is not known is a dash."""
    return "–" if value is None else f"{value:,.{places}f}{unit}"


def amount(value: float | None) -> str:
    """Return units of energy, the fewer the more exactly."""
    if value is None:
        return "–"
    places = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 4
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".")


def counted(count: int, one: str, many: str = "") -> str:
    """Return how many of something there are."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
