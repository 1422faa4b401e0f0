"""Brings back, when their time has come, conversations that were snoozed or that the loop was to leave alone."""

from __future__ import annotations

from shared.apps.queries import answered_by_loop
from shared.clock import Clock
from shared.conversations.lifecycle import wake
from shared.conversations.queries import has_hidden_until
from shared.db.transactions import Transactions
from shared.telemetry.logging import get_logger


class WakeSnoozed:
    """A tick step."""

    name = "wake_snoozed"
    every_seconds = 5.0

    def __init__(self, database: Transactions, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._log = get_logger()

    def run(self) -> bool:
        """Wake what is due."""
        now = self._clock.now()
        with self._database.read() as session:
            if not has_hidden_until(session, now):
                return False
        with self._database.write() as session:
            self._log.info("conversations_woken", count=wake(session, now, answered_by_loop))
        return False
