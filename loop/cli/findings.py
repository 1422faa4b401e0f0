"""What the doctor finds: how something is, and how to mend it. Apart, because two files of checks make findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How something is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """What was found, and what to do about it."""

    what: str
    health: Health
    found: str
    mend: str | None = None


def ok(what: str, found: str) -> Finding:
    """Return that all is well."""
    return Finding(what, Health.OK, found)


def warn(what: str, found: str, mend: str) -> Finding:
    """Return that it works but should be looked at."""
    return Finding(what, Health.WARN, found, mend)


def fail(what: str, found: str, mend: str) -> Finding:
    """Return that it does not work."""
    return Finding(what, Health.FAIL, found, mend)
