"""Secrets that an operator gives are printed by no process and left in no file of the home, well or ill."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from loop.embedded_redis import EmbeddedRedis, free_port
from shared.base.settings import Settings, environment_name
from shared.db.schema import migrate
from tests.support.postgres import PostgresServer
from tests.support.services import start_command
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
CHECKOUT = Path(__file__).resolve().parents[2]
CANARY = "canary"
GIVEN = {
    "AFTERTHOUGHT_ADMIN_TOKEN": "canary-admin",
    "AFTERTHOUGHT_METRICS_TOKEN": "canary-metrics",
    "AFTERTHOUGHT_READ_TOKEN": "canary-read",
    "OPENAI_API_KEY": "canary-openai",
    "ANTHROPIC_API_KEY": "canary-anthropic",
}
NOBODY = "127.0.0.1:1"
LASTING = ("up", "loop", "worker")
SHORT = (("doctor",), ("migrate",))
LONG = pytest.mark.long


def _environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    ours = {environment_name(name) for name in Settings.model_fields} | {"AFTERTHOUGHT_URL", "AFTERTHOUGHT_TOKEN"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    paths = os.pathsep.join(filter(None, (str(CHECKOUT), kept.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "AFTERTHOUGHT_HOME": str(folder / "home"), **given}


def _run(folder: Path, env: Mapping[str, str], *arguments: str) -> str:
    command = start_command(folder, env, *arguments)
    assert command.popen is not None
    command.popen.wait(120)
    return command.log


@contextmanager
def _running(folder: Path, env: Mapping[str, str], *arguments: str) -> Iterator[Callable[[], str]]:
    """Run a command until the block ends; what is yielded tells what it has printed so far."""
    command = start_command(folder, env, *arguments)
    try:
        yield lambda: command.log + ("" if command.alive else "\nexit")
    finally:
        command.stop(60)


def _in_home(folder: Path) -> list[str]:
    """The files of the home that hold a secret; the database is a server's, and Redis' own is not of the home."""
    files = [path for path in (folder / "home").rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if CANARY.encode() in path.read_bytes()]


@pytest.fixture
def stores(tmp_path: Path, own_redis: EmbeddedRedis, postgres_server: PostgresServer) -> dict[str, str]:
    database = postgres_server.new_database(migrated=False)
    migrate(database)
    with own_redis.client() as client:
        # Another password beside its own, so that only these processes are given the one looked for.
        client.execute_command("ACL", "SETUSER", "operator", "on", ">canary-redis", "~*", "&*", "+@all")
    return {
        # The server asks its own machine for no password; what is sent all the same must not be told.
        "DATABASE_URL": database.replace("//postgres@", "//postgres:canary-database@"),
        "REDIS_URL": f"redis://operator:canary-redis@127.0.0.1:{own_redis.port}/0",
    }


@pytest.mark.postgres
@pytest.mark.parametrize("how", [".env", pytest.param("environment", marks=LONG)])
def test_a_service_that_is_well_tells_none_of_the_secrets_it_was_given(
    how: str, tmp_path: Path, stores: dict[str, str]
) -> None:
    port = str(free_port())
    settings = GIVEN | stores | {"AFTERTHOUGHT_PORT": port, "AFTERTHOUGHT_LOG_LEVEL": "debug"}
    if how == ".env":
        (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    env = _environment(tmp_path, settings if how == "environment" else {})
    with _running(tmp_path, env, "up") as text:
        wait_until(lambda: "Afterthought is ready" in text() or "\nexit" in text(), 120, "the welcome")
        headers = {"Authorization": f"Bearer {GIVEN['AFTERTHOUGHT_ADMIN_TOKEN']}"}
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, headers=headers, trust_env=False) as client:
            assert client.get("/apps").status_code == 200, "the token that was given is in force"
            assert client.get("/apps", headers={"Authorization": "Bearer canary-refused"}).status_code == 401
        said = _run(tmp_path, env, "doctor") + _run(tmp_path, env, "doctor", "--json")
    assert "ready at http://127.0.0.1" in said and "PostgreSQL" in said and "FAIL" not in said, said
    assert "$AFTERTHOUGHT_ADMIN_TOKEN" in text(), "the welcome names the setting instead"
    assert CANARY not in text() + said
    assert _in_home(tmp_path) == []


_ILL = {
    "the database does not answer": {"DATABASE_URL": f"postgresql://ann:canary-database@{NOBODY}/x"},
    "its password is a parameter": {"DATABASE_URL": "postgresql:///x?host=127.0.0.1&port=1&password=canary"},
    "its address has a wrong scheme": {"DATABASE_URL": f"mysql://ann:canary-database@{NOBODY}/x"},
    "its address has no number for a port": {"DATABASE_URL": "postgresql://ann:canary-database@127.0.0.1:port/x"},
    "Redis does not answer": {"REDIS_URL": f"redis://:canary-redis@{NOBODY}/0"},
    "its address is of another kind": {"REDIS_URL": f"http://:canary-redis@{NOBODY}/0"},
    "its password has a slash": {"REDIS_URL": f"redis://:canary/canary@{NOBODY}/0"},
    "its password has a slash after a number": {"REDIS_URL": f"redis://:123/canary@{NOBODY}/0"},
    "its password has a number sign": {"REDIS_URL": f"redis://:canary#canary@{NOBODY}/0"},
    "the model's server needs a password": {
        "AFTERTHOUGHT_MODEL": "ollama:x",
        "OLLAMA_HOST": f"http://ann:canary-ollama@{NOBODY}",
    },
    "a key that no header can hold": {
        "AFTERTHOUGHT_MODEL": "openai:x",
        "AFTERTHOUGHT_OPENAI_BASE_URL": f"http://ann:canary-server@{NOBODY}/v1",
        "OPENAI_API_KEY": "canary\ncanary-é",
    },
    "a setting is wrong": {"AFTERTHOUGHT_LEASE_SECONDS": "-1"},
    "a setting is misspelt": {"AFTERTHOUGHT_ADMIN_TOKN": "canary-misspelt"},
    "the service's address has a password": {"AFTERTHOUGHT_URL": f"http://ann:canary-url@{NOBODY}"},
}


_LIKE_OTHERS = (
    "its password is a parameter", "its address has a wrong scheme", "its address is of another kind",
    "its password has a slash after a number", "its password has a number sign", "a setting is wrong",
    "the model's server needs a password",
)  # fmt: skip


@pytest.mark.parametrize("case", [pytest.param(one, marks=LONG) if one in _LIKE_OTHERS else one for one in _ILL])
def test_commands_that_end_tell_what_is_ill_and_no_secret(case: str, tmp_path: Path) -> None:
    env = _environment(tmp_path, GIVEN | {"AFTERTHOUGHT_PORT": str(free_port())} | _ILL[case])
    said = "\n".join(_run(tmp_path, env, *arguments) for arguments in SHORT)
    assert "Traceback" not in said
    assert CANARY not in said


_SIGNS = {
    "the database does not answer": ("_failed", "did not answer", "rror"),
    "Redis does not answer": ("rror",),
    "its password has a slash": ("REDIS_URL: ",),
    "a key that no header can hold": ("_started", "is ready"),
    "a setting is wrong": ("AFTERTHOUGHT_LEASE_SECONDS: ",),
}
"""How a process that is to stay shows that it has come upon what is ill."""


_PAIRS = [(name, case) for case in _SIGNS for name in LASTING]


@pytest.mark.parametrize(
    ("name", "case"),
    # Each process and each case once in every run.
    [pair if number % 3 == number // 3 % 3 else pytest.param(*pair, marks=LONG) for number, pair in enumerate(_PAIRS)],
)
def test_processes_that_stay_tell_what_is_ill_and_no_secret(
    name: str, case: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    ours = {"REDIS_URL": own_redis.url, "AFTERTHOUGHT_PORT": str(free_port()), "AFTERTHOUGHT_LOG_LEVEL": "debug"}
    env = _environment(tmp_path, GIVEN | ours | _ILL[case])
    with _running(tmp_path, env, name) as text:
        wait_until(lambda: any(sign in text() for sign in _SIGNS[case]), 90, "it to say how it is")
    assert CANARY not in text()
    assert _in_home(tmp_path) == []


@pytest.mark.parametrize("name", ["loop", "doctor", *(pytest.param(one, marks=LONG) for one in ("up", "worker"))])
def test_a_redis_that_refuses_the_password_is_told_of_and_the_password_is_not(
    name: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    wrong = {"REDIS_URL": f"redis://:canary-wrong@127.0.0.1:{own_redis.port}/0"}
    env = _environment(tmp_path, GIVEN | {"AFTERTHOUGHT_PORT": str(free_port())} | wrong)
    with _running(tmp_path, env, name) as text:
        wait_until(lambda: "AuthenticationError" in text() or "invalid username-password" in text(), 90, "a refusal")
    assert CANARY not in text()
    assert _in_home(tmp_path) == []


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("REDIS_URL", "redis://:canary/canary@127.0.0.1:6379/0"),
        ("REDIS_URL", "redis://:123/canary@127.0.0.1:6379/0"),
        ("REDIS_URL", "rediss://:canary?canary@127.0.0.1:6379/0"),
        ("DATABASE_URL", "postgresql://ann:canary@127.0.0.1:port/x"),
    ],
)
def test_an_address_that_cannot_be_read_is_named_with_what_to_do(setting: str, address: str, tmp_path: Path) -> None:
    said = _run(tmp_path, _environment(tmp_path, {setting: address}), "migrate")
    assert f"{setting}: " in said and "%2F" in said
    assert CANARY not in said
