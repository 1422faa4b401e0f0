"""A model that answers garbage, or is small: each memory is made by the rules, and the model is left alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import case, func, select

from shared.energy.models import Spending
from shared.llm.calls import EXTRACTIVE, WorkKind
from tests.support.api import Api, metric_of, open_api
from tests.support.model_server import Act, ModelServer
from tests.support.ollama_server import OllamaServer
from tests.support.providers import CHATS, SERVERS, over_each
from tests.support.settings import served_at
from tests.support.working import open_worker, work_off
from worker.wiring import WorkerServices

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
    worker: WorkerServices
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
        *((provider, "no stream") for provider in CHATS if provider != "ollama"),
    ],
)
def test_every_memory_is_there_and_no_question_is_asked_more_than_three_times(
    urls: tuple[str, str], tmp_path: Path, provider: str, garbage: str
) -> None:
    count = 3
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


_SAID = re.compile(r"I live in \w+ now, in house number \d+\.|I play the \w+ and my sister Ada keeps \d+ bees\.")


def repeat(body: dict[str, Any]) -> dict[str, Any]:
    """Answer a talk, which stands first in the prompt, with what the user said."""
    return {"memory": " ".join(_SAID.findall(body["messages"][-1]["content"])[:2]), "facts": []}


@contextmanager
def one_job_each(url: str, home: Path, **chosen: Any) -> Iterator[Service]:
    """An installation in which each conversation asks the model for one job."""
    with service(url, home, "ollama", facts=False, model_size="large", **chosen) as bad:
        bad.server.script.answers = repeat
        yield bad


def told(bad: Service) -> tuple[float, str, str, list[str]]:
    """Return what is said of it: the gauge, who writes, the model's line of readiness, the doctor's."""
    ready = bad.api.send("GET", "/health/ready").json()
    findings = bad.api.ask("GET", "/doctor")["findings"]
    warned = [one["found"] for one in findings if "its last" in one["found"] and one["health"] == "warn"]
    gauge = metric_of(bad.api, "afterthought_model_breaker_open")
    return gauge, ready["agent"], ready["dependencies"]["ollama"]["detail"], warned


def talk(bad: Service, number: int, count: int = 1) -> None:
    bad.end_conversations(count, first=number)
    bad.work_off()


def test_a_model_that_gave_twenty_jobs_nothing_usable_is_not_asked_until_a_probe_gets_something(
    database_url: str, tmp_path: Path
) -> None:
    with one_job_each(database_url, tmp_path / "home") as bad:
        bad.server.will(*[GARBAGE["prose"]] * 66)
        talk(bad, 0, 20)
        assert len(bad.server.chats) == 60
        opened = bad.api.clock.now()
        talk(bad, 20)
        assert len(bad.server.chats) == 60, "nothing is asked"
        why = "answered nothing usable in 20 of its last 20 jobs"
        again = f"it is asked again at {opened + timedelta(minutes=10):%H:%M} UTC"
        assert bad.jobs("create_memory")[0]["reason"] == f"done by extractive, as ollama:tiny {why}; {again}"
        assert len(bad.memories(3)) == 21
        gauge, agent, detail, [warned] = told(bad)
        assert (gauge, agent) == (1, "extractive")
        assert f"It {why}; the built-in agent does them, and {again}" in detail
        assert warned == f"ollama:tiny {why}; the built-in agent does them, and {again}"
        # Of two jobs one asks, every ten minutes; after it failed, in twenty.
        for number, asked in ((21, 63), (23, 63), (25, 66)):
            bad.api.clock.advance(601)
            talk(bad, number, 2)
            assert len(bad.server.chats) == asked
        bad.api.clock.advance(2400)
        talk(bad, 27, 2)
        gauge, agent, detail, warned = told(bad)
        assert (gauge, agent, warned) == (0, "ollama:tiny", []) and "usable" not in detail
        assert [job["reason"] for job in bad.jobs("create_memory")[:2]] == [None, None]


def test_where_no_rules_stand_behind_it_the_breaker_only_tells(sqlite_url: str, tmp_path: Path) -> None:
    with one_job_each(sqlite_url, tmp_path / "home", on_bad_output="dead_letter") as strict:
        strict.server.will(*[GARBAGE["prose"]] * 63)
        talk(strict, 0, 21)
        assert len(strict.server.chats) == 63 and {job["state"] for job in strict.jobs("create_memory")} == {"dead"}
        gauge, agent, _, [warned] = told(strict)
        model = strict.api.send("GET", "/health/ready").json()["dependencies"]["ollama"]
        assert (model["ok"], model["needed"]) == (False, False), "nobody is told that it is well"
        assert (gauge, agent) == (1, "ollama:tiny") and warned.endswith("they become dead letters")
        talk(strict, 21)
        assert told(strict)[0] == 0


@pytest.mark.parametrize(
    ("status", "why"), [(500, "its server failed"), (429, "its server takes no more for now")], ids=["500", "429"]
)
def test_a_server_that_gives_no_answer_for_hours_loses_no_job_is_told_of_and_asked_again_afterwards(
    sqlite_url: str, tmp_path: Path, status: int, why: str
) -> None:
    with one_job_each(sqlite_url, tmp_path / "home") as bad:
        bad.server.will(*[Act(status=status)] * 1000)
        for number in range(24):
            bad.end_conversations(1, first=number)
            for _ in range(3):
                bad.work_off()
                bad.api.clock.advance(100)
        jobs = bad.jobs("create_memory")
        assert Counter((job["state"], job["attempts"]) for job in jobs[-20:]) == {("done", 3): 20}, "none is dead"
        assert f"status {status}" in jobs[-1]["reason"] and why in jobs[0]["reason"]
        assert len(bad.memories(3)) == 24 and told(bad)[0] == 1
        warned = [one for one in bad.api.ask("GET", "/doctor")["findings"] if why in one["found"]]
        assert [one["mend"].startswith("Look at the model's server") for one in warned] == [True]
        bad.server.script.acts.clear()
        bad.api.clock.advance(7200)
        talk(bad, 24)
        assert told(bad)[0] == 0
        assert next(one for one in bad.memories(3) if "24" in one["content"])["agent"] == "ollama:tiny"


SAID_AT_LENGTH = (
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
            api.ask("POST", f"{path}/c1/messages", json={"messages": [{"role": "user", "content": SAID_AT_LENGTH}]})
            api.ask("POST", f"{path}/c1/end")
            work_off(worker, api.clock)
        [memory] = api.ask("GET", "/apps/notes/memories")["memories"]
        assert [next(iter(chat["format"]["properties"])) for chat in server.chats] == [asked]
        assert "migraines" in memory["content"] or asked == "memory"
