"""One supervised process: started in a group of its own, its lines copied to the console and to a log file.

The group matters: what a child started itself (a worker's pool) ends with it. When to start it again is the
supervisor's business.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

from shared.process import tied_to_me

_NAME_WIDTH = 6


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

    def say(self, name: str, line: str) -> None:
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
                self._rotate()
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self._kept - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))
        self._file = self._path.open("ab")

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class ChildProcess:
    """A child that runs, ran or will run; start it from the main thread, because it ends with the starting thread."""

    def __init__(self, child: Child, log_file: Path, console: Console) -> None:
        self.name = child.name
        self._child = child
        self._log_file = log_file
        self._console = console
        self._process: subprocess.Popen[bytes] | None = None
        self._copying: threading.Thread | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start the process. Raises: OSError when the command cannot be run."""
        self._process = subprocess.Popen(
            list(self._child.argv),
            env=dict(self._child.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=tied_to_me(),
        )
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
            self._copying.join(timeout=2.0)
        self._process = None

    def _copy(self, lines: IO[bytes]) -> None:
        log = RotatingLog(self._log_file)
        with lines, contextlib.closing(log):
            for line in lines:
                log.write(line)
                self._console.say(self.name, line.decode("utf-8", "replace").rstrip())


def describe_status(status: int) -> str:
    """Return an exit status in words: ``exit status 1`` or ``SIGKILL``."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
