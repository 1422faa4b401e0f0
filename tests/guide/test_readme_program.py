"""The README's program is run as it stands there: with the real client, a real service, and a model on loopback."""

from __future__ import annotations

import builtins
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import Act
from tests.support.openai_server import OpenAiServer
from tests.support.services import EmbeddedRedis, System, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        start_system(tmp_path / "system", sqlite_url, own_redis.url) as system,
        OpenAiServer(*[Act(answer="Then no nuts for you.")] * 2, models=("gpt-5-mini",)) as model,
    ):
        with system.client() as admin:
            admin.post("/apps", json={"appId": "diary", "name": "Diary"}).raise_for_status()
            token = admin.post("/apps/diary/tokens", json={"label": "readme"}).json()["token"]
        settings = {"AFTERTHOUGHT_URL": system.url, "AFTERTHOUGHT_TOKEN": token, "OPENAI_BASE_URL": f"{model.url}/v1"}
        for name, value in (settings | {"OPENAI_API_KEY": "none"}).items():
            monkeypatch.setenv(name, value)
        _say(_program(), monkeypatch, "I moved to Lisbon in May, and I am allergic to peanuts.")
        first = model.chats[0]["messages"]
        assert [one["content"] for one in first if one["role"] == "user"][-1].startswith("I moved to Lisbon")
        wait_until(lambda: _remembered(system), 60, "the memory of the first conversation")
        _say(_program(), monkeypatch, "What can I cook for my guests tonight?")
    second = model.chats[1]["messages"]
    assert "allergic to peanuts" in json.dumps(second)
    assert second[-1] == {"role": "user", "content": "What can I cook for my guests tonight?"}


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(README.split()) <= 900
