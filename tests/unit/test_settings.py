"""Settings are read from the environment and from .env; a wrong one stops the start and is named."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from shared.base.errors import Configuration
from shared.base.setting_groups import MODEL_PROVIDERS, AddressOf, ModelSettings
from shared.base.settings import Settings, environment_names, read_settings
from shared.broker import make_celery
from shared.llm.provider import Provider
from shared.llm.providers import provider_for


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings at all."""
    for name in chain.from_iterable(map(environment_names, Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"AFTERTHOUGHT_PORT": "70000"}, "AFTERTHOUGHT_PORT"),
        ({"AFTERTHOUGHT_MEMORY_CAP": "11"}, "AFTERTHOUGHT_MEMORY_CAP"),
        ({"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "-1"}, "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND"),
        ({"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "nan"}, "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND"),
        ({"AFTERTHOUGHT_PRICE_PROMPT_TOKEN": "inf"}, "AFTERTHOUGHT_PRICE_PROMPT_TOKEN"),
        ({"AFTERTHOUGHT_LEASE_SECONDS": "1e300"}, "AFTERTHOUGHT_LEASE_SECONDS"),
        ({"AFTERTHOUGHT_IDEMPOTENCY_HOURS": "1e9"}, "AFTERTHOUGHT_IDEMPOTENCY_HOURS"),
        ({"AFTERTHOUGHT_LOG_FORMAT": "xml"}, "AFTERTHOUGHT_LOG_FORMAT"),
        ({"AFTERTHOUGHT_WORKER_NAME": "a/b"}, "AFTERTHOUGHT_WORKER_NAME"),
        ({"AFTERTHOUGHT_MODEL": "llama3.2"}, "ollama:NAME"),
        ({"AFTERTHOUGHT_MODEL": "ollama:"}, "ollama:NAME"),
        ({"DATABASE_URL": "mysql://here/db"}, "DATABASE_URL"),
        ({"REDIS_URL": "amqp://here"}, "REDIS_URL"),
    ],
    ids=lambda value: "=".join(*value.items()) if isinstance(value, dict) else "",
)
def test_a_wrong_value_is_named(given: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Configuration, match=named):
        read_settings()


def test_every_wrong_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_PORT", "x")
    monkeypatch.setenv("AFTERTHOUGHT_MEMORY_CAP", "0")
    with pytest.raises(Configuration, match=r"AFTERTHOUGHT_PORT.*AFTERTHOUGHT_MEMORY_CAP"):
        read_settings()


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({}, (120, 300, 310)),
        ({"AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS": "5"}, (5, 75, 85)),
        ({"AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS": "600"}, (600, 1500, 1510)),
        ({"AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS": "86400"}, (86400, 216_000, 216_010)),
        ({"AFTERTHOUGHT_TASK_SOFT_LIMIT_SECONDS": "900"}, (120, 900, 910)),
    ],
    ids=lambda value: "=".join(*value.items()) if isinstance(value, dict) and value else "",
)
def test_patience_is_one_setting_and_what_must_be_longer_follows(
    given: dict[str, str], limits: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = read_settings(redis_url="redis://127.0.0.1:1/0")
    assert (found.model_timeout_seconds, found.soft_limit_seconds, found.hard_limit_seconds) == limits
    celery = make_celery(found).conf
    assert (celery.task_soft_time_limit, celery.task_time_limit) == limits[1:]
    assert celery.broker_transport_options["visibility_timeout"] > limits[2], "what still runs is delivered once"


def test_a_task_that_ended_before_its_first_question_is_refused() -> None:
    with pytest.raises(Configuration, match=r"SOFT_LIMIT_SECONDS must exceed AFTERTHOUGHT_MODEL_TIMEOUT"):
        read_settings(model_timeout_seconds=30.0, task_soft_limit_seconds=30.0)


def test_a_lease_is_renewed_at_least_twice_in_its_time() -> None:
    assert read_settings(heartbeat_seconds=50.0)
    with pytest.raises(Configuration, match="HEARTBEAT"):
        read_settings(heartbeat_seconds=50.1)


def test_tokens_that_open_too_much_are_refused() -> None:
    with pytest.raises(Configuration, match=r"AFTERTHOUGHT_ADMIN_TOKEN and AFTERTHOUGHT_METRICS_TOKEN must differ"):
        read_settings(admin_token="a" * 40, read_token="b" * 40, metrics_token="a" * 40)
    with pytest.raises(Configuration, match=r"AFTERTHOUGHT_READ_TOKEN needs at least 16 characters .*openssl"):
        read_settings(admin_token="a" * 40, read_token="guessable", host="0.0.0.0")
    assert read_settings(read_token="guessable"), "nobody else asks this machine"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
        ("sqlite:////data/a.db", "sqlite:////data/a.db"),
    ],
)
def test_a_database_is_named_as_people_write_it(given: str, read: str) -> None:
    assert read_settings(database_url=given).database == read


def test_the_environment_goes_before_the_file_and_an_empty_value_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = ("AFTERTHOUGHT_PORT=8701", "AFTERTHOUGHT_MEMORY_CAP=5", "REDIS_URL=", "POSTGRES_PASSWORD=x")
    (tmp_path / ".env").write_text("\n".join(lines))
    monkeypatch.setenv("AFTERTHOUGHT_PORT", "8702")
    found = read_settings()
    assert (found.port, found.memory_cap, found.redis_url) == (8702, 5, None)


def test_everything_is_kept_in_the_home_unless_it_is_named(tmp_path: Path) -> None:
    found = read_settings(home=tmp_path)
    assert (found.database, found.metrics_path) == (f"sqlite:///{tmp_path / 'afterthought.db'}", tmp_path / "metrics")
    assert read_settings(home=Path("~/here")).home == Path.home() / "here"


def test_the_admin_token_is_not_shown() -> None:
    assert "s3cret" not in repr(read_settings(admin_token="s3cret"))


OURS, THEIRS = "AFTERTHOUGHT_{}_BASE_URL", "{}_BASE_URL"


@pytest.mark.parametrize("name", MODEL_PROVIDERS)
def test_a_provider_that_settings_name_declares_itself_in_the_file_of_its_name(name: str) -> None:
    provider, model = provider_for(f"{name}:some", ModelSettings())
    assert (provider.name, model) == (name, "some")
    mark = AddressOf(name, embeds=type(provider).make_embedder is not Provider.make_embedder)
    assert mark in ModelSettings.model_fields[provider.address_setting].metadata


@pytest.mark.parametrize("provider", ["OPENAI", "ANTHROPIC"])
@pytest.mark.parametrize(
    ("environment", "file", "address"),
    [
        ({THEIRS: "http://theirs"}, {}, "http://theirs"),
        ({}, {THEIRS: "http://theirs"}, "http://theirs"),
        ({OURS: "http://ours", THEIRS: "http://theirs"}, {}, "http://ours"),
        ({THEIRS: "http://theirs"}, {OURS: "http://ours"}, "http://ours"),
        ({OURS: "", THEIRS: "http://theirs"}, {}, "http://theirs"),
        ({OURS: "http://ours"}, {OURS: "http://other", THEIRS: "http://theirs"}, "http://ours"),
    ],
    ids=["theirs", "theirs in the file", "both", "ours in the file", "ours empty", "ours in both"],
)
def test_the_address_that_other_programs_read_holds_where_ours_is_not_set(
    provider: str, environment: dict[str, str], file: dict[str, str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name.format(provider), value)
    Path(".env").write_text("".join(f"{name.format(provider)}={value}\n" for name, value in file.items()))
    settings = read_settings()
    assert {"OPENAI": settings.openai_base_url, "ANTHROPIC": settings.anthropic_base_url}[provider] == address


def test_a_wrong_address_is_named_as_it_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "here")
    with pytest.raises(Configuration, match=r": OPENAI_BASE_URL"):
        read_settings()
