"""One attempt at a job, over each database: how failures are recorded, and that none looks like a success."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from celery.exceptions import SoftTimeLimitExceeded

from shared.base.errors import Configuration, ModelOutput, Transient
from shared.contracts.jobs import JobKind, JobMessage
from shared.erasure.erasing import purge_memories
from shared.jobs import dispatch
from shared.jobs.control import replay
from shared.jobs.models import Job, JobState
from shared.jobs.ownership import Claim, Owner
from tests.support.house import House
from tests.support.settings import default_settings
from worker.pipelines.attempt import Attempts, JobFailed

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


def test_what_a_model_cannot_answer_is_a_dead_letter_at_once_where_no_rules_stand_behind_it(
    house: House, attempts: Attempts
) -> None:
    house.scripted.says = [ModelOutput("The model gave no usable answer")]
    house.converse("notes", "c1", "fact 1")
    with pytest.raises(JobFailed):
        attempts.run(deliver(house), JobKind.CREATE_MEMORY, house.pipeline)
    job = only_job(house)
    assert (job.state, job.attempts, house.memories()) == (JobState.DEAD, 1, [])
    assert "no usable answer" in (job.reason or "")
    assert house.counted("dead_letters_total", kind="create_memory") == 1
    with house.database.write() as session:
        replay(session, job.job_id, job.epoch, house.clock.now())
    attempts.run(deliver(house), JobKind.CREATE_MEMORY, house.pipeline)
    assert only_job(house).state == JobState.DONE and house.contents() == ["fact 1"]


def test_attempts_end_in_a_dead_letter_that_says_why(house: House, attempts: Attempts) -> None:
    house.scripted.says = [Transient("the model did not answer in time")] * 5
    house.converse("notes", "c1", "fact 1")
    for _ in range(5):
        house.clock.at = max(house.clock.at, only_job(house).due_at)
        with pytest.raises(JobFailed):
            attempts.run(deliver(house), JobKind.CREATE_MEMORY, house.pipeline)
    job = only_job(house)
    assert job.state == JobState.DEAD and "did not answer in time" in (job.reason or "")
    assert house.memories() == []


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
