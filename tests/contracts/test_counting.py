"""What happens is counted once, where it happens, with the labels that say what it was."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import redis
import structlog
from structlog.testing import capture_logs

from shared.base.errors import ModelOutput, Transient
from shared.context.context import ContextRequest, open_context
from shared.context.sources import RecallSources
from shared.contracts.jobs import JobKind, JobMessage
from shared.erasure.erasing import purge_memories
from shared.jobs import dispatch
from shared.jobs.ownership import Owner
from shared.telemetry.logging import configure_logging, get_logger
from tests.support.house import PRICES, House
from worker.agent.protocol import NothingToRemember
from worker.pipelines.attempt import Attempts, JobFailed
from worker.pipelines.end_conversation import EndConversationByMessage

KIND = "create_memory"


@pytest.fixture
def house(sqlite_url: str) -> Iterator[House]:
    house = House(sqlite_url)
    house.install()
    yield house
    house.database.dispose()


@pytest.fixture
def nobody() -> Iterator[redis.Redis]:
    """A Redis that does not answer, so that no notice goes out."""
    with redis.Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=0.1) as client:
        yield client


@pytest.fixture
def attempts(house: House, nobody: redis.Redis) -> Attempts:
    owner = Owner("node/1", lambda _: False)
    return Attempts(house.database, house.clock, owner, house.settings, house.metrics, nobody)


def send(house: House) -> JobMessage:
    with house.database.write() as session:
        [sent] = dispatch.take_due(session, house.clock.now(), 1, 60)
    return JobMessage(job_id=sent.job_id, fence=sent.fence)


def work(house: House, attempts: Attempts, name: str) -> None:
    """Hold a conversation and carry out its job as a worker would; it takes three seconds."""
    house.converse("notes", name, f"fact {name}")
    house.scripted.while_thinking = lambda: house.clock.advance(3) and None
    attempts.run(send(house), JobKind.CREATE_MEMORY, house.pipeline)


def test_a_memory_is_counted_with_its_job_its_call_and_its_energy(house: House, attempts: Attempts) -> None:
    work(house, attempts, "c1")
    assert house.counted("memories_created_total", agent="model") == 1
    assert house.counted("jobs_finished_total", kind=KIND, state="done") == 1
    assert house.counted("model_calls_total", kind=KIND, agent="model", outcome="answered") == 1
    assert house.counted("model_tokens_total", kind=KIND, agent="model", direction="prompt") == 800
    assert house.counted("model_tokens_total", kind=KIND, agent="model", direction="completion") == 60
    spent = 800 * PRICES.price_prompt_token + 60 * PRICES.price_completion_token
    assert house.counted("energy_spent_units_total", kind=KIND) == pytest.approx(spent)
    assert house.counted("model_call_duration_seconds_sum", kind=KIND) == 0.5
    for name in ("job_duration_seconds", "job_delay_seconds"):
        assert (house.counted(f"{name}_count", kind=KIND), house.counted(f"{name}_sum", kind=KIND)) == (1, 3)
    for name in ("job_retries_total", "dead_letters_total", "stale_messages_total"):
        assert house.counted(name, kind=KIND) == 0


def test_nothing_to_remember_is_counted_and_is_no_memory(house: House, attempts: Attempts) -> None:
    house.scripted.says = [NothingToRemember("only greetings")]
    work(house, attempts, "c1")
    assert house.counted("nothing_to_remember_total", agent="model") == 1
    assert house.counted("jobs_finished_total", kind=KIND, state="nothing") == 1
    assert house.counted("memories_created_total", agent="model") == 0


def test_retries_and_the_dead_letter_at_their_end_are_counted(house: House, attempts: Attempts) -> None:
    house.scripted.says = [Transient("the model is away")] * 5
    house.converse("notes", "c1", "fact 1")
    for _ in range(5):
        house.clock.at = max(house.clock.at, house.jobs()[0].due_at)
        with pytest.raises(JobFailed):
            attempts.run(send(house), JobKind.CREATE_MEMORY, house.pipeline)
    assert house.counted("job_retries_total", kind=KIND) == 4
    assert house.counted("dead_letters_total", kind=KIND) == 1
    assert house.counted("jobs_finished_total", kind=KIND, state="dead") == 1
    assert house.counted("job_duration_seconds_count", kind=KIND) == 5
    assert house.counted("job_delay_seconds_count", kind=KIND) == 1


def test_messages_that_come_twice_or_too_late_are_counted(house: House, attempts: Attempts) -> None:
    house.converse("notes", "c1", "fact 1")
    message = send(house)

    def purge() -> None:
        with house.database.write() as session:
            purge_memories(session, "notes", "admin", house.clock.now())

    house.scripted.while_thinking = purge
    attempts.run(message, JobKind.CREATE_MEMORY, house.pipeline)
    assert house.counted("stale_messages_total", kind=KIND) == 1, "its result was dropped"
    attempts.run(message, JobKind.CREATE_MEMORY, house.pipeline)
    assert house.counted("stale_messages_total", kind=KIND) == 2, "nothing was begun"


def test_an_intake_message_that_cannot_be_carried_out_is_counted(house: House, nobody: redis.Redis) -> None:
    intake = EndConversationByMessage(house.database, house.clock, house.settings, house.metrics, nobody)
    intake({"appId": "notes", "conversationId": "none"})
    intake({"words": "out of place"})
    assert house.counted("dead_letters_total", kind="end_conversation") == 2
    assert house.counted("jobs_finished_total", kind="end_conversation", state="dead") == 2


Line = MutableMapping[str, Any]


def named(lines: list[Line], event: str) -> list[Line]:
    return [line for line in lines if line["event"] == event]


def test_a_memory_is_logged_with_its_conversation_and_what_made_room_for_it(house: House) -> None:
    with capture_logs() as lines:
        for place in range(11):
            house.converse("notes", f"c{place}", "Has a secret canary")
            house.work_off()
    made = named(lines, "memory_created")
    assert [line["conversation_id"] for line in made] == [f"c{place}" for place in range(11)]
    assert all(line["app_id"] == "notes" and line["memory_id"] and line["job_id"] for line in made)
    [room] = named(lines, "memory_evicted")
    assert (room["app_id"], room["conversation_id"], room["outcome"]) == ("notes", "c10", "deleted")
    assert room["removed"] == made[0]["memory_id"]
    assert "canary" not in str(lines)


def test_how_many_memories_a_context_recalls_is_logged(house: House) -> None:
    for place in range(3):
        house.converse("notes", f"c{place}", f"Has secret {place}")
        house.work_off()
    reach = RecallSources(house.database, None, house.clock, house.metrics)
    with capture_logs() as lines:
        open_context(reach, "notes", ContextRequest(500, messages=()), "admin")
    [line] = named(lines, "memories_recalled")
    assert (line["app_id"], line["count"]) == ("notes", 3)
    assert "secret" not in str(lines)


def test_a_memory_that_failed_is_logged_with_its_conversation(house: House) -> None:
    house.scripted.says = [ModelOutput("nonsense about a secret")]
    house.converse("notes", "c1", "Has a secret canary")
    with capture_logs() as lines:
        house.deliver()
    [line] = named(lines, "job_attempt_failed")
    assert (line["app_id"], line["conversation_id"], line["error"]) == ("notes", "c1", "model_output")
    assert "canary" not in str(lines)


@pytest.fixture
def put_back() -> Iterator[None]:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    yield
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()


def break_down(secret: str) -> None:
    try:
        raise KeyError(secret)
    except KeyError as error:
        raise ValueError(secret) from error


@pytest.mark.usefixtures("put_back")
def test_an_exception_is_told_by_type_and_frames_without_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json", "worker@here")
    try:
        break_down("my locker code is 4711")
    except ValueError:
        get_logger().exception("job_attempt_broke", job_id="job_1")
    line = capsys.readouterr().err
    told = json.loads(line)
    assert (told["event"], told["process"], told["job_id"]) == ("job_attempt_broke", "worker@here", "job_1")
    assert "ValueError" in told["exception"] and "KeyError" in told["exception"]
    assert "in break_down" in told["exception"]
    assert line.count("4711") == told["exception"].count("4711") == 1, "only the test's own source line may say it"
