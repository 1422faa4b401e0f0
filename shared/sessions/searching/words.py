"""The words of sessions as numbers: hashed with the app's id, so that equal words of two apps are different ones."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

_BYTES = 7
"""56 bits: they fit every database's 64-bit integers, and two words of an app hardly ever meet."""


def numbers_of(app_id: str, words: Iterable[str]) -> list[int]:
    """Return a number for each word of an app."""
    keyed = blake2b(key=blake2b(app_id.encode(), digest_size=32).digest(), digest_size=_BYTES)
    numbers = []
    for word in words:
        one = keyed.copy()
        one.update(word.encode("utf-8", "surrogatepass"))
        numbers.append(int.from_bytes(one.digest()))
    return numbers
