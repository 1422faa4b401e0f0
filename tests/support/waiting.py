"""Waiting for a condition instead of sleeping for a guess."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_POLL_SECONDS = 0.02
_Result = TypeVar("_Result")


def wait_until(condition: Callable[[], _Result], timeout: float, what: str) -> _Result:
    """Return the first true answer of ``condition``, asked every 20 ms.

    Raises:
        AssertionError: ``timeout`` seconds passed; the message names ``what`` was awaited and the last answer.
    """
    deadline = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s for {what}; the last answer was {answer!r}")
        time.sleep(_POLL_SECONDS)
