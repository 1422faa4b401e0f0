"""Fixtures of the tests in which others judge, one for a module: the interface over SQLite, and a running service."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api, open_api
from tests.support.services import System, run_service


@pytest.fixture(scope="module")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("outside")
    shutil.copy(sqlite_template, folder / "afterthought.db")
    with open_api(f"sqlite:///{folder / 'afterthought.db'}", folder / "home") as opened:
        opened.install()
        yield opened


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A loop and a worker, without a model."""
    folder = tmp_path_factory.mktemp("served")
    env = {"AFTERTHOUGHT_TICK_SECONDS": "0.1"}
    with run_service(folder, env) as running:
        yield running
