"""What governing promises: shares, budgets that hold, reservations, deferral and shedding."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from loop.regulator import Regulator
from shared.apps.queries import AppChange, change, get_app
from shared.base.errors import OverBudget
from shared.energy import ledger
from shared.energy.budget import to_micro, to_units
from shared.energy.ledger import LedgerAccount
from shared.energy.models import Reservation
from shared.jobs import dispatch, tenant_queues
from shared.jobs.models import Deferral, JobState
from shared.jobs.ownership import Claim
from shared.llm.calls import CallEstimate, WorkKind
from shared.memories.compaction import Action, Decision
from tests.contracts.test_memory_promises import by_hand
from tests.support.house import House
from tests.support.relaying import Relay, spend
from tests.support.settings import default_settings


def govern(house: House, refill: float = 0.0) -> Regulator:
    return Regulator(house.database, house.clock, default_settings(energy_refill_per_second=refill))


def set_app(house: House, app_id: str = "notes", **values: Any) -> None:
    with house.database.write() as session:
        app = get_app(session, app_id)
        for name, value in values.items():
            setattr(app, name, value)
        session.flush()
        tenant_queues.release(session, app_id, house.clock.now())


def serve(house: House, turns: int) -> list[str]:
    """Hand out jobs one at a time and carry each out before the next; return whose they were."""
    served = []
    relay = Relay(house, govern(house, refill=1.0), one_at_a_time=True)
    for _ in range(turns):
        house.clock.advance(60)
        relay.step.run()
        [claim] = relay.claims()
        served.append(claim.app_id)
        house.pipeline(claim)
        govern(house, 1.0).settle()
    return served


def test_shares_follow_the_weights_of_apps_that_always_have_work(house: House) -> None:
    house.install("heavy")
    set_app(house, "heavy", weight=3)
    for i in range(13):
        house.converse("notes", f"n{i}", "text")
        house.converse("heavy", f"h{i}", "text")
    assert Counter(serve(house, 16)) == {"heavy": 12, "notes": 4}


def test_a_higher_priority_goes_first_and_starves_nobody(house: House) -> None:
    house.install("urgent")
    for i in range(14):
        house.converse("notes", f"n{i}", "text")
        for job in house.converse("urgent", f"u{i}", "text"):
            with house.database.write() as session:
                found = session.merge(job)
                found.priority = 5
                session.flush()
                tenant_queues.refresh(session, "urgent", found.work_class, house.clock.now())
    served = serve(house, 12)
    assert served[0] == "urgent"
    assert 1 <= Counter(served)["notes"] < Counter(served)["urgent"]


def test_a_call_is_reserved_before_and_settled_by_its_true_cost_after(house: House) -> None:
    seen = []

    def look() -> None:
        with house.database.read() as session:
            seen.append((ledger.reserved(session, house.clock.now())[0], ledger.unsettled(session)))

    house.scripted.while_thinking = look
    for i in range(2):
        house.converse("notes", f"c{i}", "text")
        house.work_off()
    true_cost = to_micro(800 * 0.01 + 60 * 0.05)
    most = to_micro(900 * 0.01 + 100 * 0.05)
    # The scripted agent looks after its call was booked: nothing is set aside any more, and the true cost stands.
    assert seen == [(0, true_cost), (0, 2 * true_cost)]
    with house.database.read() as session:
        assert ledger.estimate_of(session, WorkKind.CREATE, "ollama:scripted") == true_cost != most
        assert ledger.reserved(session, house.clock.now()) == (0, 0)


def test_what_is_set_aside_counts_against_what_may_start_and_a_killed_calls_runs_out(house: House) -> None:
    house.converse("notes", "c", "text")
    regulator = govern(house)
    with house.database.write() as session:
        estimate = CallEstimate(WorkKind.THINK, "ollama:big", 1000, 1000)
        until = house.clock.now() + timedelta(seconds=85)
        ledger.reserve(session, estimate, LedgerAccount("notes", None, None), to_micro(85), house.clock.now(), until)
    with house.database.read() as session:
        assert regulator.allowance(session).jobs == 0
        assert regulator.reading(session).reserved == 85
    house.clock.advance(86)
    with house.database.read() as session:
        assert regulator.allowance(session).jobs > 0
    with house.database.write() as session:
        assert ledger.expire_reservations(session, house.clock.now(), timedelta(seconds=85)) == 1
        assert session.query(Reservation).count() == 0


@pytest.mark.parametrize(
    "budget", [0, 5, 25.5, 60, *(pytest.param(between, marks=pytest.mark.long) for between in (15, 40))]
)
@pytest.mark.parametrize("users", [1, 12], ids=["of nobody", "of several users at once"])
def test_an_hourly_budget_is_never_passed_and_what_it_covers_is_done(house: House, budget: float, users: int) -> None:
    set_app(house, hourly_budget_micro=to_micro(budget))
    for i in range(12):
        house.converse("notes", f"c{i}", f"fact {i}", user_id=None if users == 1 else f"user {i % users}")
    relay = Relay(house, govern(house, refill=10.0))
    most_in_an_hour = 0
    for _ in range(4 * 60):
        relay.run_all()
        house.clock.advance(60)
        with house.database.read() as session:
            spent = ledger.spent_by_window(session, "notes", house.clock.now())["last1h"]
        most_in_an_hour = max(most_in_an_hour, spent)
    assert most_in_an_hour <= to_micro(budget)
    cost, most = 11.0, 14.0
    # What is known to fit: a call may start while its most is covered.
    least_in_an_hour = 0 if budget < most else 1 + int((budget - most) // cost)
    assert len(house.memories()) >= min(10, 3 * least_in_an_hour)
    in_order = [f"fact {i}" for i in reversed(range(len(house.memories())))]
    assert house.contents() == in_order or budget >= 40 or users > 1
    waiting = house.jobs(state=JobState.DEFERRED)
    assert all(job.deferral == Deferral.BUDGET and (job.reason or "").startswith("budget: ") for job in waiting)
    assert all(job.attempts == 0 for job in waiting)


def test_a_daily_budget_holds_beside_an_hourly_one_and_another_app_is_not_held(house: House) -> None:
    house.install("free")
    set_app(house, hourly_budget_micro=to_micro(30), daily_budget_micro=to_micro(30))
    for i in range(5):
        house.converse("notes", f"c{i}", f"fact {i}")
        house.converse("free", f"f{i}", f"text {i}")
    relay = Relay(house, govern(house, refill=100.0))
    for _ in range(30):
        relay.run_all()
        house.clock.advance(600)
    assert len(house.memories()) == 2
    assert len(house.memories("free")) == 5
    house.clock.advance(24 * 3600)
    relay.run_all()
    assert len(house.memories()) == 4


def test_a_job_held_by_its_budget_says_why_since_when_and_when_it_is_expected(house: House) -> None:
    set_app(house, hourly_budget_micro=to_micro(20))
    for i in range(3):
        house.converse("notes", f"c{i}", f"fact {i}")
    regulator = govern(house, refill=100.0)
    begun = house.clock.now()
    Relay(house, regulator).run_all()
    waiting = house.jobs(state=JobState.DEFERRED)
    assert len(waiting) == 2
    assert {(job.deferral, job.deferred_since) for job in waiting} == {(Deferral.BUDGET, begun)}
    assert house.metrics.budget_deferrals._value.get() == 1
    with house.database.read() as session:
        assert {regulator.expected(session, job) for job in waiting} == {begun + timedelta(hours=1)}
    [late] = house.converse("notes", "late", "fact")
    assert (late.state, late.deferral) == (JobState.DEFERRED, Deferral.BUDGET)
    set_app(house, hourly_budget_micro=None)
    Relay(house, regulator).run_all()
    assert not house.jobs(state=JobState.DEFERRED)


def test_a_job_that_waited_for_energy_and_then_waits_for_its_budget_says_so(house: House) -> None:
    set_app(house, hourly_budget_micro=to_micro(5))
    house.converse("notes", "c", "fact")
    spend(house, 95, app_id="other")
    relay = Relay(house, govern(house, refill=1.0))
    relay.run_all()
    assert [job.deferral for job in house.jobs()] == [Deferral.ENERGY]
    house.clock.advance(100)
    spend(house, 5)
    relay.run_all()
    [job] = house.jobs()
    assert (job.deferral, job.deferred_since) == (Deferral.BUDGET, house.clock.now())
    assert (job.reason or "").startswith("budget: ")


def test_a_compaction_the_budget_does_not_cover_is_left_to_the_rules_and_pays_once(house: House) -> None:
    by_hand(house, "Faints at the sight of needles", 10)
    for i in range(9):
        by_hand(house, f"Saw a heron at pond {i}", 1)
    house.clock.advance(7200)
    set_app(house, hourly_budget_micro=to_micro(20))
    house.scripted.decides.append(Decision(Action.DELETE, house.memories()[0].memory_id, "never asked"))
    house.converse("notes", "last", "the last fact")
    Relay(house, govern(house, refill=1.0)).run_all()
    assert any("Faints at the sight of needles" in text for text in house.contents()) and len(house.contents()) == 10
    assert any("the last fact" in text for text in house.contents())
    [job] = house.jobs()
    assert (job.reason or "").startswith("room made by the rules, as ollama:scripted could not decide: ")
    assert "budget" in (job.reason or "")
    assert house.counted("compactions_total", outcome="merged", reason="over_budget") == 1
    with house.database.read() as session:
        assert ledger.spent_by_window(session, "notes", house.clock.now())["last1h"] == to_micro(11)


def test_at_zero_what_was_sent_and_not_begun_is_called_back_and_its_message_is_stale(house: House) -> None:
    for i in range(3):
        house.install(f"app{i}")
        house.converse(f"app{i}", "c", "text")
    regulator = govern(house)
    relay = Relay(house, regulator)
    relay.step.run()
    messages = list(relay.sent)
    begun = house.claim(messages[0])
    assert begun is not None and len(messages) == 3
    spend(house, 100, "app0")
    house.converse("app0", "next", "text")
    relay.step.run()
    assert house.counted("jobs_shed_total") == 2
    assert [house.claim(message) for message in messages[1:]] == [None, None]
    assert {job.state for job in house.jobs()} == {JobState.DEFERRED, JobState.RUNNING}
    [why] = {job.reason for job in house.jobs(state=JobState.DEFERRED)}
    assert why == "energy: it was at 0.0 %, and work starts above 20 %"
    assert house.pipeline(begun) == JobState.DONE  # What was begun is finished.


def test_a_deferred_job_is_expected_later_the_more_wait_before_it(house: House) -> None:
    house.converse("notes", "first", "text")
    house.work_off()
    spend(house, 89)  # 11 were spent before: the level is at 0.
    for i in range(3):
        house.install(f"app{i}")
        house.converse(f"app{i}", "c", "text")
    regulator = govern(house, refill=0.5)
    regulator.settle()
    Relay(house, regulator).step.run()
    waiting = sorted(house.jobs(state=JobState.DEFERRED), key=lambda job: job.seq)
    with house.database.read() as session:
        left = to_units(regulator.level(session))
        expected = [regulator.expected(session, job) for job in waiting]
    waits = [(at - house.clock.now()).total_seconds() for at in expected if at is not None]
    assert waits == pytest.approx([(20 - left + 11 * i) / 0.5 for i in range(3)], abs=0.01)
    with house.database.read() as session:
        assert govern(house, refill=0).expected(session, waiting[0]) is None
        assert govern(house, refill=1e-13).expected(session, waiting[0]) == house.clock.now() + timedelta(days=365)


def test_a_budget_that_is_changed_while_a_call_is_refused_holds_nothing_back(house: House) -> None:
    def is_refused(claim: Claim) -> JobState:
        house.clock.advance(1)
        with house.database.write() as session:
            change(session, "notes", AppChange(), house.clock.now())
        raise OverBudget("budget: used up", house.clock.now() + timedelta(days=1))

    house.converse("notes", "c", "fact")
    memorising, house.pipeline = house.pipeline, is_refused  # type: ignore[assignment]
    relay = Relay(house, govern(house, refill=10.0))
    relay.step.run()
    house.attempt(relay.sent.pop())
    assert [job.state for job in house.jobs()] == [JobState.DEFERRED]
    house.pipeline = memorising
    relay.run_all()
    assert house.contents() == ["fact"]


def test_deferring_marks_a_bounded_number_at_a_time(house: House) -> None:
    for i in range(5):
        house.converse("notes", f"c{i}", "text")
    with house.database.write() as session:
        counts = [dispatch.defer(session, Deferral.ENERGY, "energy", house.clock.now(), limit=2) for _ in range(4)]
    assert counts == [2, 2, 1, 0]


def test_before_anything_has_cost_energy_a_job_is_taken_to_cost_what_is_usual(house: House) -> None:
    for i in range(20):
        house.install(f"app{i}")
        house.converse(f"app{i}", "c", "text")
    settings = default_settings(energy_refill_per_second=0.0)
    with house.database.read() as session:
        allowed = Regulator(house.database, house.clock, settings, first_guess=to_micro(12)).allowance(session)
        assert allowed.jobs == 7  # 80 units above the gate, 12 for each; the last may reach below it.


def test_a_job_that_no_budget_will_ever_cover_is_not_expected(house: House) -> None:
    house.install("rich")
    house.converse("rich", "c", "text")
    house.work_off()
    set_app(house, hourly_budget_micro=to_micro(5))
    [job] = house.converse("notes", "c", "text")
    regulator = govern(house, refill=1.0)
    Relay(house, regulator).run_all()
    [job] = house.jobs(app_id="notes")
    with house.database.read() as session:
        assert job.deferral == Deferral.BUDGET and regulator.expected(session, job) is None
    assert "less than one piece of work may cost" in (job.reason or "")
