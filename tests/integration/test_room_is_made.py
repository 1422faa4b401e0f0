"""A model that writes memories at once and cannot say what goes for them: the rules say it, and why, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.support.api import Api, open_api
from tests.support.model_server import Act
from tests.support.ollama_server import OllamaServer
from tests.support.settings import served_at
from tests.support.working import open_worker, work_off
from worker.wiring import WorkerServices

VITAL = "Stung by a wasp she cannot breathe; the adrenaline pen hangs by the door"
FILM = {"memory": "Asked for a film on Friday", "facts": []}
OTHER = {"memory": "Wears hearing aids", "facts": []}
PROSE = Act(answer="I think the first of them may go, as it is rather old by now.")


def deletes(memory_id: int) -> Act:
    return Act(answer={"action": "delete", "target_id": memory_id, "absorbed_id": 0, "new_content": ""})


def merges(memory_id: int, text: str) -> Act:
    return Act(answer={"action": "edit", "target_id": memory_id, "absorbed_id": 0, "new_content": text})


@dataclass
class Ana:
    """A user with ten memories by hand, the oldest of them vital and the others slight."""

    api: Api
    worker: WorkerServices
    server: OllamaServer
    vital: int

    def talk(self, said: str) -> dict[str, Any]:
        """Hold a conversation, have its memory made, and return the job."""
        base = "/apps/chat/conversations"
        conversation = self.api.ask("POST", base, json={"userId": "ana"})["conversationId"]
        self.api.ask("POST", f"{base}/{conversation}/messages", json={"role": "user", "content": said})
        self.api.ask("POST", f"{base}/{conversation}/end")
        work_off(self.worker, self.api.clock)
        [job] = self.api.ask("GET", "/jobs", params={"kind": "create_memory"})["jobs"]
        return dict(job)

    def memories(self) -> list[dict[str, Any]]:
        """Return what stands, newest first."""
        return list(self.api.ask("GET", "/apps/chat/memories", params={"userId": "ana"})["memories"])

    def changes(self) -> list[dict[str, Any]]:
        """Return what made room: whatever happened that is no creation."""
        found = self.api.ask("GET", "/apps/chat/memories/changes", params={"limit": 100})["changes"]
        return [change for change in found if change["kind"] != "created"]


@pytest.fixture
def settle(api_url: str, tmp_path: Path) -> Iterator[Callable[..., Ana]]:
    """Begin with a user, a worker with some settings, and its model."""
    with ExitStack() as stack:

        def begin(**chosen: Any) -> Ana:
            server = stack.enter_context(OllamaServer())
            api = stack.enter_context(open_api(api_url, tmp_path / "home", facts=False))
            asks = {"model": "ollama:tiny", "ollama_host": served_at(server.url).ollama_host, **chosen}
            worker = stack.enter_context(open_worker(api_url, tmp_path, api.clock, CollectorRegistry(), **asks))
            path = api.install("chat")
            [vital] = api.remember(path, VITAL, importance=10, userId="ana")
            api.remember(path, *(f"Saw a heron at pond {i}" for i in range(9)), importance=1, userId="ana")
            return Ana(api, worker, server, vital)

        yield begin


@pytest.mark.parametrize(
    ("acts", "why"),
    [
        pytest.param([Act(stall=True)], "could not decide: ollama:tiny did not answer in time", id="too slow"),
        pytest.param([Act(status=400)], "could not decide: Ollama at", id="misconfigured"),
        pytest.param([PROSE] * 3, "could not decide: The model gave no usable answer", id="unusable"),
        pytest.param([deletes(1)] * 3, "memory 1 of importance 10 would be lost while memory 2 of 1", id="refused"),
        pytest.param([merges(1, "The pen hangs there; asked for a film.")] * 3, "would be lost", id="a thin merge"),
    ],
)
def test_where_the_model_cannot_decide_the_rules_do_and_the_vital_memory_stands(
    settle: Callable[..., Ana], acts: list[Act], why: str
) -> None:
    # Whoever wants dead letters of bad output gets a memory all the same: it was written, and only room was to be made.
    ana = settle(model_timeout_seconds=1.0, on_bad_output="dead_letter")
    assert ana.vital == 1
    ana.server.will(Act(answer=FILM), *acts)
    job = ana.talk("Which film could I watch on Friday? Find me a film.")
    assert (job["state"], job["attempts"], len(ana.server.chats)) == ("done", 1, 1 + len(acts))
    contents = [memory["content"] for memory in ana.memories()]
    assert len(contents) == 10 and any(VITAL in content for content in contents)
    changes = ana.changes()
    assert changes and {change["actor"] for change in changes} == {"extractive"}
    for reason in (job["reason"], *(change["reason"] for change in changes)):
        assert reason.startswith("room made by the rules, as ollama:tiny could not decide: ") and why in reason
        assert not any(word in reason for word in ("wasp", "adrenaline", "heron", "film")), "reasons outlive a purge"


def test_where_the_rules_may_not_do_what_they_chose_either_age_decides_and_spares_what_is_vital(
    settle: Callable[..., Ana],
) -> None:
    ana = settle()
    for memory in ana.memories():
        ana.api.ask("PATCH", f"/apps/chat/memories/{memory['id']}", json={"importance": 9})
    # It says all of a vital memory, which therefore goes first by the rules, and is slight itself.
    slight = "Saw a heron at pond 3 again and it was lovely"
    ana.server.will(Act(answer={**FILM, "memory": slight}), Act(status=400))
    job = ana.talk(f"I {slight[0].lower()}{slight[1:]}.")
    assert len(ana.memories()) == 10 and all(memory["importance"] >= 8 for memory in ana.memories())
    [change] = [change for change in ana.changes() if change["kind"] != "edited"]
    assert (change["kind"], change["actor"]) == ("gave_way", "rule:oldest_goes")
    assert job["state"] == "done" and job["reason"].startswith(f"memory {change['memoryId']} was made and has no place")
    for reason in (job["reason"], change["reason"]):
        assert "room made by the rules, as ollama:tiny could not decide" in reason
        assert "what the rules chose was refused: memory 5 of importance" in reason


def test_a_models_merge_that_keeps_what_is_vital_is_carried_out(settle: Callable[..., Ana]) -> None:
    ana = settle()
    both = f"{VITAL}. Wears hearing aids."
    ana.server.will(Act(answer=OTHER), merges(1, both))
    job = ana.talk("By the way, she wears hearing aids.")
    assert job["reason"] is None and [change["actor"] for change in ana.changes()] == ["ollama:tiny"] * 2
    assert both in [memory["content"] for memory in ana.memories()]
