"""A clock that stands still until it is told to go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FrozenClock:
    def __init__(self, at: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> datetime:
        self.at += timedelta(seconds=seconds)
        return self.at
