"""Whether jobs ask a model: not while 18 of its last 20 jobs got nothing usable from it, but for a probe now and then.

A circuit breaker for each model, by its name, in the database: all workers share it, and it outlasts them. It opens by
what jobs tell of themselves, and closes by one of them, the probe, that gets something usable. What a job does instead
of asking is left to the worker.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.db.inserting import insert_if_absent
from shared.energy.models import ModelBreaker
from shared.telemetry.logging import get_logger

WINDOW = 20
"""Jobs that are looked back on; with fewer it does not open."""
MOST_UNUSABLE = 18
"""Of them; with so many it opens."""
FIRST_WAIT = timedelta(minutes=10)
LONGEST_WAIT = timedelta(hours=2)


class ModelOutcome(StrEnum):
    """What a job got from its model, as the sign that is kept of it."""

    USABLE = "+"
    UNUSABLE = "-"
    LATE = "t"
    SERVER_FAILED = "e"
    SERVER_BUSY = "b"


@dataclass(frozen=True)
class ModelPause:
    """Why a model is not asked, and until when."""

    model: str
    unusable: int
    ask_at: datetime
    last: ModelOutcome = ModelOutcome.UNUSABLE
    """How the last of them failed."""

    @property
    def why(self) -> str:
        """What the model did, to be said of it."""
        jobs = f"nothing usable in {self.unusable} of its last {WINDOW} jobs"
        match self.last:
            case ModelOutcome.LATE:
                return f"gave {jobs}, the last time because it did not answer in time"
            case ModelOutcome.SERVER_FAILED:
                return f"gave {jobs}, the last time because its server failed"
            case ModelOutcome.SERVER_BUSY:
                return f"gave {jobs}, the last time because its server takes no more for now"
            case _:
                return f"answered {jobs}"

    @property
    def is_of_server(self) -> bool:
        """Whether it is the model's server that has to be looked at."""
        return self.last is not ModelOutcome.UNUSABLE

    def until(self, now: datetime) -> str:
        return f"it is asked again at {self.ask_at:%H:%M} UTC" if self.ask_at > now else "the next job asks it again"

    def describe(self, now: datetime, *, has_rules: bool) -> str:
        """Say what the model did and what becomes of its jobs, behind which rules stand or nobody."""
        become = f"the built-in agent does them, and {self.until(now)}" if has_rules else "they become dead letters"
        return f"{self.why}; {become}"


def find_pause(session: Session, model: str) -> ModelPause | None:
    """Return why jobs do not ask a model; None where they do."""
    found = session.get(ModelBreaker, model, populate_existing=True)
    if found is None or found.ask_at is None:
        return None
    failed = _failures(found.outcomes)
    return ModelPause(model, len(failed), found.ask_at, ModelOutcome(failed[-1]))


def claim_probe(session: Session, model: str, now: datetime, longest: timedelta) -> bool:
    """Take the one probe that is due, if one is and nobody else took it; no job takes longer than ``longest``."""
    # One statement that changes what it looks for: of two that send it, the second finds nothing.
    due = (ModelBreaker.model == model, ModelBreaker.ask_at <= now)
    # A probe whose process was killed is free again once no job can be at it any more.
    taken = session.execute(update(ModelBreaker).where(*due).values(ask_at=now + max(longest, FIRST_WAIT)))
    return bool(taken.rowcount)  # type: ignore[attr-defined]


def release_probe(session: Session, model: str, now: datetime) -> None:
    """Leave a probe that had nothing to ask to the next job."""
    open_one = (ModelBreaker.model == model, ModelBreaker.ask_at.is_not(None))
    session.execute(update(ModelBreaker).where(*open_one).values(ask_at=now))


def record_outcome(session: Session, model: str, outcome: ModelOutcome, now: datetime, *, is_probe: bool) -> None:
    """Note whether a job that asked a model got something usable; while the breaker is open, probes alone count."""
    insert_if_absent(session, ModelBreaker, model=model, outcomes="", failed_probes=0)
    # Locked, because what jobs of other workers told is read and written back.
    breaker = session.get_one(ModelBreaker, model, with_for_update=True, populate_existing=True)
    is_open = breaker.ask_at is not None
    if is_open and not is_probe:
        return  # It was begun before it opened.
    if is_open and outcome is ModelOutcome.USABLE:
        breaker.outcomes, breaker.ask_at, breaker.failed_probes = "", None, 0
        get_logger().info("model_breaker_closed", model=model)
        return
    breaker.outcomes = (breaker.outcomes + outcome)[-WINDOW:]
    if is_open:
        breaker.failed_probes += 1
        breaker.ask_at = now + wait_after(breaker.failed_probes)
    elif len(breaker.outcomes) == WINDOW and len(_failures(breaker.outcomes)) >= MOST_UNUSABLE:
        breaker.ask_at = now + wait_after(0)
        get_logger().warning("model_breaker_opened", model=model, unusable=len(_failures(breaker.outcomes)))


def _failures(outcomes: str) -> str:
    return outcomes.replace(ModelOutcome.USABLE, "")


def wait_after(failed_probes: int) -> timedelta:
    """Return how long no job asks the model: doubled with each probe that failed, up to two hours."""
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(failed_probes, 10)))
