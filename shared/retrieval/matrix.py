"""The vectors of searched apps in memory, a bit a dimension: enough to find those worth reading in full.

A matrix is never changed: what is new makes another one, so that whoever holds one goes on with what it read. Those
asked for least lately make room.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.indexing.models import VectorSet
from shared.indexing.queries import StoredVector, serving_set, vectors_after, vectors_by_key
from shared.indexing.vectors import Floats, as_words, likeness_of, signs, signs_of_stored

READ_AT_ONCE = 20_000
_BLOCK = 16_384
"""Rows compared at once, so that what is between stays in the processor's cache."""
GONE = np.float32(-1.0)
"""The likeness of what was erased after a matrix was read: that of the opposite."""


@dataclass(frozen=True)
class Matrix:
    """The vectors of one app's serving set, sorted by place. Its arrays must not be written to."""

    set_key: int
    model: str
    dimensions: int
    erasures: int
    last_key: int
    places: NDArray[np.int64]
    parts: NDArray[np.int32]
    keys: NDArray[np.int64]
    bits: NDArray[np.uint64]
    """Signs of all dimensions. Shape: ``(words, n)``."""

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return self.places.nbytes + self.parts.nbytes + self.keys.nbytes + self.bits.nbytes

    def likeness(self, query: Floats) -> Floats:
        """Estimate the cosine of each row and a query by how many signs differ. Shape: ``(n,)``."""
        wanted = as_words(signs(query[None, : self.dimensions]))[:, 0]
        table = np.cos(np.pi * np.arange(self.dimensions + 1) / self.dimensions).astype(np.float32)
        estimated = np.empty(len(self.places), np.float32)
        for at in range(0, len(self.places), _BLOCK):
            block = self.bits[:, at : at + _BLOCK] ^ wanted[:, None]
            np.take(table, np.bitwise_count(block).sum(axis=0, dtype=np.int64), out=estimated[at : at + _BLOCK])
        return estimated

    def with_rows(self, rows: Sequence[StoredVector]) -> Matrix:
        """Return this matrix with more vectors of its set, later ones than it has, in the order of their keys."""
        keys = np.array([row[0] for row in rows], np.int64)
        new_places, new_parts = (np.array([row[nth] for row in rows], np.int64) for nth in (1, 2))
        order = np.lexsort((new_parts, new_places))
        at = np.searchsorted(self.places, new_places[order], side="right")
        return Matrix(
            set_key=self.set_key,
            model=self.model,
            dimensions=self.dimensions,
            erasures=self.erasures,
            last_key=int(keys[-1]),
            places=np.insert(self.places, at, new_places[order]),
            parts=np.insert(self.parts, at, new_parts[order]),
            keys=np.insert(self.keys, at, keys[order]),
            bits=np.insert(self.bits, at, signs_of_stored([row[3] for row in rows])[:, order], axis=1),
        )


def exact(session: Session, matrix: Matrix, rows: NDArray[np.int64], query: Floats) -> Floats:
    """Return the cosine of some rows and a query of unit length, from the vectors themselves. Shape: ``(len(rows),)``.

    A row that was erased meanwhile is as unlike as can be.
    """
    keys = matrix.keys[rows].tolist()
    stored = vectors_by_key(session, matrix.set_key, keys)
    found = [nth for nth, key in enumerate(keys) if key in stored]
    cosines = np.full(len(keys), GONE, np.float32)
    cosines[found] = likeness_of([stored[keys[nth]] for nth in found], query)
    return cosines


@dataclass
class _Place:
    """Where an app's matrix is kept; whoever reads what is new holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    matrix: Matrix | None = None


class Matrices:
    """The matrices of the apps searched lately, within so many bytes; one that is larger is kept alone."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._places: OrderedDict[str, _Place] = OrderedDict()

    @property
    def bytes(self) -> int:
        """What all of them take in memory."""
        with self._lock:
            return self._bytes()

    def of(self, session: Session, app_id: str) -> Matrix | None:
        """Return an app's vectors as the session sees them, or newer; None when it has none."""
        serving = serving_set(session, app_id)
        if serving is None or not serving.dimensions:
            with self._lock:
                self._places.pop(app_id, None)
            return None
        place = self._place_of(app_id)
        with place.lock:
            matrix = place.matrix = _brought_up_to_date(session, serving, place.matrix)
        self._make_room(app_id)
        return matrix

    def _place_of(self, app_id: str) -> _Place:
        with self._lock:
            place = self._places.setdefault(app_id, _Place())
            self._places.move_to_end(app_id)
            return place

    def _make_room(self, for_app: str) -> None:
        with self._lock:
            while self._bytes() > self._max_bytes and (oldest := next(iter(self._places))) != for_app:
                del self._places[oldest]

    def _bytes(self) -> int:
        return sum(place.matrix.bytes for place in self._places.values() if place.matrix is not None)


def _brought_up_to_date(session: Session, serving: VectorSet, known: Matrix | None) -> Matrix:
    if known is None or known.set_key != serving.key or known.erasures < serving.erasures:
        known = _empty(serving)
    while rows := vectors_after(session, serving.key, known.last_key, READ_AT_ONCE):
        known = known.with_rows(rows)
    return known


def _empty(serving: VectorSet) -> Matrix:
    words = -(-serving.dimensions // 64)
    return Matrix(
        set_key=serving.key,
        model=serving.model,
        dimensions=serving.dimensions,
        erasures=serving.erasures,
        last_key=0,
        places=np.zeros(0, np.int64),
        parts=np.zeros(0, np.int32),
        keys=np.zeros(0, np.int64),
        bits=np.zeros((words, 0), np.uint64),
    )
