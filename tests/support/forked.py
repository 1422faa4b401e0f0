"""Processes of ours that begin as forks of one that has loaded their modules already: a second and a half sooner.

What runs in them is what ``python -m MODULE`` runs, under its own environment, in its own folder, session and log. It
ends with the process it is forked of, and that one with the tests. Where a start itself is tested, none is forked.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from shared.base.process import die_with_parent, tied_to_me

IN_TESTS = "PYTEST_AFTERTHOUGHT_SESSION"
"""Marks, in the environment, a run of the tests and all that it starts; benches measure what others start."""
# Not ``worker.celery_app`` and the two ``__main__``: they read the settings as they are imported.
_MODULES = (
    "loop.serving", "loop.wiring", "worker.lifecycle", "worker.tasks", "worker.wiring", "celery.apps.worker",
    "celery.concurrency.prefork", "celery.worker.consumer", "kombu.transport.redis",
)  # fmt: skip


class Forker:
    """The process that has the modules, and the pipe over which it is asked."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        command = (sys.executable, "-u", "-m", __name__)
        folders = {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            command, env=os.environ | folders, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=tied_to_me()
        )

    def ask(self, **request: Any) -> int | None:
        """Have it fork, or say how a fork ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            answer: int | None = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        """End it, and with it every fork."""
        self._process.communicate()


@cache
def _forker() -> Forker:
    forker = Forker()
    atexit.register(forker.end)
    return forker


def end_forks() -> None:
    """End the process that has the modules, if there is one."""
    if _forker.cache_info().currsize:
        _forker().end()
        _forker.cache_clear()


@dataclass
class Forked:
    """A process that was forked, with as much of ``subprocess.Popen`` as is used of it."""

    pid: int
    returncode: int | None = None
    _descriptor: int = field(init=False)

    def __post_init__(self) -> None:
        self._descriptor = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """Return its exit status, negative where a signal ended it; None while it runs."""
        if self.returncode is None:
            self.returncode = _forker().ask(status_of=self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once it has ended. Raises: TimeoutExpired."""
        if self.returncode is None and not select.select([self._descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        status = self.poll()
        assert status is not None
        return status

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def can_fork(argv: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a test starts a module of this interpreter's, where the system lets a fork be followed."""
    is_ours = IN_TESTS in os.environ and tuple(argv[:2]) == (sys.executable, "-m")
    # What is to be preloaded is read by the linker, before there is a Python; and other modules are loaded anew.
    is_alike = "LD_PRELOAD" not in env and set(env.get("PYTHONPATH", "").split(os.pathsep)) <= {"", *sys.path}
    return is_ours and is_alike and hasattr(os, "pidfd_open")


def fork(argv: Sequence[str], env: Mapping[str, str], directory: Path, log: Path) -> Forked:
    """Start ``python -m MODULE ARGUMENTS`` without loading anything anew."""
    pid = _forker().ask(argv=list(argv[2:]), env=dict(env), directory=str(directory), log=str(log))
    assert pid is not None
    return Forked(pid)


def main() -> None:
    """Fork as often as a line on standard input asks for it, and say how those forks ended, until its end."""
    gc.disable()
    for name in _MODULES:
        importlib.import_module(name)
    # What is shared by the forks is looked through by none of them.
    gc.freeze()
    gc.enable()
    parent = os.getpid()
    ended: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "status_of" in request:
            # The system tells a status once, and two threads of a test may ask for it at the same moment.
            if request["status_of"] not in ended:
                pid, status = os.waitpid(request["status_of"], os.WNOHANG)
                if pid:
                    ended[pid] = os.waitstatus_to_exitcode(status)
            answer = ended.get(request["status_of"])
        else:
            answer = os.fork()
            ended.pop(answer, None)
            if not answer:
                die_with_parent(parent)
                return _become(**request)
        print(json.dumps(answer), flush=True)
    return None


def _become(argv: list[str], env: dict[str, str], directory: str, log: str) -> None:
    os.setsid()
    # By their numbers: what Python has buffered of the pipe is left alone, as nobody here reads from it.
    nothing, file = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor, number in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(directory)
    sys.argv = argv
    runpy.run_module(argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
