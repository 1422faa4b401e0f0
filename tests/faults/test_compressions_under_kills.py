"""Workers really killed around a compression: none is listed by halves, it goes on where it was, nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shared.base.clock import SystemClock
from shared.sessions.store import Store
from shared.sessions.sweep import sweep
from tests.faults.fleet import Fleet
from tests.support.compressing import long_talk
from tests.support.faultpoints import Point, ToolResult
from tests.support.recordings import PROJECT, Transcript
from tests.support.waiting import wait_until

POINTS = [
    Point.BETWEEN_PARTS,
    pytest.param(Point.HALF_WRITTEN, marks=pytest.mark.long),
    Point.VERSION_WRITTEN,
    pytest.param(Point.COMPRESSED, marks=pytest.mark.long),
]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


def register(fleet: Fleet, app_id: str) -> str:
    """Register a session with text enough for several parts; return its path."""
    transcript = long_talk(Transcript("s1", SystemClock().now()), 120)
    path = f"/api/memory/projects/{PROJECT}/sessions/s1?appId={app_id}"
    fleet.ask("POST", path, content=transcript.text().encode(), headers={"Content-Type": "application/x-ndjson"})
    return f"/api/memory/sessions/s1/versions?appId={app_id}"


def listed(fleet: Fleet, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = fleet.ask("GET", path)["versions"]
    return found


def store_of(fleet: Fleet) -> Store:
    [root] = [path for path in fleet.folder.rglob("sessions") if path.is_dir()]
    return Store(root)


def files(fleet: Fleet, app_id: str) -> list[Path]:
    """Sweep as if everything were old, and return what lies in the session's folder."""
    store = store_of(fleet)
    sweep(fleet.database, store, app_id, SystemClock().now().timestamp() + 60)
    return sorted(store.versions_folder(app_id, PROJECT, "s1").glob("*"))


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_around_a_compression_makes_the_same_version_in_the_end(fleet: Fleet, point: Point) -> None:
    app_id = fleet.new_app()
    path = register(fleet, app_id)
    fleet.points.arm(point, ToolResult.KILL_WITH_PARENT)
    fleet.ask("POST", path, json={"tierPreset": "gentle"})
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    if point is not Point.COMPRESSED:
        assert listed(fleet, path) == []
    fleet.settle(app_id)
    fleet.ask("POST", path, json={"tierPreset": "gentle"})
    fleet.settle(app_id)
    undisturbed, made = listed(fleet, path)
    [job] = [one for one in fleet.ask("GET", f"/api/memory/jobs?appId={app_id}")["jobs"] if one["versionId"] == "v001"]
    assert job["progress"]["done"] == job["progress"]["total"] > 1
    left = files(fleet, app_id)
    assert {one.name for one in left} >= {f"{made['file']}.md", f"{made['file']}.jsonl"} and len(left) == 5
    contents = {one.name: one.read_bytes() for one in left}
    for ending in ("md", "jsonl"):
        assert contents[f"{made['file']}.{ending}"] == contents[f"{undisturbed['file']}.{ending}"]


def test_one_whose_session_was_purged_while_it_was_made_leaves_nothing(fleet: Fleet) -> None:
    app_id, point = fleet.new_app(), Point.VERSION_WRITTEN
    path = register(fleet, app_id)
    fleet.points.arm(point, ToolResult.HOLD)
    fleet.ask("POST", path)
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    fleet.ask("DELETE", f"/apps/{app_id}/memories")
    fleet.points.let_go(point)
    fleet.settle(app_id)
    wait_until(lambda: fleet.ask("GET", path)["working"] is None, 30, "the version to have failed")
    assert listed(fleet, path) == []
    assert [one.name for one in files(fleet, app_id) if one.name.startswith("v001")] == []
