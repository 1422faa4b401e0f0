"""The word index on PostgreSQL: the newest messages of an app row by row, all others in blocks by the hash of the word.

A posting is the hash of a word and a doc id. Postings of one app whose hashes begin alike share a bucket, a chain of
blocks; a bucket of many blocks is divided into sixteen of the next level. So a word is found in a few short chains,
and one that is in nearly every message ends in a bucket of its own, whose length tells before it is read. An index over
a row for each message cannot be bounded so: GIN visits the row of each posting, however many, and takes three times the
space. As to write each message into the blocks of its words would rewrite fifteen of them and let whoever speaks in an
app wait for each other, a message is a row of hashes first; once an app has some hundred, they go into blocks together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from shared.search.models import POSITION_BITS

HASH_BYTES = 4
"""Of a word's hash: of an app's 400,000 words, one in 10,000 shares its own with another."""
_HASH_BITS = 8 * HASH_BYTES
"""The key of the app takes the other 31 bits of what identifies a bucket, the level four of these."""
_LEVELS = 6
_FIRST_BITS, _LEVEL_BITS = 6, 4
"""Bits of a hash that tell buckets of the first level apart, and those more that each further level looks at."""
BLOCK = 165
"""Postings of a block: with them a row stays below the 2,032 bytes from which PostgreSQL moves values elsewhere."""
_DIVIDED_FROM, _SPREAD = 6, 8
"""Blocks a bucket is divided from: of some buckets later than of others, as hashes fill all of them alike."""
_FREQUENT = BLOCK // 4
"""Postings of one word in one merge from which on it is a common one."""
MERGED_FROM = 40_000
"""Bytes of hashes, of about 500 messages. More cost each search more, fewer rewrite blocks more often."""
_LOOKED_EVERY = 32
"""At each so manieth position of a conversation it is looked whether an app has enough to merge."""
_LONG = 500 * HASH_BYTES
"""Such a message lets it be looked at once."""
_EVERYWHERE = 0
"""The hash of a word that stands in every message: its doc ids are those that are in the index."""
_PREFIX_BYTES = (64 - POSITION_BITS) // 8
"""So many bytes begin all doc ids of a conversation, and those of a few next to it."""
Places = NDArray[np.int64]

CREATE = (
    "CREATE TABLE message_words (key BIGINT, doc_id BIGINT, words BYTEA NOT NULL, PRIMARY KEY (key, doc_id))",
    "CREATE TABLE message_words_blocks (bucket BIGINT, nth INTEGER, hashes BYTEA NOT NULL, doc_ids BYTEA NOT NULL,"
    " PRIMARY KEY (bucket, nth)) WITH (autovacuum_vacuum_scale_factor = 0.05)",
)
IS_PRESENT = "to_regclass('message_words') IS NOT NULL"
_NEWEST = (
    "SELECT string_agg(int8send(doc_id), ''::bytea) AS doc_ids,"
    " string_agg(int4send(length(words)), ''::bytea) AS lengths, string_agg(words, ''::bytea) AS words"
)
# Whoever reads and whoever merges see each message in one of the two places: all is read by one statement.
_FIND = (
    "SELECT given.bucket, held.is_long, held.hashes, held.doc_ids, NULL AS lengths"  # noqa: S608
    " FROM unnest(%s::bigint[]) given (bucket) CROSS JOIN LATERAL (SELECT EXISTS"
    " (SELECT FROM message_words_blocks far WHERE far.bucket = given.bucket AND far.nth > %s) AS is_long) how"
    " CROSS JOIN LATERAL (SELECT how.is_long, string_agg(hashes, ''::bytea) AS hashes,"
    " string_agg(doc_ids, ''::bytea) AS doc_ids FROM message_words_blocks one"
    " WHERE one.bucket = given.bucket AND NOT how.is_long) held WHERE held.is_long OR held.doc_ids IS NOT NULL"
    f" UNION ALL SELECT NULL, NULL, newest.words, newest.doc_ids, newest.lengths"
    f" FROM ({_NEWEST} FROM message_words WHERE key = %s) newest"
)
_ADD = (
    "INSERT INTO message_words (key, doc_id, words) SELECT %s, * FROM unnest(%s::bigint[], %b::bytea[])"
    " ON CONFLICT DO NOTHING"
)
_WAITING = "SELECT coalesce(sum(length(words)), 0) FROM message_words WHERE key = %s"
_TAKE = f"WITH gone AS (DELETE FROM message_words WHERE key = %s RETURNING doc_id, words) {_NEWEST} FROM gone"  # noqa: S608
_TAKE_SOME = _TAKE.replace("key = %s", "key = %s AND doc_id = ANY(%s::bigint[])")
_LAST_BLOCKS = (
    "SELECT given.bucket, last.nth, length(last.doc_ids) / 8 FROM unnest(%s::bigint[]) given (bucket)"
    " CROSS JOIN LATERAL (SELECT nth, doc_ids FROM message_words_blocks one WHERE one.bucket = given.bucket"
    " ORDER BY nth DESC LIMIT 1) last"
)
_APPEND = (
    # Appended where they lie: what a block has is neither fetched nor sent back for it.
    "INSERT INTO message_words_blocks AS kept (bucket, nth, hashes, doc_ids)"
    " SELECT * FROM unnest(%s::bigint[], %s::int[], %b::bytea[], %b::bytea[])"
    " ON CONFLICT (bucket, nth) DO UPDATE"
    " SET hashes = kept.hashes || excluded.hashes, doc_ids = kept.doc_ids || excluded.doc_ids"
)
_TAKE_BUCKETS = (
    "WITH gone AS (DELETE FROM message_words_blocks WHERE bucket = ANY(%s::bigint[]) RETURNING hashes, doc_ids)"
    " SELECT string_agg(hashes, ''::bytea), string_agg(doc_ids, ''::bytea) FROM gone"
)
_ALL_DOC_IDS = (
    "SELECT string_agg(hashes, ''::bytea), string_agg(doc_ids, ''::bytea) FROM message_words_blocks"
    " WHERE bucket = ANY(%s::bigint[])"
    " UNION ALL SELECT NULL, string_agg(int8send(doc_id), ''::bytea) FROM message_words WHERE key = %s"
)
_BLOCKS_WITH = (
    "SELECT one.bucket, one.nth, one.hashes, one.doc_ids FROM unnest(%s::bigint[]) given (bucket)"
    " JOIN message_words_blocks one ON one.bucket = given.bucket"
    " WHERE EXISTS (SELECT FROM unnest(%b::bytea[]) begins (with_) WHERE position(begins.with_ IN one.doc_ids) > 0)"
)
_REPLACE = (
    "UPDATE message_words_blocks kept SET hashes = fresh.hashes, doc_ids = fresh.doc_ids"
    " FROM unnest(%s::bigint[], %s::int[], %b::bytea[], %b::bytea[]) fresh (bucket, nth, hashes, doc_ids)"
    " WHERE kept.bucket = fresh.bucket AND kept.nth = fresh.nth"
)
_DROP_EMPTY = (
    "DELETE FROM message_words_blocks kept USING unnest(%s::bigint[], %s::int[]) gone (bucket, nth)"
    " WHERE kept.bucket = gone.bucket AND kept.nth = gone.nth AND kept.doc_ids = ''"
)
_SIZE = "SELECT pg_total_relation_size('message_words') + pg_total_relation_size('message_words_blocks')"


@dataclass(frozen=True)
class _Postings:
    """Which word stands where, side by side."""

    hashes: NDArray[np.int64]
    doc_ids: Places

    def of(self, wanted: int) -> Places:
        """Return the doc ids of a hash, sorted."""
        # Not np.unique: it takes ten times as long for numbers that are nearly in order.
        ordered = np.sort(self.doc_ids[self.hashes == wanted], kind="stable")
        return ordered[np.append(ordered[:-1] != ordered[1:], True)] if len(ordered) else ordered

    def joined(self, other: _Postings) -> _Postings:
        """Return these and others."""
        return _Postings(np.append(self.hashes, other.hashes), np.append(self.doc_ids, other.doc_ids))

    def chosen(self, which: NDArray[Any]) -> _Postings:
        """Return some of them, by a mask or by where they stand."""
        return _Postings(self.hashes[which], self.doc_ids[which])

    def stored(self) -> tuple[bytes, bytes]:
        """Return hashes and doc ids as they are stored."""
        # Big-endian, as int8send writes the doc ids of rows: postings of blocks and of rows are read alike.
        return self.hashes.astype(">u4").tobytes(), self.doc_ids.astype(">i8").tobytes()


@dataclass(eq=False)
class PostgresWords:
    """The tables in one transaction."""

    connection: Connection

    def add(self, key: int, rows: Sequence[tuple[int, bytes]]) -> None:
        """Insert messages: doc ids with the hashes of their words."""
        doc_ids, words = [doc_id for doc_id, _ in rows], [one for _, one in rows]
        if sum(map(len, words)) >= MERGED_FROM:
            # Locked, as two that merge would write the same blocks.
            self._lock(key)
            self._merge(key, _of_messages(doc_ids, [len(one) for one in words], b"".join(words)))
            return
        self.connection.exec_driver_sql(_ADD, (key, doc_ids, words))
        # Not at every message: to sum up what waits reads every row that does.
        may_be_due = any(doc_id % _LOOKED_EVERY == 0 or len(one) > _LONG for doc_id, one in rows)
        # Who speaks waits for nobody: where another has the lock, that one merges, or a later message does.
        if may_be_due and self._waiting(key) >= MERGED_FROM and self._lock(key, " SKIP LOCKED"):
            self._merge(key, _of_messages([], [], b""))

    def doc_ids_with(self, key: int, hashes: bytes, at_most: int) -> list[Places | None]:
        """Return for each hash its doc ids, sorted; None where there are more than ``at_most``."""
        wanted = _numbers(hashes)
        buckets = _buckets(key, wanted)
        # Only buckets of the last level grow so long, and what lies there shares 26 of 32 bits: nearly always one word.
        # Those above are divided long before, so no rare word counts as common for the bucket that it shares.
        values = (np.unique(buckets).tolist(), at_most // BLOCK, key)
        *blocks, newest = self.connection.exec_driver_sql(_FIND, values).all()
        long = [bucket for bucket, is_long, *_ in blocks if is_long]
        held = _of_blocks((hashes, doc_ids) for _, _, hashes, doc_ids, _ in blocks)
        _, _, words, places, lengths = newest
        held = held.joined(_of_messages(_doc_ids(places), np.frombuffer(lengths or b"", ">i4"), words or b""))
        is_common: list[bool] = np.any(np.isin(buckets, long), axis=0).tolist()
        found = [None if common else held.of(one) for one, common in zip(wanted.tolist(), is_common, strict=True)]
        # Again by number: the newest rows count too, and a block need not be full.
        return [None if one is None or len(one) > at_most else one for one in found]

    def remove(self, key: int, rows: Sequence[tuple[int, bytes]]) -> int:
        """Delete messages that may be there, given with the hashes they were inserted with; return how many were."""
        # Locked, as blocks are read and written back whole: what a merge appends in between would be lost.
        self._lock(key)
        gone = np.array([doc_id for doc_id, _ in rows], np.int64)
        taken = self.connection.exec_driver_sql(_TAKE_SOME, (key, gone.tolist())).scalar_one()
        buckets = _buckets(key, np.append(_EVERYWHERE, _numbers(b"".join(words for _, words in rows))))
        prefixes = {doc_id.to_bytes(8, "big")[:_PREFIX_BYTES] for doc_id in gone.tolist()}
        removed, changed = len(_doc_ids(taken)), []
        found = self.connection.exec_driver_sql(_BLOCKS_WITH, (np.unique(buckets).tolist(), list(prefixes)))
        for bucket, nth, hashes, doc_ids in found.all():
            block = _of_blocks([(hashes, doc_ids)])
            # Decided by number: a prefix is that of neighbouring conversations too, and may match across two doc ids.
            goes = np.isin(block.doc_ids, gone)
            # Each message has one posting of this hash, so these count messages and not words.
            removed += int((block.hashes[goes] == _EVERYWHERE).sum())
            if goes.any():
                changed.append((bucket, nth, *block.chosen(~goes).stored()))
        if changed:
            columns = tuple(map(list, zip(*changed, strict=True)))
            self.connection.exec_driver_sql(_REPLACE, columns)
            # It leaves holes in a chain, which does no harm: all of it is read, and only its last block appended to.
            self.connection.exec_driver_sql(_DROP_EMPTY, columns[:2])
        return removed

    def present(self, key: int, doc_ids: Sequence[int]) -> set[int]:
        """Return which doc ids are in the index. Reads those of the whole app."""
        return set(doc_ids).intersection(self._all_doc_ids(key).tolist())

    def count_between(self, key: int, first: int, last: int) -> int:
        """Return how many doc ids of a range are in the index. Reads those of the whole app."""
        doc_ids = self._all_doc_ids(key)
        return int(((first <= doc_ids) & (doc_ids <= last)).sum())

    def count_of_app(self, key: int, app_id: str) -> int:
        """Return how many messages of an app are in the index."""
        return len(self._all_doc_ids(key))

    def remove_app(self, key: int) -> None:
        self._lock(key)
        self.connection.exec_driver_sql("DELETE FROM message_words WHERE key = %s", (key,))
        # The key is the upper half of a bucket, so an app is one range of the primary key.
        blocks = "DELETE FROM message_words_blocks WHERE bucket BETWEEN %s AND %s"
        self.connection.exec_driver_sql(blocks, (key << _HASH_BITS, ((key + 1) << _HASH_BITS) - 1))

    def size_bytes(self) -> int:
        """Return the bytes of the tables and their indexes."""
        return int(self.connection.exec_driver_sql(_SIZE).scalar_one())

    def recreate(self) -> None:
        for statement in ("DROP TABLE IF EXISTS message_words, message_words_blocks", *CREATE):
            self.connection.exec_driver_sql(statement)

    def _merge(self, key: int, more: _Postings) -> None:
        """Move an app's newest messages into blocks, with some more; its lock is held."""
        places, lengths, words = self.connection.exec_driver_sql(_TAKE, (key,)).one()
        taken = _of_messages(_doc_ids(places), np.frombuffer(lengths or b"", ">i4"), words or b"").joined(more)
        every = np.unique(taken.doc_ids)
        taken = taken.joined(_Postings(np.full_like(every, _EVERYWHERE), every))
        _, inverse, counts = np.unique(taken.hashes, return_inverse=True, return_counts=True)
        # What would fill buckets of every level, one after the other, goes to where it ends at once.
        is_frequent = counts[inverse] >= _FREQUENT
        self._append(key, taken.chosen(~is_frequent), 0)
        self._append(key, taken.chosen(is_frequent), _LEVELS - 1)

    def _append(self, key: int, postings: _Postings, level: int) -> None:
        """Add postings to their buckets of a level, and divide those that became too long."""
        if not len(postings.hashes):
            return
        of_each = _buckets_of_level(key, postings.hashes, level)
        order = np.argsort(of_each, kind="stable")
        hashes, doc_ids = postings.chosen(order).stored()
        buckets, starts = np.unique(of_each[order], return_index=True)
        last = {
            bucket: (nth, size)
            for bucket, nth, size in self.connection.exec_driver_sql(_LAST_BLOCKS, (buckets.tolist(),))
        }
        fresh, too_long = [], []
        for bucket, at, end in zip(buckets.tolist(), starts.tolist(), [*starts.tolist()[1:], len(order)], strict=True):
            nth, size = last.get(bucket, (0, 0))
            while at < end:
                if size >= BLOCK:
                    nth, size = nth + 1, 0
                upto = min(end, at + BLOCK - size)
                fresh.append((bucket, nth, hashes[at * HASH_BYTES : upto * HASH_BYTES], doc_ids[at * 8 : upto * 8]))
                at, size = upto, size + upto - at
            if level < _LEVELS - 1 and nth >= _DIVIDED_FROM + bucket % _SPREAD:
                too_long.append(bucket)
        self.connection.exec_driver_sql(_APPEND, tuple(map(list, zip(*fresh, strict=True))))
        if too_long:
            # Emptied, not closed: what comes later fills it again, which is why a word is looked for on every level.
            rows = self.connection.exec_driver_sql(_TAKE_BUCKETS, (too_long,)).all()
            self._append(key, _of_blocks((hashes, doc_ids) for hashes, doc_ids in rows), level + 1)

    def _all_doc_ids(self, key: int) -> Places:
        values = (_buckets(key, np.array([_EVERYWHERE]))[:, 0].tolist(), key)
        (hashes, doc_ids), (_, newest) = self.connection.exec_driver_sql(_ALL_DOC_IDS, values).all()
        return np.union1d(_of_blocks([(hashes, doc_ids)]).of(_EVERYWHERE), _doc_ids(newest))

    def _waiting(self, key: int) -> int:
        """Return the bytes of the hashes of an app's newest messages."""
        return int(self.connection.exec_driver_sql(_WAITING, (key,)).scalar_one())

    def _lock(self, key: int, how: str = "") -> bool:
        """Lock an app's blocks until the transaction ends; False where another has them and is not waited for."""
        locked = f"SELECT key FROM app_indexes WHERE key = %s FOR UPDATE{how}"  # noqa: S608
        return self.connection.exec_driver_sql(locked, (key,)).first() is not None


def _buckets(key: int, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bucket of each hash on each level. Shape: ``(levels, hashes)``."""
    return np.stack([_buckets_of_level(key, hashes, level) for level in range(_LEVELS)])


def _buckets_of_level(key: int, hashes: NDArray[np.int64], level: int) -> NDArray[np.int64]:
    bits = _FIRST_BITS + level * _LEVEL_BITS
    return key << _HASH_BITS | level << (_HASH_BITS - _LEVEL_BITS) | hashes >> (_HASH_BITS - bits)


def _numbers(hashes: bytes) -> NDArray[np.int64]:
    return np.frombuffer(hashes, ">u4").astype(np.int64)


def _doc_ids(stored: bytes | None) -> Places:
    return np.frombuffer(stored or b"", ">i8").astype(np.int64)


def _of_blocks(blocks: Iterable[tuple[bytes | None, bytes | None]]) -> _Postings:
    """Return the postings of blocks, given as hashes and doc ids."""
    pairs = [(hashes or b"", doc_ids or b"") for hashes, doc_ids in blocks]
    return _Postings(_numbers(b"".join(one for one, _ in pairs)), _doc_ids(b"".join(one for _, one in pairs)))


def _of_messages(doc_ids: Sequence[int] | Places, lengths: Sequence[int] | NDArray[Any], words: bytes) -> _Postings:
    """Return the postings of messages; ``lengths``: bytes of each in ``words``."""
    times = np.asarray(lengths, np.int64) // HASH_BYTES
    return _Postings(_numbers(words), np.repeat(np.asarray(doc_ids, np.int64), times))
