"""Places in a worker and in the loop where a test can kill, or hold, the real process.

A test arms a point by writing a file; the first process that reaches the point takes the file and does what it says,
once. Only the processes of ``tests.support.faulty_worker`` and ``tests.support.faulty_loop`` look for such files.
"""

from __future__ import annotations

import os
import signal
import time
from enum import StrEnum
from pathlib import Path

VARIABLE = "TEST_FAULTPOINTS"


class Point(StrEnum):
    BEFORE_CALL = "before_call"
    AFTER_CALL = "after_call"
    AFTER_COMMIT = "after_commit"
    BEFORE_EXTRACTION = "before_extraction"
    AFTER_EXTRACTION = "after_extraction"
    AFTER_FACTS = "after_facts"
    """Facts are committed, and their message is not acknowledged."""
    BEFORE_EMBEDDING = "before_embedding"
    AFTER_EMBEDDING = "after_embedding"
    """A batch of messages is embedded, and nothing of it is written."""
    BETWEEN_BATCHES = "between_batches"
    """One batch is written, and the next is about to be embedded."""
    AFTER_VECTORS = "after_vectors"
    BEFORE_SUMMARY = "before_summary"
    AFTER_SUMMARY = "after_summary"
    """It is thought out, and nothing of it is written."""
    SUMMARY_KEPT = "summary_kept"
    BETWEEN_PARTS = "between_parts"
    """What one part of a session came to is kept, and the next is about to be condensed."""
    HALF_WRITTEN = "half_written"
    """One file of a version is in place, and the other is not."""
    VERSION_WRITTEN = "version_written"
    """Both are in place, and no row names them."""
    COMPRESSED = "compressed"
    BEFORE_COMPOSING = "before_composing"
    """Its sessions are read, and nothing is written."""
    HALF_COMPOSED = "half_composed"
    """One document is in place, and the other is not."""
    DOCUMENTS_WRITTEN = "documents_written"
    """Both are in place, and no row names them."""
    COMPOSED = "composed"
    BEFORE_ACK = "before_ack"
    BEFORE_SEND = "before_send"
    AFTER_SEND = "after_send"


class ToolResult(StrEnum):
    KILL = "kill"
    KILL_WITH_PARENT = "kill_with_parent"
    HOLD = "hold"


class Faultpoints:
    """The test's side: arms points in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def arm(self, point: Point, result: ToolResult) -> None:
        draft = self.directory / f".{point}"
        draft.write_text(result)
        draft.rename(self.directory / point)

    def was_reached(self, point: Point) -> bool:
        """Whether a process took the point since it was armed, and is about to do what it says."""
        return not (self.directory / point).exists() and not any(self.directory.glob(f"{point}.*[0-9]"))

    def let_go(self, point: Point) -> None:
        (self.directory / f"{point}.go").touch()

    def disarm(self) -> None:
        for path in self.directory.iterdir():
            path.unlink(missing_ok=True)


def reach(point: Point) -> None:
    """The process's side: do what is asked of the first that comes here."""
    directory = Path(os.environ[VARIABLE])
    taken = directory / f"{point}.{os.getpid()}"
    try:
        (directory / point).rename(taken)
    except FileNotFoundError:
        return
    result = ToolResult(taken.read_text())
    taken.unlink(missing_ok=True)
    if result is ToolResult.HOLD:
        _hold(directory / f"{point}.go")
        return
    if result is ToolResult.KILL_WITH_PARENT:
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _hold(go: Path) -> None:
    while not go.exists():
        time.sleep(0.005)
    go.unlink(missing_ok=True)
