"""The whole Afterthought that the tests of this folder break, one after another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.fleet import Fleet, launch


@pytest.fixture(scope="package")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Real processes over SQLite, shared by all tests of this folder in one test process: to start them takes long."""
    folder = tmp_path_factory.mktemp("fleet")
    with launch(folder, f"sqlite:///{folder / 'afterthought.db'}") as fleet:
        yield fleet


@pytest.fixture
def whole(fleet: Fleet) -> Iterator[None]:
    yield
    fleet.points.disarm()
    fleet.make_whole()
