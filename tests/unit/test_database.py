"""What every connection to SQLite is told, whatever the library was built with, and which ones are used again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event, text

from shared.db.engine import BUSY_TIMEOUT_SECONDS, Database, _prepare_sqlite


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
