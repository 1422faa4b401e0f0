"""What jobs promise, over each database: fairness, leases, retries, dead letters, replay."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from shared.base.errors import Conflict, LeaseLost, NotFound
from shared.base.setting_groups import JobSettings
from shared.contracts.jobs import JobMessage
from shared.erasure.erasing import purge_memories
from shared.jobs import control, dispatch, ownership
from shared.jobs.models import Deferral, JobState
from shared.jobs.ownership import Owner
from shared.jobs.queries import get_job
from tests.support.house import House

pytestmark = pytest.mark.both_databases


def take(house: House, limit: int = 100) -> list[dispatch.Dispatch]:
    with house.database.write() as session:
        return dispatch.take_due(session, house.clock.now(), limit, 60)


def conversation_of(house: House, sent: dispatch.Dispatch) -> str | None:
    return next(job.conversation_id for job in house.jobs() if job.job_id == sent.job_id)


def test_one_app_with_many_conversations_does_not_delay_anothers_first(house: House) -> None:
    house.install("mail")
    for i in range(30):
        house.converse("notes", f"n{i}", "text")
    house.converse("mail", "m0", "text")
    served = []
    for _ in range(4):
        [one] = take(house, 1)
        served.append(conversation_of(house, one))
        claim = house.claim(JobMessage(job_id=one.job_id, fence=one.fence))
        assert claim is not None
        house.clock.advance(1)
        house.pipeline(claim)
    assert served == ["n0", "m0", "n1", "n2"]


def test_an_app_has_one_job_in_flight_and_its_jobs_keep_their_order(house: House) -> None:
    for i in range(5):
        house.converse("notes", f"c{i}", f"fact {i}")
    assert len(take(house)) == 1
    assert take(house) == []
    house.clock.advance(61)
    with house.database.write() as session:
        ownership.sweep(session, house.clock.now(), house.settings)
    house.work_off()
    assert house.contents() == ["fact 4", "fact 3", "fact 2", "fact 1", "fact 0"]


def test_a_job_that_was_queued_and_lost_is_offered_again_under_another_fence(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [first] = take(house)
    house.clock.advance(61)
    with house.database.write() as session:
        assert ownership.sweep(session, house.clock.now(), house.settings) == {("create_memory", JobState.PENDING): 1}
    [second] = take(house)
    assert second.job_id == first.job_id and second.fence > first.fence
    assert house.claim(JobMessage(job_id=first.job_id, fence=first.fence)) is None
    assert house.claim(JobMessage(job_id=second.job_id, fence=second.fence)) is not None
    assert house.jobs()[0].attempts == 1


def test_what_the_broker_refused_is_offered_again(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    sent = take(house)
    with house.database.write() as session:
        dispatch.hand_back(session, sent, house.clock.now(), 1.0)
    assert take(house) == []
    house.clock.advance(1)
    assert [s.job_id for s in take(house)] == [s.job_id for s in sent]


def test_a_failing_job_waits_longer_each_time_and_ends_as_a_dead_letter_with_its_reason(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    waits = []
    for _ in range(5):
        [claim] = house.claims()
        with house.database.write() as session:
            ownership.fail(session, claim, "transient: the model is away", house.clock.now(), house.settings)
        job = house.jobs()[0]
        waits.append((job.due_at - house.clock.now()).total_seconds())
        house.clock.at = max(house.clock.at, job.due_at)
    assert job.state == JobState.DEAD and "the model is away" in (job.reason or "") and job.attempts == 5
    assert all(base / 2 <= wait <= base for base, wait in zip((2, 4, 8, 16), waits, strict=False))
    assert take(house) == []


def test_a_dead_job_is_replayed_with_fresh_attempts(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [claim] = house.claims()
    with house.database.write() as session:
        control.cancel(session, claim.job_id, "admin", house.clock.now())
    with pytest.raises(LeaseLost):
        house.pipeline(claim)
    with house.database.write() as session:
        assert control.replay(session, claim.job_id, 0, house.clock.now()).attempts == 0
    assert house.work_off() == [JobState.DONE] and house.contents() == ["fact 1"]
    with pytest.raises(Conflict), house.database.write() as session:
        control.replay(session, claim.job_id, 0, house.clock.now())


def test_a_job_asked_for_before_a_purge_cannot_be_replayed(house: House) -> None:
    [job] = house.converse("notes", "c1", "canary")
    with house.database.write() as session:
        epoch = purge_memories(session, "notes", "admin", house.clock.now()).epoch
    with pytest.raises(Conflict, match="purged"), house.database.write() as session:
        control.replay(session, job.job_id, epoch, house.clock.now())


def test_an_unknown_job_is_said_to_be_unknown(house: House) -> None:
    for act in (
        lambda s: control.cancel(s, "job_no", "admin", house.clock.now()),
        lambda s: control.replay(s, "job_no", 0, house.clock.now()),
    ):
        with pytest.raises(NotFound), house.database.write() as session:
            act(session)


def test_deferred_jobs_say_why_and_since_when_and_resume_oldest_first(house: House) -> None:
    for i in range(3):
        house.install(f"app{i}")
        house.converse(f"app{i}", "c", "text")
    since = house.clock.now()
    with house.database.write() as session:
        assert dispatch.defer(session, Deferral.ENERGY, "energy: 20.0 % is not above 20 %", since) == 3
    jobs = house.jobs(state=JobState.DEFERRED)
    assert {(j.reason, j.deferred_since) for j in jobs} == {("energy: 20.0 % is not above 20 %", since)}
    house.clock.advance(60)
    assert [s.job_id for s in take(house, 2)] == [j.job_id for j in reversed(jobs)][:2]


def test_a_heartbeat_keeps_a_job_and_fails_for_a_former_owner(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [claim] = house.claims()
    house.clock.advance(50)
    with house.database.write() as session:
        assert ownership.beat(session, claim, house.clock.now() + timedelta(seconds=60))
    house.clock.advance(50)
    with house.database.write() as session:
        assert ownership.sweep(session, house.clock.now(), house.settings) == {}
    house.clock.advance(20)
    with house.database.write() as session:
        ownership.sweep(session, house.clock.now(), house.settings)
        assert not ownership.beat(session, claim, house.clock.now() + timedelta(seconds=60))


def test_a_former_owner_cannot_keep_a_job_that_another_is_running(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [former] = house.claims()
    house.clock.advance(61)
    with house.database.write() as session:
        ownership.sweep(session, house.clock.now(), house.settings)
    house.clock.advance(10)
    [present] = house.claims()
    later = house.clock.now() + timedelta(hours=1)
    with house.database.write() as session:
        assert not ownership.beat(session, former, later)
        assert ownership.beat(session, present, later)


def test_a_job_whose_attempts_are_used_up_is_not_taken_over(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [sent] = take(house)
    until = house.clock.now() + timedelta(seconds=60)
    with house.database.write() as session:
        first = Owner("node/1", lambda _: False)
        assert ownership.claim(session, sent.job_id, sent.fence, first, until, house.clock.now()) is not None
        job = get_job(session, sent.job_id)
        job.attempts = job.max_attempts
        session.flush()
        second = Owner("node/2", lambda _: True)
        assert ownership.claim(session, sent.job_id, sent.fence, second, until, house.clock.now()) is None


def test_a_redelivered_job_is_taken_over_only_from_an_owner_that_is_gone(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [sent] = take(house)
    message = JobMessage(job_id=sent.job_id, fence=sent.fence)
    first = house.claim(message, "node/1")
    assert first is not None
    until = house.clock.now() + timedelta(seconds=60)
    with house.database.write() as session:
        alive = Owner("node/2", lambda _: False)
        assert ownership.claim(session, message.job_id, message.fence, alive, until, house.clock.now()) is None
        gone = Owner("node/2", lambda name: name == "node/1")
        second = ownership.claim(session, message.job_id, message.fence, gone, until, house.clock.now())
    assert second is not None and second.fence > first.fence
    with pytest.raises(LeaseLost):
        house.pipeline(first)
    house.pipeline(second)
    assert house.contents() == ["fact 1"]


def test_a_worker_that_starts_again_takes_back_what_its_former_self_was_running(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    assert len(list(house.claims())) == 1
    with house.database.write() as session:
        assert ownership.release_node(session, "no", house.clock.now(), house.settings) == 0
        assert ownership.release_node(session, "node", house.clock.now(), house.settings) == 1
    assert house.work_off() == [JobState.DONE]


@pytest.mark.parametrize("attempts", [1, 2, 5, 10, 1000])
def test_a_wait_is_between_half_and_the_whole_of_its_backoff(attempts: int) -> None:
    settings, chance = JobSettings(), random.Random(7).random
    full = min(300.0, 2.0 * 2.0 ** min(attempts - 1, 60))
    waits = [ownership.retry_wait(settings, attempts, chance).total_seconds() for _ in range(200)]
    assert full / 2 <= min(waits) and max(waits) <= full and len(set(waits)) > 100
