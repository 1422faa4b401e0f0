"""Metrics of forked processes: each writes files under a slot name of its own, and a scrape adds them up.

Slots (``loop``, ``worker1-p0``) are reused after a restart, so the number of files stays bounded; a starting process
wipes the slots it takes over, as any restarted process begins at zero. Source: stack, "Metrics with forked workers".
"""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.values import MultiProcessValue

from shared.telemetry.logging import get_logger

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_RESERVED_BYTES = 256 * 1024
"""Of each file from its beginning; more than the series of a process take."""
_LONGEST_ENTRY_BYTES = 64
"""Of an entry beside its key."""


def use_files(directory: Path, slot: Callable[[], str]) -> None:
    """Keep this process's metrics in files named by ``slot``; must come before the first metric is made."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ[_VARIABLE] = str(directory)
    # The library chose its class by the variable when it was imported, which was before.
    values.ValueClass = MultiProcessValue(slot)  # type: ignore[no-untyped-call]
    if sys.platform == "linux":
        values.MmapedDict = ReservedDict  # type: ignore[attr-defined]


def wipe(directory: Path, prefix: str) -> int:
    """Remove the files of former processes whose slots start with ``prefix``; return how many."""
    # The library names them `KIND_SLOT.db`.
    stale = [path for path in directory.glob("*.db") if path.stem.split("_", 1)[1].startswith(prefix)]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def gathered(directory: Path) -> CollectorRegistry:
    """Return a registry that adds up the files of all processes; the caller may add collectors of its own."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call]
    return registry


def scrape(registry: CollectorRegistry) -> bytes:
    return generate_latest(registry)


class ReservedDict(MmapedDict):
    """A metrics file whose blocks are on the disk before they are written.

    The library leaves holes in its files, and a disk that has no block for a hole ends the process that writes there
    by SIGBUS. Where there is no room to begin with, the values live in this process's memory and no scrape sees them
    until it is started again.
    """

    def __init__(self, filename: str | int, read_mode: bool = False) -> None:
        if not read_mode and not _reserve(filename, _RESERVED_BYTES):
            filename = os.memfd_create(str(filename))
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        if self._used + len(key.encode()) + _LONGEST_ENTRY_BYTES > self._capacity:
            self._make_room()
        super()._init_value(key)  # type: ignore[no-untyped-call]

    def _make_room(self) -> None:
        """Reserve the part the library is about to map; without it go on in memory, with what was counted so far."""
        # The library doubles what it maps.
        if _reserve(self._f.fileno(), 2 * self._capacity):
            return
        memory = os.memfd_create(str(self._fname))
        os.write(memory, self._m[:])
        self.close()  # type: ignore[no-untyped-call]
        super().__init__(memory)  # type: ignore[no-untyped-call]


def _reserve(file: str | int, size: int) -> bool:
    """Have a file's blocks up to ``size`` bytes taken; False where the disk has no room for them."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600) if isinstance(file, str) else file
        is_new = os.fstat(descriptor).st_size == 0
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            if is_new and isinstance(file, str):
                Path(file).unlink()
            raise
        finally:
            if isinstance(file, str):
                os.close(descriptor)
    except OSError as error:
        get_logger().warning("metrics_file_without_room", error=errno.errorcode.get(error.errno or 0))
        return False
    return True
