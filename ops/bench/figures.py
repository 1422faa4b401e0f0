"""Turning samples into the figures that benches print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and p99 of durations, in milliseconds."""
    ordered = sorted(seconds)
    return {f"p{q}_ms": round(ordered[min(len(ordered) - 1, q * len(ordered) // 100)] * 1000, 3) for q in (50, 95, 99)}


def timed(calls: Iterable[Callable[[], Any]]) -> list[float]:
    """Return how long each call took, in seconds."""
    taken = []
    for call in calls:
        begun = perf_counter()
        call()
        taken.append(perf_counter() - begun)
    return taken


def say(what: str) -> None:
    """Tell a waiting person what is being measured; standard output is for the figures alone."""
    print(what, file=sys.stderr, flush=True)


def show(figures: dict[str, Any]) -> None:
    """Print the figures as JSON."""
    print(json.dumps(figures, indent=2, ensure_ascii=False))
