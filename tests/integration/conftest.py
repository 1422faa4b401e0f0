"""Fixtures of the tests that use the HTTP interface in the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from shared.base.settings import Settings, environment_names
from tests.conftest import DATABASES
from tests.support.api import Api, open_api
from tests.support.command_line import Terminal, typing_at
from tests.support.model_server import ModelServer
from tests.support.providers import SERVERS
from tests.support.sessions import Sessions, open_sessions


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> str:
    """Whose protocol the model's server speaks: Ollama's where a test is not for each."""
    return str(getattr(request, "param", "ollama"))


@pytest.fixture
def server(provider: str) -> Iterator[ModelServer]:
    with SERVERS[provider]() as running:
        yield running


@pytest.fixture(params=DATABASES)
def api_url(request: pytest.FixtureRequest) -> str:
    """A fresh database with our tables, once on SQLite and once on PostgreSQL."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def api(api_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Api]:
    with open_api(api_url, tmp_path / "home", **getattr(request.module, "SETTINGS", {})) as opened:
        yield opened


@pytest.fixture
def sqlite_api(sqlite_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Api]:
    """The interface over SQLite, for what does not touch the database."""
    with open_api(sqlite_url, tmp_path / "home", **getattr(request.module, "SETTINGS", {})) as opened:
        yield opened


@pytest.fixture
def sessions(api: Api, api_url: str, tmp_path: Path) -> Iterator[Sessions]:
    """Recorded sessions of app chat at the interface, with a worker beside it."""
    with open_sessions(api, api_url, tmp_path) as opened:
        yield opened


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in chain(("AFTERTHOUGHT_URL", "AFTERTHOUGHT_TOKEN"), *map(environment_names, Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AFTERTHOUGHT_HOME", str(tmp_path / "cli-home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def terminal(
    sqlite_api: Api, bare_environment: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Terminal]:
    with typing_at(sqlite_api, monkeypatch, capsys) as opened:
        yield opened
