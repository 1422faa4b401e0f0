"""What a model decided is not carried out when it comes too late, whichever tool it used; over each database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shared.apps.queries import get_app
from shared.telemetry.metrics import TurnOutcome
from tests.support.house import House
from tests.support.minds import Thinking, call
from tests.support.scripted_chat import ToolStep


@pytest.fixture
def thinking(house: House) -> Iterator[Thinking]:
    thinking = Thinking(house)
    yield thinking
    thinking.thinker.drain(1)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("end_conversation", {}), ("snooze_conversation", {"minutes": 5}), ("await_energy", {"percentage": 90})],
)
def test_whoever_goes_on_speaking_is_not_ended_snoozed_or_put_off(
    thinking: Thinking, tool: str, arguments: dict[str, Any]
) -> None:
    thinking.said("c", "Goodbye!")
    thinking.set_level(40)

    def decide(_: object) -> ToolStep:
        thinking.said("c", "No, wait.")
        return call(tool, **arguments)

    thinking.will(decide)
    assert thinking.think() is TurnOutcome.STALE
    conversation = thinking.conversation("c")
    assert (conversation.ended_at, conversation.snoozed_until, conversation.think_after) == (None, None, None)
    assert conversation.focus_since == conversation.unanswered_since is not None


def test_an_app_in_which_nothing_happened_lets_the_next_one_be_reviewed(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.will(call("snooze_conversation", minutes=1440))
    assert thinking.think() is TurnOutcome.SNOOZED
    with thinking.house.database.write() as session:
        get_app(session, "notes").reviewed_at = thinking.house.clock.now()
    thinking.house.clock.advance(3600)
    assert thinking.choose() is None
    with thinking.house.database.read() as session:
        assert get_app(session, "notes").reviewed_at == thinking.house.clock.now()
