"""llama.cpp's own server as a model of OpenAI's protocol, with random weights: what it says is nonsense in good form.

It runs in the test process; what asks it is our adapter, OpenAI's client, and at the end the whole service.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import numpy as np
import pytest
from openai import OpenAI
from pydantic import BaseModel, Field, SecretStr
from sqlalchemy import select

from loop.cli.model_checks import Health, check_embedding, check_models
from loop.thinking.tools import TOOLS, read_arguments
from shared.base.errors import Configuration
from shared.base.settings import Settings
from shared.db.engine import Database
from shared.energy.models import Spending
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.chat import Question, Unusable
from shared.llm.providers import make_chat, make_embedder, make_tool_chat
from shared.llm.tools import Exchange, ExchangeLine, Speaker, tool_name
from tests.support.meters import Calls
from tests.support.services import System, run_service
from tests.support.settings import default_settings
from tests.support.waiting import wait_until
from worker import agent
from worker.agent.prompt import Answer

_WHERE = "the extra 'engine' is not installed; ./ops/test --long does it"
pytest.importorskip("xllamacpp", reason=_WHERE)
pytest.importorskip("gguf", reason=_WHERE)
from tests.support.tiny_model import CONTEXT_TOKENS, WIDTH, serve_model, write_model  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
for module in pkgutil.iter_modules(agent.__path__, "worker.agent."):
    importlib.import_module(module.name)
SHAPES = sorted(Answer.__subclasses__(), key=lambda shape: shape.__name__)
"""What the Memory Sub-Agent asks for, and what stands in the lists of that."""


class Claim(BaseModel):
    """An answer with a bit of everything that our own questions ask for."""

    reason: str
    keep: bool
    kind: Literal["identity", "preference"]
    importance: Annotated[int, Field(ge=0, le=10)]
    tags: list[str]


class Weather(BaseModel):
    place: str
    unit: Literal["celsius", "fahrenheit"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "tiny.gguf"
    write_model(path)
    return path


@pytest.fixture(scope="module")
def base_url(model: Path) -> Iterator[str]:
    with serve_model(model) as address:
        yield address


@pytest.fixture
def settings(base_url: str) -> Settings:
    return settings_of(base_url)


@pytest.fixture
def calls() -> Calls:
    return Calls()


def settings_of(base_url: str, **chosen: Any) -> Settings:
    asked = {"model": "openai:tiny", "embedding": "openai:tiny", "model_context_tokens": CONTEXT_TOKENS}
    return default_settings(openai_base_url=base_url, **asked | chosen)


def question(user: str = "Is this worth keeping?", tokens: int = 300) -> Question[Claim]:
    return Question(WorkKind.CREATE, "You judge.", user, Claim, tokens, fresh=user)


def test_an_answer_has_the_shape_that_was_asked_for_and_its_usage_is_the_engines(
    settings: Settings, base_url: str, calls: Calls
) -> None:
    with closing(make_chat("openai:tiny", settings)) as chat:
        claim = chat.answer(question(), 60, calls)
    assert 0 <= claim.importance <= 10 and claim.kind in ("identity", "preference")
    assert claim.reason and claim.reason not in question().user, "it is not nonsense"
    # Asked again, by OpenAI's own client: the same in how much was read and said, as nothing is left to chance.
    with OpenAI(base_url=base_url, api_key="none") as client:
        messages: Any = [{"role": "system", "content": "You judge."}, {"role": "user", "content": question().user}]
        form: Any = {"type": "json_schema", "json_schema": {"name": "Claim", "schema": Claim.model_json_schema()}}
        again = client.chat.completions.create(
            model="tiny", messages=messages, temperature=0, max_tokens=300, response_format=form
        )
    assert Claim.model_validate_json(again.choices[0].message.content or "")
    [call] = calls
    assert again.usage is not None and call.prompt_tokens == again.usage.prompt_tokens
    assert (call.outcome, call.estimated) == (CallOutcome.ANSWERED, False)
    assert 30 < call.completion_tokens < 300


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_of_ours_can_be_answered(settings: Settings, calls: Calls, shape: type[BaseModel]) -> None:
    asked = Question(WorkKind.CREATE, "You answer.", "What is it?", shape, 2000, fresh="What is it?")
    with closing(make_chat("openai:tiny", settings)) as chat:
        assert isinstance(chat.answer(asked, 60, calls), shape)


def test_an_answer_that_is_cut_off_is_booked_as_reported(settings: Settings, calls: Calls) -> None:
    with closing(make_chat("openai:tiny", settings)) as chat, pytest.raises(Unusable, match="too long"):
        chat.answer(question(tokens=7), 60, calls)
    [call] = calls
    assert (call.outcome, call.completion_tokens, call.estimated) == (CallOutcome.TRUNCATED, 7, False)
    assert call.prompt_tokens > len(question().user)


def test_a_prompt_longer_than_the_engines_window_says_which_setting_is_wrong(base_url: str, calls: Calls) -> None:
    settings = settings_of(base_url, model_context_tokens=4 * CONTEXT_TOKENS)
    with closing(make_chat("openai:tiny", settings)) as chat, pytest.raises(Configuration, match="window may be small"):
        chat.answer(question("word " * CONTEXT_TOKENS), 60, calls)
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [(CallOutcome.REFUSED, 0)]


def test_tools_are_used_with_arguments_that_they_take_and_what_came_of_them_goes_back(
    settings: Settings, calls: Calls
) -> None:
    lines = (ExchangeLine(Speaker.SYSTEM, "You use tools."), ExchangeLine(Speaker.USER, "Somebody waits."))
    exchange = Exchange(WorkKind.THINK, lines, TOOLS, 300, fresh="Somebody waits.")
    with closing(make_tool_chat("openai:tiny", settings)) as chat:
        for _ in range(2):
            reply = chat.reply(exchange, 60, calls)
            [call] = reply.calls
            [tool] = (one for one in TOOLS if tool_name(one) == call.name)
            assert read_arguments(tool, call) and call.call_id
            said = ExchangeLine(Speaker.MODEL, reply.text, reply.calls)
            exchange = exchange.going_on(said, ExchangeLine(Speaker.TOOL, "Done.", call_id=call.call_id))
    first, second = calls
    assert (first.outcome, second.outcome) == (CallOutcome.ANSWERED, CallOutcome.ANSWERED)
    assert not first.estimated and second.prompt_tokens > first.prompt_tokens > len(TOOLS) * 100


def test_without_tools_there_is_text(settings: Settings, calls: Calls) -> None:
    lines = (ExchangeLine(Speaker.SYSTEM, "You talk."), ExchangeLine(Speaker.USER, "Hello?"))
    with closing(make_tool_chat("openai:tiny", settings)) as chat:
        reply = chat.reply(Exchange(WorkKind.THINK, lines, (), 300, fresh="Hello?"), 60, calls)
    assert reply.text and not reply.calls
    assert calls[0].completion_tokens >= len(reply.text), "a character is a token, and the end is one"


def test_texts_are_embedded_each_by_itself_and_the_same_in_any_company(settings: Settings, calls: Calls) -> None:
    texts = [f"text {place} of many" for place in range(66)]
    with closing(make_embedder("openai:tiny", settings, 60)) as embedder:
        vectors = embedder.embed(texts, calls)
        alone = embedder.embed(texts[65:], calls)
    assert vectors.shape == (66, WIDTH) and np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1] * 66, abs=1e-5)
    assert vectors[65:] == pytest.approx(alone, abs=1e-4) and np.abs(vectors[0] - vectors[65]).max() > 1e-3
    assert [call.estimated for call in calls] == [False] * 3
    read = [sum(map(len, batch)) for batch in (texts[:64], texts[64:], texts[65:])]
    assert all(call.prompt_tokens >= characters for call, characters in zip(calls, read, strict=True))


def test_a_key_is_asked_for_sent_and_shown_to_nobody(model: Path, calls: Calls) -> None:
    with serve_model(model, api_keys=["sk-canary-right"]) as address:
        right, wrong = (
            settings_of(address, openai_api_key=SecretStr(f"sk-canary-{one}")) for one in ("right", "wrong")
        )
        with closing(make_chat("openai:tiny", right)) as chat:
            assert chat.answer(question(), 60, calls)
        with closing(make_chat("openai:tiny", wrong)) as chat, pytest.raises(Configuration) as refused:
            chat.answer(question(), 60, calls)
        found, *_ = check_models(right)
    assert "OPENAI_API_KEY" in str(refused.value) and "canary" not in f"{refused.value}{found}"
    assert found.health is Health.OK
    assert [call.outcome for call in calls] == [CallOutcome.ANSWERED, CallOutcome.REFUSED]


def test_doctor_knows_the_engine(settings: Settings) -> None:
    (chat, *_), [embedding] = check_models(settings), check_embedding(settings)
    assert (chat.health, embedding.health) == (Health.OK, Health.OK)
    assert "tiny at http://127.0.0.1" in chat.found


@pytest.fixture(scope="module")
def system(base_url: str, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder = tmp_path_factory.mktemp("service")
    shutil.copy(sqlite_template, folder / "afterthought.db")
    env = {
        "AFTERTHOUGHT_MODEL": "openai:tiny", "AFTERTHOUGHT_EMBEDDING": "openai:tiny",
        "AFTERTHOUGHT_OPENAI_BASE_URL": base_url, "AFTERTHOUGHT_MODEL_CONTEXT_TOKENS": str(CONTEXT_TOKENS),
        "AFTERTHOUGHT_TICK_SECONDS": "0.1", "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000",
        # It is tiny, and of a small one hardly anything is asked.
        "AFTERTHOUGHT_MODEL_SIZE": "large",
    }  # fmt: skip
    with run_service(folder, env) as running:
        yield running


@pytest.fixture
def admin(system: System) -> Iterator[httpx.Client]:
    with system.client() as client:
        yield client


def install(admin: httpx.Client, app_id: str) -> str:
    admin.post("/apps", json={"appId": app_id, "name": app_id, "answeredBy": "app"}).raise_for_status()
    return str(admin.post(f"/apps/{app_id}/tokens", json={"label": "program"}).raise_for_status().json()["token"])


def booked(system: System, app_id: str) -> list[Spending]:
    database = Database(system.database_url, pool_size=1)
    with database.read() as session:
        found = list(session.scalars(select(Spending).where(Spending.app_id == app_id)))
    database.dispose()
    return found


@pytest.mark.integration
def test_of_nonsense_nothing_is_remembered_and_the_rules_do_what_the_model_could_not(
    system: System, admin: httpx.Client
) -> None:
    install(admin, "garden")
    path, said = "/apps/garden/conversations", "I live in Lyon and keep bees."
    admin.post(path, json={"conversationId": "c", "userId": "ada"}).raise_for_status()
    admin.post(f"{path}/c/messages", json={"role": "user", "content": said}).raise_for_status()
    admin.post(f"{path}/c/end").raise_for_status()

    def ended() -> dict[str, dict[str, Any]]:
        jobs = {job["kind"]: job for job in admin.get("/jobs", params={"appId": "garden"}).json()["jobs"]}
        return jobs if len(jobs) == 3 and all(job["finishedAt"] for job in jobs.values()) else {}

    jobs = wait_until(ended, 60, "the end of every job")
    assert {(job["state"], job["attempts"]) for job in jobs.values()} <= {("done", 1), ("nothing", 1)}
    assert jobs["create_memory"]["state"] == "done" and jobs["embed_messages"]["state"] == "done"
    [memory] = admin.get("/apps/garden/memories").json()["memories"]
    assert memory["agent"] == "extractive" and said.rstrip(".") in memory["content"]
    [change] = admin.get(f"/apps/garden/memories/{memory['id']}/history").json()["changes"]
    assert "done by extractive, as openai:tiny could not" in change["reason"]
    facts = admin.get("/apps/garden/facts").json()["facts"]
    stems = {word[:4] for word in words(said)}
    assert [fact["fact"] for fact in facts if not {word[:4] for word in words(fact["fact"])} <= stems] == []
    calls = [one for one in booked(system, "garden") if one.model == "openai:tiny"]
    assert {one.kind for one in calls} >= {"create_memory", "embed"}
    assert not any(one.estimated for one in calls)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.mark.integration
def test_openais_client_is_streamed_what_the_engine_says_and_forces_tools_through_the_service(
    system: System, admin: httpx.Client
) -> None:
    token = install(admin, "chat")
    with OpenAI(api_key=token, base_url=f"{system.url}/v1", max_retries=0, timeout=60) as client:
        stream = client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "Where do I live?"}], user="ada", temperature=0,
            stream=True, stream_options={"include_usage": True},
        )  # fmt: skip
        conversation = stream.response.headers["X-Conversation-Id"]
        *chunks, last = stream
        tool: Any = {
            "type": "function",
            "function": {"name": "weather", "parameters": Weather.model_json_schema()},
        }
        forced = client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "And is it warm?"}], user="ada", temperature=0,
            tools=[tool], tool_choice="required",
        )  # fmt: skip
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text and chunks[-1].choices[0].finish_reason == "stop"
    stored = admin.get(f"/apps/chat/conversations/{conversation}/messages").json()["messages"]
    assert [one["content"] for one in stored] == ["Where do I live?", text]
    [call] = forced.choices[0].message.tool_calls or ()
    assert forced.choices[0].finish_reason == "tool_calls" and call.type == "function"
    assert Weather.model_validate_json(call.function.arguments)
    assert last.usage is not None and forced.usage is not None
    assert [(one.prompt_tokens, one.completion_tokens, one.estimated) for one in booked(system, "chat")
            if one.kind == "chat"] == [
        (usage.prompt_tokens, usage.completion_tokens, False) for usage in (last.usage, forced.usage)
    ]  # fmt: skip
