"""When a failed job is tried again: exponential backoff with jitter, up to a number of attempts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True)
class RetryRule:
    """Waits double from ``base_seconds`` to ``max_seconds``; half of each wait is random."""

    base_seconds: float = 2.0
    max_seconds: float = 300.0
    chance: random.Random = field(default_factory=random.Random, compare=False)

    def wait(self, attempts: int) -> timedelta:
        """Return how long to wait after ``attempts`` (>= 1) failed ones."""
        full = min(self.max_seconds, self.base_seconds * 2.0 ** min(attempts - 1, 60))
        return timedelta(seconds=full * (0.5 + 0.5 * self.chance.random()))

    def longest_wait(self) -> timedelta:
        """Return how long to wait for what a person has to mend."""
        return timedelta(seconds=self.max_seconds)
