"""Workers really killed around an extraction: each fact is learnt once, and what was seen and is known agree."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from shared.conversations.models import Conversation
from shared.facts.models import Fact, FactChange, FactMention
from tests.faults.fleet import Fleet
from tests.support.faultpoints import Point, ToolResult
from tests.support.waiting import wait_until

POINTS = [Point.BEFORE_EXTRACTION, Point.AFTER_EXTRACTION, Point.AFTER_FACTS]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


def known(fleet: Fleet, app_id: str) -> dict[str, int]:
    """Return what is known of an app's user, and how often each was heard."""
    with fleet.database.read() as session:
        rows = session.execute(select(Fact.statement, Fact.mention_count).where(Fact.app_id == app_id))
        return {statement: count for statement, count in rows}  # noqa: C416


def unread(fleet: Fleet, app_id: str) -> list[str]:
    with fleet.database.read() as session:
        rows = session.scalars(select(Conversation).where(Conversation.app_id == app_id)).all()
    return [one.conversation_id for one in rows if one.facts_seen != one.message_count]


def mentions(fleet: Fleet, app_id: str) -> list[str | None]:
    with fleet.database.read() as session:
        mine = select(FactMention.conversation_id).where(FactMention.app_id == app_id)
        return sorted(session.scalars(mine), key=str)


@pytest.mark.parametrize(
    "result",
    [
        # Its parent's death is the harder case, and takes it along.
        pytest.param(ToolResult.KILL, id="pool child", marks=pytest.mark.long),
        pytest.param(ToolResult.KILL_WITH_PARENT, id="whole worker"),
    ],
)
@pytest.mark.parametrize("point", [pytest.param(POINTS[0], marks=pytest.mark.long), *POINTS[1:]])
def test_a_worker_killed_around_an_extraction_learns_each_fact_once(
    fleet: Fleet, point: Point, result: ToolResult
) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(point, result)
    first = fleet.converse(app_id, "I live in Lisbon.", "I am allergic to peanuts.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    second = fleet.converse(app_id, "I am allergic to peanuts.", "I am learning Welsh.")
    fleet.settle(app_id)
    facts = known(fleet, app_id)
    assert {word: [n for fact, n in facts.items() if word in fact] for word in ("Lisbon", "peanuts", "Welsh")} == {
        "Lisbon": [1],
        "peanuts": [2],
        "Welsh": [1],
    }, facts
    assert unread(fleet, app_id) == []
    assert mentions(fleet, app_id) == sorted([first, first, second, second])


@pytest.mark.parametrize("point", POINTS)
def test_erasing_everything_beats_an_extraction_at_any_step(fleet: Fleet, point: Point) -> None:
    app_id = fleet.new_app()
    canary = f"Quokkaville{app_id}"
    fleet.converse(app_id, f"I live in {canary}.", "I am learning Welsh.")
    fleet.settle(app_id)
    fleet.points.arm(point, ToolResult.HOLD)
    fleet.converse(app_id, f"My sister lives in {canary}.", "I am allergic to peanuts.")
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    receipt = fleet.ask("DELETE", f"/apps/{app_id}/data")["receipt"]
    assert set(receipt["left"].values()) == {0}, receipt
    fleet.points.let_go(point)
    fleet.settle(app_id)
    assert known(fleet, app_id) == {}
    with fleet.database.read() as session:
        changes = session.scalars(select(FactChange).where(FactChange.app_id == app_id)).all()
    assert all(change.before is None and change.after is None for change in changes)
    fleet.wait_until_gone(canary)
