"""One supervisor per home: a lock file that names its holder and is free again however the holder ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from shared.errors import Configuration


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Hold ``home`` for this process.

    Raises:
        Configuration: another holds it, which is named, or it cannot be written to.
    """
    try:
        lock = (home / "up.lock").open("a+", encoding="ascii")
    except OSError as error:
        raise Configuration(f"AFTERTHOUGHT_HOME: {home} cannot be written to ({error.strerror}).") from None
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Configuration(
                f"Afterthought already runs in {home}{_holder(file)}. Stop it first, or set AFTERTHOUGHT_HOME to "
                "another directory for a second one."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _holder(file: IO[str]) -> str:
    file.seek(0)
    pid = file.read().strip()
    return f" (process {pid})" if pid else ""
