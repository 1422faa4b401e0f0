"""The energy as those who watch it live see it: read at most once a second, however many watch."""

from __future__ import annotations

import threading
import time
from typing import Any

from loop.regulator import Regulator
from shared.db.transactions import Transactions
from shared.energy.budget import percentage_of, status_of, to_units
from shared.outbox.queries import count_deferred

_FRESH_SECONDS = 0.9


class EnergyNews:
    """The latest reading, shared."""

    def __init__(self, database: Transactions, regulator: Regulator) -> None:
        self._database = database
        self._regulator = regulator
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._fields: dict[str, Any] = {}

    def now(self) -> dict[str, Any]:
        """Return level, percentage, status and deferred jobs."""
        with self._reading:
            if time.monotonic() - self._read_at >= _FRESH_SECONDS:
                self._fields = self._read()
                self._read_at = time.monotonic()
            return self._fields

    def _read(self) -> dict[str, Any]:
        # Not the whole reading: its share of memory work goes through a day of the ledger.
        with self._database.read() as session:
            level, deferred = self._regulator.level(session), count_deferred(session)
        return {
            "level": round(to_units(level), 3),
            "percentage": round(percentage_of(level), 3),
            "status": status_of(level).value,
            "deferredJobs": deferred,
        }
