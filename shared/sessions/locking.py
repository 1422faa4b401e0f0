"""Locks on files of the store, for what a transaction cannot guard: they end with their process, however it ends.

They hold on one machine; processes on several machines need a store whose file system carries locks between them.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from shared.errors import Transient

_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.02
_SLOTS = 1024


@contextmanager
def holding(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock until the block ends; ``shared`` with others who share it. Raises: Transient."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def slot(*names: str) -> str:
    """Return which of so many locks names share; two that share one merely wait for each other."""
    number = int.from_bytes(blake2b("\0".join(names).encode(), digest_size=4).digest())
    return f"{number % _SLOTS:04d}"


def _take(descriptor: int, kind: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise Transient("Another request works on the same session; try again.") from None
            time.sleep(_PAUSE_SECONDS)
