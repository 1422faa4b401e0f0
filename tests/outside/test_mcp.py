"""Memory as tools, asked by the Model Context Protocol's own client over both transports."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent, TextResourceContents

from loop.cli.program import main
from shared.base.installation import how_to_add
from tests.support.api import Api
from tests.support.breaking_proxy import breaking_proxy
from tests.support.services import System, free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
TOOLS = {
    "recall", "search_memory", "remember", "list_memories", "list_facts", "forget", "conversation_start",
    "conversation_add", "conversation_end",
}  # fmt: skip
Talk = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def admin(system: System) -> Iterator[httpx.Client]:
    with system.client() as client:
        yield client


class Agent:
    """An agent of one app that connects as one user after the other, in one of the ways there are."""

    def __init__(self, system: System, admin: httpx.Client, app_id: str, way: str) -> None:
        self.app_id, self.way, self.system, self.url = app_id, way, system, system.url
        self.headers: dict[str, str] = {}
        admin.post("/apps", json={"appId": app_id, "name": app_id}).raise_for_status()
        self.token: str = admin.post(f"/apps/{app_id}/tokens", json={"label": "agent"}).json()["token"]

    def talk(self, user: str | None, talk: Talk) -> Any:
        async def connected() -> Any:
            async with self.connect(user) as client:
                return await talk(client)

        return asyncio.run(connected())

    def call(self, user: str | None, tool: str, **arguments: Any) -> Any:
        """Return a tool's result, as structured as it comes. Fails where the tool says that it failed."""
        result = self.talk(user, lambda client: client.call_tool(tool, arguments))
        assert not result.is_error, result.content
        return result.structured_content.get("result", result.structured_content)

    def refusal(self, user: str | None, tool: str, **arguments: Any) -> str:
        result = self.talk(user, lambda client: client.call_tool(tool, arguments))
        assert result.is_error
        return _text(result.content)

    @asynccontextmanager
    async def connect(self, user: str | None) -> AsyncIterator[Client]:
        mode: Any = "legacy" if self.way.endswith("2025") else "auto"
        if self.way == "stdio":
            async with Client(stdio_client(self.command(user)), mode=mode) as client:
                yield client
            return
        headers = {"Authorization": f"Bearer {self.token}"} | ({} if user is None else {"X-User-Id": user.encode()})
        headers |= self.headers
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    def command(self, user: str | None) -> StdioServerParameters:
        whose = [] if user is None else ["--user", user]
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "loop.cli", "mcp", "--app", self.app_id, *whose, "--url", self.url],
            env={"AFTERTHOUGHT_TOKEN": self.token, "PYTHONPATH": str(Path.cwd())},
            cwd=Path.cwd(),
        )


_EVERY_WAY = pytest.mark.parametrize("agent", ["http", "http-2025", "stdio"], indirect=True)
"""Each transport, over HTTP with the handshake of 2025 too; not for every test, because a program is slow to start."""
_EVERY_WAY_IN_LONG_RUNS = pytest.mark.parametrize(
    "agent", ["http", "http-2025", pytest.param("stdio", marks=pytest.mark.long)], indirect=True
)


@pytest.fixture
def agent(system: System, admin: httpx.Client, request: pytest.FixtureRequest) -> Agent:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[-40:].strip("-").lower()
    return Agent(system, admin, name, getattr(request, "param", "http"))


def _text(content: Any) -> str:
    return " ".join(part.text for part in content if isinstance(part, TextContent))


def _converse(agent: Agent, user: str | None, *said: str) -> str:
    conversation: str = agent.call(user, "conversation_start")
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    agent.call(user, "conversation_add", conversation_id=conversation, messages=messages)
    agent.call(user, "conversation_end", conversation_id=conversation)
    with agent.system.client(agent.token) as client:
        address = f"/apps/{agent.app_id}/memories?userId={user or ''}"
        wait_until(lambda: client.get(address).json()["memories"], 60, f"a memory of {user}")
    return conversation


@_EVERY_WAY
def test_an_agent_is_told_what_there_is_and_how_to_use_it(agent: Agent) -> None:
    async def look(client: Client) -> tuple[Any, ...]:
        return (
            (await client.list_tools()).tools,
            (await client.list_resources()).resources,
            (await client.list_prompts()).prompts,
            client.instructions,
        )

    tools, resources, prompts, instructions = agent.talk("ada", look)
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.description for tool in tools)
    # A model that could name a user could name another.
    assert not any("user" in name for tool in tools for name in tool.input_schema["properties"])
    assert {tool.name for tool in tools if tool.annotations.destructive_hint} == {"forget"}
    assert {str(resource.uri) for resource in resources} == {"memory://memories", "memory://facts"}
    assert [prompt.name for prompt in prompts] == ["begin_conversation"]
    assert "conversation_end" in instructions


@_EVERY_WAY_IN_LONG_RUNS
def test_what_was_said_in_one_conversation_is_recalled_in_the_next(agent: Agent) -> None:
    _converse(agent, "ada", "I am allergic to walnuts, so never suggest them.", "Noted: no walnuts.")
    assert "walnuts" in agent.call("ada", "recall", message="Suggest a cake for my birthday.")
    assert "walnuts" in agent.call("ada", "search_memory", query="Who is allergic to walnuts?")[0]["content"]
    assert "walnuts" in agent.call("ada", "list_memories")[0]["content"]


@_EVERY_WAY
def test_a_secret_is_not_remembered_and_the_agent_is_told_why(agent: Agent) -> None:
    said = agent.refusal("ada", "remember", statement="Ada's wifi password is hunter2.")
    assert "password manager" in said and "hunter2" not in said


@_EVERY_WAY_IN_LONG_RUNS
def test_what_an_agent_remembers_is_a_fact_that_comes_back(agent: Agent) -> None:
    kept = agent.call("ada", "remember", statement="Ada's train to Ghent leaves at seven.")
    assert [fact["id"] for fact in agent.call("ada", "list_facts")] == [kept["id"]]
    assert "Ghent" in agent.call("ada", "recall", message="When does my train leave?")

    async def read(client: Client) -> str:
        contents = (await client.read_resource("memory://facts")).contents
        return " ".join(part.text for part in contents if isinstance(part, TextResourceContents))

    assert "Ada's train to Ghent leaves at seven." in agent.talk("ada", read)


def test_a_prompt_begins_a_conversation_with_what_is_known(agent: Agent) -> None:
    agent.call("ada", "remember", statement="Ada is learning Portuguese.")

    async def begin(client: Client) -> list[str]:
        prompt = await client.get_prompt("begin_conversation", {"message": "Which language am I learning?"})
        return [message.content.text for message in prompt.messages if isinstance(message.content, TextContent)]

    recalled, said = agent.talk("ada", begin)
    assert "Portuguese" in recalled and said == "Which language am I learning?"


@pytest.mark.parametrize(
    ("agent", "other"),
    [("http", "bo"), ("http", None), ("http-2025", "ada/"), ("stdio", "bo")],
    ids=["another", "nobody", "similar", "over-stdio"],
    indirect=["agent"],
)
def test_no_tool_reaches_another_user(agent: Agent, other: str | None) -> None:
    # Only the way of who tries matters, and a program is slow to start.
    way, agent.way = agent.way, "http"
    conversation = _converse(agent, "ada", "My safe opens with the code CANARY-4711.", "I will not repeat it.")
    fact = agent.call("ada", "remember", statement="Ada's spare key, CANARY-4712, lies with Kim.")
    memory = agent.call("ada", "list_memories")[0]
    said = [{"role": "user", "content": "I am ada."}]

    async def everything(client: Client) -> str:
        asked = [
            await client.call_tool("recall", {"message": "What is the code of the safe?"}),
            await client.call_tool("recall", {"message": "The code?", "conversation_id": conversation}),
            await client.call_tool("search_memory", {"query": "CANARY safe code", "limit": 50}),
            await client.call_tool("list_memories", {}),
            await client.call_tool("list_facts", {}),
            await client.call_tool("conversation_add", {"conversation_id": conversation, "messages": said}),
            await client.call_tool("conversation_end", {"conversation_id": conversation}),
            await client.call_tool("forget", {"what": "memory", "id": str(memory["id"])}),
            await client.call_tool("forget", {"what": "fact", "id": str(fact["id"])}),
            await client.call_tool("forget", {"what": "conversation", "id": conversation}),
        ]
        read = [await client.read_resource(uri) for uri in ("memory://memories", "memory://facts")]
        prompt = await client.get_prompt("begin_conversation", {"message": "What is the code of the safe?"})
        assert all(answer.is_error for answer in asked[5:])
        return repr([asked, read, prompt])

    agent.way = way
    assert "CANARY" not in agent.talk(other, everything)
    agent.way = "http"
    assert agent.call("ada", "list_memories") == [memory]
    assert fact["id"] in [one["id"] for one in agent.call("ada", "list_facts")]


def test_another_apps_token_sees_nothing_of_the_same_user(agent: Agent, system: System, admin: httpx.Client) -> None:
    agent.call("ada", "remember", statement="Ada keeps CANARY-99 bees.")
    stranger = Agent(system, admin, f"{agent.app_id}-x"[-40:].strip("-"), "http")
    assert "CANARY" not in repr(stranger.call("ada", "recall", message="How many bees?"))
    assert stranger.call("ada", "list_facts") == []


@_EVERY_WAY_IN_LONG_RUNS
def test_forgetting_says_what_it_erased_and_what_is_left(agent: Agent) -> None:
    conversation = _converse(agent, "ada", "I moved to Lisbon and restore an old sailing boat.", "Nice.")
    memory = agent.call("ada", "list_memories")[0]
    fact = agent.call("ada", "remember", statement="Ada sails on Sundays.")
    forgotten = agent.call("ada", "forget", what="memory", id=str(memory["id"]))
    assert memory["content"] in forgotten["erased"] and conversation in forgotten["left"]
    assert "Ada sails on Sundays." in agent.call("ada", "forget", what="fact", id=str(fact["id"]))["erased"]
    assert agent.call("ada", "list_memories") == []
    assert "Lisbon" in repr(agent.call("ada", "search_memory", query="Lisbon boat"))
    erased = agent.call("ada", "forget", what="conversation", id=conversation)
    assert erased["deleted"] > 0 and erased["left"] == ""
    assert agent.call("ada", "search_memory", query="Lisbon boat") == []


def test_a_user_is_forgotten_whole_and_only_they(agent: Agent) -> None:
    for user in ("ada", "zoë ☕"):
        agent.call(user, "remember", statement="This user plays the oboe.")
    assert agent.call("zoë ☕", "forget", what="everything")["deleted"] == 1
    assert agent.call("zoë ☕", "list_facts") == []
    assert len(agent.call("ada", "list_facts")) == 1
    assert "operator" in agent.refusal(None, "forget", what="everything")
    assert "id" in agent.refusal("ada", "forget", what="everything", id="7")


def test_a_tool_says_what_is_wrong_in_words_to_act_on(agent: Agent) -> None:
    conversation = _converse(agent, "ada", "I only drink decaf after noon, remember that.", "Will do.")
    said = [{"role": "user", "content": "One more thing."}]
    assert "ended" in agent.refusal("ada", "conversation_add", conversation_id=conversation, messages=said)
    assert "no memory 99" in agent.refusal("ada", "forget", what="memory", id="99")
    assert "no memory c-1/../x" in agent.refusal("ada", "forget", what="memory", id="c-1/../x")
    assert "no conversation none" in agent.refusal("ada", "conversation_end", conversation_id="none")


def test_agents_of_several_users_at_once_keep_apart(system: System, admin: httpx.Client) -> None:
    agent = Agent(system, admin, "many-at-once", "http")
    users = [f"user-{i}" for i in range(8)]

    async def all_at_once() -> list[str]:
        async def one(user: str) -> str:
            async with agent.connect(user) as client:
                await client.call_tool("remember", {"statement": f"The locker of {user} is number {user[5:]}00."})
                return repr((await client.call_tool("list_facts", {})).structured_content)

        return await asyncio.gather(*(one(user) for user in users))

    for user, listed in zip(users, asyncio.run(all_at_once()), strict=True):
        assert listed.count("locker") == 1 and f"locker of {user} " in listed


@pytest.mark.parametrize(
    ("token", "headers", "status", "why"),
    [
        ("", {}, 401, "Send a token"),
        ("none-of-ours", {}, 401, "unknown"),
        ("admin", {}, 422, "X-App-Id"),
        ("agent", {"X-User-Id": "x" * 201}, 422, "200"),
        ("agent", {"X-User-Id": ".."}, 422, "addresses cannot name it"),
        ("agent", {"X-User-Id": "a/../b"}, 422, "addresses cannot name it"),
        ("agent", {"X-User-Id": "a\tb"}, 422, "control character"),
        ("agent", {"X-App-Id": "another"}, 403, "The token is of app refused, and the header X-App-Id names another"),
    ],
    ids=["none", "unknown", "admin-without-app", "long-user", "dots", "dots-within", "tab", "token-of-another-app"],
)  # fmt: skip
def test_who_may_not_ask_is_refused_before_any_tool(
    system: System, admin: httpx.Client, token: str, headers: dict[str, str], status: int, why: str
) -> None:
    if token == "agent":
        admin.post("/apps", json={"appId": "refused", "name": "Refused"})
        token = admin.post("/apps/refused/tokens", json={"label": "agent"}).json()["token"]
    secret = {"admin": system.admin_token}.get(token, token)
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    own = {"Accept": "application/json, text/event-stream"} | ({"Authorization": f"Bearer {secret}"} if secret else {})
    answer = httpx.post(f"{system.url}/mcp", json=called, headers=own | headers)
    assert answer.status_code == status
    assert why in answer.json()["error"]["message"]


def test_an_admin_names_the_app(system: System, admin: httpx.Client) -> None:
    admin.post("/apps", json={"appId": "named", "name": "Named"})
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {system.admin_token}",
        "X-App-Id": "named",
    }
    arguments = {"name": "remember", "arguments": {"statement": "The office is closed on Fridays."}}
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    answer = httpx.post(f"{system.url}/mcp", json=called, headers=headers)
    assert answer.json()["result"]["isError"] is False
    assert admin.get("/apps/named/facts?userId=").json()["total"] == 1


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"null", json.dumps({"jsonrpc": "2.0"}).encode(), b"\xff\x00"])
def test_garbage_is_refused_without_a_traceback(system: System, garbage: bytes) -> None:
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Authorization": f"Bearer {system.admin_token}",
        "X-App-Id": "any",
    }
    answer = httpx.post(f"{system.url}/mcp", content=garbage, headers=headers)
    assert 400 <= answer.status_code < 500
    assert httpx.get(f"{system.url}/mcp", headers=headers).status_code == 405


def test_half_an_emoji_on_standard_input_is_answered(system: System, admin: httpx.Client) -> None:
    server = Agent(system, admin, "halved", "stdio").command("ada")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    said = {"name": "remember", "arguments": {"statement": "Ada grows \ud83d figs."}}
    lines = [
        json.dumps({"jsonrpc": "2.0"} | one)
        for one in (
            {"id": 1, "method": "initialize", "params": about},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": said},
        )
    ]
    with subprocess.Popen(
        [server.command, *server.args], env=server.env, cwd=server.cwd, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as program:  # fmt: skip
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write("\n".join(lines) + "\n")
        program.stdin.flush()
        answers = [json.loads(program.stdout.readline()) for _ in range(2)]
        program.stdin.close()
    assert answers[1]["result"]["isError"] is False
    assert admin.get("/apps/halved/facts?userId=ada").json()["total"] == 1


def test_a_service_that_is_away_is_said_by_the_tool(tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "loop.cli", "mcp", "--app", "x", "--url", f"http://127.0.0.1:{free_port()}", "--token", "SECRET-1"],
        env={"PYTHONPATH": str(Path.cwd())},
        cwd=tmp_path,
    )

    async def ask() -> Any:
        async with Client(stdio_client(server)) as client:
            return await client.call_tool("list_facts", {})

    result = asyncio.run(ask())
    assert result.is_error and "does not answer" in _text(result.content)
    assert "SECRET" not in _text(result.content)


def test_what_an_agent_adds_is_there_once_though_loop_and_worker_are_killed(
    system: System, admin: httpx.Client, tmp_path: Path
) -> None:
    agent = Agent(system, admin, "killed", "stdio")
    path = "/apps/killed/conversations"
    with breaking_proxy("127.0.0.1", int(system.url.rsplit(":", 1)[1])) as proxy:
        agent.url = proxy.url
        conversation = agent.call("ada", "conversation_start")
        proxy.answers_to_lose = 1
        said = [{"role": "user", "content": "I moved to Lisbon in May and restore an old sailing boat."}]
        agent.call("ada", "conversation_add", conversation_id=conversation, messages=said)
        assert proxy.lost == 1

    async def across_a_kill(client: Client) -> Any:
        system.kill(system.loop)
        asking = asyncio.create_task(
            client.call_tool("conversation_end", {"conversation_id": conversation}, read_timeout_seconds=60)
        )
        await asyncio.sleep(0)
        # In this thread, because it ends with the thread that starts it.
        system.loop.start()
        return await asking

    agent.url = system.url
    ended = agent.talk("ada", across_a_kill)
    assert not ended.is_error, ended.content
    system.kill(system.workers[0])
    system.workers[0].start()
    with system.client() as again:
        stored = again.get(f"{path}/{conversation}/messages").json()["messages"]
        assert [one["content"] for one in stored] == [said[0]["content"]]
        [memory] = wait_until(lambda: again.get("/apps/killed/memories").json()["memories"], 60, "the memory")
    assert "Lisbon" in memory["content"]


def test_without_the_extra_both_ways_say_what_to_install(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    refusal = api.refused(501, "POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert how_to_add("mcp") in refusal["message"]
    with pytest.raises(SystemExit) as left:
        main(["mcp", "--app", "chat"])
    assert left.value.code == 2 and how_to_add("mcp") in capsys.readouterr().err


def test_a_connection_says_what_it_has_to_do_with_memory(agent: Agent, admin: httpx.Client) -> None:
    def mode_of(conversation: str) -> str:
        return str(admin.get(f"/apps/{agent.app_id}/conversations/{conversation}").json()["memory"])

    agent.call("ada", "remember", statement="Ada is allergic to penicillin.")
    assert mode_of(agent.call("ada", "conversation_start", memory="read")) == "read"
    agent.headers = {"X-Memory": "read"}
    assert "penicillin" in agent.call("ada", "recall", message="What may the doctor not give me?")
    assert "nothing is kept" in agent.refusal("ada", "remember", statement="Ada keeps bees.")
    assert mode_of(agent.call("ada", "conversation_start", memory="on")) == "read", "a tool does not loosen it"
    agent.headers = {"X-Memory": "off"}
    asked = {
        "recall": {"message": "penicillin?"}, "search_memory": {"query": "penicillin"},
        "list_facts": {}, "list_memories": {},
    }  # fmt: skip
    for tool, arguments in (asked | {"remember": {"statement": "Ada keeps bees."}}).items():
        said = agent.refusal("ada", tool, **arguments)
        assert "Memory is off" in said and "allergic" not in said
    assert mode_of(agent.call("ada", "conversation_start")) == "off"

    async def read(client: Client) -> str:
        prompt = await client.get_prompt("begin_conversation", {"message": "Which pills?"})
        said = [message.content.text for message in prompt.messages if isinstance(message.content, TextContent)]
        assert said[-1] == "Which pills?"
        for uri in ("memory://facts", "memory://memories"):
            with pytest.raises(MCPError, match="Memory is off"):
                await client.read_resource(uri)
        return said[0]

    assert "Memory is off" in agent.talk("ada", read)
    agent.headers = {}
    [fact] = agent.call("ada", "list_facts")
    agent.headers = {"X-Memory": "off"}
    assert agent.call("ada", "forget", what="fact", id=str(fact["id"]))["erased"] == f"Fact {fact['id']}"


@pytest.mark.parametrize(
    ("connection", "conversation", "becomes"),
    [
        ("off", "on", "off"),
        ("off", "read", "off"),
        ("read", "on", "read"),
        ("read", "off", "off"),
        ("on", "read", "read"),
    ],
)
def test_a_tool_tightens_a_conversation_begun_elsewhere_and_never_loosens_it(
    agent: Agent, admin: httpx.Client, connection: str, conversation: str, becomes: str
) -> None:
    path = f"/apps/{agent.app_id}/conversations"
    said = [{"role": "user", "content": "I keep my bees behind the old mill in Delft."}]
    for tool in ("conversation_add", "conversation_end"):
        opened = {"conversationId": tool, "userId": "ada", "memory": conversation}
        admin.post(path, json=opened).raise_for_status()
        admin.post(f"{path}/{tool}/messages", json={"messages": said}).raise_for_status()
        agent.headers = {"X-Memory": connection}
        more = {"messages": said} if tool == "conversation_add" else {}
        agent.call("ada", tool, conversation_id=tool, **more)
        agent.call("ada", "conversation_end", conversation_id=tool)
        found = admin.get(f"{path}/{tool}").json()
        assert (found["memory"], found["jobs"]) == (becomes, [])
