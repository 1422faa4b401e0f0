"""How vectors are stored, and what of them is kept in memory.

Stored, a vector is one float32 scale and then one signed byte a dimension, which loses nothing that a ranking would
notice. In memory, a bit a dimension is enough to find those worth reading in full. Source: Charikar, 2002 (signs of
random projections estimate angles); the figures are in ``docs/search.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shared.llm.embedding import Vectors

Floats = NDArray[np.float32]
SCALE_BYTES = 4
_MOST = 127
_WORD_BITS = 64


def pack(row: Floats) -> bytes:
    """Return a vector as it is stored. Shape: ``(dim,)``."""
    largest = float(np.abs(row).max(initial=0.0))
    scale = np.float32(largest / _MOST)
    steps = np.rint(row / scale) if scale > 0 else np.zeros_like(row)
    return bytes(scale.astype("<f4").tobytes() + steps.astype(np.int8).tobytes())


def unpack(stored: bytes) -> Floats:
    """Return a stored vector. Shape: ``(dim,)``."""
    rows: Floats = unpack_all([stored])[0]
    return rows


def unpack_all(stored: Sequence[bytes]) -> Vectors:
    """Return stored vectors of one length. Shape: ``(n, dim)``."""
    scales, steps = _parts(stored)
    return steps.astype(np.float32) * scales[:, None]


def likeness_of(stored: Sequence[bytes], query: Floats) -> Floats:
    """Return the cosine of each stored vector and a query of unit length. Shape: ``(n,)``."""
    if not stored:
        return np.zeros(0, np.float32)
    scales, steps = _parts(stored)
    products: Floats = (steps.astype(np.float32) @ query) * scales
    return products


def signs(rows: NDArray[np.float32] | NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return a bit a dimension, set where it is above zero. Shape: ``(n, ceil(dim / 8))``."""
    return np.packbits(rows > 0, axis=1)


def signs_of_stored(stored: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the signs of stored vectors in whole words, as ``as_words``."""
    return as_words(signs(_parts(stored)[1]))


def as_words(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a bit matrix in words of 64 bits, the last filled up with zeros, one row a word of every vector.

    Shapes: ``(n, bytes)`` to ``(words, n)``; what is looked at together lies together.
    """
    missing = -bits.shape[1] % (_WORD_BITS // 8)
    filled = np.ascontiguousarray(np.pad(bits, ((0, 0), (0, missing))))
    return np.ascontiguousarray(filled.view(np.uint64).T)


def _parts(stored: Sequence[bytes]) -> tuple[Floats, NDArray[np.int8]]:
    """Return scales ``(n,)`` and steps ``(n, dim)``."""
    table = np.frombuffer(b"".join(stored), np.uint8).reshape(len(stored), -1)
    scales = np.ascontiguousarray(table[:, :SCALE_BYTES]).view("<f4")[:, 0].astype(np.float32)
    return scales, table[:, SCALE_BYTES:].view(np.int8)
