"""How long a call may take, by what the last ones took."""

from __future__ import annotations

import pytest

from shared.llm.speed import CallSeconds, ModelSpeed

PATIENCE = 600.0


def speed_of(*calls: CallSeconds) -> ModelSpeed:
    speed = ModelSpeed()
    for seconds in calls:
        speed.note(seconds, 1000, 100)
    return speed


STEADY = CallSeconds(before=0.0, reading=20.0, writing=10.0)
"""50 tokens read a second, and 10 written."""


@pytest.mark.parametrize(
    ("calls", "limit"),
    [
        pytest.param((), PATIENCE, id="nothing is known"),
        pytest.param((STEADY,), 90.0, id="three times what it needs"),
        pytest.param((STEADY, CallSeconds(0.0, 0.2, 10.0)), 90.0, id="a cached prompt counts for nothing"),
        pytest.param((CallSeconds(40.0, 20.0, 10.0), STEADY), 130.0, id="it may have to be loaded again"),
        pytest.param((CallSeconds(0.0, 0.2, 0.1),), 30.0, id="never below the floor"),
        pytest.param((CallSeconds(0.0, 500.0, 100.0),), PATIENCE, id="never beyond the patience"),
        pytest.param((CallSeconds(0.0, 100.0, 50.0), *(STEADY,) * 8), 90.0, id="long ago counts no more"),
    ],
)
def test_a_call_may_take_what_calls_of_its_size_took_and_generously_more(
    calls: tuple[CallSeconds, ...], limit: float
) -> None:
    assert speed_of(*calls).limit_seconds(1000, 100, PATIENCE) == pytest.approx(limit)


def test_after_a_call_that_was_late_the_next_has_all_the_time_there_is() -> None:
    speed = speed_of(STEADY)
    speed.forget()
    assert speed.limit_seconds(1000, 100, PATIENCE) == PATIENCE
    assert speed.least_seconds(1000, 100) == 0, "and nothing is held to be too long"


def test_the_least_a_call_takes_goes_by_the_fastest() -> None:
    assert speed_of(STEADY, CallSeconds(5.0, 1.0, 8.0)).least_seconds(2000, 50) == pytest.approx(2 + 4)


@pytest.mark.parametrize(
    ("silent", "queued"), [(100.0, True), (60.0, False)], ids=["said nothing", "said something after a minute"]
)
def test_waiting_in_the_servers_queue_is_told_apart_from_reading(silent: float, queued: bool) -> None:
    assert speed_of(STEADY).was_queued(1000, silent, all_seconds=100.0) is queued
    assert not ModelSpeed().was_queued(1000, silent, all_seconds=100.0), "without a figure it cannot be told"


def test_a_few_tokens_teach_nothing() -> None:
    speed = ModelSpeed()
    speed.note(CallSeconds(0.0, 5.0, 5.0), 3, 2)
    assert not speed.is_known
