"""What handing out jobs promises when something comes between: over each database."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest

from loop.regulator import Regulator
from shared.apps.models import Budgets
from shared.apps.queries import get_app
from shared.base.errors import Conflict
from shared.contracts.jobs import JobKind
from shared.energy import ledger
from shared.energy.budget import to_micro
from shared.energy.ledger import LedgerAccount
from shared.jobs import control, dispatch, ownership, queries, tenant_queues
from shared.jobs.dispatch import GetLimits, NewJob
from shared.jobs.models import Deferral, JobState
from shared.jobs.queries import get_job
from shared.jobs.tenant_queues import ScheduleLimits, Throttle
from shared.llm.calls import CallEstimate, WorkKind
from tests.support.house import House
from tests.support.relaying import Relay, spend
from tests.support.settings import default_settings

pytestmark = pytest.mark.both_databases

PROSPECT = CallEstimate(WorkKind.CREATE, "ollama:test", 100, 100)


def relay(house: House, in_flight: int = 32) -> Relay:
    return Relay(house, Regulator(house.database, house.clock, default_settings(in_flight_jobs=in_flight)))


def set_budget(house: House, units: float) -> None:
    with house.database.write() as session:
        get_app(session, "notes").hourly_budget_micro = to_micro(units)


def reserve(house: House, units: float) -> None:
    now = house.clock.now()
    with house.database.write() as session:
        most = to_micro(units)
        ledger.reserve(session, PROSPECT, LedgerAccount("notes", None, None), most, now, now + timedelta(seconds=60))


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


def test_full_hands_defer_nothing(house: House) -> None:
    for app_id in ("a", "b"):
        house.install(app_id)
        house.converse(app_id, "c1", "text")
    relay(house, in_flight=1).step.run()
    relay(house, in_flight=1).step.run()
    assert [job.state for job in reversed(house.jobs())] == [JobState.QUEUED, JobState.PENDING]


def test_a_budget_that_calls_under_way_may_use_up_is_free_later_and_not_at_once(house: House) -> None:
    reserve(house, 9)
    now = house.clock.now()
    with house.database.read() as session:
        refused = ledger.affordable(session, "notes", Budgets(hourly=to_micro(10)), to_micro(2), now)
        others = ledger.affordable(session, "other", Budgets(hourly=to_micro(10)), to_micro(2), now)
    assert refused is not None and refused.until is not None and refused.until > now
    assert others is None, "what one app set aside is none of another's"


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


USERS = ("ada", "ben", "cyd", "dan")


def enqueue(house: House, app_id: str, sequences: Iterable[str], name: str = "job") -> None:
    """Have an app ask for a job of each sequence."""
    now = house.clock.now()
    with house.database.write() as session:
        for number, sequence in enumerate(sequences):
            wanted = NewJob(JobKind.CREATE_MEMORY, app_id, f"{app_id}:{name}:{number}", sequence=sequence)
            dispatch.enqueue(session, wanted, now)


def take(house: House, limit: int, terms: GetLimits = lambda *_: ScheduleLimits()) -> list[str]:
    """Lease up to so many jobs; return whose they are."""
    with house.database.write() as session:
        sent = dispatch.take_due(session, house.clock.now(), limit, 60, terms)
        return [get_job(session, one.job_id).app_id or "" for one in sent]


def test_conversations_of_several_users_are_remembered_side_by_side_and_those_of_one_in_order(house: House) -> None:
    for number in (1, 2):
        for user_id in USERS:
            house.converse("notes", f"{user_id}{number}", f"fact {number} of {user_id}", user_id=user_id)
    governing = relay(house)
    governing.step.run()
    claims = {claim.conversation_id: claim for claim in governing.claims()}
    assert list(claims) == ["ada1", "ben1", "cyd1", "dan1"]
    governing.step.run()
    assert governing.sent == []
    house.pipeline(claims.pop("cyd1"))
    governing.step.run()
    assert [claim.conversation_id for claim in governing.claims()] == ["cyd2"]


def test_conversations_that_name_nobody_are_remembered_one_after_the_other_beside_the_index(house: House) -> None:
    for number in range(3):
        house.converse("notes", f"c{number}", "text")
    assert house.ask_for_vectors()
    governing = relay(house)
    governing.step.run()
    assert [claim.kind for claim in governing.claims()] == [JobKind.CREATE_MEMORY, JobKind.EMBED_MESSAGES]


def test_the_turn_of_an_app_that_is_held_goes_to_the_app_that_is_next(house: House) -> None:
    apps = ("notes", "other", "third")
    for app_id in apps:
        if app_id != "notes":
            house.install(app_id)
        enqueue(house, app_id, USERS)
    held = Throttle(house.clock.now() + timedelta(hours=1), "budget: used up")
    taken = take(house, 2, lambda _, app_id, kind: ScheduleLimits(throttle=held if app_id == "notes" else None))
    assert taken == ["other", "third"]


def test_what_is_asked_for_while_an_app_is_being_held_says_that_it_is_held(house: House) -> None:
    enqueue(house, "notes", USERS[:1])
    looked_at = house.clock.now()
    house.clock.advance(0.5)
    enqueue(house, "notes", USERS[1:2], "later")
    held = Throttle(looked_at + timedelta(hours=1), "budget: used up")
    with house.database.write() as session:
        dispatch.take_due(session, looked_at, 2, 60, lambda *_: ScheduleLimits(throttle=held))
    assert {(job.state, job.reason) for job in house.jobs()} == {(JobState.DEFERRED, "budget: used up")}


def test_turns_that_an_app_could_not_use_are_not_given_to_it_in_a_row_later(house: House) -> None:
    enqueue(house, "notes", ["slow", "slow"])
    [slow] = house.claims(1)
    house.install("other")
    enqueue(house, "other", map(str, range(100)))
    assert take(house, 50) == ["other"] * 50
    with house.database.write() as session:
        ownership.finish(session, slow, JobState.DONE, house.clock.now())
    enqueue(house, "notes", map(str, range(100)), "many")
    # Both have the same priority, so that its head start is all that may be owed.
    assert Counter(take(house, 40))["other"] >= 12


def test_a_job_beyond_those_that_are_looked_at_is_sent_once_some_before_it_are_done(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "LOOK_AHEAD", 2)
    enqueue(house, "notes", ["ada", "ada", "ada", "ben"])
    seen = []
    for _ in range(3):
        claims = list(house.claims())
        seen.append(len(claims))
        with house.database.write() as session:
            assert tenant_queues.reconcile(session, house.clock.now()) == 0
            for claim in claims:
                ownership.finish(session, claim, JobState.DONE, house.clock.now())
    assert seen == [1, 2, 1]


def test_a_job_that_is_due_later_is_sent_in_its_time_though_others_of_its_app_are_behind_jobs_in_flight(
    house: House,
) -> None:
    enqueue(house, "notes", ["ada", "ben", "ada"])
    ada, ben = house.claims()
    later = house.clock.now() + timedelta(seconds=30)
    with house.database.write() as session:
        ownership.wait(session, ben, "not yet", later, house.clock.now())
    assert take(house, 8) == []
    house.clock.advance(31)
    assert [claim.job_id for claim in house.claims()] == [ben.job_id]
    assert house.jobs(state=JobState.RUNNING)[-1].job_id == ada.job_id


def test_no_more_jobs_of_an_app_are_sent_at_once_than_its_budget_covers(house: House) -> None:
    house.converse("notes", "first", "text", user_id="eve")
    house.work_off()  # Now a job is known to cost eleven units.
    set_budget(house, 35)
    for user_id in USERS:
        house.converse("notes", user_id, "text", user_id=user_id)
    governing = relay(house)
    governing.regulator.settle()
    governing.step.run()
    sent, begun = list(governing.claims()), house.clock.now()
    assert len(sent) == 2
    waiting = house.jobs(state=JobState.DEFERRED)
    assert {job.deferral for job in waiting} == {Deferral.BUDGET} and len(waiting) == 2
    with house.database.write() as session:
        for claim in sent:
            ownership.finish(session, claim, JobState.NOTHING, begun)
    # What was under way has cost nothing: nobody waits until an hour is over.
    house.clock.advance(5)
    governing.step.run()
    assert len(governing.sent) == 2


def test_a_job_of_a_kind_that_nobody_knows_is_dead_and_says_so_and_the_others_go_on(house: House) -> None:
    house.install("other")
    house.converse("notes", "c1", "text")
    house.converse("notes", "c2", "I keep bees.")
    house.converse("other", "c3", "text")
    [unknown] = [job for job in house.jobs() if job.conversation_id == "c1"]
    with house.database.write() as session:
        get_job(session, unknown.job_id).kind = "foretell_weather"
    relay(house).run_all()
    assert house.contents("notes") == ["I keep bees."] and house.contents("other") == ["text"]
    [dead] = house.jobs(state=JobState.DEAD)
    assert (dead.job_id, dead.attempts) == (unknown.job_id, 0)
    assert dead.reason and "foretell_weather" in dead.reason
    with house.database.write() as session, pytest.raises(Conflict, match="no jobs of the kind foretell_weather"):
        control.replay(session, dead.job_id, 0, house.clock.now())
