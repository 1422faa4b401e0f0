"""What is OpenAI's and Anthropic's alone of asking a model over the wire: keys, forms, refusals; then a whole service.

What all providers share is in ``test_model_wire``.
"""

from __future__ import annotations

import logging
import traceback
from contextlib import closing
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field
from sqlalchemy import select

from loop.cli.model_checks import check_embedding, check_models
from shared.base.errors import Configuration, ModelMissing
from shared.base.installation import how_to_add
from shared.base.settings import Settings
from shared.db.engine import Database
from shared.energy.models import Spending
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.chat import Question, Unusable
from shared.llm.providers import make_chat, provider_for, server_status
from tests.integration.test_model_wire import ANSWER, LAGOS, question
from tests.support.meters import Calls
from tests.support.model_server import Act, ModelServer, count_tokens
from tests.support.providers import SERVERS, environment
from tests.support.services import EmbeddedRedis, start_system
from tests.support.settings import served_at
from tests.support.waiting import wait_until

KEY = "sk-canary-5f1c9e"
APIS = ("openai", "anthropic")


@pytest.fixture(params=APIS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def settings_of(provider: str, server: ModelServer) -> Settings:
    return served_at(server.url, model=f"{provider}:tiny", openai_api_key=_secret(), anthropic_api_key=_secret())


def _secret() -> object:
    key = Settings.model_validate({"OPENAI_API_KEY": KEY}).openai_api_key
    assert key is not None
    return key


def test_the_key_is_sent_and_the_answer_is_asked_for_in_its_form(provider: str, server: ModelServer) -> None:
    server.will(Act(answer=ANSWER))
    with closing(make_chat(f"{provider}:tiny", settings_of(provider, server))) as chat:
        assert chat.answer(question(), 60, Calls()) == LAGOS
    [asked], [key] = server.asked, server.script.keys
    assert key is not None and key.removeprefix("Bearer ") == KEY
    assert asked["options"] == {"temperature": 0.0, "num_predict": 50}
    assert asked["format"]["additionalProperties"] is False and asked["format"]["required"] == ["name", "people"]


def test_openais_strict_form_is_left_where_a_field_may_be_missing() -> None:
    class Loose(BaseModel):
        name: str = "nobody"

    with SERVERS["openai"]() as server:
        server.will(Act(answer={"name": "Jo"}), Act(answer=ANSWER))
        with closing(make_chat("openai:tiny", served_at(server.url))) as chat:
            chat.answer(Question(WorkKind.CREATE, "s", "u", Loose, 50), 60, Calls())
            chat.answer(question(), 60, Calls())
        assert [body["response_format"]["json_schema"]["strict"] for body in server.chats] == [False, True]


@pytest.mark.parametrize("unwanted", ["temperature", {"openai": "response_format", "anthropic": "output_config"}])
def test_what_a_server_refuses_is_left_out_from_then_on(
    provider: str, server: ModelServer, unwanted: str | dict[str, str]
) -> None:
    name = unwanted if isinstance(unwanted, str) else unwanted[provider]
    server.will(Act(status=400, error=f"{name} is not supported"), Act(answer=ANSWER), Act(answer=ANSWER))
    calls = Calls()
    with closing(make_chat(f"{provider}:tiny", served_at(server.url))) as chat:
        assert [chat.answer(question(), 60, calls) for _ in range(2)] == [LAGOS, LAGOS]
    assert [name in body for body in server.chats] == [True, False, False]
    assert [(call.outcome, call.prompt_tokens > 0) for call in calls] == [
        (CallOutcome.REFUSED, False), (CallOutcome.ANSWERED, True), (CallOutcome.ANSWERED, True)
    ]  # fmt: skip


def test_a_server_that_takes_no_bounds_in_a_schema_is_asked_without_all_of_them() -> None:
    class Bounded(BaseModel):
        names: Annotated[list[Annotated[str, Field(max_length=9)]], Field(max_length=3)]

    refusal = Act(status=400, error="Invalid schema: 'maxLength' is not permitted.")
    with SERVERS["openai"]() as server:
        server.will(refusal, *[Act(answer={"names": ["Jo"]})] * 2)
        with closing(make_chat("openai:tiny", served_at(server.url))) as chat:
            for _ in range(2):
                assert chat.answer(Question(WorkKind.CREATE, "s", "u", Bounded, 50), 60, Calls()).names == ["Jo"]
        sent = [str(body["response_format"]) for body in server.chats]
    assert [("maxLength" in one, "maxItems" in one, "'names'" in one) for one in sent] == [
        (True, True, True), (False, False, True), (False, False, True),
    ]  # fmt: skip


def test_a_model_that_declines_gives_no_usable_answer(provider: str, server: ModelServer) -> None:
    server.will(Act(answer="", refused=True))
    calls = Calls()
    with closing(make_chat(f"{provider}:tiny", served_at(server.url))) as chat, pytest.raises(Unusable, match="declin"):
        chat.answer(question(), 60, calls)
    assert [call.outcome for call in calls] == [CallOutcome.REFUSED]


@pytest.mark.parametrize(("status", "mend"), [(401, "_API_KEY"), (403, "_API_KEY"), (404, "_BASE_URL")])
def test_what_can_never_be_answered_says_what_to_do_and_never_the_key(
    provider: str, server: ModelServer, status: int, mend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.will(Act(status=status, error=f"Incorrect API key provided: {KEY}"))
    with (
        closing(make_chat(f"{provider}:tiny", settings_of(provider, server))) as chat,
        pytest.raises(ModelMissing if status == 404 else Configuration, match=mend) as raised,
    ):
        chat.answer(question(), 60, Calls())
    assert KEY not in "".join(traceback.format_exception(raised.value)) + repr(vars(raised.value))


def test_doctor_knows_the_server_its_model_and_what_is_wrong(provider: str, server: ModelServer) -> None:
    settings = settings_of(provider, server)
    well, *_ = check_models(settings)
    assert "tiny at http://127.0.0.1" in well.found and KEY not in str(well)
    missing = server_status(f"{provider}:other", settings)
    assert not missing.ready and "has no model other" in (missing.remedy or "")
    server.script.away = 401
    [refused] = check_models(settings)
    assert f"{provider.upper()}_API_KEY" in (refused.mend or "") and KEY not in str(refused)
    server.script.away = 0
    assert "cannot be reached" in (server_status(f"{provider}:tiny", settings).remedy or "")


def test_doctor_knows_an_embedding_model_of_openais_protocol() -> None:
    with SERVERS["openai"]() as server:
        [found] = check_embedding(served_at(server.url, embedding="openai:embedder"))
        assert "compares facts and messages by meaning" in found.found
        [missing] = check_embedding(served_at(server.url, embedding="openai:other"))
        assert "has no model other" in (missing.mend or "")


def test_an_extra_that_is_not_installed_is_named(
    provider: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, settings = f"{provider}:tiny", served_at(server.url)
    monkeypatch.setattr(type(provider_for(setting, settings)[0]), "libraries", ("no_such_library",))
    status = server_status(setting, settings)
    assert status.remedy == f"{provider}:NAME needs no_such_library, which is not installed. {how_to_add(provider)}"


@pytest.mark.integration
def test_an_ended_conversation_is_remembered_its_tokens_are_booked_and_the_key_is_nowhere(
    provider: str, server: ModelServer, sqlite_url: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    env = {
        **environment(server), f"{provider.upper()}_API_KEY": KEY, "AFTERTHOUGHT_MODEL": f"{provider}:tiny",
        "AFTERTHOUGHT_TICK_SECONDS": "0.1", "AFTERTHOUGHT_FACTS": "false", "AFTERTHOUGHT_LOG_LEVEL": "debug",
        "AFTERTHOUGHT_RETRY_BASE_SECONDS": "0.1", "AFTERTHOUGHT_RETRY_MAX_SECONDS": "0.2",
        "AFTERTHOUGHT_JOB_MAX_ATTEMPTS": "2",
        **({"AFTERTHOUGHT_EMBEDDING": "openai:embedder"} if provider == "openai" else {}),
    }  # fmt: skip
    with start_system(tmp_path, sqlite_url, own_redis.url, env=env) as system, system.client() as client:
        ready = client.get("/health/ready").json()
        assert ready["agent"] == f"{provider}:tiny" and ready["dependencies"][provider]["ok"], ready
        client.post("/apps", json={"appId": "garden", "name": "Garden", "answeredBy": "app"}).raise_for_status()
        client.post("/apps/garden/conversations", json={"conversationId": "c"}).raise_for_status()
        said = {"role": "user", "content": "I keep bees."}
        client.post("/apps/garden/conversations/c/messages", json=said).raise_for_status()
        # The server repeats the key, whatever it thinks of it.
        server.will(*[Act(status=401, error="{key} is wrong")] * 2, Act(status=429, error="{key} is slow"))
        client.post("/apps/garden/conversations/c/end").raise_for_status()
        job = wait_until(lambda: client.get("/jobs", params={"state": "dead"}).json()["jobs"], 60, "a dead letter")[0]
        assert f"Set {provider.upper()}_API_KEY to one that may use tiny" in job["reason"]
        shown = str(job)
        client.post(f"/jobs/{job['jobId']}/replay").raise_for_status()

        def memories() -> list[dict[str, str]]:
            return list(client.get("/apps/garden/memories").raise_for_status().json()["memories"])

        [memory] = wait_until(memories, 60, "the memory")
        assert (memory["content"], memory["agent"]) == ("I keep bees.", f"{provider}:tiny")
        shown += "".join(client.get(path).text for path in ("/metrics", "/health/ready", "/jobs"))
    database = Database(sqlite_url, pool_size=1)
    with database.read() as session:
        *refused, booked = session.scalars(
            select(Spending).where(Spending.kind == WorkKind.CREATE).order_by(Spending.entry)
        ).all()
        assert len(refused) >= 2 and {(one.prompt_tokens, one.completion_tokens) for one in refused} == {(0, 0)}
        seen = sum(count_tokens(str(message["content"])) + 4 for message in server.asked[-1]["messages"])
        assert (booked.model, booked.prompt_tokens, booked.estimated) == (f"{provider}:tiny", seen, False)
    database.dispose()
    assert KEY not in shown
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert kept == [], "the key is in a log, the database, or another file"
    paths = [path for path, _ in server.script.requests]
    showed = [(path.startswith("/v1/"), key) for path, key in zip(paths, server.script.keys, strict=True)]
    assert {key for is_protocol, key in showed if is_protocol} <= {KEY, f"Bearer {KEY}"}
    assert {key for is_protocol, key in showed if not is_protocol} <= {None}, "what is no protocol's is not let in"
