"""Thinking over the wire: real langchain, a server of each provider's protocol, and at the end real processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from loop.thinking.tools import TOOLS
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.chat import Unusable
from shared.llm.langchain_chat import LangchainToolChat
from shared.llm.providers import make_tool_chat
from shared.llm.tools import Exchange, ExchangeLine, NoTools, Speaker
from shared.llm.transport import MOST_BYTES
from shared.telemetry.metrics import TurnOutcome
from tests.support.house import House
from tests.support.meters import Calls
from tests.support.minds import WINDOW, Thinking
from tests.support.model_server import Act, ModelServer
from tests.support.providers import CHATS, SERVERS, environment
from tests.support.services import EmbeddedRedis, start_system
from tests.support.settings import served_at
from tests.support.waiting import wait_until

MODELS = ("large:latest", "small:latest")
_OF_ONE = pytest.mark.parametrize(
    "provider",
    ["ollama", *(pytest.param(name, marks=pytest.mark.long) for name in CHATS if name != "ollama")],
    indirect=True,
)
"""What is about our processes more than about a provider."""


@pytest.fixture(params=CHATS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(provider: str) -> Iterator[ModelServer]:
    with SERVERS[provider](models=MODELS) as running:
        yield running


@pytest.fixture
def chat(provider: str, server: ModelServer) -> Iterator[LangchainToolChat]:
    made = make_tool_chat(f"{provider}:large", served_at(server.url, WINDOW))
    yield made
    made.close()


def made_by(provider: str, server: ModelServer) -> Callable[[str], LangchainToolChat]:
    """Return what builds a chat of a model, whoever's it is called, at the server."""
    return lambda model: make_tool_chat(f"{provider}:{model.partition(':')[2]}", served_at(server.url, WINDOW))


@pytest.fixture
def thinking(provider: str, server: ModelServer, sqlite_url: str) -> Iterator[Thinking]:
    house = House(sqlite_url)
    house.install()
    thinking = Thinking(house, make_chat=made_by(provider, server), review_minutes=0)
    yield thinking
    thinking.thinker.drain(1)
    house.database.dispose()


def exchange(user: str = "Say something, somebody waits.") -> Exchange:
    lines = (ExchangeLine(Speaker.SYSTEM, "You use tools."), ExchangeLine(Speaker.USER, user))
    return Exchange(WorkKind.THINK, lines, TOOLS, 100, fresh=user)


def uses(name: str, **arguments: Any) -> Act:
    return Act(tools=((name, arguments),))


def test_tools_go_out_by_their_names_and_calls_come_back(
    provider: str, server: ModelServer, chat: LangchainToolChat
) -> None:
    server.will(Act(answer="Well:", tools=(("respond", {"text": "Hi."}), ("think", {"thoughts": "So."}))))
    calls = Calls()
    reply = chat.reply(exchange(), 5, calls)
    assert reply.text == "Well:"
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("respond", {"text": "Hi."}), ("think", {"thoughts": "So."})
    ]  # fmt: skip
    [body] = server.asked
    assert [tool["function"]["name"] for tool in body["tools"]] == [
        "respond", "end_conversation", "select_conversation", "snooze_conversation", "think", "await_energy"
    ]  # fmt: skip
    offered = body["tools"][3]["function"]
    assert set(offered["parameters"]["properties"]) == {"minutes"}
    assert offered["description"].startswith("Hide a conversation")
    assert body["options"] | {"num_ctx": WINDOW} == {"num_ctx": WINDOW, "num_predict": 100, "temperature": 0.0}
    assert [(call.outcome, call.kind, call.model) for call in calls] == [
        (CallOutcome.ANSWERED, WorkKind.THINK, f"{provider}:large")
    ]
    assert calls.estimates[0].most_completion_tokens == 100


@pytest.mark.parametrize(
    ("act", "error", "outcome"),
    [
        pytest.param(Act(status=400, error="does not support tools"), NoTools, CallOutcome.REFUSED, id="no tools"),
        pytest.param(Act(tools=(("respond", "not an object"),)), Unusable, CallOutcome.MALFORMED, id="malformed call"),
        pytest.param(Act(answer="So", done_reason="length"), Unusable, CallOutcome.TRUNCATED, id="length"),
    ],
)
def test_each_failure_is_one_error_of_ours_and_one_metered_call(
    server: ModelServer, chat: LangchainToolChat, act: Act, error: type[Exception], outcome: CallOutcome
) -> None:
    server.will(act)
    calls = Calls()
    with pytest.raises(error):
        chat.reply(exchange(), 5, calls)
    assert [call.outcome for call in calls] == [outcome]


def test_a_flood_is_stopped_before_it_fills_the_memory(server: ModelServer, chat: LangchainToolChat) -> None:
    server.will(uses("think", thoughts="x" * 2 * MOST_BYTES))
    calls = Calls()
    with pytest.raises(Unusable, match="longer than was asked for"):
        chat.reply(exchange(), 20, calls)
    assert [call.outcome for call in calls] == [CallOutcome.TRUNCATED]
    assert server.wait_for_hang_up()


def test_a_person_gets_an_answer_of_a_model_without_tools(server: ModelServer, thinking: Thinking) -> None:
    server.script.takes_tools = False
    for words in ("hello", "and again"):
        thinking.said("c", words)
        assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["You said: hello", "You said: and again"]
    offered, *others = server.asked
    assert offered["tools"] and not any(body.get("tools") for body in others)
    for body in others:
        assert set(body["format"]["properties"]) == {"text"}
        assert [message["role"] for message in body["messages"]] == ["system", "user"]


def ask_a_model_that_stalls(client: httpx.Client, server: ModelServer) -> None:
    server.will(Act(stall=True))
    client.post("/apps", json={"appId": "chat", "name": "Chat"}).raise_for_status()
    client.post("/apps/chat/conversations", json={"conversationId": "c"}).raise_for_status()
    said = {"role": "user", "content": "Are you there?"}
    client.post("/apps/chat/conversations/c/messages", json=said).raise_for_status()
    server.wait_for_chats(1, 30)


@pytest.mark.integration
@_OF_ONE
def test_a_loop_that_is_killed_in_the_middle_of_a_turn_answers_once_after_its_restart(
    sqlite_url: str, tmp_path: Path, own_redis: EmbeddedRedis, provider: str, server: ModelServer
) -> None:
    env = {
        **environment(server), "AFTERTHOUGHT_MODEL": f"{provider}:large", "AFTERTHOUGHT_ANSWER_AFTER_SECONDS": "0",
        "AFTERTHOUGHT_TICK_SECONDS": "0.1", "AFTERTHOUGHT_REVIEW_MINUTES": "0", "AFTERTHOUGHT_LOCK_SECONDS": "1",
    }  # fmt: skip
    with start_system(tmp_path, sqlite_url, own_redis.url, workers=0, env=env) as system, system.client() as client:
        ask_a_model_that_stalls(client, server)
        system.kill(system.loop)
        server.go_on()
        system.restart(system.loop)

        def answers() -> list[str]:
            found = client.get("/apps/chat/conversations/c/messages").raise_for_status().json()["messages"]
            return [one["content"] for one in found if one["role"] == "assistant"]

        assert wait_until(answers, 30, "the answer") == ["You said: Are you there?"]
        assert client.get("/apps/chat/conversations/c").json()["unansweredSince"] is None
        sent = client.get("/apps/chat/answers").json()["answers"]
        assert [one["state"] for one in sent] == ["sent"]
        assert len(server.chats) == 2
        assert system.loop.stop() == 0


@pytest.mark.integration
@_OF_ONE
def test_a_loop_that_is_stopped_lets_go_of_a_model_that_does_not_answer(
    sqlite_url: str, tmp_path: Path, own_redis: EmbeddedRedis, provider: str, server: ModelServer
) -> None:
    env = {
        **environment(server), "AFTERTHOUGHT_MODEL": f"{provider}:large", "AFTERTHOUGHT_ANSWER_AFTER_SECONDS": "0",
        "AFTERTHOUGHT_DRAIN_SECONDS": "1",
    }  # fmt: skip
    with start_system(tmp_path, sqlite_url, own_redis.url, workers=0, env=env) as system, system.client() as client:
        ask_a_model_that_stalls(client, server)
        started = time.monotonic()
        assert system.loop.stop() == 0
        assert time.monotonic() - started < 60
        server.go_on()
