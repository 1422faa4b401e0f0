"""Workers really killed around a summary: it is made once, and what it covers and what counts as covered agree."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from shared.conversations.models import Conversation
from shared.summaries.models import Summary
from tests.faults.fleet import Fleet
from tests.support.faultpoints import Point, ToolResult
from tests.support.waiting import wait_until

POINTS = [Point.BEFORE_SUMMARY, Point.AFTER_SUMMARY, Point.SUMMARY_KEPT]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


def talk(fleet: Fleet, app_id: str, *said: str) -> str:
    """Open a conversation in which the assistant speaks often enough for a summary; return its path."""
    base = f"/apps/{app_id}/conversations"
    conversation_id = f"c{next(fleet.numbers)}"
    fleet.ask("POST", base, json={"conversationId": conversation_id})
    texts = [*said, *(f"We decided that step {n} is done by hand." for n in range(5 - len(said)))]
    messages = [
        {"role": "assistant", "content": text, "messageId": f"{conversation_id}-{i}"} for i, text in enumerate(texts)
    ]
    fleet.ask("POST", f"{base}/{conversation_id}/messages", json={"messages": messages})
    return f"{base}/{conversation_id}"


def kept(fleet: Fleet, app_id: str) -> list[tuple[int, int]]:
    with fleet.database.read() as session:
        rows = session.scalars(select(Summary).where(Summary.app_id == app_id).order_by(Summary.key))
        return [(one.from_position, one.to_position) for one in rows]


def covered(fleet: Fleet, app_id: str) -> list[int]:
    with fleet.database.read() as session:
        return [one.summarised for one in session.scalars(select(Conversation).where(Conversation.app_id == app_id))]


@pytest.mark.parametrize(
    "result",
    [
        # Its parent's death is the harder case, and takes it along.
        pytest.param(ToolResult.KILL, id="pool child", marks=pytest.mark.long),
        pytest.param(ToolResult.KILL_WITH_PARENT, id="whole worker"),
    ],
)
@pytest.mark.parametrize("point", [pytest.param(POINTS[0], marks=pytest.mark.long), *POINTS[1:]])
def test_a_worker_killed_around_a_summary_makes_it_once(fleet: Fleet, point: Point, result: ToolResult) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(point, result)
    talk(fleet, app_id, "We decided to use SQLite.", "Backups are still open.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    fleet.settle(app_id)
    assert (kept(fleet, app_id), covered(fleet, app_id)) == ([(0, 4)], [5])


def test_a_purge_beats_a_summary_that_is_thought_out(fleet: Fleet) -> None:
    app_id, point = fleet.new_app(), Point.AFTER_SUMMARY
    fleet.points.arm(point, ToolResult.HOLD)
    path = talk(fleet, app_id, "We decided to move to Quokkaville.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    receipt = fleet.ask("DELETE", f"/apps/{app_id}/memories")["receipt"]
    assert set(receipt["left"].values()) == {0}, receipt
    fleet.points.let_go(point)
    fleet.settle(app_id)
    assert kept(fleet, app_id) == [] and fleet.ask("GET", f"{path}/summaries")["summaries"] == []
