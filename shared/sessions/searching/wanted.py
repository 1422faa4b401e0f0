"""What is looked for among sessions. Source: seed 004, "Memory Search"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath

from shared.sessions.searching.queries import Facts


class Kind(StrEnum):
    """Where something may be found."""

    ORIGINAL = "original"
    VERSION = "version"


@dataclass(frozen=True)
class Wanted:
    """Every condition that is given must hold; a session must have one of the files and one of the topics."""

    text: str = ""
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    least_weight: int | None = None
    """Hundredths, of a marked part in the session."""
    most_weight: int | None = None
    kinds: frozenset[Kind] = frozenset(Kind)
    limit: int = 20
    offset: int = 0

    @property
    def asks_for_weight(self) -> bool:
        """Whether marked parts decide."""
        return self.least_weight is not None or self.most_weight is not None

    def is_in_time(self, facts: Facts) -> bool:
        """Whether a session took place, in part at least, within the dates."""
        if self.since is not None and (facts.last is None or facts.last < self.since):
            return False
        return self.until is None or (facts.first is not None and facts.first <= self.until)


def matched_files(wanted: tuple[str, ...], touched: list[str]) -> list[str]:
    """Return which files that were touched are meant by what is wanted: the same path, or the end of one."""
    return [path for path in touched if any(_is_meant(one, path) for one in wanted)]


def matched_topics(wanted: tuple[str, ...], topics: list[str]) -> list[str]:
    """Return which topics are meant by what is wanted."""
    lower = [one.lower() for one in wanted]
    return [topic for topic in topics if any(one in topic.lower() for one in lower if one)]


def _is_meant(wanted: str, path: str) -> bool:
    mine, other = PurePosixPath(wanted).parts, PurePosixPath(path).parts
    short, long = sorted((mine, other), key=len)
    return bool(short) and long[len(long) - len(short) :] == short
