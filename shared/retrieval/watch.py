"""How long the stages of one search take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Watch:
    """Times the stages of one search, in milliseconds."""

    def __init__(self) -> None:
        self._begun = perf_counter()
        self.taken: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside, beside what the stage took before."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.taken[name] = self.taken.get(name, 0.0) + 1000 * (perf_counter() - begun)

    def stop(self) -> dict[str, float]:
        """Return what each stage took, and all of it as ``total``."""
        return self.taken | {"total": 1000 * (perf_counter() - self._begun)}
