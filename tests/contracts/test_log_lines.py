"""What the logs say of memories: made, room made, recalled, failed; by ids, not words. Source: seed 003."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from shared.base.errors import ModelOutput
from shared.context.context import ContextRequest, open_context
from shared.contracts.jobs import JobMessage
from shared.jobs.dispatch import take_due
from shared.telemetry.logging import configure_logging, get_logger
from tests.support.house import House

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
    with capture_logs() as lines:
        open_context(house.database, "notes", ContextRequest(500, said=()), house.metrics)
    [line] = named(lines, "memories_recalled")
    assert (line["app_id"], line["count"]) == ("notes", 3)
    assert "secret" not in str(lines)


def test_a_memory_that_failed_is_logged_with_its_conversation(house: House) -> None:
    house.scripted.says = [ModelOutput("nonsense about a secret")]
    house.converse("notes", "c1", "Has a secret canary")
    with house.database.write() as session:
        [sent] = take_due(session, house.clock.now(), 10, 60)
    with capture_logs() as lines:
        house.attempt(JobMessage(job_id=sent.job_id, fence=sent.fence))
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
