"""The model agent over the wire: whatever the model does, there is a proper memory, a reason for none, or an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.base.errors import Configuration, ModelOutput, Transient
from shared.llm.calls import CallOutcome
from shared.llm.chat import PromptCut
from shared.llm.providers import make_chat
from shared.memories.compaction import NEW, Action, CompactionCandidate, refusal
from tests.support.meters import Calls
from tests.support.model_server import Act, ModelServer
from tests.support.providers import SERVERS
from tests.support.settings import served_at
from worker.agent.memory_model import ModelAgent
from worker.agent.protocol import MemoryDraft, NothingToRemember, Transcript, TranscriptTurn

NOON = datetime(2025, 5, 7, 12, tzinfo=UTC)
LIMIT = 200
WINDOW = 8192
GOOD = {"memory": "Jo keeps bees.", "facts": []}
OTHER = {**GOOD, "memory": "Jo keeps goats."}
WHOLE = json.dumps(GOOD)
TRANSCRIPT = Transcript(
    "garden",
    (
        TranscriptTurn("msg_0", "user", "Jo", "I keep bees. They are angry today!", NOON),
        TranscriptTurn("msg_1", "assistant", None, "Leave them be until it is warmer.", NOON),
    ),
    NOON,
)
PRESENT = tuple(CompactionCandidate(i, f"Memory {i}.", NOON - timedelta(days=i), pinned=i == 10) for i in range(1, 11))
ARRIVED = CompactionCandidate(NEW, "A new one.", NOON)


@pytest.fixture(params=SERVERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def agent(provider: str, server: ModelServer) -> Iterator[ModelAgent]:
    chat = make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
    yield ModelAgent(chat, f"{provider}:tiny", WINDOW, 60.0)
    chat.close()


def test_a_server_left_to_itself_remembers_what_the_user_said_first(agent: ModelAgent) -> None:
    draft = agent.create(TRANSCRIPT, LIMIT, Calls())
    assert isinstance(draft, MemoryDraft)
    assert (draft.content, draft.tags, draft.message_ids) == ("I keep bees.", ("bees",), ("msg_0",))


def test_bounds_are_told_so_that_no_server_need_guess_them(agent: ModelAgent, server: ModelServer) -> None:
    agent.create(TRANSCRIPT, LIMIT, Calls())
    # Anthropic's API knows no bounds; its client writes them into the description.
    told = str(server.asked[0]["format"])
    assert re.search(r"maxLength'?: 260", told) and re.search(r"maxItems'?: 12", told)


def test_a_server_left_to_itself_makes_room_by_the_oldest_free_place(agent: ModelAgent) -> None:
    decision = agent.compact(PRESENT, ARRIVED, LIMIT, Calls())
    assert (decision.action, decision.target_id) == (Action.DELETE, 9)


def test_a_server_left_to_itself_reads_long_conversations_too(server: ModelServer, agent: ModelAgent) -> None:
    turns = tuple(
        TranscriptTurn(f"msg_{i}", "user", None, f"Item {i} is here. " + "And so on. " * 400, NOON) for i in range(9)
    )
    calls = Calls()
    draft = agent.create(Transcript("garden", turns, NOON), LIMIT, calls)
    assert isinstance(draft, MemoryDraft) and draft.content.startswith("Item 0 is here")
    assert len(calls) == len(server.chats) > 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WHOLE, id="plain"),
        pytest.param(f"Here you are:\n```json\n{WHOLE}\n```\nAnything else?", id="fence and prose"),
        pytest.param(f"{WHOLE}\n\n{WHOLE}", id="twice the same"),
    ],
)
def test_one_whole_object_is_a_memory_at_the_first_try(agent: ModelAgent, server: ModelServer, text: str) -> None:
    server.will(Act(answer=text))
    draft = agent.create(TRANSCRIPT, LIMIT, Calls())
    assert isinstance(draft, MemoryDraft) and draft.content == "Jo keeps bees."
    assert len(server.chats) == 1


UNUSABLE = [
    pytest.param(Act(answer=""), id="empty"),
    pytest.param(Act(answer="Jo keeps bees and they are angry."), id="prose"),
    pytest.param(Act(answer="I'm sorry, I can't help with that."), id="apology"),
    pytest.param(Act(answer={**GOOD, "memory": "I'm sorry, I can't help with that."}), id="apology in json"),
    pytest.param(Act(answer=f"{WHOLE}\nor\n{json.dumps(OTHER)}"), id="two candidates"),
    pytest.param(Act(answer=WHOLE[:40]), id="half an object"),
    pytest.param(Act(answer=f"[{WHOLE}, {WHOLE[:9]}"), id="truncated list"),
    pytest.param(Act(answer={"facts": []}), id="missing fields"),
    pytest.param(Act(answer=WHOLE, done_reason="length"), id="ended by length"),
]


@pytest.mark.parametrize("act", UNUSABLE)
def test_an_unusable_answer_is_repaired(agent: ModelAgent, server: ModelServer, act: Act) -> None:
    server.will(act, Act(answer=OTHER))
    draft = agent.create(TRANSCRIPT, LIMIT, Calls())
    assert isinstance(draft, MemoryDraft) and draft.content == "Jo keeps goats."


@pytest.mark.parametrize("act", UNUSABLE)
def test_an_unusable_answer_three_times_is_an_error_and_three_metered_calls(
    agent: ModelAgent, server: ModelServer, act: Act
) -> None:
    server.will(act, act, act)
    calls = Calls()
    with pytest.raises(ModelOutput) as raised:
        agent.create(TRANSCRIPT, LIMIT, calls)
    assert len(calls) == len(server.chats) == 3
    assert [body["options"]["temperature"] for body in server.asked] == [0.0, 0.0, 0.4]
    assert all(call.prompt_tokens > 0 for call in calls)
    assert "bees" not in str(raised.value)


@pytest.mark.parametrize(
    ("act", "error", "outcome"),
    [
        pytest.param(Act(status=500), Transient, CallOutcome.UNAVAILABLE, id="500"),
        pytest.param(Act(status=429), Transient, CallOutcome.UNAVAILABLE, id="429"),
        pytest.param(Act(status=400), Configuration, CallOutcome.REFUSED, id="400"),
        pytest.param(Act(answer=GOOD, seen_tokens=900), PromptCut, CallOutcome.PROMPT_CUT, id="prompt cut"),
        pytest.param(Act(answer=GOOD, error_after=0), Transient, CallOutcome.UNAVAILABLE, id="error in the stream"),
    ],
)
def test_a_failure_is_passed_on_after_one_metered_call(
    agent: ModelAgent, server: ModelServer, act: Act, error: type[Exception], outcome: CallOutcome
) -> None:
    server.will(act)
    calls = Calls()
    long = TranscriptTurn("msg_2", "user", "Jo", "The bees are well. " * 300, NOON)
    with pytest.raises(error):
        agent.create(Transcript("garden", (*TRANSCRIPT.turns, long), NOON), LIMIT, calls)
    assert [call.outcome for call in calls] == [outcome]


def test_the_repair_shares_the_time_of_the_first_answer(provider: str, server: ModelServer) -> None:
    chat = make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
    server.will(Act(answer="No.", drip_seconds=0.1), Act(stall=True))
    calls = Calls()
    with pytest.raises(Transient, match="in time"):
        ModelAgent(chat, f"{provider}:tiny", WINDOW, 1.0).create(TRANSCRIPT, LIMIT, calls)
    chat.close()
    server.go_on()
    assert [call.outcome for call in calls] == [CallOutcome.MALFORMED, CallOutcome.TIMEOUT]
    assert sum(call.seconds for call in calls) < 4


def decision(**changes: Any) -> dict[str, Any]:
    return {"action": "delete", "target_id": 3, "absorbed_id": 0, "new_content": "", **changes}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(decision(target_id=77), id="unknown id"),
        pytest.param(decision(target_id=10), id="pinned"),
        pytest.param(decision(action="edit"), id="empty text"),
        pytest.param(decision(action="delete | edit"), id="enumeration copied"),
        pytest.param("Delete everything.", id="everything"),
    ],
)
def test_a_compaction_that_may_not_be_is_repaired_or_an_error(
    agent: ModelAgent, server: ModelServer, answer: dict[str, Any] | str
) -> None:
    server.will(Act(answer=answer), Act(answer=decision(action="edit", new_content="Memory 3, a new one.")))
    returned = agent.compact(PRESENT, ARRIVED, LIMIT, Calls())
    assert refusal(returned, PRESENT, ARRIVED, LIMIT) is None and returned.new_content == "Memory 3, a new one."
    server.will(*[Act(answer=answer)] * 3)
    with pytest.raises(ModelOutput):
        agent.compact(PRESENT, ARRIVED, LIMIT, Calls())


def test_nothing_to_remember_comes_over_the_wire_as_an_answer(agent: ModelAgent, server: ModelServer) -> None:
    # The user stated something, so it is asked once more.
    server.will(*[Act(answer={**GOOD, "memory": ""})] * 2)
    assert isinstance(agent.create(TRANSCRIPT, LIMIT, Calls()), NothingToRemember)


def test_a_second_attempt_at_the_same_of_which_a_server_counts_only_what_it_had_not_cached_is_no_cut_prompt(
    agent: ModelAgent, server: ModelServer
) -> None:
    server.will(Act(answer=GOOD, seen_tokens=30))
    assert isinstance(agent.create(TRANSCRIPT, LIMIT, Calls()), MemoryDraft)
