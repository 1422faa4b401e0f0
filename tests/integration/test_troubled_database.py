"""A database that refuses writes, or is damaged: refused with what to do, never an error of ours, and ready says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import event, text

from shared.db.engine import BUSY_TIMEOUT_SECONDS, Database, _prepare_sqlite
from tests.support.api import Api, open_api
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until

READY = "/health/ready"


@pytest.fixture
def postgres_api(postgres_url: str, tmp_path: Path) -> Iterator[Api]:
    with open_api(postgres_url, tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def fail_over(postgres_server: PostgresServer, postgres_url: str) -> Iterator[Callable[[bool], None]]:
    """Have new connections find a database that takes no writes (and end those that are open), or one that does."""
    name = postgres_url.partition("@/")[2].partition("?")[0]

    def carry_out(is_read_only: bool) -> None:
        with psycopg.connect(host=str(postgres_server.directory), user="postgres", autocommit=True) as connection:
            statement = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
            connection.execute(statement.format(sql.Identifier(name), sql.Literal("on" if is_read_only else "off")))
            if is_read_only:
                others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                connection.execute(others, [name])

    yield carry_out
    carry_out(False)


def database_of(api: Api) -> tuple[bool, bool, str]:
    """Return whether the loop is ready, whether its database is well, and what it says of it."""
    ready = api.send("GET", READY).json()
    found = ready["dependencies"]["database"]
    return ready["ready"], found["ok"], found["detail"]


def is_refused(answer: httpx2.Response, words: str) -> None:
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) > 0
    assert words in answer.json()["error"]["message"]


@pytest.mark.postgres
def test_a_read_only_postgresql_is_said_and_left_as_soon_as_another_takes_writes(
    postgres_api: Api, fail_over: Callable[[bool], None]
) -> None:
    api, path = postgres_api, postgres_api.install()
    fail_over(True)
    is_refused(api.send("POST", f"{path}/memories", json={"content": "Likes tea."}), "The database")
    told = lambda: api.send("POST", f"{path}/memories", json={"content": "Likes figs."}).text  # noqa: E731
    wait_until(lambda: "read-only" in told(), 30, "what is wrong to be said")
    is_refused(api.send("POST", f"{path}/memories", json={"content": "Likes figs."}), "read-only")
    assert api.contents(path) == []
    assert database_of(api)[1] is False and "read-only" in database_of(api)[2]
    # The connections that are open stay read-only for as long as they are kept.
    fail_over(False)
    wait_until(lambda: api.send("POST", f"{path}/memories", json={"content": "Likes tea."}).is_success, 30, "a write")
    wait_until(lambda: database_of(api)[1], 30, "the database to be well")
    assert api.contents(path) == ["Likes tea."]


@pytest.mark.postgres
def test_ready_notices_a_read_only_postgresql_before_anybody_writes(
    postgres_api: Api, fail_over: Callable[[bool], None]
) -> None:
    fail_over(True)
    assert database_of(postgres_api)[:2] == (False, False)
    fail_over(False)
    wait_until(lambda: database_of(postgres_api)[1], 30, "the database to be well")


@pytest.mark.postgres
def test_an_erasure_on_a_read_only_postgresql_is_refused(postgres_api: Api, fail_over: Callable[[bool], None]) -> None:
    path = postgres_api.install()
    fail_over(True)
    # The first may meet a connection that is just ended, and is refused for that.
    is_refused(postgres_api.send("DELETE", f"{path}/data"), "The database")
    wait_until(lambda: "read-only" in postgres_api.send("DELETE", f"{path}/data").text, 30, "what is wrong to be said")


@pytest.mark.parametrize("first_page", [0, 1], ids=["its beginning too", "all but its beginning"])
def test_a_damaged_file_of_sqlite_is_said_with_what_to_do(sqlite_api: Api, tmp_path: Path, first_page: int) -> None:
    path = sqlite_api.install()
    sqlite_api.converse(path, "c1", "I like tea.")
    sqlite_api.loop.database.dispose()
    file = tmp_path / "afterthought.db"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [page] = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    whole = file.read_bytes()
    file.write_bytes(whole[: first_page * page] + b"\xa5" * (len(whole) - first_page * page))
    for method, rest, body in (("GET", "/memories", None), ("POST", "/memories", {"content": "Likes tea."})):
        is_refused(sqlite_api.send(method, f"{path}{rest}", json=body), "restore the last backup")
    assert database_of(sqlite_api)[:2] == (False, False) and "damaged" in database_of(sqlite_api)[2]


def test_a_file_of_sqlite_that_nobody_may_write_is_said(sqlite_api: Api, tmp_path: Path) -> None:
    path = sqlite_api.install()
    with sqlite_api.loop.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    is_refused(sqlite_api.send("POST", f"{path}/memories", json={"content": "Likes tea."}), "read-only")


@pytest.mark.parametrize(
    ("pragma", "before", "wanted"),
    [
        ("secure_delete", "OFF", 1),
        ("foreign_keys", "OFF", 1),
        ("journal_mode", "DELETE", "wal"),
        ("synchronous", "OFF", 2),
        ("busy_timeout", "0", BUSY_TIMEOUT_SECONDS * 1000),
    ],
)
def test_a_connection_is_told_what_our_promises_need(
    pragma: str, before: str, wanted: int | str, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute(f"PRAGMA {pragma}={before}")
        _prepare_sqlite(connection, None)
        assert connection.execute(f"PRAGMA {pragma}").fetchone()[0] == wanted
        assert connection.isolation_level is None, "the driver must not begin transactions by itself"


@pytest.mark.postgres
def test_a_connection_that_the_server_closed_is_replaced_unnoticed(postgres_url: str) -> None:
    database, other = Database(postgres_url), Database(postgres_url)
    with database.read() as session:
        former = session.scalar(text("SELECT pg_backend_pid()"))
    with other.read() as session:
        assert session.scalar(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": former})
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda _c, _u, statement, *_: statements.append(statement))
    with database.read() as session:
        assert session.scalar(text("SELECT pg_backend_pid()")) != former
    assert statements == ["SELECT pg_backend_pid()"]
    database.dispose()
    other.dispose()
