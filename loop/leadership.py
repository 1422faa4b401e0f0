"""Keeps leadership: takes it when nobody holds it, shows life, and refuses to write without it.

The ticker asks ``keep`` at the beginning of each tick. A thread of its own shows life, so that a slow step does not
look like a dead loop; it stops showing it when the ticker itself is stuck. The row and its rules are in
``shared.energy.leadership``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sqlalchemy.orm import Session

from shared.base.clock import Clock
from shared.base.errors import LeadershipLost, Transient
from shared.base.process import has_died
from shared.db.base import Transactions
from shared.db.engine import SCRUB_PATIENCE_SECONDS, Database
from shared.energy import leadership
from shared.energy.leadership import LeadershipSnapshot
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, Takeover

# Two may fail or come late before another loop takes over.
_BEATS_IN_A_LOCK = 3


class LeaderState(StrEnum):
    """Where a loop stands."""

    UNKNOWN = "unknown"
    REGULATES = "regulates"
    STANDBY = "stands_by"
    STEPPED_DOWN = "stood_down"


class Leader(Protocol):
    """What the ticker asks of whoever keeps leadership."""

    def keep(self) -> int | None:
        """Return the fence this loop regulates under; None while it is on standby."""

    def lose(self) -> None:
        """Note that writing was refused."""


class LeaderElection(Leader):
    """Takes, holds and gives back leadership for this loop."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        name: str,
        lock_seconds: float,
        metrics: Metrics,
        has_died: Callable[[str], bool] = has_died,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._name = name
        self._lock_seconds = lock_seconds
        self._metrics = metrics
        self._has_died = has_died
        self._monotonic = monotonic
        self._seen: LeadershipSnapshot | None = None
        self._seen_at = 0.0
        self._over = threading.Event()
        self._changing = threading.Lock()
        self._is_well: Callable[[], bool] = lambda: True
        self._thread = threading.Thread(target=self._run, name="leadership", daemon=True)
        self._log = get_logger()
        self.fence: int | None = None
        self.standing = LeaderState.UNKNOWN
        self.holder: str | None = None
        """Who regulates, as far as this loop knows."""

    @property
    def transactions(self) -> Transactions:
        """Transactions that write only while this loop regulates."""
        return FencedTransactions(self._database, lambda: self.fence, self._lock_seconds)

    def start(self, is_well: Callable[[], bool]) -> None:
        """Begin to show that this loop lives, for as long as ``is_well`` says so."""
        self._is_well = is_well
        self._thread.start()

    def keep(self) -> int | None:
        """Return the fence this loop regulates under; without one, wait on standby or take over. Raises: Transient."""
        with self._changing:
            if self.fence is None and not self._over.is_set():
                self._take_or_stand_by()
            return self.fence

    def beat(self) -> None:
        """Show that this loop lives, when it regulates and is well."""
        # Read once: the ticker's thread may lose it, or give it back, meanwhile.
        fence = self.fence
        if fence is None or not self._is_well():
            return
        try:
            with self._database.write() as session:
                leadership.beat(session, fence)
        except LeadershipLost:
            self.lose()
        except Transient as error:
            # Others cannot write either; when they can, the fence decides.
            self._log.info("leadership_beat_failed", error=error.message)

    def lose(self) -> None:
        if self.fence is not None:
            self._log.warning("leadership_lost", fence=self.fence)
            self.fence, self._seen, self.standing = None, None, LeaderState.UNKNOWN

    def step_down(self, timeout: float) -> bool:
        """Give leadership back, so that another loop takes over at once; False when it took too long."""
        # First, or a tick under way could take it again.
        self._over.set()
        # The database may hang, and whoever stops cannot wait for it.
        leaving = threading.Thread(target=self._leave, name="standing-down", daemon=True)
        leaving.start()
        leaving.join(timeout)
        return not leaving.is_alive()

    def _leave(self) -> None:
        # Locked, so that a takeover that is under way has ended, and is given back as well.
        with self._changing:
            fence, self.fence, self.standing = self.fence, None, LeaderState.STEPPED_DOWN
        if fence is None:
            return
        try:
            with self._database.write() as session:
                leadership.step_down(session, fence)
        except Transient as error:
            self._log.warning("leadership_not_given_back", error=error.message)

    def _run(self) -> None:
        while not self._over.wait(self._lock_seconds / _BEATS_IN_A_LOCK):
            self.beat()

    def _take_or_stand_by(self) -> None:
        # Not in the transaction that takes it: a loop on standby looks at every tick, and need not wait for writers.
        with self._database.read() as session:
            found = leadership.look(session)
        why = self._why_take(found)
        if why is None:
            if self.standing is not LeaderState.STANDBY or self.holder != found.holder:
                self._log.info("on_standby", regulating=found.holder, fence=found.fence)
            self.holder, self.standing = found.holder, LeaderState.STANDBY
            return
        with self._database.write() as session:
            # None where another loop was quicker: the row is taken only as it was seen.
            fence = leadership.take(session, self._name, found, self._clock.now())
        if fence is not None:
            self._seen, self.holder, self.standing = None, self._name, LeaderState.REGULATES
            self.fence = fence
            self._metrics.takeovers.labels(why).inc()
            self._log.info("leadership_taken", fence=fence, why=why)

    def _why_take(self, found: LeadershipSnapshot) -> Takeover | None:
        if found.holder is None:
            return Takeover.VACANT
        if self._has_died(found.holder):
            return Takeover.DIED
        # Measured by this loop's own clock, from when it first saw this very beat: clocks of two machines may differ.
        now = self._monotonic()
        if found != self._seen:
            self._seen, self._seen_at = found, now
        return Takeover.SILENT if now - self._seen_at >= self._lock_seconds else None


@dataclass(eq=False)
class FencedTransactions(Transactions):
    """A database whose writing is refused once leadership is elsewhere: nothing of such a transaction stays."""

    database: Database
    fence: Callable[[], int | None]
    idle_seconds: float

    def read(self) -> AbstractContextManager[Session]:
        """Open a transaction that only reads. Raises: Transient."""
        return self.database.read()

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that may write while leadership is held. Raises: LeadershipLost, Transient."""
        with self.database.write() as session:
            # In the transaction that writes: a process may freeze between a look and a write.
            leadership.check(session, self.fence(), self.idle_seconds)
            yield session

    def scrub(self, patience_seconds: float = SCRUB_PATIENCE_SECONDS) -> None:
        """Make deleted text unreadable; harmless whoever does it. Raises: Transient."""
        self.database.scrub(patience_seconds)
