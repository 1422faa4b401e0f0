"""Keeps processes running until told to stop: starts them, starts again what dies, and stops them in order.

A process is started in a group of its own, so that what it started itself (a worker's pool) ends with it; its lines are
copied to the console and to a log file. It must run in the main thread: processes are tied to the thread that started
them and end with it, even when this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Protocol, TextIO

from shared.base.errors import AfterthoughtError
from shared.base.process import tied_to_me

_NAME_WIDTH = 6
_POLL_SECONDS = 0.1
_LATE_SECONDS = 20.0
_STEADY_SECONDS = 30.0
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_TRIES_BEFORE_READY = 5
NAME = "up"
"""Under which the supervisor's own lines stand on the console."""


@dataclass(frozen=True)
class Readiness:
    """Whether the loop can serve, and a sentence for each dependency that is not well, by its name."""

    ready: bool
    wrong: dict[str, str]


class Part(Protocol):
    """Something that runs and may die: a child process or the embedded Redis."""

    name: str

    def start(self) -> None:
        """Start it and return when it has at least been launched."""

    def ending(self) -> str | None:
        """Return how it ended, or None while it runs."""

    def ask_to_stop(self) -> None:
        """Ask it to end, without waiting."""

    def clear(self) -> None:
        """Remove whatever is left of it, by force; it may be started again."""


@dataclass
class _Watched:
    part: Part
    started_at: float = 0.0
    due_at: float | None = None
    failures: int = 0


class Supervisor:
    """Keeps ``parts`` running until told to stop; ``look`` says whether the whole works, ``announce`` tells the user.

    The ``foundation`` is started before the parts and stopped after them, because they need it to the end.
    A part that dies is started again after 0.5 s, then 1 s, 2 s ... up to 30 s; half a minute of life forgives it.
    A part that dies five times in a row before anything was ever ready ends the start with an error.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        console: Console,
        *,
        foundation: Sequence[Part] = (),
        look: Callable[[], Readiness] = lambda: Readiness(True, {}),
        announce: Callable[[Readiness], None] = lambda found: None,
        drain_seconds: float = 10.0,
        first_wait_seconds: float = _FIRST_WAIT_SECONDS,
        late_seconds: float = _LATE_SECONDS,
    ) -> None:
        self._foundation = [_Watched(part) for part in foundation]
        self._others = [_Watched(part) for part in parts]
        self._watched = [*self._foundation, *self._others]
        self._console = console
        self._look = look
        self._announce = announce
        self._drain_seconds = drain_seconds
        self._first_wait_seconds = first_wait_seconds
        self._late_seconds = late_seconds
        self._stop_requests = 0
        self._is_ready = False
        self._is_late = False
        self._begun_at = 0.0

    def run(self) -> int:
        """Run until SIGINT, SIGTERM or SIGHUP and return the exit status; a second signal stops without patience."""
        with self._heeding_signals():
            try:
                self._begun_at = time.monotonic()
                for watched in self._watched:
                    if self._stop_requests:
                        break
                    self._start(watched)
                while not self._stop_requests:
                    for watched in self._watched:
                        if not self._tend(watched):
                            return 1
                    self._look_whether_ready()
                    # Signals set a flag only; this nap bounds how late it is seen.
                    time.sleep(_POLL_SECONDS)
                return 0
            finally:
                self._console.write_line(NAME, "stopping; once more to stop at once")
                self._stop_together(self._others)
                self._stop_together(self._foundation)

    def request_stop(self) -> None:
        """Ask ``run`` to stop; asked twice, it kills."""
        self._stop_requests += 1

    def _start(self, watched: _Watched) -> None:
        watched.due_at = None
        watched.started_at = time.monotonic()
        try:
            watched.part.start()
        except (OSError, AfterthoughtError) as error:
            self._has_died(watched, str(error))

    def _tend(self, watched: _Watched) -> bool:
        """Look after one part; False when it is hopeless."""
        if watched.due_at is None:
            ending = watched.part.ending()
            if ending is not None:
                # What it started itself (a worker's pool) may have outlived it.
                watched.part.clear()
                self._has_died(watched, ending)
        elif time.monotonic() >= watched.due_at:
            self._start(watched)
        if self._is_ready or watched.failures < _TRIES_BEFORE_READY:
            return True
        self._console.write_line(
            NAME,
            f"{watched.part.name} ended {watched.failures} times before the service was ready. Stopping; "
            "its last lines above say why.",
        )
        return False

    def _has_died(self, watched: _Watched, ending: str) -> None:
        now = time.monotonic()
        if now - watched.started_at >= _STEADY_SECONDS:
            watched.failures = 0
        wait = wait_before_restart(watched.failures, self._first_wait_seconds)
        watched.failures += 1
        watched.due_at = now + wait
        self._console.write_line(NAME, f"{watched.part.name} ended ({ending}); starting it again in {wait:g} s")

    def _look_whether_ready(self) -> None:
        if self._is_ready:
            return
        found = self._look()
        if found.ready:
            self._is_ready = True
            self._announce(found)
        elif not self._is_late and time.monotonic() - self._begun_at > self._late_seconds:
            self._is_late = True
            self._console.write_line(NAME, f"not ready after {self._late_seconds:g} s, still trying:")
            for name, detail in found.wrong.items():
                self._console.write_line(NAME, f"  {name}: {detail}")

    def _stop_together(self, group: Sequence[_Watched]) -> None:
        running = [watched.part for watched in group if watched.due_at is None and watched.started_at]
        for part in running:
            # All are asked before any is waited for, so that they share the time to drain.
            part.ask_to_stop()
        deadline = time.monotonic() + self._drain_seconds
        while any(part.ending() is None for part in running) and time.monotonic() < deadline:
            if self._stop_requests > 1:
                break
            time.sleep(_POLL_SECONDS / 2)
        for part in running:
            if part.ending() is None:
                self._console.write_line(NAME, f"{part.name} did not end in time and is killed")
            part.clear()

    @contextlib.contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        def heed(number: int, frame: FrameType | None) -> None:
            self.request_stop()

        # Whoever started us with nohup wants us to outlive the terminal.
        hangup = () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)
        before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM, *hangup)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def wait_before_restart(failures: int, first_seconds: float = _FIRST_WAIT_SECONDS) -> float:
    """Return how many seconds to wait after ``failures`` deaths in a row before this one: doubling, up to 30."""
    # The exponent is bounded because a part may fail for weeks, and a float holds no 2**1100.
    return min(first_seconds * 2.0 ** min(failures, 32), _LONGEST_WAIT_SECONDS)


@dataclass(frozen=True)
class Child:
    """What to run: a name for the console, the command and its whole environment."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(repr=False)


class Console:
    """Where lines go for a human; several threads write, and no line is torn."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write_line(self, name: str, line: str) -> None:
        """Write one line with the name of who says it; a console that has gone away is no error."""
        self.write(f"{name:<{_NAME_WIDTH}} | {line}\n")

    def write(self, text: str) -> None:
        """Write ``text`` as it is."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


class RotatingLog:
    """A log file that moves aside at ``limit_bytes``, keeping ``kept`` older ones (``loop.log.1`` is the newest)."""

    def __init__(self, path: Path, *, limit_bytes: int = 5_000_000, kept: int = 3) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._kept = kept
        self._file = path.open("ab")

    def write(self, line: bytes) -> None:
        """Append one line; a full disk loses the line and not the service."""
        with contextlib.suppress(OSError):
            if self._file.tell() + len(line) > self._limit_bytes:
                self._file.close()
                for number in range(self._kept - 1, 0, -1):
                    older = self._numbered(number)
                    if older.exists():
                        older.replace(self._numbered(number + 1))
                self._path.replace(self._numbered(1))
                self._file = self._path.open("ab")
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class ChildProcess:
    """A child that runs, ran or will run; start it from the main thread, because it ends with the starting thread."""

    def __init__(self, child: Child, log_file: Path, console: Console, stdin: int = subprocess.DEVNULL) -> None:
        self.name = child.name
        self._child = child
        self._log_file = log_file
        self._console = console
        self._stdin = stdin
        self._process: subprocess.Popen[bytes] | None = None
        self._copying: threading.Thread | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start the process; does nothing if it runs. Raises: OSError when the command cannot be run."""
        if self.pid is not None:
            return
        self._process = subprocess.Popen(
            list(self._child.argv),
            env=dict(self._child.env),
            stdin=self._stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A group of its own: Ctrl-C in the terminal reaches us alone, and what it leaves behind can be killed as
            # one.
            start_new_session=True,
            preexec_fn=tied_to_me(),
        )
        # What the first one was to wait for has come to pass.
        self._stdin = subprocess.DEVNULL
        assert self._process.stdout is not None
        self._copying = threading.Thread(target=self._copy, args=(self._process.stdout,), daemon=True)
        self._copying.start()

    def ending(self) -> str | None:
        """Return how the process ended, in words, or None while it runs."""
        status = self._process.poll() if self._process is not None else None
        return None if status is None else describe_status(status)

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the process itself; it tells its own children."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def clear(self) -> None:
        """Kill whatever is left of the group and finish copying its last lines."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._copying is not None:
            # Not for ever: who left the group may still hold the pipe open.
            self._copying.join(timeout=2.0)
        self._process = None

    def _copy(self, lines: IO[bytes]) -> None:
        log = RotatingLog(self._log_file)
        with lines, contextlib.closing(log):
            for line in lines:
                log.write(line)
                self._console.write_line(self.name, line.decode("utf-8", "replace").rstrip())


def describe_status(status: int) -> str:
    """Return an exit status in words: ``exit status 1`` or ``SIGKILL``."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
