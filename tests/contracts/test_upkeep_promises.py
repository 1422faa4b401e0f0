"""What the sweep makes good: workers lost in their last attempt are counted, and a clock set back holds nothing up."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, func, select

from loop.steps.upkeep import MendTenantQueues, Upkeep
from shared.contracts.values import EventKind
from shared.energy import ledger
from shared.energy.ledger import Booking
from shared.energy.models import Reservation
from shared.events.models import Event
from shared.jobs import ownership
from shared.jobs.models import JobState, TenantQueue
from shared.jobs.queries import get_job
from shared.llm.calls import Prospect, WorkKind
from tests.support.house import House

KIND = "create_memory"


def upkeep(house: House) -> Upkeep:
    return Upkeep(
        house.database,
        house.clock,
        house.settings,
        house.metrics,
        horizon=timedelta(seconds=400),
        longest_call=timedelta(seconds=85),
    )


def exhaust(house: House) -> str:
    """Have a job claimed for its last attempt; return its id."""
    house.converse("notes", "c1", "fact 1")
    [claim] = house.claims()
    with house.database.write() as session:
        job = get_job(session, claim.job_id)
        job.attempts = job.max_attempts
    return claim.job_id


def deaths(house: House) -> tuple[float, float]:
    dead = house.metrics.dead_letters.labels(KIND)._value.get()
    return dead, house.metrics.jobs_finished.labels(KIND, JobState.DEAD)._value.get()


def test_a_worker_lost_in_its_last_attempt_leaves_a_dead_letter_that_is_counted(house: House) -> None:
    exhaust(house)
    house.clock.advance(61)
    assert upkeep(house).run() and [job.state for job in house.jobs()] == [JobState.DEAD]
    with house.database.read() as session:
        told = session.scalars(select(Event.details).where(Event.kind == EventKind.JOB_FINISHED)).all()
    assert told == [{"job": KIND, "state": "dead"}]
    assert deaths(house) == (1, 1) and house.metrics.jobs_lost._value.get() == 1


def test_a_last_attempt_lost_by_a_worker_that_is_back_is_counted_too(house: House) -> None:
    exhaust(house)
    with house.database.write() as session:
        assert ownership.release_node(session, "node", house.clock.now(), house.settings) == 1
    house.clock.advance(1)
    upkeep(house).run()
    assert [job.state for job in house.jobs()] == [JobState.DEAD] and deaths(house) == (1, 1)


def test_work_asked_for_before_the_clock_was_set_back_does_not_wait_for_it(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    house.clock.advance(-3600)
    assert list(house.claims()) == []
    assert not upkeep(house).run()
    assert house.work_off() == [JobState.DONE]


def test_a_lease_given_before_the_clock_was_set_back_runs_out(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    assert len(list(house.claims())) == 1
    house.clock.advance(-3600)
    assert upkeep(house).run()
    house.clock.advance(10)
    assert house.work_off() == [JobState.DONE] and house.contents() == ["fact 1"]


def test_leases_and_waits_within_reach_are_left_alone(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    assert len(list(house.claims())) == 1
    house.clock.advance(-300)
    assert not upkeep(house).run() and [job.state for job in house.jobs()] == [JobState.RUNNING]


def reserve(house: House, ahead_seconds: float = 0.0) -> None:
    with house.database.write() as session:
        at = house.clock.now() + timedelta(seconds=ahead_seconds)
        prospect = Prospect(WorkKind.CREATE, "ollama:test", 900, 100)
        ledger.reserve(session, prospect, Booking("notes", "job_1", None), 500, at, at + timedelta(seconds=85))


def is_reserved(house: House) -> bool:
    with house.database.read() as session:
        return session.scalar(select(func.count()).select_from(Reservation)) == 1


def test_what_a_killed_call_reserved_is_let_go_of_when_its_time_is_over(house: House) -> None:
    reserve(house)
    house.clock.advance(84)
    upkeep(house).run()
    assert is_reserved(house)
    house.clock.advance(1)
    upkeep(house).run()
    assert not is_reserved(house)


def test_what_was_reserved_before_the_clock_was_set_back_is_let_go_of(house: House) -> None:
    reserve(house, ahead_seconds=3600)
    upkeep(house).run()
    assert not is_reserved(house)


def test_a_lane_that_does_not_know_of_its_job_is_mended_so_that_the_job_is_sent(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    with house.database.write() as session:
        session.execute(delete(TenantQueue))
    assert list(house.claims()) == []
    step = MendTenantQueues(house.database, house.clock)
    assert step.run() is True
    assert len(list(house.claims())) == 1
    assert step.run() is False, "there is nothing to mend any more"
