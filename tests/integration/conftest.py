"""Fixtures of the tests that use the HTTP interface in the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api, open_api


@pytest.fixture
def api(database_url: str, tmp_path: Path) -> Iterator[Api]:
    """The interface over a fresh database, once on SQLite and once on PostgreSQL."""
    with open_api(database_url, tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def sqlite_api(sqlite_url: str, tmp_path: Path) -> Iterator[Api]:
    """The interface over SQLite, for what does not touch the database."""
    with open_api(sqlite_url, tmp_path / "home") as opened:
        yield opened
