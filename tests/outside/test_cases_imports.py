"""The smallest inputs of public reports about imports, ids and OpenAI's protocol, against a running service.

They lie beside the checkout; where they are not, the tests of the same behaviour in ``tests/integration`` stand alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.command_line import Ran, run
from tests.support.model_server import Act
from tests.support.openai_server import OpenAiServer
from tests.support.providers import environment
from tests.support.services import System, run_service

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
CASES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "cases" / "cases.jsonl"


@functools.cache
def case(name: str) -> Any:
    if not CASES.exists():
        pytest.skip("the cases are not beside this checkout")
    rows = map(json.loads, CASES.read_text().splitlines())
    found = next((one["input"] for one in rows if one["id"] == name), None)
    return found if found is not None else pytest.skip(f"there is no case {name}")


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAiServer]:
    with OpenAiServer(models=("M",)) as server:
        yield server


@pytest.fixture(scope="module")
def system(model: OpenAiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A loop whose model is at that server, at the address that programs of OpenAI's read too."""
    folder = tmp_path_factory.mktemp("cases")
    env = {name: value for name, value in environment(model).items() if "BASE_URL" not in name}
    env |= {"AFTERTHOUGHT_MODEL": "openai:M", "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "sk-service"}
    with run_service(folder, env, workers=0) as running:
        yield running


@pytest.fixture
def app(system: System, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    name = "".join(one if one.isalnum() else "-" for one in request.node.name)[-90:].strip("-")
    with system.client() as admin:
        admin.post("/apps", json={"appId": name, "name": name, "answeredBy": "app"}).raise_for_status()
        token = admin.post(f"/apps/{name}/tokens").json()["token"]
    with system.client(token) as client:
        client.base_url = f"{system.url}/apps/{name}/"
        yield client


class Imports:
    """Imports a case as a file, and says what came of it."""

    def __init__(self, system: System, app: httpx.Client, folder: Path, capsys: Any, monkeypatch: Any) -> None:
        monkeypatch.setenv("AFTERTHOUGHT_URL", system.url)
        monkeypatch.setenv("AFTERTHOUGHT_TOKEN", system.admin_token)
        self._app, self._folder, self._capsys = app, folder, capsys

    def run(self, format: str, text: str, status: int = 0) -> Ran:
        file = self._folder / "case.json"
        file.write_text(text)
        app_id = self._app.base_url.path.strip("/").split("/")[-1]
        return run(
            self._capsys, "import", format, str(file), "--app", app_id, "--user", "u", "--yes", "--json", status=status
        )

    def said(self, conversation: str | None = None) -> list[str]:
        """Return what stands in a conversation, or in the one there is."""
        if conversation is None:
            [only] = self._app.get("conversations").json()["conversations"]
            conversation = only["conversationId"]
        rows = self._app.get(f"conversations/{quote(str(conversation), safe='')}/messages").json()["messages"]
        return [one["content"] for one in rows]


@pytest.fixture
def imports(
    system: System,
    app: httpx.Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Imports:
    return Imports(system, app, tmp_path, capsys, monkeypatch)


def test_half_an_emoji_in_a_title_leaves_no_conversation_out(imports: Imports) -> None:
    done = imports.run("claude", case("public-07")).json
    assert (done["conversations"]["imported"], done["badLines"]) == (2, [])
    assert [imports.said(name) for name in ("k1", "k2")] == [["I own a loom."], ["I own a kiln."]]


def test_half_an_emoji_is_kept_as_the_replacement_character_at_every_door(
    system: System, app: httpx.Client, model: OpenAiServer
) -> None:
    message = case("public-07d").encode()
    json_type = {"Content-Type": "application/json"}
    app.post("conversations", json={"conversationId": "c"}).raise_for_status()
    app.post("conversations/c/messages", content=message, headers=json_type).raise_for_status()
    assert [one["content"] for one in app.get("conversations/c/messages").json()["messages"]] == ["cut \ufffd"]

    model.will(Act(answer="Yes?"))
    asked = b'{"model": "M", "messages": [%s]}' % message
    url = f"{system.url}/v1/chat/completions"
    answer = app.post(url, content=asked, headers=json_type)
    assert answer.json()["choices"][0]["message"]["content"] == "Yes?"
    assert model.chats[-1]["messages"][-1]["content"] == "cut \ufffd"

    called = (
        rb'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
        rb'{"name": "remember", "arguments": {"statement": "Ada likes \ud83d figs."}}}'
    )
    headers = json_type | {
        "Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call", "Mcp-Name": "remember"
    }  # fmt: skip
    app.post(f"{system.url}/mcp", content=called, headers=headers).raise_for_status()
    assert len(app.get("facts?userId=").json()["facts"]) == 1


def test_a_message_of_another_shape_leaves_the_other_conversations_alone(imports: Imports) -> None:
    imports.run("chatgpt", case("public-08"))
    assert [imports.said(name) for name in ("good", "odd")] == [["I like go."], ["a plain string"]]


@pytest.mark.parametrize(
    ("name", "format", "said", "where"),
    [
        ("public-08d", "claude", ["I grow leeks."], "element 1, message 1"),
        ("public-08e", "langchain", ["I live in Ghent.", "ok"], "element 3"),
    ],
)
def test_what_cannot_be_used_is_named_alone(
    imports: Imports, name: str, format: str, said: list[str], where: str
) -> None:
    done = imports.run(format, case(name), status=1).json
    assert [one["where"] for one in done["badLines"]] == [where]
    assert imports.said() == said


def test_what_was_pasted_is_kept_as_attached(imports: Imports) -> None:
    imports.run("claude", case("public-09"))
    pasted, answer = imports.said()
    assert pasted.startswith("<attached_files>") and "Card: penicillin since 2011." in pasted
    assert answer == "I see: penicillin since 2011."


def test_keys_that_only_the_models_server_knows_are_passed_on(
    system: System, app: httpx.Client, model: OpenAiServer
) -> None:
    asked = json.loads(case("public-14"))
    model.will(Act(answer="Sure: A"))
    app.post(f"{system.url}/v1/chat/completions", json=asked).raise_for_status()
    assert model.chats[-1]["messages"][-len(asked["messages"]) :] == asked["messages"]


def test_ids_of_chat_services_are_taken(system: System, app: httpx.Client, model: OpenAiServer) -> None:
    for name in [*case("public-15"), "größe-東京 (2)", "100%2F#x"]:
        app.post("conversations", json={"conversationId": name}).raise_for_status()
        assert app.get(f"conversations/{quote(name, safe='')}").json()["conversationId"] == name
        asked = {"model": "M", "messages": [{"role": "user", "content": f"Hello from {name}."}]}
        model.will(Act(answer="Hello."))
        answer = app.post(f"{system.url}/v1/chat/completions", json=asked, headers={"X-Conversation-Id": name.encode()})
        assert dict(answer.raise_for_status().headers.raw)[b"x-conversation-id"].decode() == name
        app.delete(f"conversations/{quote(name, safe='')}").raise_for_status()
    assert app.get("conversations").json()["conversations"] == []
