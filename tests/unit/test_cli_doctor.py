"""The doctor tells well from ill, and says how to mend what is ill."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from loop.cli import checks
from loop.cli.checks import (
    check_clock,
    check_database,
    check_disk,
    check_energy,
    check_home,
    check_python,
    check_redis,
    check_sessions,
    check_tracing,
    read_or_find_wrong,
)
from loop.cli.model_checks import Finding, Health, check_embedding, check_models
from loop.embedded_redis import EmbeddedRedis, free_port
from shared.apps.queries import install
from shared.base.installation import how_to_add
from shared.base.settings import Settings, environment_names, unread_names
from shared.contracts.jobs import JobKind
from shared.conversations.lifecycle import NewConversation, start
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.energy.ledger import LedgerAccount, book
from shared.jobs.dispatch import NewJob, enqueue
from shared.llm.calls import CallOutcome, ModelCall, WorkKind
from shared.llm.minilm import is_installed
from shared.llm.transport import is_private
from tests.support.command_line import run
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAiServer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but an empty home."""
    for name in chain(("AFTERTHOUGHT_URL", "AFTERTHOUGHT_TOKEN"), *map(environment_names, Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AFTERTHOUGHT_HOME", str(tmp_path / "cli-home"))
    monkeypatch.setenv("AFTERTHOUGHT_PORT", str(free_port()))
    monkeypatch.chdir(tmp_path)


def worst(findings: list[Finding]) -> Finding:
    return max(findings, key=lambda one: list(Health).index(one.health))


def settings(home: Path, **more: object) -> Settings:
    return Settings(home=home, **more)  # type: ignore[arg-type]


def test_this_machine_is_well(tmp_path: Path) -> None:
    assert [check_python().health, check_disk(tmp_path / "not" / "there").health] == [Health.OK, Health.OK]


@pytest.mark.parametrize(
    ("make", "health", "word"),
    [
        (lambda home: None, Health.OK, ""),
        (lambda home: home.mkdir(mode=0o700), Health.OK, ""),
        (lambda home: home.mkdir(mode=0o755), Health.WARN, "chmod 700"),
        (lambda home: home.write_text(""), Health.FAIL, "directory"),
        (lambda home: (home.mkdir(mode=0o700), (home / "admin_token").write_text("x")), Health.FAIL, "chmod 600"),
    ],
    ids=["not-yet", "private", "open", "a-file", "token-open"],
)
def test_the_home_is_its_owners_alone(
    make: Callable[[Path], object], health: Health, word: str, tmp_path: Path
) -> None:
    make(tmp_path / "home")
    found = worst(check_home(tmp_path / "home"))
    assert found.health is health
    assert word in (found.mend or "")


def _pay(home: Path, conversations: int, units: float, model: str = "ollama:tiny") -> Settings:
    """Return settings of an installation where conversations were ended within a day, each for so many units."""
    chosen = settings(home, model="ollama:tiny")
    home.mkdir()
    migrate(chosen.database)
    database = Database(chosen.database)
    with database.write() as session:
        install(session, "chat", "Chat", {}, NOW)
        for number in range(conversations):
            key = start(session, "chat", NewConversation(f"c{number}"), NOW).key
            job = NewJob(JobKind.CREATE_MEMORY, "chat", f"d{number}", key)
            enqueue(session, job, NOW - timedelta(minutes=number % 1400))
            call = ModelCall(WorkKind.CREATE, model, 0, 1, False, CallOutcome.ANSWERED, 1.0)
            prices = chosen.model_copy(update={"price_completion_token": units, "extractive_fraction": 1.0})
            book(session, call, LedgerAccount("chat", None, key), prices, NOW)
    database.dispose()
    return chosen


def test_how_many_conversations_the_refill_carries_is_estimated_before_any_was_paid_for(tmp_path: Path) -> None:
    found = check_energy(settings(tmp_path / "none", model="ollama:tiny"), NOW)
    assert found.health is Health.OK and "about 87 conversations an hour with ollama:tiny" in found.found
    assert "(about 41 units each, estimated)" in found.found
    assert "set AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND=11.5" in found.found
    without_facts = check_energy(settings(tmp_path / "none", model="ollama:tiny", facts=False), NOW)
    assert without_facts.found == found.found, "one reading finds them beside the memory"
    small = check_energy(settings(tmp_path / "none", model="ollama:tiny:1b"), NOW)
    assert "about 744 conversations an hour" in small.found and "(about 4.8 units each, estimated)" in small.found
    built_in = check_energy(settings(tmp_path / "none"), NOW)
    assert "8,725 conversations an hour with the built-in agent" in built_in.found and "set AFTER" not in built_in.found


def test_how_many_conversations_the_refill_carries_is_measured_where_enough_were_paid_for(tmp_path: Path) -> None:
    found = check_energy(_pay(tmp_path / "home", 12, 20), NOW)
    assert found.health is Health.OK
    assert "carry about 180 conversations an hour" in found.found and "measured over the last 12" in found.found
    few = check_energy(_pay(tmp_path / "few", 9, 20), NOW)
    assert "estimated" in few.found
    others = check_energy(_pay(tmp_path / "others", 12, 20, model="extractive"), NOW)
    assert "estimated" in others.found, "what another agent cost says nothing"


def test_more_conversations_than_the_refill_carries_are_told_with_the_setting_that_would_carry_them(
    tmp_path: Path,
) -> None:
    chosen = _pay(tmp_path / "home", 100, 2000)
    found = check_energy(chosen, NOW)
    assert found.health is Health.WARN and "in 24 hours 100 were ended" in found.found
    assert found.mend and "To carry 5 an hour set AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND=2.8" in found.mend
    assert check_energy(chosen.model_copy(update={"energy_refill_per_second": 2.8}), NOW).health is Health.OK
    never = check_energy(chosen.model_copy(update={"energy_refill_per_second": 0.0}), NOW)
    assert never.health is Health.WARN and "carry about 0 conversations" in never.found


def test_the_store_of_sessions_must_be_a_folder_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "store").mkdir()
    found = {name: check_sessions(tmp_path / name) for name in ("file", "store", "nothing")}
    assert [one.health for one in found.values()] == [Health.FAIL, Health.OK, Health.OK]
    assert "AFTERTHOUGHT_SESSIONS_DIR" in (found["file"].mend or "")


def test_a_variable_that_nobody_reads_is_told_with_the_one_that_was_meant() -> None:
    names = {"AFTERTHOUGHT_MODLE", "AFTERTHOUGHT_URL", "AFTERTHOUGHT_PORT", "HOME"}
    assert list(unread_names(names)) == [("AFTERTHOUGHT_MODLE", "Did you mean AFTERTHOUGHT_MODEL?")]


def test_a_variable_that_nobody_reads_is_found_in_the_env_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("AFTERTHOUGHT_MEMRY_CAP=4\n")
    monkeypatch.chdir(tmp_path)
    _, findings = read_or_find_wrong()
    assert ("AFTERTHOUGHT_MEMRY_CAP is no setting", Health.WARN) in [(one.found, one.health) for one in findings]


@pytest.mark.parametrize(
    ("now", "written", "health"),
    [(NOW, NOW, Health.OK), (NOW.replace(year=1970), None, Health.FAIL), (NOW, NOW + timedelta(days=1), Health.WARN)],
    ids=["plausible", "never-set", "went-back"],
)
def test_the_clock_is_plausible(now: datetime, written: datetime | None, health: Health, tmp_path: Path) -> None:
    if written is not None:
        (tmp_path / "afterthought.db").touch()
        os.utime(tmp_path / "afterthought.db", (written.timestamp(), written.timestamp()))
    assert check_clock(now, tmp_path).health is health


def test_a_database_that_is_migrated_is_well(database_url: str) -> None:
    found = check_database(database_url)
    assert worst(found).health is Health.OK
    [size] = [one.found for one in found if one.what == "size"]
    assert re.fullmatch(r"[\d,.]+ MB, of which (\w+ [\d,.]+(, )?){4}", size), size


def test_the_tables_of_a_large_sqlite_are_not_read_through(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_MOST_BYTES_READ", 1000)
    assert "GET /storage" in check_database(sqlite_url)[-1].found


def test_a_database_without_tables_says_how_to_make_them(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    with database.engine.connect():
        pass
    database.dispose()
    found = worst(check_database(empty_database_url))
    assert (found.health, "afterthought migrate" in (found.mend or "")) == (Health.FAIL, True)


def test_looking_at_a_database_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    assert worst(check_database(f"sqlite:///{tmp_path / 'x' / 'y.db'}")).health is Health.OK
    assert not (tmp_path / "x").exists()


def test_a_database_that_does_not_answer_is_named_without_its_password() -> None:
    (found,) = check_database(f"postgresql+psycopg://ada:s3cret@127.0.0.1:{free_port()}/x")
    assert found.health is Health.FAIL
    assert "s3cret" not in str(found)
    assert "DATABASE_URL" in (found.mend or "")


@pytest.mark.integration
def test_a_redis_that_may_lose_jobs_is_told(own_redis: EmbeddedRedis, tmp_path: Path) -> None:
    named = settings(tmp_path, redis_url=own_redis.url)
    assert worst(check_redis(named)).health is Health.OK
    with own_redis.client() as client:
        client.config_set("appendonly", "no")
        assert worst(check_redis(named)).health is Health.WARN
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert "noeviction" in (worst(check_redis(named)).mend or "")


@pytest.mark.integration
def test_the_embedded_redis_is_found_where_it_runs(own_redis: EmbeddedRedis, tmp_path: Path) -> None:
    (found,) = check_redis(settings(tmp_path))
    assert f"answers on port {own_redis.port}" in found.found


def test_without_a_running_redis_the_embedded_one_will_do(tmp_path: Path) -> None:
    (found,) = check_redis(settings(tmp_path / "empty"))
    assert (found.health, "not running" in found.found) == (Health.OK, True)


def test_a_redis_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    (found,) = check_redis(settings(tmp_path, redis_url=f"redis://:s3cret@127.0.0.1:{free_port()}/0"))
    assert found.health is Health.FAIL
    assert "s3cret" not in str(found)


SHOWN = {
    "details": {"parameter_size": "1.5B"},
    "model_info": {"qwen2.context_length": 32_768},
    "capabilities": ["tools"],
}
OK, WARN = Health.OK, Health.WARN


@pytest.mark.parametrize(
    ("shown", "chosen", "health", "found", "mend"),
    [
        pytest.param({}, {}, OK, "1.5 B parameters", "", id="size"),
        pytest.param(
            {}, {"worker_concurrency": 3}, WARN, "3 processes and the server does 1 at once",
            "OLLAMA_NUM_PARALLEL=3 for Ollama and here, or set AFTERTHOUGHT_WORKER_CONCURRENCY=1.", id="workers",
        ),
        pytest.param({}, {"worker_concurrency": 3, "ollama_num_parallel": 3}, OK, "", "", id="as many"),
        pytest.param(
            {"model_info": {"llama.context_length": 4096}}, {}, WARN, "its window has 4,096 tokens",
            "AFTERTHOUGHT_MODEL_CONTEXT_TOKENS=4096,", id="window",
        ),
        pytest.param(
            {"model_info": {"llama.context_length": 1024}}, {}, WARN, "its window has 1,024 tokens",
            "Start its server with a larger window", id="tiny window",
        ),
        pytest.param({"capabilities": ["completion"]}, {}, OK, "thinks without them", "", id="no tools"),
        pytest.param(
            {"capabilities": ["completion"], "template": "{{ .Prompt }}"}, {}, WARN, "it is a base model",
            "ollama:tiny:instruct", id="base",
        ),
        pytest.param(
            {}, {"model": "openai:tiny"}, WARN, "cuts what is longer than 4096 tokens",
            "Set AFTERTHOUGHT_MODEL=ollama:tiny and OLLAMA_HOST=http://127.0.0.1", id="Ollama's v1",
        ),
    ],
)  # fmt: skip
def test_what_of_a_model_does_not_fit_is_told_with_what_to_do(
    tmp_path: Path, shown: dict[str, object], chosen: dict[str, object], health: Health, found: str, mend: str
) -> None:
    with OllamaServer(shown=SHOWN | shown) as server:
        at = {"ollama_host": server.url, "openai_base_url": f"{server.url}/v1"}
        given = {"model": "ollama:tiny", "worker_concurrency": 1} | chosen
        findings = check_models(settings(tmp_path, **at, **given))
    told = worst(findings)
    assert told.health is health
    if health is OK:
        assert found in " ".join(one.found for one in findings)
    else:
        assert found in told.found and mend in (told.mend or "")
        assert [one for one in findings if one.health is WARN] == [told]


LLAMA = {"id": "engine", "owned_by": "llamacpp", "meta": {"n_params": 630_167_424, "n_ctx": 32_768}}


@pytest.mark.parametrize("setting", ["model", "embedding"])
def test_a_model_that_answers_to_another_name_is_told_with_its_own(tmp_path: Path, setting: str) -> None:
    with OpenAiServer(shown=LLAMA, models=("tiny:latest",)) as server:
        chosen = settings(tmp_path, openai_base_url=f"{server.url}/v1", **{setting: "openai:qwen05"})
        first, second = (check_models if setting == "model" else check_embedding)(chosen)
    assert first.health is OK and (setting == "embedding" or "630 M parameters" in first.found)
    assert second.health is WARN and second.found.endswith("lists engine and not qwen05; it answers any name")
    assert second.mend == f"Set AFTERTHOUGHT_{setting.upper()}=openai:engine."


@pytest.mark.parametrize(
    ("chosen", "is_told"),
    [({}, True), ({"model_size": "small"}, False), ({"model": "openai:tiny-1b"}, False)],
    ids=["unknown", "set", "named"],
)
def test_a_model_at_hand_whose_size_nobody_tells_is_told(
    tmp_path: Path, chosen: dict[str, object], is_told: bool
) -> None:
    with OpenAiServer(models=("tiny", "tiny-1b")) as server:
        given = {"model": "openai:tiny", "openai_base_url": f"{server.url}/v1"} | chosen
        told = worst(check_models(settings(tmp_path, **given)))
    assert (told.health is WARN, "AFTERTHOUGHT_MODEL_SIZE=small" in (told.mend or "")) == (is_told, is_told)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://127.0.0.1:8080/v1", True), ("http://192.168.1.7:8080/v1", True), ("http://[fd00::7]/v1", True),
        ("http://llama:8080/v1", True), ("http://host.docker.internal:8080/v1", True), ("http://8.8.8.8/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)  # fmt: skip
def test_a_server_at_hand_is_told_from_a_hosted_one(address: str, expected: bool) -> None:
    assert is_private(address) == expected


def test_an_embedding_model_that_ollama_lacks_is_told_before_the_first_fact(tmp_path: Path) -> None:
    with OllamaServer(models=("tiny:latest",)) as server:
        (found,) = check_embedding(settings(tmp_path, ollama_host=server.url, embedding="ollama:embedder"))
        assert "ollama pull embedder" in (found.mend or "")
        (found,) = check_embedding(settings(tmp_path, ollama_host=server.url, embedding="ollama:tiny"))
        assert found.health is Health.OK


def test_the_doctor_names_the_built_in_embedding_model_where_none_is_set(tmp_path: Path) -> None:
    (found,) = check_embedding(settings(tmp_path))
    assert (found.health is Health.OK, found.mend is None) == (is_installed(), is_installed())
    assert not is_installed() or "onnxruntime" in found.found
    assert found.mend is None or found.mend.endswith(how_to_add("embedding"))


def test_where_traces_go_is_told_only_where_they_are_wanted(tmp_path: Path) -> None:
    assert list(check_tracing(settings(tmp_path))) == []
    with OllamaServer() as server:
        wanted = settings(tmp_path, otlp_endpoint=server.url)
        (found,) = check_tracing(wanted)
        assert (found.health, found.found) == (Health.OK, f"sent to {server.url.removeprefix('http://')}")
    (found,) = check_tracing(wanted)
    assert (found.health, "OTEL_EXPORTER_OTLP_ENDPOINT" in (found.mend or "")) == (Health.WARN, True)
    assert list(check_tracing(settings(tmp_path, otlp_endpoint=server.url, otel_sdk_disabled=True))) == []


def test_the_doctor_says_how_to_add_what_sends_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Also where another test has loaded it.
    for name in ("opentelemetry.sdk", "opentelemetry.sdk.trace"):
        monkeypatch.setitem(sys.modules, name, None)
    (found,) = check_tracing(settings(tmp_path, otlp_endpoint="http://ada:s3cret@127.0.0.1:4318"))
    assert found.health is Health.WARN and "127.0.0.1:4318: the libraries are missing" in found.found
    assert found.mend == how_to_add("tracing") and "s3cret" not in str(found)


def test_the_doctor_fails_when_nothing_runs_and_says_how_to_start_it(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "doctor", status=1)
    assert "./ops/up" in ran.out
    assert "1 to mend" in ran.out


def test_the_doctor_says_what_the_refill_carries(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND", "0.01")
    findings = run(capsys, "doctor", "--json", status=1).json["findings"]
    [energy] = [one["found"] for one in findings if one["what"] == "energy"]
    assert energy.startswith(
        "as this shell is set: refills 0.6/min carry about 87 conversations an hour with the built-in agent"
    )


def test_the_doctor_names_every_wrong_setting(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_PORT", "x")
    monkeypatch.setenv("AFTERTHOUGHT_MODEL", "gpt")
    findings = run(capsys, "doctor", "--json", status=1).json["findings"]
    wrong = [one["found"] for one in findings if one["health"] == "fail"]
    assert [found.split(":")[0] for found in wrong] == ["AFTERTHOUGHT_PORT", "AFTERTHOUGHT_MODEL"]
