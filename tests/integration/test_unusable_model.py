"""A model that answers only garbage, from the front door: every memory is made, by the rules, after three questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import case, func, select

from shared.energy.models import Spending
from shared.llm.calls import EXTRACTIVE, WorkKind
from tests.support.api import Api, open_api
from tests.support.model_server import Act, ModelServer
from tests.support.providers import SERVERS, over_each
from tests.support.settings import served_at
from tests.support.working import open_worker, work_off
from worker.wiring import Wired

GARBAGE = {
    "prose": Act(answer="Of course! Here is what I found out about the user, who seems to be very nice indeed."),
    "half an object": Act(answer='{"memory": "I live in'),
    "no stream": Act(answer="I am not JSON.", whole=True),
    "a long story": Act(answer="Once upon a time there was a user who lived in a town by the sea. " * 10),
}
ENDLESS = Act(answer=json.dumps({"memory": "and so on " * 3000}), done_reason="length")
ADDRESSES = ("ollama_host", "openai_base_url", "anthropic_base_url")
TOWNS = ("Lyon", "Porto", "Bergen", "Turku", "Graz", "Ghent", "Split", "Vilnius", "Cork", "Bilbao")
INSTRUMENTS = ("oboe", "harp", "viola", "tuba", "lute", "cello", "flute", "banjo", "organ", "horn")


@dataclass
class Service:
    """The interface, a worker's objects, and the model they ask."""

    api: Api
    worker: Wired
    server: ModelServer
    metrics: CollectorRegistry
    model: str

    def end_conversations(self, count: int, first: int = 0) -> None:
        """End so many conversations of users who have ten each, over HTTP."""
        app = "/apps/notes"
        if not first:
            self.api.install("notes")
        for number in range(first, first + count):
            path = f"{app}/conversations/c{number}"
            user = f"user-{number // 10}"
            self.api.ask("POST", f"{app}/conversations", json={"conversationId": f"c{number}", "userId": user})
            said = (
                f"I live in {TOWNS[number % 10]} now, in house number {number}.",
                "How lovely! What do you do there?",
                f"I play the {INSTRUMENTS[number // 10 % 10]} and my sister Ada keeps {number + 2} bees.",
            )
            messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
            self.api.ask("POST", f"{path}/messages", json={"messages": messages})
            self.api.ask("POST", f"{path}/end")
            self.api.clock.advance(1)

    def work_off(self) -> None:
        """Carry out every job that thinks, as workers would."""
        work_off(self.worker, self.api.clock)

    def jobs(self, kind: str) -> list[dict[str, Any]]:
        """Return every job of a kind, as the interface shows it."""
        found, cursor = [], None
        while True:
            page = self.api.ask(
                "GET", "/jobs", params={"kind": kind, "limit": 100} | ({"cursor": cursor} if cursor else {})
            )
            found += page["jobs"]
            cursor = page["cursor"]
            if cursor is None:
                return found

    def memories(self, users: int) -> list[dict[str, Any]]:
        pages = (self.api.ask("GET", f"/apps/notes/memories?userId=user-{user}") for user in range(users))
        return [memory for page in pages for memory in page["memories"]]

    def calls(self, kind: str) -> dict[str, int]:
        """Return how many questions each job of a kind asked the model, by conversation."""
        asked = func.sum(case((Spending.model != EXTRACTIVE, 1), else_=0))
        query = select(Spending.job_id, asked).where(Spending.kind != WorkKind.EMBED)
        with self.worker.database.read() as session:
            rows = session.execute(query.group_by(Spending.job_id)).all()
        mine = {job["jobId"]: job["conversationId"] for job in self.jobs(kind)}
        return {mine[job]: int(calls) for job, calls in rows if job in mine}


@contextmanager
def service(url: str, home: Path, provider: str, **chosen: Any) -> Iterator[Service]:
    model = f"{provider}:tiny"
    with ExitStack() as stack:
        server = stack.enter_context(SERVERS[provider]())
        chosen |= {"model": model, **{name: getattr(served_at(server.url), name) for name in ADDRESSES}}
        api = stack.enter_context(open_api(url, home, **chosen))
        registry = CollectorRegistry()
        worker = stack.enter_context(open_worker(url, home, api.clock, registry, **chosen))
        yield Service(api, worker, server, registry, model)


@pytest.fixture
def urls(sqlite_url: str, tmp_path: Path) -> tuple[str, str]:
    """Two databases: one for a model that answers well, one for a model that does not."""
    other = tmp_path / "other.db"
    path = sqlite_url.removeprefix("sqlite:///")
    other.write_bytes(Path(path).read_bytes())
    return sqlite_url, f"sqlite:///{other}"


@pytest.mark.parametrize(
    ("provider", "garbage"),
    [
        *(("ollama", garbage) for garbage in GARBAGE),
        *((provider, kind) for provider in SERVERS if provider != "ollama" for kind in ("prose", "no stream")),
    ],
)
def test_every_memory_is_there_and_no_question_is_asked_more_than_three_times(
    urls: tuple[str, str], tmp_path: Path, provider: str, garbage: str
) -> None:
    count = 6
    with service(urls[0], tmp_path / "good", provider) as good:
        good.end_conversations(count)
        good.work_off()
        usual = good.calls("create_memory")
        assert {memory["agent"] for memory in good.memories(1)} == {good.model}
    with service(urls[1], tmp_path / "bad", provider) as bad:
        bad.server.will(*[GARBAGE[garbage]] * (count * 20))
        bad.end_conversations(count)
        bad.work_off()
        memories = bad.memories(-(-count // 10))
        assert len(memories) == count and {memory["agent"] for memory in memories} == {"extractive"}
        history = bad.api.ask("GET", f"/apps/notes/memories/{memories[0]['id']}/history")["changes"]
        assert history[0]["actor"] == "extractive" and f"as {bad.model} could not" in history[0]["reason"]
        jobs = bad.jobs("create_memory")
        assert Counter((job["state"], job["attempts"]) for job in jobs) == {("done", 1): count}
        assert all(f"done by extractive, as {bad.model} could not" in job["reason"] for job in jobs)
        asked = bad.calls("create_memory")
        assert len(asked) == count and all(asked[name] <= 3 * calls for name, calls in usual.items())
        counted = bad.metrics.get_sample_value("afterthought_agent_fallbacks_total", {"kind": "create_memory"})
        assert counted == count


def test_facts_are_found_while_a_conversation_goes_on_without_asking_the_model(sqlite_url: str, tmp_path: Path) -> None:
    with service(sqlite_url, tmp_path / "home", "ollama") as bad:
        bad.server.will(*[GARBAGE["prose"]] * 20)
        bad.end_conversations(2)
        bad.work_off()
        facts = bad.api.ask("GET", "/apps/notes/facts?limit=100")["facts"]
        assert facts and {fact["agent"] for fact in facts} == {"extractive"}
        jobs = bad.jobs("extract_facts")
        assert [(job["state"], job["attempts"], job["reason"]) for job in jobs] == [("done", 1, None)] * 2
        assert set(bad.calls("extract_facts").values()) == {0}
        assert not bad.metrics.get_sample_value("afterthought_agent_fallbacks_total", {"kind": "extract_facts"})


def test_an_answer_without_an_end_is_asked_for_twice_more_with_as_much_room(
    sqlite_url: str, tmp_path: Path, provider: str
) -> None:
    with service(sqlite_url, tmp_path / "home", provider) as bad:
        bad.server.will(*[ENDLESS] * 20)
        bad.end_conversations(2)
        bad.work_off()
        assert [memory["agent"] for memory in bad.memories(1)] == ["extractive"] * 2
        assert set(bad.calls("create_memory").values()) == {3}
        assert bad.jobs("create_memory")[0]["reason"].count("it was cut off because it was too long") == 3


@over_each
def test_where_the_setting_says_so_the_job_is_a_dead_letter_at_once_and_can_be_replayed(
    sqlite_url: str, tmp_path: Path, provider: str
) -> None:
    with service(sqlite_url, tmp_path / "home", provider, on_bad_output="dead_letter") as strict:
        strict.server.will(*[GARBAGE["prose"]] * 3)
        strict.end_conversations(1)
        strict.work_off()
        [job] = strict.jobs("create_memory")
        assert (job["state"], job["attempts"]) == ("dead", 1) and "no usable answer" in job["reason"]
        assert strict.memories(1) == [] and len(strict.server.chats) == 3
        strict.api.ask("POST", f"/jobs/{job['jobId']}/replay")
        strict.work_off()
        [memory] = strict.memories(1)
        assert memory["agent"] == strict.model
