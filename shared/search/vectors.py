"""The vectors of messages: how they are stored, which model's set serves an app, and the sets held in memory.

Stored, a vector is one float32 scale and then one signed byte a dimension, which loses nothing that a ranking would
notice. In memory, a bit a dimension is enough to find those worth reading in full. Source: Charikar, 2002 (signs of
random projections estimate angles); the figures are in ``docs/search.md``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.base.errors import Configuration
from shared.db.inserting import insert_all_if_absent
from shared.db.queries import rows_changed
from shared.llm.embedding import Vectors
from shared.search import index_queries
from shared.search.index_queries import ServingVectors, StoredVector, vectors_after, vectors_by_key
from shared.search.models import (
    POSITION_BITS,
    MessageVector,
    SetState,
    Unembedded,
    VectorBlock,
    VectorErasure,
    VectorSet,
    doc_ids_of,
)

Floats = NDArray[np.float32]
SCALE_BYTES = 4
_MOST = 127
_WORD_BITS = 64


def pack(row: Floats) -> bytes:
    """Return a vector as it is stored. Shape: ``(dim,)``."""
    return pack_all(row[None])[0]


def pack_all(rows: Floats) -> list[bytes]:
    """Return vectors as they are stored. Shape: ``(n, dim)``."""
    scales = np.abs(rows).max(axis=1, initial=0.0).astype(np.float32) / np.float32(_MOST)
    # A vector of nothing but zeros has no scale to be divided by, and stays as it is.
    steps = np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    table = np.concatenate([scales.astype("<f4")[:, None].view(np.uint8), steps.view(np.uint8)], axis=1)
    return [one.tobytes() for one in table]


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


def as_words(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a bit matrix in words of 64 bits, the last filled up with zeros, one row a word of every vector.

    Shapes: ``(n, bytes)`` to ``(words, n)``; what is looked at together lies together.
    """
    missing = -bits.shape[1] % (_WORD_BITS // 8)
    filled = np.pad(bits, ((0, 0), (0, missing))) if missing else bits
    return np.ascontiguousarray(filled.view(np.uint64).T)


def _parts(stored: Sequence[bytes]) -> tuple[Floats, NDArray[np.int8]]:
    """Return scales ``(n,)`` and steps ``(n, dim)``."""
    table = np.frombuffer(b"".join(stored), np.uint8).reshape(len(stored), -1)
    scales = np.ascontiguousarray(table[:, :SCALE_BYTES]).view("<f4")[:, 0].astype(np.float32)
    return scales, table[:, SCALE_BYTES:].view(np.int8)


CLEARED_AT_ONCE = 2000
"""Vectors of a retired set removed in one transaction."""
_LIVE = (SetState.SERVING, SetState.FILLING)
PartVectors = Mapping[tuple[int, int], Floats]
"""A vector for each doc id and part."""


@dataclass(frozen=True)
class VectorSetChange:
    """What is to be done about an app's sets before vectors of the model in force can be kept."""

    serve: bool = False
    """Make its first set."""
    fill: bool = False
    """Fill a set of it beside the one that serves."""
    retire: frozenset[str] = frozenset()
    """Models that were to take over and no longer are."""

    def __bool__(self) -> bool:
        return self.serve or self.fill or bool(self.retire)


def set_change_for(model: str, states: Mapping[str, SetState]) -> VectorSetChange:
    """Decide what is to be done so that ``model`` serves, or comes to; ``states``: of the sets there are, by model."""
    filling = {one for one, state in states.items() if state is SetState.FILLING}
    if SetState.SERVING not in states.values():
        return VectorSetChange(serve=True, retire=frozenset(filling - {model}))
    if states.get(model) is SetState.SERVING:
        return VectorSetChange(retire=frozenset(filling))
    return VectorSetChange(fill=model not in filling, retire=frozenset(filling - {model}))


def needed_set_change(session: Session, app_id: str, model: str) -> VectorSetChange:
    """Return what is to be done about an app's sets."""
    return set_change_for(model, {one.model: SetState(one.state) for one in index_queries.sets_of(session, app_id)})


def arrange_sets(session: Session, app_id: str, model: str, now: datetime) -> None:
    """Do what is to be done about a locked app's sets."""
    change = needed_set_change(session, app_id, model)
    sets = {one.model: one for one in index_queries.sets_of(session, app_id)}
    in_force = sets.get(model)
    for name in change.retire:
        given_up = sets[name]
        if in_force is not None and in_force.state == SetState.SERVING:
            # The one in force may lack what was said since, if its model was away.
            lacking = index_queries.doc_ids_without_vectors(session, in_force, given_up.fill_until or 0)
            note_unembedded(session, app_id, lacking)
        given_up.state, given_up.fill_until = SetState.RETIRED, None
    if change.serve or change.fill:
        fresh = in_force or VectorSet(app_id=app_id, model=model, dimensions=0, created_at=now)
        fresh.state = SetState.SERVING if change.serve else SetState.FILLING
        if change.fill:
            newest = index_queries.newest_message(session, app_id)
            # Up to what stands now: what is said from here on is embedded for every live set.
            fresh.filled_to, fresh.fill_until, fresh.fill_done = 0, newest, 0
            fresh.fill_total = index_queries.count_messages(session, app_id, 0, newest)
        session.add(fresh)
    session.flush()


def note_unembedded(session: Session, app_id: str, doc_ids: Collection[int]) -> None:
    """Note places whose vectors are still to be made, each once."""
    insert_all_if_absent(session, Unembedded, [{"doc_id": doc_id, "app_id": app_id} for doc_id in doc_ids])


def live_sets(session: Session, app_id: str) -> Sequence[VectorSet]:
    """Return the set that serves and the one that is being filled, those there are."""
    return [one for one in index_queries.sets_of(session, app_id) if one.state in _LIVE]


def insert_vectors(session: Session, into: VectorSet, vectors: PartVectors) -> None:
    """Put vectors into a set of a locked app; those it has stay. Raises: Configuration."""
    for row in vectors.values():
        into.dimensions = into.dimensions or len(row)
        if len(row) != into.dimensions:
            raise Configuration(
                f"{into.model} now returns {len(row)} dimensions instead of {into.dimensions}; it is another model, so "
                "give it another name (ollama cp) and set AFTERTHOUGHT_EMBEDDING to that."
            )
    if not vectors:
        return
    rows = [
        {"set_key": into.key, "doc_id": doc_id, "part": part, "vector": packed}
        for (doc_id, part), packed in zip(vectors, pack_all(np.stack(list(vectors.values()))), strict=True)
    ]
    insert_all_if_absent(session, MessageVector, rows)
    add_blocks(session, into)


PER_BLOCK = 1_024
"""Vectors of one block, so that one costs little to make, and little to make anew when some of it is erased."""
MOST_ERASURES = 1_000
"""Who holds a copy that is more erasures behind reads all of it anew."""
Signs = NDArray[np.void]
"""Vectors as they are compared: key, doc id, part, and a bit a dimension in whole bytes. Stored as they are."""


def _sign_type(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("key", "<i8"), ("doc_id", "<i8"), ("part", "<i4"), ("signs", "u1", (-(-dimensions // 8),))])


def signs_of_rows(rows: Sequence[StoredVector], dimensions: int) -> Signs:
    """Return rows of vectors with no more than their signs. Shape: ``(n,)``."""
    reduced = np.empty(len(rows), _sign_type(dimensions))
    if rows:
        for nth, name in enumerate(("key", "doc_id", "part")):
            reduced[name] = [row[nth] for row in rows]
        reduced["signs"] = signs(_parts([row[3] for row in rows])[1])
    return reduced


def add_blocks(session: Session, into: VectorSet) -> None:
    """Make blocks of what fills any of a locked app's set."""
    last = max(index_queries.ends_of_blocks(session, into.key), default=0)
    while index_queries.has_vectors_after(session, into.key, last, PER_BLOCK):
        rows = vectors_after(session, into.key, last, PER_BLOCK)
        last = rows[-1][0]
        session.add(VectorBlock(set_key=into.key, last_key=last, rows=signs_of_rows(rows, into.dimensions).tobytes()))
    session.flush()


def read_blocks(session: Session, serving: ServingVectors) -> Signs:
    """Return the signs of a set's vectors up to the end of its last block, by key."""
    return np.frombuffer(b"".join(index_queries.blocks_of(session, serving.key)), _sign_type(serving.dimensions))


def remove_conversation_vectors(session: Session, app_id: str, conversation_key: int) -> int:
    """Remove the vectors of a locked app's conversation from all of its sets, and note it; return how many went."""
    first, last = doc_ids_of(conversation_key)
    removed = 0
    for one in index_queries.sets_of(session, app_id):
        mine = (MessageVector.set_key == one.key, MessageVector.doc_id.between(first, last))
        # Make those blocks anew that have any of the places.
        keys = index_queries.vectors_between(session, one.key, first, last)
        ends = np.array(index_queries.ends_of_blocks(session, one.key), np.int64)
        which = np.unique(np.searchsorted(ends, np.array(keys, np.int64)))
        for end in ends[which[which < len(ends)]].tolist():
            block = session.get_one(VectorBlock, (one.key, end), populate_existing=True)
            rows = np.frombuffer(block.rows, _sign_type(one.dimensions))
            # One that becomes empty stays: its end says from where on vectors are in no block.
            block.rows = rows[(rows["doc_id"] < first) | (rows["doc_id"] > last)].tobytes()
        session.flush()
        removed += rows_changed(session, delete(MessageVector).where(*mine))
        one.erasures += 1
        session.add(VectorErasure(set_key=one.key, number=one.erasures, conversation_key=conversation_key))
        long_ago = (VectorErasure.set_key == one.key, VectorErasure.number <= one.erasures - MOST_ERASURES)
        session.execute(delete(VectorErasure).where(*long_ago))
    session.flush()
    return removed


def remove_all_vectors(session: Session, sets: Collection[VectorSet]) -> int:
    """Remove all that belongs to sets; return how many vectors went."""
    keys = [one.key for one in sets]
    session.execute(delete(VectorBlock).where(VectorBlock.set_key.in_(keys)))
    session.execute(delete(VectorErasure).where(VectorErasure.set_key.in_(keys)))
    return rows_changed(session, delete(MessageVector).where(MessageVector.set_key.in_(keys))) if keys else 0


def advance_fill(session: Session, filling: VectorSet, to: int, messages: int) -> None:
    """Note how far a set has been filled, in the transaction of its vectors."""
    filling.filled_to, filling.fill_done = to, filling.fill_done + messages
    session.flush()


def start_serving(session: Session, filled: VectorSet, now: datetime) -> None:
    """Have a set that is complete serve, and retire the one before."""
    former = index_queries.serving_set(session, filled.app_id)
    if former is not None:
        former.state = SetState.RETIRED
        session.flush()  # One set serves at any moment, in between as well.
    filled.state, filled.fill_until, filled.completed_at = SetState.SERVING, None, now
    session.flush()


def clear_retired(session: Session, app_id: str, limit: int = CLEARED_AT_ONCE) -> bool:
    """Remove some vectors of a locked app's retired set, and the set with the last; False when there is none."""
    retired = next((one for one in index_queries.sets_of(session, app_id) if one.state == SetState.RETIRED), None)
    if retired is None:
        return False
    # All at once, or a set that is taken back half removed would have signs of what is gone.
    session.execute(delete(VectorBlock).where(VectorBlock.set_key == retired.key))
    keys = index_queries.first_vectors(session, retired.key, limit)
    session.execute(delete(MessageVector).where(MessageVector.set_key == retired.key, MessageVector.key.in_(keys)))
    if len(keys) < limit:
        remove_all_vectors(session, [retired])
        session.delete(retired)
        session.flush()
    return True


READ_AT_ONCE = 20_000
_BLOCK = 16_384
"""Rows compared at once, so that what is between stays in the processor's cache."""
GONE = np.float32(-1.0)
"""The likeness of what was erased after a matrix was read: that of the opposite."""
Distances = NDArray[np.uint16]
"""In how many signs vectors differ."""
FARTHEST = int(np.iinfo(np.uint16).max)
"""Stands for the distance of what is not looked at; no vector has as many dimensions."""


@dataclass(frozen=True)
class VectorMatrix:
    """The vectors of one app's serving set, sorted by doc id. Its arrays must not be written to."""

    set_key: int
    model: str
    dimensions: int
    erasures: int
    last_key: int
    doc_ids: NDArray[np.int64]
    parts: NDArray[np.int32]
    keys: NDArray[np.int64]
    bits: NDArray[np.uint64]
    """Signs of all dimensions. Shape: ``(words, n)``."""

    @property
    def bytes(self) -> int:
        return self.doc_ids.nbytes + self.parts.nbytes + self.keys.nbytes + self.bits.nbytes

    def distances(self, query: Floats, rows: NDArray[np.intp] | None = None) -> Distances:
        """Count in how many signs each row, or some rows, and a query differ. Shape: ``(n,)``."""
        wanted = as_words(signs(query[None, : self.dimensions]))
        bits = self.bits if rows is None else self.bits[:, rows]
        counted = np.empty(bits.shape[1], np.uint16)
        for at in range(0, len(counted), _BLOCK):
            block = bits[:, at : at + _BLOCK] ^ wanted
            np.bitwise_count(block).sum(axis=0, dtype=np.uint16, out=counted[at : at + _BLOCK])
        return counted

    def likeness(self, distances: Distances) -> Floats:
        """Estimate cosines by how many signs differ. Shape: ``(n,)``."""
        return np.cos(np.pi * distances / self.dimensions).astype(np.float32)

    def with_rows(self, rows: Signs) -> VectorMatrix:
        """Return this matrix with more vectors of its set, later ones than it has, in the order of their keys."""
        last_key, order = int(rows["key"][-1]), np.lexsort((rows["part"], rows["doc_id"]))
        if (np.diff(order) < 0).any():
            rows = rows[order]
        at = np.searchsorted(self.doc_ids, rows["doc_id"], side="right")

        def among(held: NDArray[Any], new: NDArray[Any], axis: int = 0) -> NDArray[Any]:
            # Into nothing they are put as they come: inserting a million takes as long as reading them.
            return np.insert(held, at, new, axis=axis) if held.size else np.ascontiguousarray(new)

        return replace(
            self,
            last_key=last_key,
            doc_ids=among(self.doc_ids, rows["doc_id"]),
            parts=among(self.parts, rows["part"]),
            keys=among(self.keys, rows["key"]),
            bits=among(self.bits, as_words(rows["signs"]), axis=1),
        )

    def without(self, conversations: Sequence[int], erasures: int) -> VectorMatrix:
        """Return this matrix after so many erasures, without the vectors of those conversations."""
        stays = ~np.isin(self.doc_ids >> POSITION_BITS, conversations)
        doc_ids, parts, keys = self.doc_ids[stays], self.parts[stays], self.keys[stays]
        return replace(self, erasures=erasures, doc_ids=doc_ids, parts=parts, keys=keys, bits=self.bits[:, stays])


def nearest(distances: Distances, count: int) -> NDArray[np.intp]:
    """Return where the least distances stand, so many at most, in no order."""
    rows = np.arange(len(distances))
    if len(rows) > _BLOCK:
        # Counted first: there are few different numbers, and to partition a million takes ten times as long.
        rows = np.flatnonzero(distances <= np.searchsorted(np.cumsum(np.bincount(distances)), count))
    order = np.argpartition(-distances[rows].astype(np.float32), -min(count, len(rows)))
    found: NDArray[np.intp] = rows[order[-count:]]
    return found


def exact(session: Session, matrix: VectorMatrix, rows: NDArray[np.int64], query: Floats) -> Floats:
    """Return the cosine of some rows and a query of unit length, from the vectors themselves. Shape: ``(len(rows),)``.

    A row that was erased meanwhile is as unlike as can be.
    """
    keys = matrix.keys[rows]
    stored = vectors_by_key(session, matrix.set_key, keys.tolist())
    cosines = np.full(len(keys), GONE, np.float32)
    if stored:
        held = np.fromiter(stored, np.int64, len(stored))
        order = np.argsort(held)
        at = order[np.searchsorted(held[order], keys).clip(max=len(held) - 1)]
        found = held[at] == keys
        cosines[found] = likeness_of(list(stored.values()), query)[at[found]]
    return cosines


@dataclass
class _CachedMatrix:
    """Where an app's matrix is kept; whoever reads what is new holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    matrix: VectorMatrix | None = None
    counted_bytes: int = 0


class VectorMatrices:
    """The matrices of the apps searched lately, within so many bytes; one that is larger is kept alone."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, _CachedMatrix] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        return self._bytes

    def of(self, session: Session, app_id: str, serving: ServingVectors | None) -> VectorMatrix | None:
        """Return an app's vectors as they stood when its set was looked at, or newer; None when it has none."""
        if serving is None or not serving.dimensions:
            with self._lock:
                self._drop(app_id)
            return None
        with self._lock:
            cached = self._cached.setdefault(app_id, _CachedMatrix())
            self._cached.move_to_end(app_id)
        # The app's own lock: while its vectors are read, others are searched.
        with cached.lock:
            matrix = cached.matrix = _up_to_date(session, serving, cached.matrix)
        with self._lock:
            # One that was dropped for room meanwhile is counted no more; this search alone still has it.
            if self._cached.get(app_id) is cached:
                self._bytes += matrix.bytes - cached.counted_bytes
                cached.counted_bytes = matrix.bytes
            while self._bytes > self._max_bytes and (oldest := next(iter(self._cached))) != app_id:
                self._drop(oldest)
        return matrix

    def _drop(self, app_id: str) -> None:
        if (cached := self._cached.pop(app_id, None)) is not None:
            self._bytes -= cached.counted_bytes


def _up_to_date(session: Session, serving: ServingVectors, known: VectorMatrix | None) -> VectorMatrix:
    if known is not None and known.set_key == serving.key and known.erasures < serving.erasures:
        erased = index_queries.erased_since(session, serving, known.erasures)
        known = None if erased is None else known.without(erased, serving.erasures)
    if known is None or known.set_key != serving.key:
        blocks = read_blocks(session, serving)
        known = VectorMatrix(
            set_key=serving.key,
            model=serving.model,
            dimensions=serving.dimensions,
            # As looked at, not as it is by now: an erasure in between is then dropped twice, and never missed.
            erasures=serving.erasures,
            last_key=0,
            doc_ids=np.zeros(0, np.int64),
            parts=np.zeros(0, np.int32),
            keys=np.zeros(0, np.int64),
            bits=np.zeros((-(-serving.dimensions // 64), 0), np.uint64),
        )
        known = known.with_rows(blocks) if len(blocks) else known
    while known.last_key < (serving.newest or 0):
        rows = vectors_after(session, serving.key, known.last_key, READ_AT_ONCE)
        if not rows:
            break  # What was the newest is erased by now.
        known = known.with_rows(signs_of_rows(rows, serving.dimensions))
    return known
