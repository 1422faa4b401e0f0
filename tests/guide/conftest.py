"""The service that the guide talks to: a real loop and a real worker, without a model."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.services import start_redis, start_system


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """An HTTP client of a running Afterthought, with the admin's token."""
    folder = tmp_path_factory.mktemp("guide")
    redis = start_redis(folder / "redis")
    try:
        with start_system(folder, f"sqlite:///{folder / 'guide.db'}", redis.url) as system, system.client() as client:
            yield client
    finally:
        redis.stop()
