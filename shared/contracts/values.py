"""Types of values that strangers send, bounded so that every database and every later reader can take them back.

Beside them the kinds of events that listeners of an app are told of. An event carries ids and numbers. Whoever shows it
looks the text up at that moment, so that what was erased since is not told again.
"""

import functools
import math
import unicodedata
import zoneinfo
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, FailFast, Field

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$"
"""Of ids that we make."""
FILE_ID_PATTERN = r"^[A-Za-z0-9_-][A-Za-z0-9._:@-]{0,199}$"
"""Of ids that also name files: they cannot leave their folder."""
LARGEST_INTEGER = 2**63 - 1
MAX_DEPTH = 20
MAX_PARTS = 10_000
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2999, 12, 31, tzinfo=UTC)


def bounded(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse a free-form object that the database or a later reader could not take back."""
    # A list and no recursion, as it may be nested as deep as whoever sent it likes.
    parts, todo = 0, [(value, 1)]
    while todo:
        one, depth = todo.pop()
        parts += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"is nested more than {MAX_DEPTH} deep")
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        # Before what is within is looked at.
        if parts + len(todo) + len(inner) > MAX_PARTS:
            raise ValueError(f"has more than {MAX_PARTS} values")
        if isinstance(one, float) and not math.isfinite(one):
            raise ValueError("holds a number that JSON cannot express")
        if isinstance(one, int) and abs(one) > LARGEST_INTEGER:
            raise ValueError("holds an integer of more than 64 bits")
        if any("\0" in text for text in ((one,) if isinstance(one, str) else one if isinstance(one, dict) else ())):
            raise ValueError("holds a NUL character")
        todo.extend((part, depth + 1) for part in inner)
    return value


def _written_out(value: object) -> object:
    if (isinstance(value, str) and not value.strip().lstrip("+-").isdigit()) or isinstance(value, datetime):
        return value
    raise ValueError("must be an ISO 8601 time with its offset, for example 2026-03-01T12:00:00Z")


def _in_range(value: datetime) -> datetime:
    if not _EARLIEST <= value <= _LATEST:
        raise ValueError("must lie between the years 1970 and 2999")
    return value


def _storable(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a surrogate without its other half)") from None
    return value


def _nameable(value: str) -> str:
    if any(unicodedata.category(letter) == "Cc" for letter in value):
        raise ValueError("holds a control character, for example a line break")
    # What differs only in such a character would be one user.
    if "\ufffd" in value:
        raise ValueError("holds a character that could not be read (U+FFFD stands for it); send it whole, in UTF-8")
    # Clients fold such parts of an address: to erase the user ".." would erase the app.
    if {".", ".."} & set(value.split("/")):
        raise ValueError('may not be "." or "..", nor have one of these between slashes: addresses cannot name it')
    return value


@functools.cache
def _zones() -> frozenset[str]:
    # Read from the folder once: that takes tens of milliseconds.
    return frozenset(zoneinfo.available_timezones() - {"localtime", "Factory"})


def _zone(value: str) -> str:
    # What ZoneInfo opens beside these (posixrules, right/...) another machine need not know.
    if value not in _zones():
        folded = value.strip().replace(" ", "_").casefold()
        meant = next((name for name in sorted(_zones()) if name.casefold() == folded), None)
        raise ValueError(
            f"{value[:64]!r} is no time zone; "
            + (f"write {meant}" if meant else "name one as in Europe/Lisbon, Asia/Tokyo or America/New_York")
        )
    return value


_Item = TypeVar("_Item")
Listed = Annotated[list[_Item], FailFast()]
"""A list of any length; only the first of its items that is not right is told of."""
JsonObject = Annotated[dict[str, Any], AfterValidator(bounded)]
"""A free-form object of the app's own, bounded in depth and size."""
LocalMoment = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_in_range)]
"""A time a client sends: ISO 8601 with its offset, which is kept."""
Moment = Annotated[LocalMoment, AfterValidator(lambda value: value.astimezone(UTC))]
"""A time a client sends: ISO 8601 with its offset."""
Words = Annotated[str, AfterValidator(_storable)]
"""A text that every database stores."""
# The length first: after a function it would be told as a count of items.
UserOrNobody = Annotated[str, Field(max_length=200), AfterValidator(_storable), AfterValidator(_nameable)]
"""A user, or empty for what names nobody."""
_Named = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_storable), AfterValidator(_nameable)]
Id = Annotated[_Named, Field(examples=["-1001234567890"])]
"""An id an app chose, as chat services have them; addresses can name it."""
TimeZone = Annotated[str, AfterValidator(_zone), Field(min_length=1, max_length=64, examples=["Europe/Lisbon"])]
"""The IANA name of a time zone."""
Importance = Annotated[int, Field(strict=True, ge=0, le=10)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=50)]], Field(max_length=20)]
UserId = Annotated[_Named, Field(examples=["ada"])]
"""How an app calls one of its users, as addresses can name it."""


class EventKind(StrEnum):
    """What happened; a closed set, so it can label a metric."""

    ANSWER_SENT = "answer.sent"
    """The loop answered; the subject is the message."""
    ANSWER_PENDING = "answer.pending"
    """An answer waits for approval; the subject is the answer."""
    ANSWER_REJECTED = "answer.rejected"
    CONVERSATION_ENDED = "conversation.ended"
    CONVERSATION_SNOOZED = "conversation.snoozed"
    CONVERSATION_WOKEN = "conversation.woken"
    MEMORY_CREATED = "memory.created"
    MEMORY_CHANGED = "memory.changed"
    MEMORY_REMOVED = "memory.removed"
    MEMORIES_PURGED = "memories.purged"
    FACT_CREATED = "fact.created"
    FACT_CHANGED = "fact.changed"
    FACT_REMOVED = "fact.removed"
    """It stands no more: deleted, evicted, expired, erased or replaced."""
    PROFILE_CHANGED = "profile.changed"
    """A consent or a profile: granted, revoked, written or erased; names nobody."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """A webhook is told of nothing more; the details say after how many failures, or which status."""
    JOB_DEFERRED = "job.deferred"
    JOB_FINISHED = "job.finished"
    """A job ended for good; the details say in which state."""


class DeliveryOutcome(StrEnum):
    """How a delivery to a webhook went; a closed set, so it can label a metric."""

    DELIVERED = "delivered"
    GONE = "gone"
    """It answered 410, and is not told any more."""
    REFUSED = "refused"
    """It answered with a status that is no success."""
    UNREACHABLE = "unreachable"
    """Nothing answered in time, or not in HTTP."""
    FORBIDDEN = "forbidden"
    """Its host leads to an address that may not be called."""
    DROPPED = "dropped"
    """There was nothing to tell any more, or nobody to tell it to."""
