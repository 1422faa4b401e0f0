"""How a model is asked follows from the size that its server tells, or its name, or the setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from tests.support.api import open_api
from tests.support.ollama_server import OllamaServer
from tests.support.settings import served_at
from tests.support.working import open_worker, work_off

SAID = (
    "I have been running the bakery on the corner of the old square with my sister Ada since 2019, and I get migraines "
    "from strong light so please never suggest a terrace. Kwame from the mill brings the flour every Tuesday at five, "
    "and we decided to close on Mondays from May on because the oven has to be repaired by the people from Ghent."
)


@pytest.mark.parametrize(
    ("name", "told", "chosen", "asked"),
    [
        pytest.param("tiny", {"parameter_size": "1.5B"}, {}, "short", id="its server tells that it is small"),
        pytest.param("tiny", {"parameter_size": "8.0B"}, {}, "memory", id="its server tells that it is large"),
        pytest.param("llama3.2:1b", {}, {}, "short", id="its name tells that it is small"),
        pytest.param("tiny", {}, {}, "memory", id="nobody tells: it is taken for a hosted one"),
        pytest.param("tiny", {"parameter_size": "8.0B"}, {"model_size": "small"}, "short", id="the setting, small"),
        pytest.param("tiny", {"parameter_size": "1.5B"}, {"model_size": "large"}, "memory", id="the setting, large"),
    ],
)
def test_a_small_model_shortens_and_a_large_one_reads(
    sqlite_url: str, tmp_path: Path, name: str, told: dict[str, str], chosen: dict[str, str], asked: str
) -> None:
    with (
        OllamaServer(models=(name,), shown={"details": told}) as server,
        open_api(sqlite_url, tmp_path / "home") as api,
    ):
        how = {"model": f"ollama:{name}", "ollama_host": served_at(server.url).ollama_host, **chosen}
        with open_worker(sqlite_url, tmp_path / "home", api.clock, CollectorRegistry(), **how) as worker:
            path = f"{api.install('notes')}/conversations"
            api.ask("POST", path, json={"conversationId": "c1"})
            api.ask("POST", f"{path}/c1/messages", json={"messages": [{"role": "user", "content": SAID}]})
            api.ask("POST", f"{path}/c1/end")
            work_off(worker, api.clock)
        [memory] = api.ask("GET", "/apps/notes/memories")["memories"]
        assert [next(iter(chat["format"]["properties"])) for chat in server.chats] == [asked]
        assert "migraines" in memory["content"] or asked == "memory"
