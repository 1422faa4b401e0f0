"""Where a pool process keeps what its tasks call, once it is built."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import Configuration
from worker.wiring import Wired


@dataclass
class Ready:
    """Filled after the fork."""

    wired: Wired | None = None

    @property
    def now(self) -> Wired:
        """What the tasks call. Raises: Configuration when this process was never prepared."""
        if self.wired is None:
            raise Configuration("This process was not prepared; run the worker with the prefork pool.")
        return self.wired
