"""Whose words a message holds, in whatever shape it came, is the same for all that read it, over each database."""

from __future__ import annotations

from typing import Any

from loop.api.routes.conversations import AddMessage
from shared.apps.queries import get_app
from shared.conversations.lifecycle import NewConversation, append_messages, end, start
from shared.conversations.queries import lock_conversation, messages_of
from shared.conversations.summarising import enqueue_summary
from tests.support.house import House

USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {"secret": "ARGUMENT"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "TOOLSECRET"}]}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/IMAGE.png"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"secret": "ARGUMENT"}'}}
SAID: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "I moved to Lyon."}, IMAGE, {"type": "text", "text": "See?"}],
    },
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "THOUGHT", "signature": "s"}, USE]},
    {"role": "user", "content": [RESULT]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "TOOLSECRET"},
    {"role": "user", "content": [{**RESULT, "tool_use_id": "t2"}, {"type": "text", "text": "I play the oboe."}]},
    {"role": "user", "content": [IMAGE]},
    {"role": "assistant", "content": None, "refusal": "I would rather not."},
]
SPOKEN = [
    ("user", "I moved to Lyon.\nSee?"), ("user", "I play the oboe."), ("assistant", "I would rather not."),
]  # fmt: skip


def hold(house: House) -> None:
    now = house.clock.now()
    with house.database.write() as session:
        start(session, "notes", NewConversation("c1"), now)
        conversation = lock_conversation(session, "notes", "c1")
        append_messages(session, conversation, [AddMessage.model_validate(one).as_new() for one in SAID], now)


def test_agents_are_shown_what_people_and_assistants_said_and_nothing_else(house: House) -> None:
    house.settings = house.settings.model_copy(update={"facts": True})
    hold(house)
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        enqueue_summary(session, conversation, get_app(session, "notes").purge_epoch, house.clock.now())
    house.work_off()
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        end(
            session,
            conversation,
            get_app(session, "notes").purge_epoch,
            None,
            house.clock.now(),
            fact_settings=house.settings,
        )
    house.work_off()
    [summary], [facts], [memory] = house.summary_agent.seen, house.fact_agent.seen, house.scripted.seen
    assert [(turn.role, turn.content) for turn in summary.turns] == SPOKEN
    assert [(turn.role, turn.content) for turn in facts.turns] == SPOKEN
    spoken = [turn for turn in memory.turns if turn.role in ("user", "assistant") and turn.content]
    assert [(turn.role, turn.content) for turn in spoken] == SPOKEN
    assert not any("IMAGE" in turn.content or "ARGUMENT" in turn.content for turn in memory.turns)


def test_each_result_is_stored_with_where_its_call_stands(house: House) -> None:
    hold(house)
    with house.database.read() as session:
        conversation = lock_conversation(session, "notes", "c1")
        stored = [(one.role, one.call_position) for one in messages_of(session, conversation.key)]
        assert [place for _, place in stored] == [None, None, None, 2, None, 4, None, None, None]
        assert [role for role, _ in stored] == [
            "system", "user", "assistant", "tool", "assistant", "tool", "user", "user", "assistant",
        ]  # fmt: skip
        assert conversation.turns_since_summary == 1, "a call of a tool is no turn"
