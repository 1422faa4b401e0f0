"""Metrics of forked processes: each writes files under a slot name of its own, and a scrape adds them up.

Slots (``loop``, ``worker1-p0``) are reused after a restart, so the number of files stays bounded; a starting process
wipes the slots it takes over, as any restarted process begins at zero. Source: stack, "Metrics with forked workers".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.values import MultiProcessValue

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def use_files(directory: Path, slot: Callable[[], str]) -> None:
    """Keep this process's metrics in files named by ``slot``; must come before the first metric is made."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ[_VARIABLE] = str(directory)
    # The library chose its class by the variable when it was imported, which was before.
    values.ValueClass = MultiProcessValue(slot)  # type: ignore[no-untyped-call]


def wipe(directory: Path, prefix: str) -> int:
    """Remove the files of former processes whose slots start with ``prefix``; return how many."""
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
    """Return the text Prometheus reads."""
    return generate_latest(registry)
