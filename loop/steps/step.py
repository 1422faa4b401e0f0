"""What the ticker asks of a step."""

from __future__ import annotations

from typing import Protocol


class Step(Protocol):
    """One thing the loop does at each tick."""

    @property
    def name(self) -> str:
        """A constant, one of ``TICK_STEPS``; labels metrics and logs."""

    @property
    def every_seconds(self) -> float:
        """The least time between two runs; 0 runs at every tick."""

    def run(self) -> bool:
        """Do it once; True when there is more to do at once."""
