"""The whole service as real processes: a model over the wire, the intake queue, restarts, scarcity."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared.base.settings import Settings
from shared.broker import make_celery
from shared.contracts.jobs import JobKind, task_name
from shared.llm.providers import embedder_name
from tests.support.ollama_server import OllamaServer
from tests.support.services import EmbeddedRedis, System, start_system
from tests.support.waiting import wait_until
from worker.agent.memory_model import COMPACT, READ
from worker.agent.prompt import Prompt

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
QUICK = {
    "AFTERTHOUGHT_RETRY_BASE_SECONDS": "0.1",
    "AFTERTHOUGHT_RETRY_MAX_SECONDS": "0.2",
    "AFTERTHOUGHT_TICK_SECONDS": "0.1",
    "AFTERTHOUGHT_JOB_MAX_ATTEMPTS": "2",
}


def _asked(ollama: OllamaServer, prompt: Prompt) -> int:
    """How often the Memory Sub-Agent asked the model with one of its prompts."""
    return sum(chat["messages"][0]["content"].startswith(prompt.system) for chat in ollama.chats)


class Started:
    def __init__(self, system: System, client: httpx.Client) -> None:
        self.system = system
        self.client = client

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def converse(self, app: str, name: str, *said: str, end: bool = True) -> None:
        base = f"/apps/{app}/conversations"
        self.ask("POST", base, json={"conversationId": name})
        self.ask(
            "POST", f"{base}/{name}/messages", json={"messages": [{"role": "user", "content": text} for text in said]}
        )
        if end:
            self.ask("POST", f"{base}/{name}/end")

    def job(self, app: str) -> dict[str, Any]:
        return dict(self.ask("GET", "/jobs", params={"appId": app, "kind": "create_memory"})["jobs"][0])

    def wait_for(self, app: str, state: str) -> dict[str, Any]:
        wait_until(lambda: self.job(app)["state"] == state, 60, f"the job of {app} to be {state}: {self.job(app)}")
        return self.job(app)

    def contents(self, app: str) -> list[str]:
        return [memory["content"] for memory in self.ask("GET", f"/apps/{app}/memories")["memories"]]


@pytest.fixture
def start(tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis) -> Iterator[Any]:
    with ExitStack() as stack:

        def begin(**env: str) -> Started:
            system = stack.enter_context(start_system(tmp_path, sqlite_url, own_redis.url, env={**QUICK, **env}))
            return Started(system, stack.enter_context(system.client()))

        yield begin


def test_a_model_over_the_wire_writes_memories_and_makes_room_with_any_patience(start: Any) -> None:
    with OllamaServer(models=("tiny:latest",)) as ollama:
        service = start(
            AFTERTHOUGHT_MODEL="ollama:tiny:latest",
            OLLAMA_HOST=ollama.url,
            # Alone: what has to be longer follows.
            AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS="600",
            AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND="1000",
        )
        service.ask("POST", "/apps", json={"appId": "a", "name": "A"})
        for i in range(12):
            service.converse("a", f"c{i}", f"I bought boat number {i}.")
            service.wait_for("a", "done")
        memories = service.ask("GET", "/apps/a/memories")["memories"]
        assert len(memories) == 10 and {m["agent"] for m in memories} == {"ollama:tiny:latest"}
        spent = service.ask("GET", "/apps/a/energy")["byKind"]
        assert spent["create_memory"] > spent["compact_memories"] > 0
        # The loop's own thinking asks the model too, on a slow machine more often.
        assert [_asked(ollama, prompt) for prompt in (READ, COMPACT)] == [12, 2]


def test_apps_that_speak_celery_end_conversations_and_bad_messages_become_dead_letters(
    start: Any, own_redis: EmbeddedRedis
) -> None:
    service = start()
    service.ask("POST", "/apps", json={"appId": "a", "name": "A"})
    service.converse("a", "c1", "I bought a boat in Bergen.", end=False)
    celery = make_celery(Settings(redis_url=own_redis.url))
    for fields in (
        {"appId": "a", "conversationId": "c1", "reason": "closed"},
        {"appId": "a", "conversationId": "c1"},
        {"appId": "a", "conversationId": "unknown"},
        {"appId": "a", "conversationId": "c1", "surprise": "text"},
        {},
    ):
        celery.send_task(task_name(JobKind.END_CONVERSATION), kwargs=fields, queue="intake")
    celery.close()
    wait_until(lambda: len(service.ask("GET", "/jobs", params={"state": "dead"})["jobs"]) == 3, 60, "dead letters")
    wait_until(lambda: service.contents("a"), 60, "the memory")
    assert len(service.contents("a")) == 1
    [embedding] = set(re.findall(r"worker_process_started .*embedding=(\S+)", service.system.workers[0].log))
    assert embedding == embedder_name(None), "its log says by what it embeds"
    reasons = " ".join(job["reason"] for job in service.ask("GET", "/jobs", params={"state": "dead"})["jobs"])
    assert all(words in reasons for words in ("a field that is not known", "no conversation unknown", "appId"))
    assert "surprise" not in reasons and "text" not in reasons, "a dead letter repeats nothing of the message"


def test_an_idle_service_makes_no_call_logs_no_error_and_writes_nothing(start: Any, tmp_path: Path) -> None:
    service = start(AFTERTHOUGHT_LOG_LEVEL="warning")
    spent = service.ask("GET", "/energy")
    database = tmp_path / "afterthought.db"
    before = (database.stat().st_mtime_ns, cpu_seconds(service.system.loop.pid))
    with pytest.raises(AssertionError):
        wait_until(lambda: database.stat().st_mtime_ns != before[0], 5, "a write that must not come")
    used = cpu_seconds(service.system.loop.pid) - before[1]
    assert used < 1.0, f"an idle loop used {used:.2f} s of CPU in 5 s"
    assert service.ask("GET", "/energy")["level"] == spent["level"] == 100
    assert service.system.loop.log == "" and "[error" not in service.system.workers[0].log


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100
