"""What a jump of the clock may do to the energy, over each database: never a loss, never more than full."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import delete, func, select

from loop.regulator import Regulator
from loop.steps.due_jobs import EndSilent, WakeSnoozed
from loop.steps.upkeep import ReconcileTenantQueues, Upkeep
from shared.apps.models import Budgets
from shared.contracts.jobs import WorkClass
from shared.contracts.values import EventKind
from shared.conversations.answers import postpone
from shared.conversations.lifecycle import NewConversation, start
from shared.conversations.queries import get_conversation
from shared.energy import ledger
from shared.energy.budget import to_micro
from shared.energy.ledger import LedgerAccount
from shared.energy.models import EnergyLevel, Reservation
from shared.events.models import Event
from shared.jobs import tenant_queues
from shared.jobs.models import JobState, TenantQueue
from shared.jobs.queries import get_job
from shared.jobs.tenant_queues import Throttle
from shared.llm.calls import CallEstimate, WorkKind
from tests.support.house import House
from tests.support.minds import Thinking
from tests.support.relaying import spend
from tests.support.settings import default_settings

HOUR = 3600.0


def regulator(house: House) -> Regulator:
    return Regulator(house.database, house.clock, default_settings())


def level(house: House) -> float:
    with house.database.read() as session:
        return regulator(house).reading(session).level


def drawn(house: House) -> int:
    with house.database.read() as session:
        return ledger.drawn(session)


def test_an_hour_back_loses_nothing_and_refills_from_the_next_settlement(house: House) -> None:
    spend(house, 90)
    regulator(house).settle()
    house.clock.advance(-HOUR)
    assert level(house) == 10
    regulator(house).settle()
    house.clock.advance(30)
    assert level(house) == 40, "it need not wait until the old time is reached again"
    spend(house, 5)
    regulator(house).settle()
    assert level(house) == 35 and drawn(house) == to_micro(95)


def test_an_hour_forward_and_back_again_gives_nothing_twice(house: House) -> None:
    spend(house, 90)
    regulator(house).settle()
    house.clock.advance(HOUR)
    spend(house, 40)
    regulator(house).settle()
    assert level(house) == 60
    house.clock.advance(-HOUR)
    regulator(house).settle()
    assert level(house) == 60
    with house.database.read() as session:
        assert session.get_one(EnergyLevel, 1).at == house.clock.now()


def test_a_budget_does_not_count_what_a_clock_booked_that_was_ahead(house: House) -> None:
    budgets = Budgets(hourly=to_micro(50), daily=None)
    house.clock.advance(HOUR)
    spend(house, 45)
    house.clock.advance(-HOUR)
    assert refusal(house, budgets, 10) is None
    house.clock.advance(30)
    spend(house, 45)
    house.clock.advance(-30)
    assert refusal(house, budgets, 10) is not None, "half a minute is what two machines may differ by"


def test_a_budget_held_before_the_clock_was_set_back_is_free_within_its_window(house: House) -> None:
    budgets = Budgets(hourly=to_micro(50), daily=None)
    spend(house, 45)
    house.clock.advance(-30)
    refused = refusal(house, budgets, 10)
    assert refused is not None and refused.until is not None
    assert refused.until - house.clock.now() <= timedelta(hours=1, minutes=1)


@pytest.mark.parametrize(("back", "waits"), [(2 * HOUR, True), (48 * HOUR, False)], ids=["hours", "days"])
def test_a_conversation_put_off_before_the_clock_was_set_back_by_days_does_not_wait_for_it(
    house: House, back: float, waits: bool
) -> None:
    thinking = Thinking(house, review_minutes=0)
    thinking.said("c", "hello")
    until = house.clock.now() + timedelta(minutes=10)
    thinking.change("c", lambda _, found: postpone(found, until, failed=True))
    house.clock.advance(-back)
    WakeSnoozed(house.database, house.clock).run()
    assert (thinking.conversation("c").focus_since is None) == waits


@pytest.mark.parametrize(("back", "waits"), [(2 * HOUR, True), (30 * 24 * HOUR, False)], ids=["hours", "month"])
def test_a_silence_that_began_before_the_clock_was_set_back_by_a_month_is_counted_anew(
    house: House, back: float, waits: bool
) -> None:
    with house.database.write() as session:
        start(session, "notes", NewConversation("c", end_after_minutes=30), house.clock.now())
    house.clock.advance(-back)
    step = EndSilent(house.database, house.clock, house.settings)
    step.run()
    house.clock.advance(31 * 60)
    step.run()
    with house.database.read() as session:
        assert (get_conversation(session, "notes", "c").ended_at is None) == waits


def test_an_app_held_before_the_clock_was_set_back_by_days_is_not_held_until_it_has_caught_up(house: House) -> None:
    house.converse("notes", "c", "text")
    with house.database.write() as session:
        until = house.clock.now() + timedelta(hours=1)
        tenant_queues.throttle_app(
            session, "notes", WorkClass.THOUGHT, Throttle(until, "budget: used up"), house.clock.now()
        )
    house.clock.advance(-30 * 24 * HOUR)
    Upkeep(house.database, house.clock, house.settings, house.metrics).run()
    assert [claim.conversation_id for claim in house.claims()] == ["c"]
    with house.database.read() as session:
        assert tenant_queues.get_throttle(session, "notes", WorkClass.THOUGHT) is None


def test_an_app_is_held_by_its_budget_however_soon_leases_and_retries_end(house: House) -> None:
    house.converse("notes", "c", "text")
    hold = Throttle(house.clock.now() + timedelta(hours=23), "budget: used up")
    with house.database.write() as session:
        tenant_queues.throttle_app(session, "notes", WorkClass.THOUGHT, hold, house.clock.now())
    Upkeep(house.database, house.clock, house.settings, house.metrics, timedelta(minutes=15)).run()
    with house.database.read() as session:
        assert tenant_queues.get_throttle(session, "notes", WorkClass.THOUGHT) == hold


def refusal(house: House, budgets: Budgets, units: float) -> ledger.Refusal | None:
    with house.database.read() as session:
        return ledger.affordable(session, "notes", budgets, to_micro(units), house.clock.now())


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
        estimate = CallEstimate(WorkKind.CREATE, "ollama:test", 900, 100)
        ledger.reserve(session, estimate, LedgerAccount("notes", "job_1", None), 500, at, at + timedelta(seconds=85))


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
    step = ReconcileTenantQueues(house.database, house.clock)
    assert step.run() is True
    assert len(list(house.claims())) == 1
    assert step.run() is False, "there is nothing to mend any more"
