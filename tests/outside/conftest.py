"""Fixtures of the tests in which others judge: the interface over SQLite, one for a module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api, open_api


@pytest.fixture(scope="module")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The interface over a database that all tests of a module share."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copy(sqlite_template, folder / "afterthought.db")
    with open_api(f"sqlite:///{folder / 'afterthought.db'}", folder / "home") as opened:
        opened.install()
        yield opened
