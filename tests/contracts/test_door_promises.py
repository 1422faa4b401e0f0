"""What comes in by OpenAI's protocol or by MCP and is thought over passes the gate, whatever any model answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from tests.contracts.test_gate_promises import (
    HOSTILE,
    ORDERS,
    SECRETS,
    SHAPES,
    TOWNS,
    Hostile,
    assert_nothing_stands,
    normal,
    standing_in,
)
from tests.support.api import Api, open_api
from tests.support.openai_server import OpenAiServer
from tests.support.working import open_worker, work_off
from worker.wiring import WorkerServices

Said = dict[str, Any]
GOES_ON = ("Thanks, and?", "Great!", "What else?")


def user(content: str) -> Said:
    return {"role": "user", "content": content}


def assistant(content: str) -> Said:
    return {"role": "assistant", "content": content}


def used(number: int, content: str) -> list[Said]:
    """Return a call of a tool with what came back, both of which say the same."""
    function = {"name": "note", "arguments": json.dumps({"text": content})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": content},
    ]


class Model:
    """Answers a chat with a hostile text, and whoever asks what to remember of it with others."""

    def __init__(self) -> None:
        self.chatting, self.asked = Hostile(), Hostile()
        self.says: str | None = None
        """What it answers a chat, instead of the next text of the table."""
        self.reading: dict[str, Any] | None = None
        """What it reads in the next chat, instead of the next texts of the table."""

    def answer(self, body: dict[str, Any]) -> Any:
        wanted = OpenAiServer.handler.asked(body)["format"]
        if wanted is None:
            return self.says or self.chatting.take("chat", 1)[0]
        kind = next(kind for kind in SHAPES if kind in wanted["properties"])
        if kind == "memory" and self.reading is not None:
            return self.reading
        return SHAPES[kind](partial(self.asked.take, kind))


@dataclass
class Door:
    """An app behind ``/v1``, whose loop and worker ask one model, or only its loop."""

    api: Api
    worker: WorkerServices
    model: Model
    token: str

    def chat(self, *messages: Said, **more: Any) -> str:
        """Ask for the next answer of a chat as a client of OpenAI's protocol does; return its conversation."""
        body = {"model": "tiny", "user": "ana", "messages": list(messages), **more}
        answer = self.api.send("POST", "/v1/chat/completions", token=self.token, json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.headers["X-Conversation-Id"])

    def use(self, tool: str, **arguments: Any) -> Said:
        """Use a tool of MCP; return its result."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {
            "Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call", "Mcp-Name": tool,
            "X-User-Id": "ana",
        }  # fmt: skip
        answer = self.api.send("POST", "/mcp", token=self.token, json=body, headers=headers)
        result: Said = answer.json()["result"]
        return result

    def record(self, *messages: Said) -> str:
        """Record a conversation by MCP; return its id."""
        name = str(self.use("conversation_start")["structuredContent"]["result"])
        assert not self.use("conversation_add", conversation_id=name, messages=list(messages)).get("isError")
        return name

    def end(self, conversation: str, *, summarised: bool = True) -> None:
        """End a conversation, have it summarised, and carry out what follows."""
        self.api.ask("POST", f"/apps/chat/conversations/{conversation}/end")
        if summarised:
            self.api.ask("POST", f"/apps/chat/conversations/{conversation}/summaries")
        work_off(self.worker, self.api.clock)
        self.api.clock.advance(3600)

    def contents(self, kind: str, text: str) -> list[str]:
        listed = self.api.ask("GET", f"/apps/chat/{kind}", params={"userId": "ana", "limit": 120})[kind]
        return [one[text] for one in listed]


Opens = Callable[[bool], Door]


@pytest.fixture
def opens(sqlite_url: str, tmp_path: Path) -> Iterator[Opens]:
    with ExitStack() as stack:

        def begin(has_model: bool) -> Door:
            model = Model()
            server = stack.enter_context(OpenAiServer(answers=model.answer))
            at: dict[str, Any] = {"openai_base_url": f"{server.url}/v1", "openai_api_key": SecretStr("sk-of-this-test")}
            home, named = tmp_path / "home", {"model": "openai:tiny"}
            api = stack.enter_context(open_api(sqlite_url, home, **at, **named))
            registry = CollectorRegistry()
            worker = open_worker(sqlite_url, home, api.clock, registry, **at, **(named if has_model else {}))
            api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat", "answeredBy": "app"})
            return Door(api, stack.enter_context(worker), model, api.token())

        yield begin


def lives(number: int) -> Said:
    return user(f"I live in {TOWNS[number % 10]} now, in house number {number}. My sister Ada keeps {number + 2} bees.")


@pytest.mark.timeout(120)
def test_nothing_hostile_that_a_chats_model_answered_is_remembered_of_the_user(opens: Opens) -> None:
    door = opens(False)
    said = iter(HOSTILE)
    for number in range(15):
        # What the client brings along was answered before; the last answer comes through here.
        before = [lives(number)]
        for nth, text in zip(range(24), said, strict=False):
            before += [assistant(text), *(used(nth, text) if nth % 4 == 0 else ()), user(GOES_ON[nth % 3])]
        door.end(door.chat(*before, stream=number % 2 == 0))
    assert next(said, None) is None and len(door.model.chatting.said["chat"]) == 15
    assert len(door.contents("memories", "content")) == 10 and door.contents("facts", "fact")
    # A summary says of whom each word is.
    stored = standing_in(door.worker.database)
    assert not [one for one in map(normal, HOSTILE) if one in stored]
    assert_nothing_stands(door.worker.database, (*SECRETS, *ORDERS))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("way", ["v1", "mcp"])
def test_nothing_hostile_that_is_answered_about_a_chat_stands(opens: Opens, way: str) -> None:
    door = opens(True)
    door.model.says = "I see."
    for number in range(8):
        talk = [lives(number), assistant("How lovely!"), user("And the weather is grey there.")]
        door.end(door.chat(*talk) if way == "v1" else door.record(*talk))
    for kind, least in (("memory", 300), ("points", 300)):
        assert len(door.model.asked.said[kind]) >= least, kind
    assert len(door.contents("memories", "content")) == 8 and door.contents("facts", "fact"), "the rules did the work"
    assert_nothing_stands(door.worker.database, door.model.asked.everything)


def test_what_only_the_assistant_said_is_no_fact_of_the_user_though_a_model_takes_it_for_one(opens: Opens) -> None:
    door = opens(True)
    for number, start in enumerate(range(0, len(HOSTILE), 20)):
        texts, said = HOSTILE[start : start + 20], lives(number)["content"]
        # What it remembers is right, so that its facts are looked at.
        facts = [{"fact": text, "sort": "identity"} for text in texts]
        door.model.reading = {"memory": said.partition(".")[0], "facts": facts}
        talk = [one for nth, text in enumerate(texts) for one in (assistant(text), user(GOES_ON[nth % 3]))]
        door.end(door.chat(lives(number), *talk), summarised=False)
    changes = door.api.ask("GET", "/apps/chat/memories/changes", params={"limit": 100})["changes"]
    assert {one["actor"] for one in changes if one["kind"] == "created"} == {"openai:tiny"}
    stored = set(map(normal, door.contents("facts", "fact")))
    assert stored and not stored & set(map(normal, HOSTILE))


@pytest.mark.parametrize("way", ["v1", "mcp"])
def test_a_secret_that_is_typed_is_kept_nowhere(opens: Opens, way: str) -> None:
    door = opens(False)
    for number, secret in enumerate(SECRETS):
        town = TOWNS[number % 10]
        talk = [user(f"I live in {town}. {secret}."), assistant(f"Noted: {secret}."), user("Remember that, please.")]
        door.end(door.chat(*talk) if way == "v1" else door.record(*talk))
        assert any(town in one for one in door.contents("memories", "content")), secret
    assert_nothing_stands(door.worker.database, SECRETS)


def test_an_agent_that_is_to_remember_a_secret_is_told_why_it_is_not(opens: Opens) -> None:
    door = opens(False)
    for secret in SECRETS:
        refused = door.use("remember", statement=secret)
        assert refused["isError"] and "password manager" in str(refused["content"]), secret
    assert not door.use("remember", statement=ORDERS[0]).get("isError"), "by hand it is theirs to say"
    assert door.contents("facts", "fact") == [ORDERS[0]]
