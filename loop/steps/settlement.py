"""Steps that settle: the ledger into the energy level, and facts whose time to be taken back or to expire has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy.orm import Session

from loop.regulator import Regulator
from shared.apps.models import DATABASE_LOG, QUEUED_TEXT, Erasure
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.clock import Clock
from shared.db.base import Transactions
from shared.erasure.erasing import finish_fact_deletes, settle_clear
from shared.facts import queries
from shared.facts.retention import RULE_EXPIRY, expire
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import FactRemoval, Metrics


@dataclass
class SettleEnergy:
    """Draws what was spent from the energy; each ledger row exactly once."""

    regulator: Regulator
    name = "settle_energy"
    every_seconds = 0.0

    def run(self) -> bool:
        self.regulator.settle()
        return False


_APPS_AT_ONCE = 50
_Due = TypeVar("_Due")


@dataclass
class SettleFacts:
    """Erases facts that were cleared or deleted for good, and lets go of those that expired."""

    database: Transactions
    clock: Clock
    metrics: Metrics
    name = "settle_facts"
    every_seconds = 1.0

    def run(self) -> bool:
        """Settle what is due, an app at a time; True when more may be."""
        with self.database.read() as session:
            now = self.clock.now()
            clears = queries.due_clears(session, now, _APPS_AT_ONCE)
            deletes = queries.apps_with_due_deletes(session, now, _APPS_AT_ONCE)
            expired = queries.apps_with_expired(session, now, _APPS_AT_ONCE)
        return any(
            # A list, not a generator: all three are carried out, whatever the first one says.
            [self._each(clears, self._clear), self._each(deletes, self._delete), self._each(expired, self._expire)]
        )

    def _each(self, due: Sequence[_Due], settle: Callable[[_Due], None]) -> bool:
        for one in due:
            settle(one)
        return len(due) == _APPS_AT_ONCE

    def _clear(self, due: tuple[str, str | None]) -> None:
        app_id, user_id = due
        self._erase(app_id, lambda session, now: settle_clear(session, app_id, now, user_id), FactRemoval.CLEARED)

    def _delete(self, app_id: str) -> None:
        while self._erase(app_id, lambda session, now: finish_fact_deletes(session, app_id, now), FactRemoval.DELETED):
            pass  # Each user's have a receipt of their own.

    def _erase(self, app_id: str, make_final: Callable[[Session, datetime], Erasure | None], why: FactRemoval) -> bool:
        with self.database.write() as session:
            receipt = make_final(session, self.clock.now())
            if receipt is not None:
                # Both are left to ``FinishErasures``, which looks for such receipts.
                receipt.left = receipt.left | {DATABASE_LOG: 1, QUEUED_TEXT: None}
        if receipt is not None:
            self.metrics.erasures.labels(receipt.scope).inc()
            self.metrics.facts_removed.labels(why).inc(receipt.erased["facts"])
            get_logger().info("erased", app_id=receipt.app_id, scope=receipt.scope, receipt_id=receipt.erasure_id)
        return receipt is not None

    def _expire(self, app_id: str) -> None:
        with self.database.write() as session:
            lock_app(session, app_id)
            gone = len(expire(session, app_id, Cause(RULE_EXPIRY, "its time is over", self.clock.now())))
        self.metrics.facts_removed.labels(FactRemoval.EXPIRED).inc(gone)
