"""What the promises are tried on: a small installation over each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.house import House


@pytest.fixture
def house(database_url: str) -> Iterator[House]:
    house = House(database_url)
    house.install()
    yield house
    house.database.dispose()
