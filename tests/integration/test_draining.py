"""A loop that is asked to stop: unready at once, what was begun is finished, and it ends in time whatever hangs."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from loop.embedded_redis import EmbeddedRedis
from loop.serving import ECHO_SECONDS, STOPPING_SECONDS
from shared.apps.queries import get_app
from shared.db.engine import Database
from shared.energy import leadership
from tests.support.api import Api
from tests.support.services import System, start_system
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


DRAIN_SECONDS = 1.0
PATIENCE = 30.0
"""Of a slow machine; what hangs here would hang for ever."""


@contextlib.contextmanager
def nobody_installs(database: Database) -> Iterator[None]:
    with database.write() as session:
        # The first statement takes the one place there is to write in SQLite.
        session.execute(text("SELECT 1" if database.is_sqlite else "LOCK TABLE apps IN SHARE ROW EXCLUSIVE MODE"))
        yield


def readiness(system: System) -> tuple[int, str]:
    with system.client() as client:
        got = client.get("/health/ready")
        return got.status_code, str(got.json()["dependencies"].get("loop", {}).get("detail", ""))


def ends_with(system: System, within: float) -> int:
    """Return the exit status of the loop, which must end within so many seconds."""
    assert system.loop.popen is not None
    return int(system.loop.popen.wait(within))


over_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""Where it makes no difference which database stands behind."""


with_time = pytest.mark.parametrize("drain_seconds", [120.0])
"""Where the draining must not be over before the test has looked."""


@pytest.fixture
def drain_seconds() -> float:
    return DRAIN_SECONDS


@pytest.fixture
def system(tmp_path: Path, database_url: str, own_redis: EmbeddedRedis, drain_seconds: float) -> Iterator[System]:
    env = {"AFTERTHOUGHT_DRAIN_SECONDS": str(drain_seconds), "AFTERTHOUGHT_LOG_FORMAT": "json"}
    with start_system(tmp_path, database_url, own_redis.url, 0, env) as system:
        yield system


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.dispose()


class SlowRequest:
    """A request the loop has begun to read; ``finish`` sends the rest of it."""

    _BODY = b'{"appId": "notes", "name": "Notes"}'

    def __init__(self, system: System) -> None:
        host, port = system.url.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=20)
        self._lines = self._socket.makefile("rb")
        head = (
            f"POST /apps HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {system.admin_token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(self._BODY)}\r\nExpect: 100-continue\r\n\r\n"
        )
        self._socket.sendall(head.encode())
        assert b" 100 " in self._lines.readline(), "the server asks for the body once it is read"
        assert self._lines.readline() == b"\r\n"

    def send_the_rest(self) -> None:
        self._socket.sendall(self._BODY)

    def answer(self) -> str:
        """Return the first line of the answer; empty when the connection was closed without one."""
        with contextlib.suppress(ConnectionError):
            return self._lines.readline().decode()
        return ""

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@pytest.fixture
def slow(system: System) -> Iterator[SlowRequest]:
    request = SlowRequest(system)
    yield request
    request.close()


@with_time
def test_readiness_turns_false_while_a_slow_request_is_finished(
    system: System, slow: SlowRequest, database: Database
) -> None:
    assert readiness(system) == (200, "")
    system.loop.signal_group(signal.SIGTERM)
    wait_until(lambda: readiness(system)[0] == 503, 60, "the loop to say that it is not ready")
    assert readiness(system) == (503, "It was asked to stop and finishes what it began.")
    slow.send_the_rest()
    assert "201" in slow.answer()
    assert ends_with(system, within=60) == 0
    with database.read() as session:
        assert leadership.look(session).holder is None, "another loop need not wait"
        assert get_app(session, "notes").name == "Notes"


@over_sqlite
def test_a_request_that_never_ends_is_given_up_when_the_time_is_over(system: System, slow: SlowRequest) -> None:
    system.loop.signal_group(signal.SIGTERM)
    assert ends_with(system, within=DRAIN_SECONDS + STOPPING_SECONDS + PATIENCE) == 0
    assert "201" not in slow.answer()


@with_time
@over_sqlite
def test_a_second_signal_ends_it_at_once(system: System, slow: SlowRequest, drain_seconds: float) -> None:
    system.loop.signal_group(signal.SIGTERM)
    begun = time.monotonic()

    def ends_when_asked_again() -> bool:
        system.loop.signal_group(signal.SIGTERM)
        return not system.loop.alive

    wait_until(ends_when_asked_again, 60, "the loop to end")
    assert ECHO_SECONDS < time.monotonic() - begun < drain_seconds, "an echo of the first signal is not a second one"
    assert ends_with(system, within=1) == 128 + signal.SIGTERM
    assert slow.answer() == ""


def test_it_ends_in_time_though_the_database_hangs(system: System, slow: SlowRequest, database: Database) -> None:
    with nobody_installs(database):
        slow.send_the_rest()
        system.loop.signal_group(signal.SIGTERM)
        assert ends_with(system, within=DRAIN_SECONDS + STOPPING_SECONDS + PATIENCE) == 0
    assert "201" not in slow.answer()


@over_sqlite
def test_an_idle_loop_stops_without_delay_and_leaves_the_leadership_free(
    tmp_path: Path, database_url: str, own_redis: EmbeddedRedis, database: Database
) -> None:
    env = {"AFTERTHOUGHT_DRAIN_SECONDS": "300"}
    with start_system(tmp_path, database_url, own_redis.url, 0, env) as system:
        assert system.loop.stop(100) == 0, "it waits for nothing it need not finish"
    with database.read() as session:
        assert leadership.look(session).holder is None


def test_what_else_drains_is_told_how_long_it_has_and_cannot_hold_up_the_stop(sqlite_api: Api) -> None:
    told: list[float] = []
    release = threading.Event()

    def hangs(seconds: float) -> None:
        told.append(seconds)
        release.wait(30)

    loop = replace(sqlite_api.loop, drains=(hangs, told.append))
    begun = time.monotonic()
    loop.drain(0.3)
    assert time.monotonic() - begun < 20 and told == [0.3, 0.3]
    assert loop.draining.is_set()
    release.set()
