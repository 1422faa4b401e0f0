"""Fixtures shared by all tests: real servers, fresh databases, and proof that no process is left behind.

Each test process (there are several under xdist) starts its own Redis and PostgreSQL, and only if a test asks.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from loop.embedded_redis import EmbeddedRedis
from shared.db.schema import migrate
from tests.support.certificates import share_certificates
from tests.support.chance import draw_examples
from tests.support.forked import IN_TESTS, end_forks
from tests.support.postgres import NoPostgres, PostgresServer
from tests.support.statements import share_compiled_statements
from tests.support.waiting import wait_until

share_compiled_statements()
share_certificates()
# By default each error that is logged is told with all that its frames hold, which takes many seconds.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
_BY_DATABASE = ("database_url", "empty_database_url", "api_url")
"""Fixtures with both databases; the second is for long runs, but for tests marked ``both_databases``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked long")


def pytest_configure(config: pytest.Config) -> None:
    """Leave most examples of properties to long runs, before the first test is read."""
    draw_examples("long" if config.getoption("--long") else "often")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked long unless it was asked for; begin with what takes long, so that no process ends alone."""
    items.sort(key=_haste)
    for item in items:
        if _is_second_database(item):
            item.add_marker(pytest.mark.long)
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="long; run with --long")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)


def _is_second_database(item: pytest.Item) -> bool:
    """Return whether a test that runs on either database would run on PostgreSQL here though its SQL is the same."""
    if item.get_closest_marker("both_databases") or "tests/faults/" in item.nodeid:
        return False
    chosen = getattr(item, "callspec", None)
    return chosen is not None and any(chosen.params.get(name) == "postgres" for name in _BY_DATABASE)


def _haste(item: pytest.Item) -> int:
    slow = (
        "test_random_faults",
        "test_provider_away",
        "test_two_loops",
        "tests/faults/",
        "test_benches",
        "test_up",
        "test_whole_service",
        "test_draining",
        "test_versions_from_outside",
        "tests/integration/",
    )
    return next((place for place, name in enumerate(slow) if name in item.nodeid), len(slow))


@pytest.fixture(scope="session", autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fail the run if a process that a test started outlives it (Linux: found by a mark in its environment)."""
    mark = secrets.token_hex(8)
    os.environ[IN_TESTS] = mark
    yield
    end_forks()
    del os.environ[IN_TESTS]
    wait_until(lambda: not _marked_processes(mark), 60, "the end of every process that tests started")


def _marked_processes(mark: str) -> list[str]:
    if sys.platform != "linux":
        return []
    wanted = f"{IN_TESTS}={mark}".encode()
    return [_describe(entry) for entry in Path("/proc").glob("[0-9]*") if wanted in _read(entry / "environ")]


def _describe(process: Path) -> str:
    return f"{process.name}: {_read(process / 'cmdline').replace(bytes(1), b' ').decode(errors='replace')}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """One embedded Redis for the whole test process, proved to be the Valkey that came with the installation."""
    server = EmbeddedRedis(tmp_path_factory.mktemp("redis"))
    server.start()
    _assert_own_binary(server)
    yield server
    server.stop()


def _assert_own_binary(server: EmbeddedRedis) -> None:
    with server.client() as client:
        facts = client.info("server")
    assert facts["server_name"] == "valkey"
    assert Path(facts["executable"]).parts[-3] == "_binaries", facts["executable"]


@pytest.fixture(scope="session")
def redis_url(redis_server: EmbeddedRedis) -> str:
    """The address of the shared Redis; other tests' keys may be in it."""
    return redis_server.url


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """An empty Redis of the test's own, which it may kill and restart."""
    server = EmbeddedRedis(tmp_path / "redis")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One real PostgreSQL for the whole test process; without one: skip on a laptop, fail in CI."""
    try:
        server = PostgresServer()
    except NoPostgres as reason:
        _without_service(str(reason))
    yield server
    server.stop()


def _without_service(reason: str) -> None:
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def new_postgres_url(postgres_server: PostgresServer) -> Iterator[Callable[..., str]]:
    """Create fresh PostgreSQL databases: ``new_postgres_url()``, or ``(migrated=False)`` for one without tables."""
    made: list[str] = []

    def make(*, migrated: bool = True) -> str:
        made.append(postgres_server.new_database(migrated=migrated))
        return made[-1]

    yield make
    for url in made:
        postgres_server.take_back(url)


@pytest.fixture
def postgres_url(new_postgres_url: Callable[..., str]) -> str:
    return new_postgres_url()


@pytest.fixture(scope="session")
def sqlite_template() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="at-sqlite-"))
    path = directory / "template.db"
    migrate(f"sqlite:///{path}")
    yield path
    shutil.rmtree(directory)


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    for part in sqlite_template.parent.iterdir():
        shutil.copy(part, tmp_path / part.name.replace("template", "afterthought"))
    return f"sqlite:///{tmp_path / 'afterthought.db'}"


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database with our tables, once on SQLite and once on PostgreSQL."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=DATABASES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh database without tables, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return str(request.getfixturevalue("new_postgres_url")(migrated=False))
