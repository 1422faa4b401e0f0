"""What jobs promise, over each database: fairness, leases, retries, dead letters, replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import cast

import pytest
import redis
from celery.exceptions import SoftTimeLimitExceeded

from shared.base.errors import Configuration, LeaseLost, Transient
from shared.contracts.jobs import JobKind, JobMessage
from shared.erasure.erasing import purge_memories
from shared.jobs import dispatch, ownership
from shared.jobs.models import Job, JobState
from shared.jobs.ownership import Claim, Owner
from shared.jobs.queries import get_job
from tests.support.house import House
from tests.support.settings import default_settings
from worker.pipelines.attempt import Attempts, JobFailed, WorkerContainer
from worker.wiring import build_pipeline

pytestmark = pytest.mark.both_databases


def take(house: House, limit: int = 100) -> list[dispatch.Dispatch]:
    with house.database.write() as session:
        return dispatch.take_due(session, house.clock.now(), limit, 60)


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


NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def attempts(house: House) -> Iterator[Attempts]:
    with redis.Redis.from_url(NOBODY, socket_connect_timeout=0.1) as nobody:
        owner = Owner("node/1", lambda _: False)
        yield Attempts(house.database, house.clock, owner, house.settings, house.metrics, nobody)


def deliver(house: House) -> JobMessage:
    with house.database.write() as session:
        [sent] = dispatch.take_due(session, house.clock.now(), 1, 60)
    return JobMessage(job_id=sent.job_id, fence=sent.fence)


def only_job(house: House) -> Job:
    [job] = house.jobs()
    return job


FAILURES = {
    "model away": Transient("the model did not answer in time"),
    "model missing": Configuration("run: ollama pull tiny"),
    "took too long": SoftTimeLimitExceeded(),
    "a bug": ZeroDivisionError("secret words"),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_attempt_is_recorded_raised_and_retried(
    house: House, attempts: Attempts, failure: BaseException
) -> None:
    house.converse("notes", "c1", "fact 1")

    def fail(_: Claim) -> JobState:
        raise failure

    with pytest.raises(JobFailed):
        attempts.run(deliver(house), JobKind.CREATE_MEMORY, fail)
    job = only_job(house)
    assert job.state == JobState.RETRYING and job.reason and "secret" not in job.reason
    house.clock.at = job.due_at
    attempts.run(deliver(house), JobKind.CREATE_MEMORY, house.pipeline)
    assert only_job(house).state == JobState.DONE and house.contents() == ["fact 1"]


def test_a_stale_message_is_dropped_without_work(house: House, attempts: Attempts) -> None:
    house.converse("notes", "c1", "fact 1")
    message = deliver(house)
    attempts.run(message, JobKind.CREATE_MEMORY, house.pipeline)
    for stale in (message, JobMessage(job_id="job_unknown", fence=1), JobMessage(job_id=message.job_id, fence=99)):
        attempts.run(stale, JobKind.CREATE_MEMORY, never)
    assert house.contents() == ["fact 1"]


def test_the_same_message_at_five_workers_at_once_is_worked_on_by_one(house: House, attempts: Attempts) -> None:
    house.converse("notes", "c1", "fact 1")
    message = deliver(house)
    with ThreadPoolExecutor(5) as workers:
        for one in [workers.submit(attempts.run, message, JobKind.CREATE_MEMORY, house.pipeline) for _ in range(5)]:
            one.result()
    assert house.contents() == ["fact 1"] and len(house.scripted.seen) == 1
    assert house.counted("stale_messages_total", kind="create_memory") == 4


def never(_: Claim) -> JobState:
    raise AssertionError("a stale message was worked on")


@pytest.mark.parametrize("moment", ["before the call", "after the call"])
def test_a_purge_in_mid_flight_is_neither_a_failure_nor_a_retry(house: House, attempts: Attempts, moment: str) -> None:
    house.converse("notes", "c1", "canary")
    message = deliver(house)

    def purge() -> None:
        with house.database.write() as session:
            purge_memories(session, "notes", "admin", house.clock.now())

    pipeline: Callable[[Claim], JobState] = house.pipeline
    if moment == "after the call":
        house.scripted.while_thinking = purge
    else:
        pipeline = lambda claim: (purge(), house.pipeline(claim))[1]  # noqa: E731
    attempts.run(message, JobKind.CREATE_MEMORY, pipeline)
    assert only_job(house).state == JobState.CANCELLED and house.memories() == []


def test_a_job_held_longer_than_its_lease_is_kept_by_heartbeats(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    message = deliver(house)
    renewed = []

    def watch(claim: Claim) -> JobState:
        before = only_job(house).leased_until
        house.clock.advance(5)
        while only_job(house).leased_until == before:
            pass
        renewed.append(claim.job_id)
        return house.pipeline(claim)

    with redis.Redis.from_url(NOBODY, socket_connect_timeout=0.1) as nobody:
        owner = Owner("node/1", lambda _: False)
        brisk = Attempts(
            house.database,
            house.clock,
            owner,
            default_settings(lease_seconds=60, heartbeat_seconds=0.01),
            house.metrics,
            nobody,
        )
        brisk.run(message, JobKind.CREATE_MEMORY, watch)
    assert renewed and only_job(house).state == JobState.DONE


def test_what_a_person_has_to_mend_is_waited_for_as_long_as_the_rule_allows(house: House, attempts: Attempts) -> None:
    house.scripted.says = [Configuration("run: ollama pull tiny")]
    house.converse("notes", "c1", "fact 1")
    with pytest.raises(JobFailed):
        attempts.run(deliver(house), JobKind.CREATE_MEMORY, house.pipeline)
    assert (only_job(house).due_at - house.clock.now()).total_seconds() == 300


def test_a_worker_refuses_to_start_without_a_pipeline_for_each_kind_and_says_where_it_is_missing() -> None:
    with pytest.raises(Configuration, match=r"write worker/pipelines/count_words\.py"):
        build_pipeline(cast(JobKind, "count_words"), cast(WorkerContainer, None))
