"""The word index as a contentless FTS5 table: no text, no positions; a row's tokens must be known to delete it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from shared.indexing.places import LAST_POSITION, POSITION_BITS

_CREATE = "CREATE VIRTUAL TABLE message_words USING fts5(words, content='', detail='none', tokenize='ascii')"
_IS_PRESENT = "EXISTS(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'message_words')"
_LOOK = f"SELECT mine.key, mine.salt, {_IS_PRESENT} FROM (SELECT 1) LEFT JOIN app_indexes mine ON mine.app_id = ?"  # noqa: S608
_SIZE = (
    "SELECT (SELECT coalesce(sum(length(block)), 0) FROM message_words_data)"
    " + (SELECT coalesce(sum(length(sz) + 8), 0) FROM message_words_docsize)"
)
_OF_APP = (
    "SELECT count(*) FROM messages said JOIN message_words_docsize kept"  # noqa: S608 - the numbers are ours
    f" ON kept.id = (said.conversation_key << {POSITION_BITS} | said.position)"
    f" WHERE said.app_id = ? AND said.position <= {LAST_POSITION}"
)


class SqliteWords:
    """The table in one transaction. ``message_words_docsize`` has a row for each of its rows, by place."""

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
        """Insert rows at places that have none."""
        statement = "INSERT INTO message_words (rowid, words) VALUES (?, ?)"
        self._connection.exec_driver_sql(statement, [(place, " ".join(tokens)) for place, tokens in rows])

    def remove(self, rows: Sequence[tuple[int, list[str]]]) -> None:
        """Delete rows that are there, with the tokens they were inserted with."""
        statement = "INSERT INTO message_words (message_words, rowid, words) VALUES ('delete', ?, ?)"
        self._connection.exec_driver_sql(statement, [(place, " ".join(tokens)) for place, tokens in rows])

    def places_with(self, tokens: Sequence[str], at_most: int) -> list[NDArray[np.int64] | None]:
        """Return for each token its places, sorted; None where there are more than ``at_most``."""
        return [None if self._has_more(token, at_most) else self._places_with(token) for token in tokens]

    def _has_more(self, token: str, than: int) -> bool:
        # Stepping over places costs a tenth of reading them.
        statement = "SELECT 1 FROM message_words WHERE message_words MATCH ? LIMIT 1 OFFSET ?"
        return self._connection.exec_driver_sql(statement, (f'"{token}"', than)).first() is not None

    def _places_with(self, token: str) -> NDArray[np.int64]:
        # As one text: thousands of rows of one number each cost three times as much.
        statement = "SELECT group_concat(rowid) FROM message_words WHERE message_words MATCH ?"
        joined = self._connection.exec_driver_sql(statement, (f'"{token}"',)).scalar_one() or ""
        return np.sort(np.fromstring(joined, np.int64, sep=",")) if joined else np.zeros(0, np.int64)

    def present(self, places: Sequence[int]) -> list[int]:
        """Return which places have a row."""
        marks = ", ".join("?" * len(places))
        statement = f"SELECT id FROM message_words_docsize WHERE id IN ({marks})"  # noqa: S608
        return list(self._connection.exec_driver_sql(statement, tuple(places)).scalars())

    def count_between(self, first: int, last: int) -> int:
        """Return how many rows a range of places has."""
        statement = "SELECT count(*) FROM message_words_docsize WHERE id BETWEEN ? AND ?"
        return int(self._connection.exec_driver_sql(statement, (first, last)).scalar_one())

    def count_of_app(self, app_id: str) -> int:
        """Return how many messages of an app have a row."""
        return int(self._connection.exec_driver_sql(_OF_APP, (app_id,)).scalar_one())

    def remove_conversations_of(self, app_id: str) -> None:
        """Leave the rows where they are: their tokens mean nothing any more."""

    def size_bytes(self) -> int:
        """Return the bytes of its segments and sizes."""
        return int(self._connection.exec_driver_sql(_SIZE).scalar_one())

    def make_anew(self) -> None:
        """Drop the table if it is there, and create it."""
        self._connection.exec_driver_sql("DROP TABLE IF EXISTS message_words")
        self._connection.exec_driver_sql(_CREATE)
