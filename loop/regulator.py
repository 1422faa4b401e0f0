"""The energy level, and how much work it allows to start.

The regulator settles what was spent, and says how many jobs may be sent now and, when none may, why. The arithmetic is
in ``shared.energy.budget``; fairness between apps is in ``shared.jobs.dispatch``.

What takes long in a large installation is read beside those who ask for it: while a reading is quick, whoever asks
starts one and waits for it. Once it takes longer, it goes on in a thread of its own, who asks is shown the last one,
and the next begins a minute later at the earliest, and when fifty times what this one took has passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.apps.queries import budgets_of, get_app
from shared.base.clock import Clock
from shared.base.errors import AfterthoughtError
from shared.base.settings import Settings
from shared.db.base import Transactions
from shared.energy import budget, ledger
from shared.energy.accounting import NEVER_WAIT
from shared.energy.budget import Status
from shared.jobs.models import Deferral, Job, JobState
from shared.jobs.queries import (
    count_deferred,
    count_deferred_before,
    count_in_flight,
    count_in_flight_of_app,
    held_until,
)
from shared.jobs.tenant_queues import ScheduleLimits, Throttle
from shared.telemetry.logging import get_logger

_PATIENCE_SECONDS = 0.1
_LEAST_BETWEEN_SECONDS = 60.0
_REST = 50
T = TypeVar("T")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What was read."""

    value: T
    begun_at: float
    """Seconds of the reader's clock."""


class BackgroundReader(Generic[T]):
    """Reads one thing, in at most one thread at a time."""

    def __init__(
        self,
        name: str,
        read: Callable[[], T],
        seconds_now: Callable[[], float] = time.monotonic,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self.patience_seconds = patience_seconds
        """How long one who asks may wait; what takes longer is not read anew for each."""
        self._name = name
        self._read = read
        self._seconds_now = seconds_now
        self._changing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._took = 0.0
        self._not_before = float("-inf")
        self._last: Reading[T] | None = None

    def latest(self) -> Reading[T] | None:
        """Return the last reading, one of this moment where it is quick; None before the first has ended."""
        with self._changing:
            is_under_way = self._thread is not None and self._thread.is_alive()
            if not is_under_way and (self._is_quick() or self._seconds_now() >= self._not_before):
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None and self._is_quick():
            thread.join(self.patience_seconds)
        return self._last

    def age(self, reading: Reading[T]) -> float:
        """Return how long ago a reading was begun, in seconds."""
        return self._seconds_now() - reading.begun_at

    def wait(self, seconds: float) -> None:
        """Wait for a reading that is under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _is_quick(self) -> bool:
        return self._took <= self.patience_seconds

    def _run(self) -> None:
        begun_at = self._seconds_now()
        try:
            self._last = Reading(self._read(), begun_at)
        except (AfterthoughtError, SQLAlchemyError) as error:
            get_logger().warning("reading_failed", reading=self._name, error=type(error).__name__)
        # Also where it failed: a database that hangs is left alone as long as one that is slow.
        ended_at = self._seconds_now()
        self._took = ended_at - begun_at
        self._not_before = ended_at + max(_LEAST_BETWEEN_SECONDS, _REST * self._took)


SHARE_WINDOW = timedelta(hours=24)
_SHARE_PATIENCE_SECONDS = 0.01
"""It moves slowly: where a day's calls take longer to add up, it may be a minute old."""
_FOR_A_PROCESS = 4
"""Jobs sent for each process of a worker: enough that none waits for the next tick, and little ahead of its turn."""
TYPICAL_FOR = timedelta(seconds=1)
LONGEST_WAIT = timedelta(days=365)


@dataclass(frozen=True)
class Allowance:
    """How many jobs may be sent now; ``why`` says what holds the rest back."""

    jobs: int
    why: str | None = None
    shed: bool = False
    """Whether even what was sent, and not begun, is to be called back."""


@dataclass(frozen=True)
class EnergyReading:
    """The energy as people and pages see it. Levels are in units, 0..100 with a floor of -50."""

    level: float
    percentage: float
    status: Status
    replenish_per_second: float
    gate_percent: float
    reserved: float
    """Set aside for model calls under way."""
    deferred_jobs: int
    seconds_until_open: float | None
    """Until memory work may start; 0 when it may, None when it never will."""


class Regulator:
    """Senses the energy and governs by it."""

    def __init__(self, database: Transactions, clock: Clock, settings: Settings, first_guess: int = 0) -> None:
        """``first_guess``: what a job is taken to cost until the first one has, in micro-units."""
        self._database = database
        self._clock = clock
        self._settings = settings
        self._first_guess = first_guess
        self._typical: tuple[datetime, int] | None = None
        self._workers = 1
        self.share = BackgroundReader("memory-share", self._read_share, patience_seconds=_SHARE_PATIENCE_SECONDS)

    def note_workers(self, count: int) -> None:
        """Note how many workers there are to do what is sent; without any heard of, as much is sent as for one."""
        self._workers = max(1, count)

    def settle(self) -> int:
        """Draw what was spent since the last settlement from the level; return it in micro-units."""
        now = self._clock.now()
        with self._database.read() as session:
            # Only read: most ticks find nothing, and a write would keep other writers waiting.
            if not ledger.has_unsettled(session) and not ledger.is_ahead(session, now):
                return 0
        with self._database.write() as session:
            ledger.rebase_after_clock_change(session, now)
            return ledger.settle(session, self._settings.energy_refill_per_second, now)

    def level(self, session: Session) -> int:
        """Return what is left now, in micro-units, less what was spent and is not settled yet."""
        return ledger.level_now(session, self._settings.energy_refill_per_second, self._clock.now())

    def allowance(self, session: Session) -> Allowance:
        """Say how many jobs may be sent now."""
        now = self._clock.now()
        level = self.level(session)
        in_flight = count_in_flight(session)
        each = self._settings.in_flight_jobs or _FOR_A_PROCESS * self._settings.worker_concurrency
        free = max(0, self._workers * each - in_flight)
        typical = self._typical_job(session, now) or self._first_guess
        for_jobs, for_thinking = ledger.reserved(session, now)
        # What was sent has not reserved anything yet, and what has is not to count twice.
        under_way = max(for_jobs, in_flight * typical) + for_thinking
        jobs = budget.may_start(level, self._settings.energy_gate_percent, under_way, typical, free)
        shed = budget.must_shed(level)
        # Where every slot is taken it is not the energy that holds anything back.
        if jobs or not (free or shed):
            return Allowance(jobs)
        percent = budget.percentage_of(level)
        why = (
            "energy: the jobs under way will draw the level to its gate"
            if percent > self._settings.energy_gate_percent
            else f"energy: it was at {percent:.1f} %, and work starts above {self._settings.energy_gate_percent:g} %"
        )
        return Allowance(0, why, shed)

    def schedule_limits(self, session: Session, app_id: str, kind: str) -> ScheduleLimits:
        """Return the limits of an app's next job: its weight, and whether its budgets cover the job."""
        app = get_app(session, app_id)
        now = self._clock.now()
        need = max(1, self._typical_job(session, now))
        budgets = budgets_of(session, app_id)
        # Others of its jobs were sent and have not cost anything yet.
        under_way = count_in_flight_of_app(session, app_id) * need if budgets.windows() else 0
        refused = ledger.affordable(session, app_id, budgets, need, now, under_way)
        if refused is None:
            return ScheduleLimits(app.weight)
        return ScheduleLimits(app.weight, Throttle(refused.until or now + NEVER_WAIT, str(refused)))

    def expected(self, session: Session, job: Job) -> datetime | None:
        """Return when a deferred job may start, as far as can be told; None for never, and for any other job."""
        if job.state != JobState.DEFERRED or job.deferral == Deferral.PROVIDER:
            return None
        until = held_until(session, job) if job.deferral == Deferral.BUDGET else None
        if until is not None:
            # Whether a job alone costs more than a budget of its app, so that no waiting helps.
            need = self._typical_job(session, self._clock.now())
            is_beyond_budgets = any(need > most for _, most, _ in budgets_of(session, job.app_id or "").windows())
            return None if is_beyond_budgets else until
        now = self._clock.now()
        gate, refill = self._settings.energy_gate_percent, self._settings.energy_refill_per_second
        ahead = count_deferred_before(session, job.seq)
        typical = self._typical_job(session, now)
        wait = budget.expected_wait(self.level(session), gate, refill, ahead, typical)
        # Where next to nothing is refilled the wait is longer than any date can tell.
        return None if wait is None else now + timedelta(seconds=min(wait, LONGEST_WAIT.total_seconds()))

    def _typical_job(self, session: Session, now: datetime) -> int:
        """Return what a job costs, looked up at most once a second: it is an average and moves slowly."""
        # The distance, as the clock may have been set back.
        if self._typical is None or abs(now - self._typical[0]) > TYPICAL_FOR:
            self._typical = (now, ledger.typical_job(session))
        return self._typical[1]

    def reading(self, session: Session) -> EnergyReading:
        now = self._clock.now()
        gate, refill = self._settings.energy_gate_percent, self._settings.energy_refill_per_second
        level = self.level(session)
        for_jobs, for_thinking = ledger.reserved(session, now)
        return EnergyReading(
            level=budget.to_units(level),
            percentage=budget.percentage_of(level),
            status=budget.status_of(level),
            replenish_per_second=refill,
            gate_percent=gate,
            reserved=budget.to_units(for_jobs + for_thinking),
            deferred_jobs=count_deferred(session),
            seconds_until_open=budget.seconds_until_open(level, gate, refill),
        )

    def memory_share(self) -> float | None:
        """Return the share of memory work in what was spent in 24 hours, 0..1; None when nothing was.

        None, too, where that is being read for the first time: the calls of a busy day are many.
        """
        found = self.share.latest()
        return None if found is None else found.value

    def _read_share(self) -> float | None:
        with self._database.read() as session:
            return ledger.memory_share(session, self._clock.now() - SHARE_WINDOW)
