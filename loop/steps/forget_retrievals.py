"""Forgets how retrievals went once that is older than it is kept, as tuned for all apps."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete

from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.search.models import Retrieval
from shared.search.search_queries import keys_before
from shared.search.tuning import Tuning, in_force
from shared.telemetry.logging import get_logger

BATCH = 1000
"""Rows removed in one transaction."""
_BATCHES = 20
"""In one tick; the rest goes with the next."""


class ForgetRetrievals:
    """A tick step."""

    name = "forget_retrievals"
    every_seconds = 60.0

    def __init__(self, database: Transactions, clock: Clock, defaults: Tuning) -> None:
        """``defaults``: the settings' values, in force where nothing was changed."""
        self._database = database
        self._clock = clock
        self._defaults = defaults

    def run(self) -> bool:
        """Remove what is old, some at a time; nobody waits for it, so it never asks to be run again at once."""
        forgotten = 0
        for _ in range(_BATCHES):
            keys = self._old()
            if not keys:
                break
            with self._database.write() as session:
                session.execute(delete(Retrieval).where(Retrieval.key.in_(keys)))
            forgotten += len(keys)
        if forgotten:
            get_logger().info("retrievals_forgotten", count=forgotten)
        return False

    def _old(self) -> list[int]:
        with self._database.read() as session:
            return keys_before(session, self._since(in_force(session, self._defaults, None).metrics_days), BATCH)

    def _since(self, days: int) -> datetime:
        return self._clock.now() - timedelta(days=days)
