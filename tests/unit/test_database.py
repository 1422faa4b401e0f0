"""What every connection to SQLite is told, whatever the library was built with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shared.db.engine import BUSY_TIMEOUT_SECONDS, _prepare_sqlite


@pytest.mark.parametrize(
    ("pragma", "before", "wanted"),
    [
        ("secure_delete", "OFF", 1),
        ("foreign_keys", "OFF", 1),
        ("journal_mode", "DELETE", "wal"),
        ("synchronous", "OFF", 1),
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
