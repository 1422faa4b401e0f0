"""What COPY would save where many rows are written to PostgreSQL: ``python -m ops.bench.copying``.

A request of a hundred messages, what an embedding job writes, and the import of an archive, as the product does them,
in turns with a COPY of the same rows into tables of the same columns, indexes and references. Prints JSON: the whole
transaction, its INSERTs and the COPYs beside them by table (p50, ms), and what share of the whole COPY would leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from ops.bench.harness import run, seconds_of
from ops.bench.made_up import Chatter
from ops.bench.population import serving_set
from shared.apps.queries import get_app, install
from shared.archive.document import export_app
from shared.archive.restore import import_archive
from shared.base.settings import Settings
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.db.engine import Database
from shared.search.models import VectorSet, doc_id_of
from shared.search.vectors import insert_vectors
from tests.support.postgres import PostgresServer

_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_AT_ONCE = 100
_TABLES = ("messages", "message_vectors", "unembedded", "message_words")


def measure(
    rounds: int = 30, conversations: Annotated[int, "Of a hundred messages each, in the archive."] = 20
) -> dict[str, Any]:
    """Write each way into an empty database of a server of its own and return the figures."""
    server = PostgresServer(durable=True)
    try:
        return compare(server.new_database(), rounds, conversations)
    finally:
        server.stop()


def compare(url: str, rounds: int, conversations: int) -> dict[str, Any]:
    """Write each way into an empty database and return the figures."""
    database, chatter = Database(url), Chatter(seed=1)
    beside = _Beside(database)
    with database.write() as session:
        install(session, "app", "App", {}, _NOW)
        session.add(serving_set("app"))

    def request(nth: int) -> Callable[[Session], object]:
        texts = [chatter.message(nth * _AT_ONCE + n) for n in range(_AT_ONCE)]
        with database.write() as session:
            conversation = start(session, "app", NewConversation(f"c{nth}"), _NOW)
        return lambda session: append_messages(
            session, session.merge(conversation), [NewMessage(Role.USER, text) for text in texts], _NOW
        )

    def embedding(count: int, nth: int) -> Callable[[Session], object]:
        places = [(doc_id_of(10**6 + nth, n) or 0, 0) for n in range(count)]
        vectors = {place: chatter.vector(chatter.message(n)) for n, place in enumerate(places)}
        return lambda session: insert_vectors(session, session.get_one(VectorSet, 1), vectors)

    def archive(nth: int) -> Callable[[Session], object]:
        with database.write() as session:
            held = export_app(session, get_app(session, "app"), _NOW)
            install(session, f"copy{nth}", "Copy", {}, _NOW)
        held = held.model_copy(update={"conversations": held.conversations[:conversations]})
        return lambda session: import_archive(session, get_app(session, f"copy{nth}"), held, Settings(), _NOW)

    figures = {
        "a_request_of_100": beside.compared(request, max(rounds, conversations)),
        "vectors_of_100": beside.compared(partial(embedding, 100), rounds),
        "vectors_of_512": beside.compared(partial(embedding, 512), rounds),
        f"import_of_{conversations}_conversations": beside.compared(archive, max(1, rounds // 10)),
    }
    database.dispose()
    return figures


@dataclass
class _Beside:
    """Carries out what the product does, and copies what it inserted into tables of its own."""

    database: Database
    inserted: dict[str, float] = field(default_factory=dict)
    _begun: float = 0.0

    def __post_init__(self) -> None:
        with self.database.engine.begin() as connection:
            for table in _TABLES:
                connection.exec_driver_sql(f"CREATE TABLE copied_{table} (LIKE {table} INCLUDING ALL)")
            for table, key, other in (
                ("messages", "conversation_key", "conversations (key)"),
                ("messages", "app_id", "apps (app_id)"),
                ("message_vectors", "set_key", "vector_sets (key)"),
                ("unembedded", "app_id", "apps (app_id)"),
            ):
                connection.exec_driver_sql(f"ALTER TABLE copied_{table} ADD FOREIGN KEY ({key}) REFERENCES {other}")
        sa.event.listen(self.database.engine, "before_cursor_execute", self._before)
        sa.event.listen(self.database.engine, "after_cursor_execute", self._after)

    def compared(self, prepare: Callable[[int], Callable[[Session], object]], rounds: int) -> dict[str, Any]:
        """Return the medians of so many rounds, ms."""
        wholes, inserts, copies = [], [], []
        for nth in range(rounds):
            work, self.inserted = prepare(nth), {}
            with self.database.engine.connect() as connection:
                # The number of a transaction that comes before those that follow.
                before = int(connection.exec_driver_sql("SELECT txid_current()").scalar_one())
            wholes.append(seconds_of(partial(self._carry_out, work)))
            inserts.append(self.inserted)
            copies.append({table: self._copy(table, before) for table in self.inserted})
        tables = [table for table in _TABLES if table in inserts[0]]
        spent, copied = ({t: median(one[t] for one in kind) for t in tables} for kind in (inserts, copies))
        whole = median(wholes)
        milliseconds = {
            name: {table: round(1000 * one, 1) for table, one in of.items()}
            for name, of in (("inserts_ms", spent), ("copies_ms", copied))
        }
        return {
            "whole_ms": round(1000 * whole, 1),
            **milliseconds,
            "whole_with_copies": round(1 - sum(max(0.0, spent[t] - copied[t]) for t in tables) / whole, 2),
        }

    def _carry_out(self, work: Callable[[Session], object]) -> None:
        with self.database.write() as session:
            work(session)

    def _copy(self, table: str, transaction: int) -> float:
        """Copy what was written after a transaction; return the seconds that takes, without reading it."""
        with self.database.engine.connect() as connection:
            newest = f"SELECT * FROM {table} WHERE xmin::text::bigint > {transaction}"
            rows = connection.exec_driver_sql(newest).all()
            types = connection.exec_driver_sql(
                "SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
                " AND NOT attisdropped ORDER BY attnum",
                (table,),
            ).scalars()
            named, driver = list(types), connection.connection.driver_connection
            assert driver is not None
            begun = perf_counter()
            with driver.cursor() as cursor, cursor.copy(f"COPY copied_{table} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(named)
                for row in rows:
                    copy.write_row(row)
            taken = perf_counter() - begun
            connection.commit()
        return taken

    def _before(self, *_: object) -> None:
        self._begun = perf_counter()

    def _after(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        taken = perf_counter() - self._begun
        for table in _TABLES:
            if statement.startswith(f"INSERT INTO {table} "):
                self.inserted[table] = self.inserted.get(table, 0.0) + taken


if __name__ == "__main__":
    run(measure)
