"""Processes really killed at every step: exactly one memory results, and nothing waits for a human."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet
from tests.support.faultpoints import Point, ToolResult
from tests.support.waiting import wait_until

WORKER_POINTS = [Point.BEFORE_CALL, Point.AFTER_CALL, Point.AFTER_COMMIT, Point.BEFORE_ACK]
LOOP_POINTS = [Point.BEFORE_SEND, Point.AFTER_SEND]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


def has_exactly(fleet: Fleet, app_id: str, *words: str) -> None:
    fleet.settle(app_id)
    memories = fleet.memories(app_id)
    assert len(memories) == len(words), memories
    assert all(sum(word in memory for memory in memories) == 1 for word in words), memories
    assert set(fleet.states(app_id).values()) == {"done"}


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(ToolResult.KILL, id="pool child", marks=pytest.mark.long),
        pytest.param(ToolResult.KILL_WITH_PARENT, id="whole worker"),
    ],
)
@pytest.mark.parametrize(
    "point",
    [
        # What dies before it began, or after all was kept, is the easier case of the same.
        pytest.param(Point.BEFORE_CALL, marks=pytest.mark.long),
        Point.AFTER_CALL,
        pytest.param(Point.AFTER_COMMIT, marks=pytest.mark.long),
        Point.BEFORE_ACK,
    ],
)
def test_a_worker_killed_at_any_step_leaves_exactly_one_memory(fleet: Fleet, point: Point, result: ToolResult) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(point, result)
    fleet.converse(app_id, "I adopted a greyhound named Pixel.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    fleet.converse(app_id, "My sister Ines lives in Lisbon.")
    has_exactly(fleet, app_id, "Pixel", "Lisbon")


@pytest.mark.parametrize("point", LOOP_POINTS)
def test_a_loop_killed_around_sending_loses_and_doubles_nothing(fleet: Fleet, point: Point) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(point, ToolResult.KILL)
    fleet.converse(app_id, "I adopted a greyhound named Pixel.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    has_exactly(fleet, app_id, "Pixel")


def test_redis_killed_and_restarted_empty_in_mid_flight_needs_no_human(fleet: Fleet) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(Point.BEFORE_CALL, ToolResult.HOLD)
    fleet.converse(app_id, "I adopted a greyhound named Pixel.")
    wait_until(lambda: fleet.points.was_reached(Point.BEFORE_CALL), 60, "a job in mid-flight")
    others = [fleet.new_app() for _ in range(4)]
    for other in others:
        fleet.converse(other, "My sister Ines lives in Lisbon.")
    fleet.lose_redis()
    fleet.points.let_go(Point.BEFORE_CALL)
    has_exactly(fleet, app_id, "Pixel")
    for other in others:
        has_exactly(fleet, other, "Lisbon")


def test_a_database_locked_for_five_seconds_costs_only_time(fleet: Fleet) -> None:
    app_id = fleet.new_app()
    path = fleet.database.engine.url.database
    locked, release = threading.Event(), threading.Event()

    def lock() -> None:
        connection = sqlite3.connect(str(path), isolation_level=None, timeout=30)
        connection.execute("BEGIN IMMEDIATE")
        locked.set()
        release.wait(30)
        connection.execute("ROLLBACK")
        connection.close()

    fleet.points.arm(Point.AFTER_CALL, ToolResult.HOLD)
    fleet.converse(app_id, "I adopted a greyhound named Pixel.")
    wait_until(lambda: fleet.points.was_reached(Point.AFTER_CALL), 60, "a job about to write")
    locking = threading.Thread(target=lock)
    locking.start()
    locked.wait(30)
    fleet.points.let_go(Point.AFTER_CALL)
    unlocking = threading.Timer(5.0, release.set)
    unlocking.start()
    has_exactly(fleet, app_id, "Pixel")
    locking.join()
    unlocking.join()


def purge_memories(fleet: Fleet, app_id: str) -> None:
    fleet.ask("DELETE", f"/apps/{app_id}/memories")


def erase_everything(fleet: Fleet, app_id: str) -> None:
    receipt = fleet.ask("DELETE", f"/apps/{app_id}/data")["receipt"]
    left = receipt["left"]
    # null: Redis was still writing its file anew for the erasure before; the loop looks again.
    assert not any(left.values()) and all(count == 0 or store == "queuedText" for store, count in left.items()), receipt


@pytest.mark.parametrize("forget", [purge_memories, erase_everything], ids=["purge", "erasure"])
@pytest.mark.parametrize("point", [*WORKER_POINTS, *LOOP_POINTS])
def test_a_purge_at_any_step_beats_work_already_in_flight(
    fleet: Fleet, point: Point, forget: Callable[[Fleet, str], None]
) -> None:
    app_id = fleet.new_app()
    canary = f"Quokkaville{app_id}"
    fleet.converse(app_id, f"I have lived in {canary} since 1999.")
    fleet.settle(app_id)
    assert fleet.places_of(canary)
    fleet.points.arm(point, ToolResult.HOLD)
    fleet.converse(app_id, f"My shop in {canary} sells 12 kinds of tea.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    forget(fleet, app_id)
    fleet.points.let_go(point)
    fleet.settle(app_id)
    assert fleet.memories(app_id) == []
    if forget is erase_everything:
        fleet.wait_until_gone(canary)
    fleet.converse(app_id, "I moved to Oslo in May.")
    has_only_the_new(fleet, app_id)


def has_only_the_new(fleet: Fleet, app_id: str) -> None:
    fleet.settle(app_id)
    assert ["Oslo" in memory for memory in fleet.memories(app_id)] == [True]


def test_the_points_are_the_real_processes(fleet: Fleet, tmp_path: Path) -> None:
    before = fleet.system.workers[0].pid
    fleet.points.arm(Point.BEFORE_CALL, ToolResult.KILL_WITH_PARENT)
    fleet.converse(fleet.new_app(), "I adopted a greyhound named Pixel.")
    wait_until(lambda: not fleet.system.workers[0].alive, 60, "the worker to be dead")
    fleet.settle()
    assert fleet.system.workers[0].pid != before
