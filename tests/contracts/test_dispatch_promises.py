"""What handing out jobs promises when something comes between: over each database."""

from __future__ import annotations

import math
from datetime import timedelta

from loop.regulator import Regulator
from shared.apps.models import Budgets
from shared.apps.queries import get_app
from shared.energy import ledger
from shared.energy.budget import to_micro
from shared.energy.ledger import Booking
from shared.jobs import dispatch, ownership
from shared.jobs.models import Deferral, JobState
from shared.llm.calls import Prospect, WorkKind
from tests.support.house import House
from tests.support.relaying import Relay, spend
from tests.support.settings import default_settings

PROSPECT = Prospect(WorkKind.CREATE, "ollama:test", 100, 100)


def relay(house: House, in_flight: int = 32) -> Relay:
    return Relay(house, Regulator(house.database, house.clock, default_settings(in_flight_jobs=in_flight)))


def set_budget(house: House, units: float) -> None:
    with house.database.write() as session:
        get_app(session, "notes").hourly_budget_micro = to_micro(units)


def reserve(house: House, units: float) -> None:
    now = house.clock.now()
    with house.database.write() as session:
        most = to_micro(units)
        ledger.reserve(session, PROSPECT, Booking("notes", None, None), most, now, now + timedelta(seconds=60))


def test_a_job_that_is_sent_no_longer_says_why_it_waited(house: House) -> None:
    spend(house, 100)
    house.converse("notes", "c1", "text")
    governing = relay(house)
    governing.step.run()
    governing.regulator.settle()
    [waiting] = house.jobs()
    assert (waiting.state, waiting.deferral) == (JobState.DEFERRED, Deferral.ENERGY) and waiting.reason
    house.clock.advance(60)
    governing.step.run()
    [sent] = house.jobs()
    assert (sent.state, sent.deferral, sent.deferred_since, sent.reason) == (JobState.QUEUED, None, None, None)


def test_a_job_that_was_begun_is_not_handed_back_by_a_late_refusal_of_the_broker(house: House) -> None:
    house.converse("notes", "c1", "text")
    with house.database.write() as session:
        sent = dispatch.take_due(session, house.clock.now(), 1, 60)
    now = house.clock.now()
    with house.database.write() as session:
        owner = ownership.Owner("node/1", lambda _: False)
        held = ownership.claim(session, sent[0].job_id, sent[0].fence, owner, now + timedelta(seconds=60), now)
    with house.database.write() as session:
        dispatch.hand_back(session, sent, now, 1.0)
    assert held is not None and house.jobs()[0].state == JobState.RUNNING


def test_a_job_that_was_sent_again_is_not_handed_back_for_its_former_sending(house: House) -> None:
    house.converse("notes", "c1", "text")
    with house.database.write() as session:
        first = dispatch.take_due(session, house.clock.now(), 1, 60)
        dispatch.hand_back(session, first, house.clock.now(), 0.0)
    with house.database.write() as session:
        assert dispatch.take_due(session, house.clock.now(), 1, 60)
        dispatch.hand_back(session, first, house.clock.now(), 0.0)
    assert house.jobs()[0].state == JobState.QUEUED


def test_what_was_called_back_is_sent_again_once_there_is_energy(house: House) -> None:
    house.converse("notes", "c1", "text")
    governing = relay(house)
    governing.step.run()
    spend(house, 100)
    governing.step.run()
    assert house.jobs()[0].state == JobState.DEFERRED
    governing.regulator.settle()
    house.clock.advance(60)
    governing.step.run()
    assert house.jobs()[0].state == JobState.QUEUED


def test_full_hands_defer_nothing(house: House) -> None:
    for app_id in ("a", "b"):
        house.install(app_id)
        house.converse(app_id, "c1", "text")
    relay(house, in_flight=1).step.run()
    relay(house, in_flight=1).step.run()
    assert [job.state for job in reversed(house.jobs())] == [JobState.QUEUED, JobState.PENDING]


def test_a_budget_of_nothing_lets_nothing_be_sent_though_no_job_has_cost_anything_yet(house: House) -> None:
    set_budget(house, 0)
    house.converse("notes", "c1", "text")
    governing = relay(house)
    governing.step.run()
    assert governing.sent == [] and house.jobs()[0].deferral == Deferral.BUDGET


def test_every_due_job_of_an_app_at_its_budget_says_so(house: House) -> None:
    for number in range(3):
        house.converse("notes", f"c{number}", "text")
    set_budget(house, 0)
    relay(house).step.run()
    assert {(job.state, job.deferral) for job in house.jobs()} == {(JobState.DEFERRED, Deferral.BUDGET)}


def test_a_budget_that_calls_under_way_may_use_up_is_free_later_and_not_at_once(house: House) -> None:
    reserve(house, 9)
    now = house.clock.now()
    with house.database.read() as session:
        refused = ledger.affordable(session, "notes", Budgets(hourly=to_micro(10)), to_micro(2), now)
    assert refused is not None and refused.until is not None and refused.until > now


def test_what_a_killed_call_set_aside_is_the_apps_again(house: House) -> None:
    reserve(house, 9)
    house.clock.advance(61)
    with house.database.read() as session:
        budgets = Budgets(hourly=to_micro(10))
        assert ledger.affordable(session, "notes", budgets, to_micro(2), house.clock.now()) is None


def test_as_much_is_sent_as_there_are_workers_for(house: House) -> None:
    for number in range(8):
        house.install(f"app{number}")
        house.converse(f"app{number}", "c1", "text")
    governing, heard = relay(house, in_flight=2), iter([1, OSError("away"), 3])

    def count() -> int:
        found = next(heard)
        if isinstance(found, Exception):
            raise found
        return found

    governing.step.count_workers = count
    sent = []
    for _ in range(3):
        governing.step._counted_at = -math.inf
        governing.step.run()
        sent.append(len(governing.sent))
    # While the broker cannot say how many workers there are, there are as many as before.
    assert sent == [2, 2, 6]
