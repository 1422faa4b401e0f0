"""The word index as a table of ``tsvector`` under a GIN index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from shared.indexing.places import LAST_POSITION, POSITION_BITS

_CREATE = "CREATE TABLE message_words (place BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)"
_IS_PRESENT = "to_regclass('message_words') IS NOT NULL"
_LOOK = f"SELECT mine.key, mine.salt, {_IS_PRESENT} FROM (SELECT 1) one LEFT JOIN app_indexes mine ON mine.app_id = %s"  # noqa: S608
_PLACES = (
    "SELECT (SELECT string_agg(int8send(found.place), ''::bytea ORDER BY found.place) FROM"
    " (SELECT place FROM message_words WHERE words @@ wanted.token::tsquery LIMIT %s) found)"
    " FROM unnest(%s::text[]) WITH ORDINALITY wanted (token, nth) ORDER BY wanted.nth"
)
_OF_APP = (
    "SELECT count(*) FROM messages said JOIN message_words kept"  # noqa: S608 - the numbers are ours
    f" ON kept.place = (said.conversation_key << {POSITION_BITS} | said.position)"
    f" WHERE said.app_id = %s AND said.position <= {LAST_POSITION}"
)
_REMOVE_CONVERSATIONS = (
    "DELETE FROM message_words kept USING conversations gone WHERE gone.app_id = %s"  # noqa: S608
    f" AND kept.place BETWEEN gone.key << {POSITION_BITS} AND (gone.key << {POSITION_BITS} | {LAST_POSITION})"
)


class PostgresWords:
    """The table in one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def look(self, app_id: str) -> tuple[int | None, bytes, bool]:
        """Return key and salt of an app's index, and whether the table is there."""
        key, salt, is_present = self._connection.exec_driver_sql(_LOOK, (app_id,)).one()
        return key, salt or b"", bool(is_present)

    def is_present(self) -> bool:
        """Whether the table is there."""
        return bool(self._connection.exec_driver_sql(f"SELECT {_IS_PRESENT}").scalar_one())

    def add(self, rows: Sequence[tuple[int, list[str]]]) -> None:
        """Insert rows; one that is there stays."""
        statement = "INSERT INTO message_words (place, words) VALUES (%s, array_to_tsvector(%s)) ON CONFLICT DO NOTHING"
        self._connection.exec_driver_sql(statement, list(rows))

    def remove(self, rows: Sequence[tuple[int, list[str]]]) -> None:
        """Delete rows."""
        places = [place for place, _ in rows]
        self._connection.exec_driver_sql("DELETE FROM message_words WHERE place = ANY(%s)", (places,))

    def places_with(self, tokens: Sequence[str], at_most: int) -> list[NDArray[np.int64] | None]:
        """Return for each token its places, sorted; None where there are more than ``at_most``."""
        # Reading the whole table in the hope of an early end is what the planner likes, and what must not happen.
        self._connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        found = self._connection.exec_driver_sql(_PLACES, (at_most + 1, list(tokens))).scalars().all()
        self._connection.exec_driver_sql("SET LOCAL enable_seqscan TO DEFAULT")
        places = [np.frombuffer(one or b"", ">i8").astype(np.int64) for one in found]
        return [None if len(one) > at_most else one for one in places]

    def present(self, places: Sequence[int]) -> list[int]:
        """Return which places have a row."""
        statement = "SELECT place FROM message_words WHERE place = ANY(%s)"
        return list(self._connection.exec_driver_sql(statement, (list(places),)).scalars())

    def count_between(self, first: int, last: int) -> int:
        """Return how many rows a range of places has."""
        statement = "SELECT count(*) FROM message_words WHERE place BETWEEN %s AND %s"
        return int(self._connection.exec_driver_sql(statement, (first, last)).scalar_one())

    def count_of_app(self, app_id: str) -> int:
        """Return how many messages of an app have a row."""
        return int(self._connection.exec_driver_sql(_OF_APP, (app_id,)).scalar_one())

    def remove_conversations_of(self, app_id: str) -> None:
        """Delete the rows of all conversations of an app, which still stand."""
        self._connection.exec_driver_sql(_REMOVE_CONVERSATIONS, (app_id,))

    def size_bytes(self) -> int:
        """Return the bytes of the table and its indexes."""
        return int(self._connection.exec_driver_sql("SELECT pg_total_relation_size('message_words')").scalar_one())

    def make_anew(self) -> None:
        """Drop the table if it is there, and create it."""
        self._connection.exec_driver_sql("DROP TABLE IF EXISTS message_words")
        self._connection.exec_driver_sql(_CREATE)
        self._connection.exec_driver_sql("CREATE INDEX ix_message_words_words ON message_words USING gin (words)")
