"""Where the time comes from, so that tests can hold it still."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

CLOCK_DOUBT = timedelta(minutes=1)
"""How far the clocks of two machines may be apart without harm."""


class Clock(Protocol):
    """Gives aware UTC times."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's wall clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)
