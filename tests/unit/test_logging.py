"""What a log line tells of an exception: where it happened, and never what it says."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from shared.telemetry.logging import configure_logging, get_logger


@pytest.fixture(autouse=True)
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
