"""When a call is tried again, and how long is waited before."""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

TRIED_AGAIN = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
"""A call that ended so may or may not have been carried out; a write is not repeated, because of its key."""
_STATUSES = frozenset({429, 503})


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is tried again: after a lost connection, and where the service says to come back later."""

    retries: int = 4
    first_wait_seconds: float = 0.25
    longest_wait_seconds: float = 30.0
    """A service that asks for more patience than this is not waited for."""

    def wait_seconds(self, failures: int, response: httpx.Response | None = None) -> float | None:
        """Return how long to wait after so many failures in a row; None to give up."""
        if failures > self.retries or (response is not None and response.status_code not in _STATUSES):
            return None
        # Half of it by chance, so that many clients do not come back at the same moment.
        wait = self.first_wait_seconds * 2.0 ** (failures - 1) * random.uniform(0.5, 1.0)
        wait = min(wait, self.longest_wait_seconds)
        asked = response.headers.get("retry-after", "") if response is not None else ""
        wait = max(wait, float(asked)) if asked.isascii() and asked.isdigit() else wait
        return wait if wait <= self.longest_wait_seconds else None
