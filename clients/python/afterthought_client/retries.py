"""When a call is tried again, and how long is waited before."""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

TRIED_AGAIN = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
"""A call that ended so may or may not have been carried out; a write is not repeated, because of its key."""
_STATUSES = frozenset({429, 503})
_WHILE_PATIENT = _STATUSES | {502, 504}
"""A proxy answers so while the service behind it starts again."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is tried again: after a lost connection, and where the service says to come back later."""

    retries: int = 4
    first_wait_seconds: float = 0.25
    longest_wait_seconds: float = 30.0
    """A service that asks for more patience than this is not waited for."""
    patience_seconds: float | None = None
    """Try for so long, however often that is: for a service that is started again."""

    def wait_seconds(
        self, failures: int, response: httpx.Response | None = None, elapsed_seconds: float = 0.0
    ) -> float | None:
        """Return how long to wait after so many failures in a row; None to give up."""
        is_patient = self.patience_seconds is not None
        if response is not None and response.status_code not in (_WHILE_PATIENT if is_patient else _STATUSES):
            return None
        if failures > self.retries if self.patience_seconds is None else elapsed_seconds >= self.patience_seconds:
            return None
        # Half of it by chance, so that many clients do not come back at the same moment.
        wait = self.first_wait_seconds * 2.0 ** min(failures - 1, 10) * random.uniform(0.5, 1.0)
        wait = min(wait, self.longest_wait_seconds)
        asked = response.headers.get("retry-after", "") if response is not None else ""
        wait = max(wait, float(asked)) if asked.isascii() and asked.isdigit() else wait
        most = self.longest_wait_seconds if self.patience_seconds is None else self.patience_seconds
        return wait if wait <= most else None
