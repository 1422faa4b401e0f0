"""Looks for a text in every place where it could have been left: tables, files, queues."""

from __future__ import annotations

import subprocess
from pathlib import Path

import redis
from sqlalchemy import select

from shared.db.base import Base
from shared.db.engine import Database


def places_of(canary: str, database: Database, client: redis.Redis, *folders: Path) -> list[str]:
    return [
        *(f"table {name}" for name in tables_holding(database, canary)),
        *_in_redis(canary, client),
        *_in_files(canary, *folders),
    ]


def tables_holding(database: Database, *texts: str) -> list[str]:
    with database.read() as session:
        return [
            table.name
            for table in Base.metadata.sorted_tables
            for rows in [str(session.execute(select(table)).all())]
            if any(text in rows for text in texts)
        ]


def _in_redis(canary: str, client: redis.Redis) -> list[str]:
    found = []
    for key in client.scan_iter(count=1000):
        if canary.encode() in key or canary.encode() in _value(client, key):
            found.append(f"redis key {key!r}")
    return found


def _value(client: redis.Redis, key: bytes) -> bytes:
    return client.dump(key) or b""


def _in_files(canary: str, *folders: Path) -> list[str]:
    return [f"file {path.name}" for path in files_holding(canary, *folders)]


def files_holding(text: str, *folders: Path) -> list[Path]:
    """Return the files below the folders that hold the text, found by another process.

    A process that opens and closes a file of an SQLite database it is connected to loses its locks on that file
    (POSIX), and the next process to start may then reset the shared memory under it.
    """
    found = subprocess.run(
        ["grep", "-rlaF", "--", text, *map(str, folders)], capture_output=True, text=True, check=False
    )
    assert found.returncode in (0, 1) or "No such file" in found.stderr, found.stderr
    return [Path(line) for line in found.stdout.splitlines()]
