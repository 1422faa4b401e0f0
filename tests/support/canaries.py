"""Looks for a text in every place where it could have been left: tables, files, queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import redis
from sqlalchemy import Select, Table, select

from shared.db.base import Base
from shared.db.engine import Database


def places_of(canary: str, database: Database, client: redis.Redis, *folders: Path) -> list[str]:
    """Return every place that still holds the text."""
    return [*_in_tables(canary, database), *_in_redis(canary, client), *_in_files(canary, *folders)]


def _in_tables(canary: str, database: Database) -> list[str]:
    with database.read() as session:
        return [
            f"table {table.name}"
            for table in Base.metadata.sorted_tables
            if any(canary in str(tuple(row)) for row in session.execute(_everything(table)))
        ]


def _everything(table: Table) -> Select[Any]:
    return select(table)


def _in_redis(canary: str, client: redis.Redis) -> list[str]:
    found = []
    for key in client.scan_iter(count=1000):
        if canary.encode() in key or canary.encode() in _value(client, key):
            found.append(f"redis key {key!r}")
    return found


def _value(client: redis.Redis, key: bytes) -> bytes:
    return client.dump(key) or b""


def _in_files(canary: str, *folders: Path) -> list[str]:
    return [
        f"file {path.name}"
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and canary.encode() in _bytes(path)
    ]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
