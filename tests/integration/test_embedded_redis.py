"""The embedded Redis: whose binary it is, what survives it, and what never outlives its owner."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from loop import embedded_redis
from loop.embedded_redis import EmbeddedRedis
from shared.base.errors import Configuration

pytestmark = pytest.mark.integration

_OWNER = """
import sys, time
from pathlib import Path
from loop.embedded_redis import EmbeddedRedis
server = EmbeddedRedis(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path / "redis")
    yield server
    server.stop()


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has started the server in the same directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(tmp_path / "redis")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def _pid_of_its_server(owner: subprocess.Popen[str]) -> int:
    assert owner.stdout is not None
    return int(owner.stdout.readline())


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if sys.platform == "linux" else True


def test_it_is_the_binary_of_the_package_even_with_a_redis_server_on_the_path(
    server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impostor = tmp_path / "bin" / "redis-server"
    impostor.parent.mkdir()
    impostor.write_text("#!/bin/sh\nexit 1\n")
    impostor.chmod(0o755)
    monkeypatch.setenv("PATH", str(impostor.parent))
    server.start()
    with server.client() as client:
        facts = client.info("server")
    assert facts["server_name"] == "valkey"
    assert facts["executable"] == str(embedded_redis.find_binary())
    assert facts["process_id"] == server.pid


def test_it_writes_an_append_only_file_and_never_evicts(server: EmbeddedRedis) -> None:
    server.start()
    with server.client() as client:
        answers = {name: client.config_get(name)[name] for name in ("appendonly", "appendfsync", "maxmemory-policy")}
    assert answers == {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}


def test_it_listens_on_loopback_only_and_asks_for_the_password(server: EmbeddedRedis) -> None:
    server.start()
    stranger = redis.Redis(host=embedded_redis.HOST, port=server.port, retry=Retry(NoBackoff(), 0))
    with stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with server.client() as client:
        assert client.config_get("bind")["bind"] == "127.0.0.1"


def test_the_password_is_in_no_argument_list_and_its_file_is_private(server: EmbeddedRedis, tmp_path: Path) -> None:
    server.start()
    password = (tmp_path / "redis" / "password").read_text().strip()
    arguments = Path(f"/proc/{server.pid}/cmdline")
    assert not arguments.exists() or password.encode() not in arguments.read_bytes()
    assert stat.S_IMODE((tmp_path / "redis" / "password").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "redis").stat().st_mode) == 0o700
    assert password not in server.log_file.read_text()


def test_a_kept_port_that_somebody_else_took_is_given_up(server: EmbeddedRedis) -> None:
    server.start()
    port = server.port
    server.stop()
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind((embedded_redis.HOST, port))
        squatter.listen()
        server.start()
    assert server.port != port


def test_a_directory_with_quotes_spaces_and_accents_is_fine(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path / 'Søren\'s "own" \\ place')
    server.start()
    assert server.alive
    server.stop()


def test_a_second_owner_of_the_directory_is_refused(server: EmbeddedRedis, owner: subprocess.Popen[str]) -> None:
    pid = _pid_of_its_server(owner)
    with pytest.raises(Configuration, match="AFTERTHOUGHT_HOME"):
        server.start()
    assert _runs(pid), "the refused owner must not touch the server of the first"


@pytest.mark.parametrize("deaf", [False, True], ids=["answering", "not answering"])
def test_a_leftover_that_did_not_notice_its_owner_s_death_is_ended(
    deaf: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = EmbeddedRedis(tmp_path / "redis")
    # As on a system that cannot tie a child to its parent.
    monkeypatch.setattr(embedded_redis, "tied_to_me", lambda how: None)
    first.start()
    leftover = first.pid
    assert leftover is not None and first._process is not None and first._owner_lock is not None
    first._owner_lock.close()
    if deaf:
        os.kill(leftover, signal.SIGSTOP)
    second = EmbeddedRedis(tmp_path / "redis", stop_seconds=1.0)
    second.start()
    try:
        assert first._process.wait(10) == (-signal.SIGKILL if deaf else 0)
        assert second.alive
    finally:
        second.stop()


def test_a_stale_pid_file_that_names_a_stranger_harms_nobody(server: EmbeddedRedis, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (tmp_path / "redis").mkdir(mode=0o700)
        (tmp_path / "redis" / "redis.pid").write_text(str(stranger.pid))
        server.start()
        assert stranger.poll() is None


def test_without_a_binary_for_the_platform_it_says_what_to_set(
    server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(Configuration, match="REDIS_URL"):
        server.start()
