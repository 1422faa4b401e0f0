"""The bits held in memory beside pgvector: ``python -m ops.bench.nearest --database ADDRESS --vectors 100000``.

Vectors of one app, of unit length, scattered around centres, as those of talk about a few thousand subjects are; half
of the distance to its centre is each one's own. The database is an empty one of a PostgreSQL that has the extension;
without one, the bits are measured alone, on SQLite. Both look for the forty nearest: the service's way (all signs
compared, the best few hundred read in full), pgvector by reading everything, by an inverted file, and by a graph, whose
build is given up after ``--build-seconds``. Prints JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from ops.bench.harness import run, say, seconds_of, spread, timed
from ops.bench.population import serving_set
from shared.apps.queries import install
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.search.models import VectorSet, doc_id_of
from shared.search.search_queries import look_at
from shared.search.vectors import (
    VectorMatrices,
    VectorMatrix,
    exact,
    insert_vectors,
    nearest,
    remove_conversation_vectors,
)

DIMENSIONS = 384
_NEAREST = 40
_AT_ONCE = 10_000
_PER_CONVERSATION = 100
_READ_IN_FULL = 400
"""Rows whose vectors are read after the signs were compared."""
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
Vectors = NDArray[np.float32]
Search = Callable[[Vectors], set[int]]
_ROW = np.dtype([
    ("fields", ">i2"), ("key_bytes", ">i4"), ("key", ">i8"), ("bytes", ">i4"), ("dimensions", ">i2"), ("none", ">i2"),
    ("vector", ">f4", DIMENSIONS),
])  # fmt: skip
"""A row of PostgreSQL's binary COPY."""


def measure(
    folder: Path,
    database: Annotated[str | None, "postgresql+psycopg://… of an empty database; else SQLite, and no pgvector"] = None,
    vectors: int = 100_000,
    queries: int = 100,
    memory_mb: Annotated[int, "for building an index of pgvector"] = 3_000,
    build_seconds: int = 900,
) -> dict[str, Any]:
    """Fill both, search both, and return the figures."""
    url = database or f"sqlite:///{folder / 'bench.db'}"
    made = Scattered(vectors)
    asked = made.queries(queries)
    say("reckoning what is nearest")
    truth = made.nearest(asked)
    figures: dict[str, Any] = {"vectors": vectors, "dimensions": DIMENSIONS, "queries": queries, "nearest": _NEAREST}
    figures["in_memory"] = _in_memory(url, made, asked, truth)
    if url.startswith("sqlite"):
        return figures
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        figures["pgvector"] = _pgvector(connection, made, asked, truth, memory_mb, build_seconds)
    return figures


class Scattered:
    """Unit vectors around centres; the same for the same numbers."""

    def __init__(self, count: int) -> None:
        self.count = count
        centres = np.random.default_rng(1).standard_normal((max(10, count // 200), DIMENSIONS)).astype(np.float32)
        self._centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)

    def batches(self) -> Iterator[tuple[int, Vectors]]:
        """Yield all of them, so many at once, each batch with the number of its first."""
        for first in range(0, self.count, _AT_ONCE):
            yield first, self._around(np.random.default_rng((2, first)), min(_AT_ONCE, self.count - first))

    def queries(self, count: int) -> Vectors:
        """Return others of their kind. Shape: ``(count, 384)``."""
        return self._around(np.random.default_rng(3), count)

    def nearest(self, asked: Vectors) -> list[set[int]]:
        """Return the numbers of what is nearest to each query, by looking at everything."""
        cosines = np.empty((len(asked), self.count), np.float32)
        for first, batch in self.batches():
            cosines[:, first : first + len(batch)] = asked @ batch.T
        return [set(np.argpartition(row, -_NEAREST)[-_NEAREST:].tolist()) for row in cosines]

    def _around(self, rng: np.random.Generator, count: int) -> Vectors:
        centres = self._centres[rng.integers(len(self._centres), size=count)]
        own = rng.standard_normal((count, DIMENSIONS)).astype(np.float32)
        vectors = centres + own / np.linalg.norm(own, axis=1, keepdims=True)
        scattered: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return scattered


def _in_memory(url: str, made: Scattered, asked: Vectors, truth: list[set[int]]) -> dict[str, Any]:
    migrate(url)
    database = Database(url)
    doc_ids: list[NDArray[np.int64]] = []
    filled = seconds_of(lambda: doc_ids.append(_fill(database, made)))
    say(f"ours is filled in {filled:.0f} s")

    def look(matrices: VectorMatrices) -> VectorMatrix:
        with database.read() as session:
            matrix = matrices.of(session, "app", look_at(session, "app").vectors)
        assert matrix is not None
        return matrix

    # As a process does that has just begun.
    matrices, *others = (VectorMatrices(10**9) for _ in range(4))
    loaded, *again = timed(partial(look, one) for one in (matrices, *others))

    def search(query: Vectors) -> set[int]:
        with database.read() as session:
            matrix = matrices.of(session, "app", look_at(session, "app").vectors)
            assert matrix is not None
            rows = np.sort(nearest(matrix.distances(query), _READ_IN_FULL))
            cosines = exact(session, matrix, rows, query)
        return set(matrix.doc_ids[rows[np.argpartition(cosines, -_NEAREST)[-_NEAREST:]]].tolist())

    found = _searched(search, asked, [{int(doc_ids[0][number]) for number in one} for one in truth])
    with database.write() as session:
        remove_conversation_vectors(session, "app", 1)
    erased = seconds_of(partial(look, matrices))
    database.dispose()
    return {
        "fill_s": round(filled, 1),
        "load_s": round(loaded, 3),
        "load_again_s": round(min(again), 3),
        "after_an_erasure_ms": round(1000 * erased, 2),
        "memory_mb": round(matrices.bytes / 1e6),
    } | found


def _fill(database: Database, made: Scattered) -> NDArray[np.int64]:
    """Put the vectors into an app's set; return their doc ids."""
    with database.write() as session:
        install(session, "app", "App", {}, _NOW)
        session.add(kept := serving_set("app"))
        session.flush()
        set_key = kept.key
    places = [doc_id_of(1 + n // _PER_CONVERSATION, n % _PER_CONVERSATION) or 0 for n in range(made.count)]
    for first, batch in made.batches():
        with database.write() as session:
            kept = session.get_one(VectorSet, set_key)
            insert_vectors(session, kept, {(one, 0): row for one, row in zip(places[first:], batch, strict=False)})
    return np.array(places, np.int64)


def _pgvector(
    connection: psycopg.Connection[Any], made: Scattered, asked: Vectors, truth: list[set[int]], mb: int, seconds: int
) -> dict[str, Any]:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("CREATE TABLE beside (key bigint PRIMARY KEY, vector vector(384) NOT NULL)")
    connection.execute("ALTER TABLE beside ALTER COLUMN vector SET STORAGE PLAIN")
    begun = perf_counter()
    for first, batch in made.batches():
        with connection.cursor().copy("COPY beside FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\x00" + bytes(8) + _rows(first, batch) + b"\xff\xff")
    filled = perf_counter() - begun
    say(f"pgvector is filled in {filled:.0f} s")
    connection.execute("ANALYZE beside")
    table = _size(connection, "beside")
    connection.execute(f"SET maintenance_work_mem = '{mb}MB'")

    def search(query: Vectors) -> set[int]:
        text = "[" + ",".join(map(str, query.tolist())) + "]"
        rows = connection.execute(
            "SELECT key FROM beside ORDER BY vector <=> %s::vector LIMIT 40", [text], prepare=True
        )
        return {row[0] for row in rows}

    figures: dict[str, Any] = {"fill_s": round(filled, 1), "table_mb": round(table / 1e6)}
    figures["exact"] = _searched(search, asked[: max(5, len(asked) // 5)], truth)
    lists = max(10, int(made.count**0.5) if made.count > 1_000_000 else made.count // 1000)
    ivfflat = f"ivfflat (vector vector_cosine_ops) WITH (lists = {lists})"
    hnsw = "hnsw (vector vector_cosine_ops)"
    for kind, setting, values in ((ivfflat, "ivfflat.probes", (10, 40)), (hnsw, "hnsw.ef_search", (40, 200))):
        built = _approximate(connection, kind, seconds, setting, values, search, asked, truth)
        figures[kind.split()[0]] = built
    return figures


def _rows(first: int, batch: Vectors) -> bytes:
    rows = np.zeros(len(batch), _ROW)
    rows["fields"], rows["key_bytes"], rows["key"] = 2, 8, np.arange(first, first + len(batch))
    rows["bytes"], rows["dimensions"], rows["vector"] = 4 + 4 * DIMENSIONS, DIMENSIONS, batch
    return rows.tobytes()


def _approximate(
    connection: psycopg.Connection[Any], kind: str, seconds: int, setting: str, values: Sequence[int], search: Search,
    asked: Vectors, truth: list[set[int]],
) -> dict[str, Any]:  # fmt: skip
    say(f"building {kind}")
    connection.execute(f"SET statement_timeout = '{seconds}s'")
    begun = perf_counter()
    try:
        connection.execute(f"CREATE INDEX beside_index ON beside USING {kind}")
    except psycopg.errors.QueryCanceled:
        return {"given_up_after_s": seconds}
    built = perf_counter() - begun
    figures: dict[str, Any] = {"build_s": round(built, 1), "index_mb": round(_size(connection, "beside_index") / 1e6)}
    for value in values:
        connection.execute(f"SET {setting} = {value}")
        figures[f"{setting.partition('.')[2]} {value}"] = _searched(search, asked, truth)
    connection.execute("DROP INDEX beside_index")
    return figures


def _searched(search: Search, asked: Vectors, truth: list[set[int]]) -> dict[str, Any]:
    """Search for each query, the first once before for the caches; return durations and how much was found."""
    search(asked[0])
    taken, right = [], 0
    for query, wanted in zip(asked, truth, strict=False):
        begun = perf_counter()
        found = search(query)
        taken.append(perf_counter() - begun)
        right += len(found & wanted)
    return {**spread(taken), "recall_at_40": round(right / _NEAREST / len(asked), 3)}


def _size(connection: psycopg.Connection[Any], name: str) -> int:
    row = connection.execute("SELECT pg_relation_size(%s::regclass)", [name]).fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    run(measure)
