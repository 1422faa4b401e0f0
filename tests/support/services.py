"""The whole system as real processes: Redis, the loop and workers, each killed and restarted as a test needs.

Every process ends with the test process, and every log line goes to a file beside the test's other files.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from loop.embedded_redis import EmbeddedRedis, free_port
from shared.base.process import tied_to_me
from shared.db.schema import migrate
from tests.support.forked import Forked, can_fork, fork
from tests.support.waiting import wait_until

__all__ = [
    "EmbeddedRedis",
    "ServiceProcess",
    "System",
    "free_port",
    "pool_children",
    "start_command",
    "start_redis",
    "start_system",
    "wait_until",
]

CHECKOUT = Path(__file__).resolve().parents[2]
_OURS = ("AFTERTHOUGHT_", "REDIS_URL", "DATABASE_URL", "OLLAMA_HOST", "OTEL_", "PROMETHEUS_MULTIPROC_DIR")
_STOP_SECONDS = 15.0


@dataclass
class ServiceProcess:
    """One process of the system; ``start`` may be called again after it ended."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    directory: Path
    popen: subprocess.Popen[bytes] | Forked | None = field(default=None, repr=False)

    @property
    def log_file(self) -> Path:
        """Everything the process said, over all its starts."""
        return self.directory / f"{self.name}.log"

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8", "replace") if self.log_file.exists() else ""

    @property
    def alive(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    @property
    def pid(self) -> int:
        assert self.popen is not None, f"{self.name} was never started"
        return self.popen.pid

    def start(self) -> None:
        assert not self.alive, f"{self.name} runs already"
        if can_fork(self.argv, self.env):
            self.popen = fork(self.argv, self.env, self.directory, self.log_file)
            return
        with self.log_file.open("ab") as log:
            self.popen = subprocess.Popen(
                self.argv,
                env=dict(self.env),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=tied_to_me(),
            )

    def kill(self) -> None:
        """End the process and its children at once, as a crash of the machine would."""
        self.signal_group(signal.SIGKILL)
        if self.popen is not None:
            self.popen.wait()

    def stop(self, timeout: float = _STOP_SECONDS) -> int:
        """Ask the process to end, insist after ``timeout`` seconds, and return its exit status."""
        assert self.popen is not None
        if self.alive:
            self.popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(timeout)
        self.kill()
        return int(self.popen.wait())

    def signal_group(self, number: signal.Signals) -> None:
        if self.popen is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, number)


_numbers = itertools.count()


def start_command(directory: Path, env: Mapping[str, str], *arguments: str) -> ServiceProcess:
    """Start a command of ``afterthought``, as an operator does, with a log of its own."""
    name = f"command-{next(_numbers)}"
    command = ServiceProcess(name, (sys.executable, "-m", "loop.cli", *arguments), env, directory)
    command.start()
    return command


@dataclass
class System:
    """A running Afterthought: one loop and some workers over a given database and Redis."""

    home: Path
    database_url: str
    redis_url: str
    url: str
    admin_token: str
    loop: ServiceProcess
    workers: list[ServiceProcess]

    @property
    def processes(self) -> list[ServiceProcess]:
        """The loop, then the workers."""
        return [self.loop, *self.workers]

    def client(self, token: str | None = None, timeout: float = 30.0) -> httpx.Client:
        """Return a new HTTP client, as the admin unless another token is given; the caller closes it."""
        headers = {"Authorization": f"Bearer {token or self.admin_token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=timeout, trust_env=False)

    def is_ready(self) -> bool:
        return _status(self.url, "/health/ready") == 200

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Wait until the loop can serve; fails at once with its log if it ended instead."""
        wait_until(lambda: self.is_ready() or not self.loop.alive, timeout, f"the loop; its log:\n{self.loop.log}")
        assert self.loop.alive, (
            f"the loop ended with status {self.loop.popen and self.loop.popen.returncode}:\n{self.loop.log[-4000:]}"
        )

    def kill(self, process: ServiceProcess, *, only_pool_child: bool = False) -> None:
        """SIGKILL a process with all its children, or one pool child of a worker."""
        if not only_pool_child:
            process.kill()
            return
        children = wait_until(lambda: pool_children(process.pid), 20, f"a pool child of {process.name}")
        os.kill(children[0], signal.SIGKILL)

    def restart(self, process: ServiceProcess) -> None:
        """Start a process again, ending it first if it still runs; waits for the loop to be ready."""
        if process.alive:
            process.stop()
        process.start()
        if process is self.loop:
            self.wait_ready()

    def stop(self) -> None:
        """End everything: asked together, waited for one by one, then killed."""
        for process in self.processes:
            if process.alive and process.popen is not None:
                process.popen.terminate()
        for process in self.processes:
            if process.popen is not None:
                process.stop()


@contextlib.contextmanager
def start_system(
    directory: Path,
    database_url: str,
    redis_url: str,
    workers: int = 1,
    env: Mapping[str, str] | None = None,
    *,
    loop: bool = True,
) -> Iterator[System]:
    """Run a loop and ``workers`` workers below ``directory`` until the block ends, ready when it begins.

    ``env`` adds settings, for example ``{"AFTERTHOUGHT_LEASE_SECONDS": "5"}``. With ``loop=False`` nothing is
    started: ``system.loop.start()`` and ``system.workers[0].start()`` are the test's to call.
    """
    migrate(database_url)
    system = _plan(directory, database_url, redis_url, workers, env or {})
    try:
        if loop:
            for process in system.processes:
                process.start()
            system.wait_ready()
        yield system
    finally:
        # How they stop when they are asked is tested where it matters; asked and waited for, each would take seconds.
        for process in system.processes:
            process.kill()


@contextlib.contextmanager
def run_service(folder: Path, env: Mapping[str, str] | None = None, **how: Any) -> Iterator[System]:
    """Run a whole service as ``start_system`` does, over SQLite and a Redis of its own below ``folder``."""
    redis = start_redis(folder / "redis")
    try:
        with start_system(folder, f"sqlite:///{folder / 'afterthought.db'}", redis.url, env=env, **how) as running:
            yield running
    finally:
        redis.stop()


def _plan(directory: Path, database_url: str, redis_url: str, workers: int, env: Mapping[str, str]) -> System:
    home, port, token = directory / "home", free_port(), secrets.token_urlsafe(12)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    common = {
        **_clean_environment(),
        "AFTERTHOUGHT_HOME": str(home),
        "AFTERTHOUGHT_HOST": "127.0.0.1",
        "AFTERTHOUGHT_PORT": str(port),
        "AFTERTHOUGHT_ADMIN_TOKEN": token,
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        **env,
    }
    return System(
        home=home,
        database_url=database_url,
        redis_url=redis_url,
        admin_token=token,
        url=f"http://127.0.0.1:{common['AFTERTHOUGHT_PORT']}",
        loop=ServiceProcess("loop", (sys.executable, "-m", "loop"), common, directory),
        workers=[_worker(number, common, directory) for number in range(1, workers + 1)],
    )


def _worker(number: int, common: Mapping[str, str], directory: Path) -> ServiceProcess:
    # The port makes the name unlike that of a worker of another system on the same Redis.
    name = f"worker-{number}@{common['AFTERTHOUGHT_PORT']}"
    env = {"AFTERTHOUGHT_WORKER_NAME": name, **common}
    return ServiceProcess(f"worker-{number}", (sys.executable, "-m", "worker"), env, directory)


def _clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    paths = os.pathsep.join(filter(None, (str(CHECKOUT), kept.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}


def _status(url: str, path: str) -> int | None:
    host = httpx.URL(url)
    connection = http.client.HTTPConnection(host.host, host.port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def start_redis(directory: Path, *, erase: bool = False) -> EmbeddedRedis:
    """Start the embedded Redis in ``directory``; with ``erase`` it forgets everything first but its address."""
    server = EmbeddedRedis(directory)
    if erase:
        shutil.rmtree(server.data_directory, ignore_errors=True)
    server.start()
    return server


def pool_children(pid: int) -> list[int]:
    answer = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    rows = (line.split() for line in answer.stdout.splitlines())
    return sorted(int(child) for child, parent, state in rows if int(parent) == pid and not state.startswith("Z"))


def freeze(process: ServiceProcess) -> Callable[[], None]:
    """Stop a process and its children in their tracks; the returned function lets them go on."""
    process.signal_group(signal.SIGSTOP)
    return lambda: process.signal_group(signal.SIGCONT)
