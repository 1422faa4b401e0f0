"""Remembers what was found out about short texts; of long ones thousands would be kept in memory, whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Answer = TypeVar("Answer")


def remembered(most: int, longest: int) -> Callable[[Callable[[str], Answer]], Callable[[str], Answer]]:
    """Have a function of a text remember its last ``most`` answers, but for texts above ``longest`` characters."""

    def remembering(tell: Callable[[str], Answer]) -> Callable[[str], Answer]:
        known = lru_cache(maxsize=most)(tell)
        return wraps(known)(lambda text: known(text) if len(text) <= longest else tell(text))

    return remembering
