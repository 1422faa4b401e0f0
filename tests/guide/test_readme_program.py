"""The README's program is run as it stands there: with the real client, a real service, and a model on loopback."""

from __future__ import annotations

import builtins
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.services import EmbeddedRedis, System, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


class _Model(BaseHTTPRequestHandler):
    """Answers each chat in OpenAI's form, and keeps what it was shown."""

    protocol_version = "HTTP/1.1"
    shown: list[list[dict[str, Any]]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.shown.append(asked["messages"])
        message = {"role": "assistant", "content": "Then no nuts for you."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps(
            {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def model() -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    """A model of OpenAI's protocol: its address, and what it was shown."""
    handler = type("Handler", (_Model,), {"shown": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", handler.shown
    server.shutdown()
    server.server_close()


def _program() -> str:
    [program] = [one for one in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "afterthought_client" in one]
    assert len(program.splitlines()) <= 15
    return program


def _say(program: str, monkeypatch: pytest.MonkeyPatch, *said: str) -> None:
    """Run the program with what a person types; an empty line ends it."""
    lines = iter([*said, ""])
    monkeypatch.setattr(builtins, "input", lambda _: next(lines))
    names: dict[str, Any] = {}
    exec(compile(program, "README.md", "exec"), names)
    # As the end of the program would.
    names["memory"].close()
    names["model"].close()


def _remembered(system: System) -> list[str]:
    with system.client() as client:
        found = client.get("/apps/diary/memories", params={"userId": "ada"}).json()["memories"]
        return [one["content"] for one in found]


def test_the_second_run_of_the_program_knows_what_was_said_in_the_first(
    sqlite_url: str,
    own_redis: EmbeddedRedis,
    tmp_path: Path,
    model: tuple[str, list[list[dict[str, Any]]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, shown = model
    with start_system(tmp_path / "system", sqlite_url, own_redis.url) as system:
        with system.client() as admin:
            admin.post("/apps", json={"appId": "diary", "name": "Diary"}).raise_for_status()
            token = admin.post("/apps/diary/tokens", json={"label": "readme"}).json()["token"]
        settings = {"AFTERTHOUGHT_URL": system.url, "AFTERTHOUGHT_TOKEN": token, "OPENAI_BASE_URL": address}
        for name, value in (settings | {"OPENAI_API_KEY": "none"}).items():
            monkeypatch.setenv(name, value)
        _say(_program(), monkeypatch, "I moved to Lisbon in May, and I am allergic to peanuts.")
        assert [one["content"] for one in shown[0] if one["role"] == "user"][-1].startswith("I moved to Lisbon")
        wait_until(lambda: _remembered(system), 60, "the memory of the first conversation")
        _say(_program(), monkeypatch, "What can I cook for my guests tonight?")
    assert "allergic to peanuts" in json.dumps(shown[1])
    assert shown[1][-1] == {"role": "user", "content": "What can I cook for my guests tonight?"}


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(README.split()) <= 900
