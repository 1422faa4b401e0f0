"""The energy level, and how much work it allows to start.

The regulator settles what was spent, and says how many jobs may be sent now and, when none may, why. The arithmetic is
in ``shared.energy.budget``; fairness between apps is in ``shared.outbox.dispatch``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from shared.clock import Clock
from shared.db.engine import Database
from shared.energy import budget, ledger
from shared.energy.budget import Status
from shared.outbox.models import JobState
from shared.outbox.queries import count_by_state, count_in_flight

SHARE_WINDOW = timedelta(hours=24)
TYPICAL_FOR = timedelta(seconds=1)


@dataclass(frozen=True)
class Rules:
    """How fast energy comes back, and above which level memory work may start."""

    refill_per_second: float
    gate_percent: float
    in_flight_jobs: int


@dataclass(frozen=True)
class Allowance:
    """How many jobs may be sent now; ``why`` says what holds the rest back."""

    jobs: int
    why: str | None = None


@dataclass(frozen=True)
class EnergyReading:
    """The energy as people and pages see it. Levels are in units, 0..100 with a floor of -50."""

    level: float
    percentage: float
    status: Status
    replenish_per_second: float
    gate_percent: float
    deferred_jobs: int
    memory_share: float | None
    """Share of memory work in what was spent in 24 hours, 0..1; None when nothing was."""
    seconds_until_open: float | None
    """Until memory work may start; 0 when it may, None when it never will."""


class Regulator:
    """Senses the energy and governs by it."""

    def __init__(self, database: Database, clock: Clock, rules: Rules) -> None:
        self._database = database
        self._clock = clock
        self._rules = rules
        self._typical: tuple[datetime, int] | None = None

    def settle(self) -> int:
        """Draw what was spent since the last settlement from the level; return it in micro-units."""
        with self._database.read() as session:
            if not ledger.unsettled(session):
                return 0
        with self._database.write() as session:
            return ledger.settle(session, self._rules.refill_per_second, self._clock.now())

    def allowance(self, session: Session) -> Allowance:
        """Say how many jobs may be sent now."""
        now = self._clock.now()
        level = ledger.level_now(session, self._rules.refill_per_second, now) - ledger.unsettled(session)
        in_flight = count_in_flight(session)
        free = max(0, self._rules.in_flight_jobs - in_flight)
        typical = self._typical_job(session, now)
        jobs = budget.may_start(level, self._rules.gate_percent, in_flight, typical, free)
        if jobs or not free:
            return Allowance(jobs)
        return Allowance(0, self._why(level))

    def _typical_job(self, session: Session, now: datetime) -> int:
        """Return what a job costs, looked up at most once a second: it is an average and moves slowly."""
        if self._typical is None or abs(now - self._typical[0]) > TYPICAL_FOR:
            self._typical = (now, ledger.typical_job(session))
        return self._typical[1]

    def reading(self, session: Session) -> EnergyReading:
        """Return the present state of the energy."""
        now = self._clock.now()
        rules = self._rules
        level = ledger.level_now(session, rules.refill_per_second, now)
        states = count_by_state(session)
        return EnergyReading(
            level=budget.to_units(level),
            percentage=budget.percentage_of(level),
            status=budget.status_of(level),
            replenish_per_second=rules.refill_per_second,
            gate_percent=rules.gate_percent,
            deferred_jobs=sum(count for (_, state), count in states.items() if state == JobState.DEFERRED),
            memory_share=ledger.memory_share(session, now - SHARE_WINDOW),
            seconds_until_open=budget.seconds_until_open(level, rules.gate_percent, rules.refill_per_second),
        )

    def _why(self, level: int) -> str:
        percent = budget.percentage_of(level)
        if percent > self._rules.gate_percent:
            return "energy: the jobs under way will draw the level to its gate"
        return f"energy: {percent:.1f} % is not above {self._rules.gate_percent:g} %"
