"""Workers really killed around a composition: none is listed by halves, it is made in the end, and nothing is left."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from shared.base.clock import SystemClock
from shared.sessions.store import UNFINISHED, Store
from shared.sessions.sweep import sweep
from tests.faults.fleet import Fleet
from tests.support.composing import PROJECT, transcript
from tests.support.faultpoints import Point, ToolResult
from tests.support.waiting import wait_until

POINTS = [
    pytest.param(Point.BEFORE_COMPOSING, marks=pytest.mark.long),
    Point.HALF_COMPOSED,
    Point.DOCUMENTS_WRITTEN,
    pytest.param(Point.COMPOSED, marks=pytest.mark.long),
]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


def register(fleet: Fleet, app_id: str, *sessions: str) -> None:
    for name in sessions:
        content = transcript(f"{app_id}-{name}", 12)
        path = f"/api/memory/projects/{PROJECT}/sessions/{app_id}-{name}?appId={app_id}"
        fleet.ask("POST", path, content=content, headers={"Content-Type": "application/x-ndjson"})


def compose(fleet: Fleet, app_id: str, *sessions: str) -> str:
    """Ask for a composition; return its path."""
    parts = [{"sessionId": f"{app_id}-{one}"} for one in sessions]
    body = {"name": "start", "components": parts, "totalTokenBudget": 1500, "replace": True}
    made = fleet.ask("POST", f"/api/memory/projects/{PROJECT}/compositions?appId={app_id}", json=body)
    return f"/api/memory/compositions/{made['composition']['compositionId']}?appId={app_id}"


def listed(fleet: Fleet, app_id: str) -> list[dict[str, Any]]:
    path = f"/api/memory/projects/{PROJECT}/compositions?appId={app_id}&state=ready"
    found: list[dict[str, Any]] = fleet.ask("GET", path)["compositions"]
    return found


def store_of(fleet: Fleet) -> Store:
    [root] = [path for path in fleet.folder.rglob("sessions") if path.is_dir()]
    return Store(root)


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_around_a_composition_makes_it_whole_in_the_end(fleet: Fleet, point: Point) -> None:
    app_id = fleet.new_app()
    register(fleet, app_id, "a", "b")
    fleet.points.arm(point, ToolResult.KILL_WITH_PARENT)
    path = compose(fleet, app_id, "a", "b")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    if point is not Point.COMPOSED:
        assert listed(fleet, app_id) == []
    fleet.settle(app_id)
    [made] = listed(fleet, app_id)
    assert made["totalTokens"] <= 1500 and made["uses"] == 0
    for form in ("markdown", "jsonl"):
        with fleet.system.client() as client:
            assert client.get(f"{path}&format={form}").status_code == 200
    assert leftovers(fleet, app_id) == []


def leftovers(fleet: Fleet, app_id: str) -> list[str]:
    """Sweep as if everything were old, and return what lies there that belongs to nothing."""
    store = store_of(fleet)
    wait_until(lambda: record(store, app_id).exists(), 30, "the record of the composition")
    sweep(fleet.database, store, app_id, SystemClock().now().timestamp() + 60)
    files = [path for path in store.files(app_id) if "composed" in path.parts or path.name.startswith(UNFINISHED)]
    known = {"composed.md", "composed.jsonl", "composition.json"}
    assert json.loads(record(store, app_id).read_text())["name"] == "start"
    return [os.fspath(path) for path in files if path.name not in known]


def record(store: Store, app_id: str) -> Path:
    return store.composition_folder(app_id, PROJECT, "start") / "composition.json"


def test_one_that_was_removed_while_it_was_made_leaves_nothing(fleet: Fleet) -> None:
    app_id, point = fleet.new_app(), Point.DOCUMENTS_WRITTEN
    register(fleet, app_id, "a")
    fleet.points.arm(point, ToolResult.HOLD)
    path = compose(fleet, app_id, "a")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    fleet.ask("DELETE", path)
    fleet.points.let_go(point)
    fleet.settle(app_id)
    store = store_of(fleet)
    sweep(fleet.database, store, app_id, SystemClock().now().timestamp() + 60)
    assert listed(fleet, app_id) == []
    assert [path for path in store.files(app_id) if "composed" in path.parts] == []
