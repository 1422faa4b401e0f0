"""Listening for news when there is nobody to hear it from."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from loop.streams import Notices
from tests.support.waiting import wait_until


class Refusing:
    """A server that hangs up on everybody and counts them."""

    def __init__(self) -> None:
        self.calls = 0
        self._over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            caller, _ = self._socket.accept()
            caller.close()
            if self._over.is_set():
                return
            self.calls += 1

    def close(self) -> None:
        self._over.set()
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def refusing() -> Iterator[Refusing]:
    server = Refusing()
    yield server
    server.close()


def test_an_outage_of_redis_is_logged_once_however_long_it_lasts(refusing: Refusing) -> None:
    client = redis.Redis(port=refusing.port, retry=Retry(NoBackoff(), 0), socket_timeout=5)
    with structlog.testing.capture_logs() as lines:
        notices = Notices(client, lambda _: None, pause_seconds=0.01)
        notices.start()
        wait_until(lambda: refusing.calls > 5, 60, "several tries")
        notices.stop(5)
    client.close()
    assert [line["event"] for line in lines] == ["notices_lost"]
