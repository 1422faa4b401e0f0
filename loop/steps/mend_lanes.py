"""Mends lanes that do not know of a waiting job, as after another release wrote jobs beside this one.

Runs as soon as this loop begins to regulate, and now and then.
"""

from __future__ import annotations

from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.outbox import lanes
from shared.outbox.queries import lanes_astray
from shared.telemetry.logging import get_logger


class MendLanes:
    """A tick step."""

    name = "mend_lanes"
    every_seconds = 600.0

    def __init__(self, database: Transactions, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._log = get_logger()

    def run(self) -> bool:
        """Mend what is astray; True when that lets a job be relayed."""
        now = self._clock.now()
        with self._database.read() as session:
            if not lanes_astray(session, now):
                return False
        with self._database.write() as session:
            mended = lanes.mend(session, now)
        self._log.warning("lanes_mended", count=mended)
        return mended > 0
