"""The word index: which words stand in which message, without the words.

Each message has one row of tokens. A token is the key of its app's index and a keyed hash of the word, so the index
holds nothing that can be read, the words of two apps never meet, and an app whose key and salt are gone cannot be
looked up any more. SQLite keeps them in a contentless FTS5 table, PostgreSQL in tables of its own
(``postgres_words``).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from sqlalchemy import Connection, update
from sqlalchemy.orm import Session

from shared.db.inserting import insert_if_absent
from shared.search.models import LAST_POSITION, POSITION_BITS, AppIndex
from shared.search.postgres_words import HASH_BYTES, Places, PostgresWords
from shared.search.postgres_words import IS_PRESENT as _POSTGRES_IS_PRESENT
from shared.search.words import words_of

_SALT_BYTES = 16
MOST_WORDS = 40_000
"""Of one text, the first so many."""


@dataclass(frozen=True)
class WordKey:
    """What an app's words are hashed with."""

    key: int
    salt: bytes

    def hashes_of(self, words: Iterable[str]) -> bytes:
        """Return a hash of ``HASH_BYTES`` for each word, one after the other."""
        # A key costs a block of hashing, as much as a word: made once and copied.
        keyed = blake2b(key=self.salt, digest_size=HASH_BYTES)
        digests = []
        for word in words:
            one = keyed.copy()
            one.update(word.encode("utf-8", "surrogatepass"))
            digests.append(one.digest())
        return b"".join(digests)

    def row_of(self, text: str) -> bytes:
        """Return the hashes of a text's words; of a very long one, those of its first words."""
        return self.hashes_of(words_of(text)[:MOST_WORDS])


@dataclass(frozen=True)
class OpenIndex:
    """What there is to write to: the app's key, if it has one yet, and whether the index is there at all."""

    table: SqliteWords | PostgresWords
    key: WordKey | None
    is_present: bool
    has_names: bool
    """Whether a message of the app ever named who speaks."""


def open_index(session: Session, app_id: str) -> OpenIndex:
    """Return what there is of an app's index, in one statement."""
    connection = session.connection()
    return opened(session, *connection.exec_driver_sql(_LOOK[connection.dialect.name], (app_id,)).one())


def opened(
    session: Session, key: int | None, salt: bytes | None, has_names: bool | None, is_present: bool
) -> OpenIndex:
    """Return an app's index whose row was read already, in the same transaction, with whether there is an index."""
    kept = None if key is None else WordKey(key, bytes(salt or b""))
    return OpenIndex(_table(session), kept, bool(is_present), bool(has_names))


def ensure_key(session: Session, app_id: str) -> WordKey:
    """Return an app's key; made now if it has none."""
    found = open_index(session, app_id).key
    if found is None:
        insert_if_absent(
            session, AppIndex, app_id=app_id, salt=secrets.token_bytes(_SALT_BYTES), filled_to=0, fill_total=0,
            fill_done=0,
        )  # fmt: skip
        found = open_index(session, app_id).key
    assert found is not None
    return found


def note_names(session: Session, app_id: str) -> None:
    """Note that a message of an app names who speaks."""
    ensure_key(session, app_id)
    unnoted = (AppIndex.app_id == app_id, AppIndex.has_names.is_(False))
    session.connection().execute(update(AppIndex).where(*unnoted).values(has_names=True))


def add(session: Session, app_id: str, standing: OpenIndex, texts: Iterable[tuple[int, str]]) -> None:
    """Put texts into an app's index, each at a doc id that has none."""
    key = standing.key or ensure_key(session, app_id)
    rows = [(doc_id, tokens) for doc_id, text in texts if (tokens := key.row_of(text))]
    if rows:
        standing.table.add(key.key, rows)


def remove(session: Session, key: WordKey, texts: Sequence[tuple[int, str]]) -> int:
    """Take texts out of the index; return how many were in it."""
    rows = [(doc_id, words) for doc_id, text in texts if (words := key.row_of(text))]
    return _table(session).remove(key.key, rows) if rows else 0


def postings(session: Session, app_id: str, words: Sequence[str], at_most: int) -> dict[str, Places | None]:
    """Return for each word the places of an app's messages it stands in; None for one in more than ``at_most``.

    Nothing where the app has no index, or the index is missing. A doc id may be that of a message erased meanwhile.
    """
    return postings_in(open_index(session, app_id), words, at_most)


def postings_in(standing: OpenIndex, words: Sequence[str], at_most: int) -> dict[str, Places | None]:
    """Return the postings of words in an app's index that was looked at before in the same transaction."""
    if standing.key is None or not standing.is_present or not words:
        return {}
    found = standing.table.doc_ids_with(standing.key.key, standing.key.hashes_of(words), at_most)
    return dict(zip(words, found, strict=True))


def is_present(session: Session) -> bool:
    """Whether there is a word index."""
    connection = session.connection()
    return bool(connection.exec_driver_sql(f"SELECT {IS_PRESENT[connection.dialect.name]}").scalar_one())


def size_bytes(session: Session) -> int:
    """Return what the index takes on disk; 0 where it is missing."""
    return _table(session).size_bytes() if is_present(session) else 0


def doc_ids_present(session: Session, app_id: str, doc_ids: Sequence[int]) -> set[int]:
    """Return which doc ids of an app are in the index; none where it is missing."""
    standing = open_index(session, app_id)
    return standing.table.present(standing.key.key, doc_ids) if standing.key and standing.is_present else set()


def count_between(session: Session, app_id: str, first: int, last: int) -> int:
    """Return how many doc ids of an app within a range are in the index; 0 where it is missing."""
    standing = open_index(session, app_id)
    return standing.table.count_between(standing.key.key, first, last) if standing.key and standing.is_present else 0


def count_of_app(session: Session, app_id: str) -> int:
    """Return how many messages of an app are in the index; 0 where it is missing. Looks at each of them."""
    standing = open_index(session, app_id)
    return standing.table.count_of_app(standing.key.key, app_id) if standing.key and standing.is_present else 0


def remove_app(session: Session, app_id: str) -> None:
    """Take out what can be taken out without reading the messages of an app whose key goes as well.

    In FTS5 that is nothing: what is left are numbers without a meaning, until the index is made anew.
    """
    standing = open_index(session, app_id)
    if standing.key is not None and standing.is_present:
        standing.table.remove_app(standing.key.key)


def recreate(session: Session) -> None:
    """Make the index of the whole installation, empty, whether or not there was one.

    Raises: sqlalchemy.exc.OperationalError, on an SQLite without FTS5.
    """
    _table(session).recreate()


def _table(session: Session) -> SqliteWords | PostgresWords:
    connection = session.connection()
    return SqliteWords(connection) if connection.dialect.name == "sqlite" else PostgresWords(connection)


# No content and no positions: nothing can be read in it, and it is asked only in which messages a word stands.
_SQLITE_CREATE = "CREATE VIRTUAL TABLE message_words USING fts5(words, content='', detail='none', tokenize='ascii')"
IS_PRESENT = {
    "sqlite": "EXISTS(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'message_words')",
    "postgresql": _POSTGRES_IS_PRESENT,
}
"""Tells in a statement whether there is a word index."""
_LOOK = {
    dialect: f"SELECT mine.key, mine.salt, mine.has_names, {IS_PRESENT[dialect]} FROM (SELECT 1) one"  # noqa: S608
    f" LEFT JOIN app_indexes mine ON mine.app_id = {value}"
    for dialect, value in (("sqlite", "?"), ("postgresql", "%s"))
}
# Stepping over doc ids costs a tenth of reading them. They are read as one text: thousands of rows of one number each
# cost three times as much.
_SQLITE_FIND = (
    "SELECT CASE WHEN NOT EXISTS(SELECT 1 FROM message_words WHERE message_words MATCH value LIMIT 1 OFFSET ?) THEN"
    " (SELECT coalesce(group_concat(rowid), '') FROM message_words WHERE message_words MATCH value) END"
    " FROM json_each(?)"
)
_SQLITE_SIZE = (
    "SELECT (SELECT coalesce(sum(length(block)), 0) FROM message_words_data)"
    " + (SELECT coalesce(sum(length(sz) + 8), 0) FROM message_words_docsize)"
)
_SQLITE_OF_APP = (
    "SELECT count(*) FROM messages said JOIN message_words_docsize kept"  # noqa: S608 - the numbers are ours
    f" ON kept.id = (said.conversation_key << {POSITION_BITS} | said.position)"
    f" WHERE said.app_id = ? AND said.position <= {LAST_POSITION}"
)


@dataclass(eq=False)
class SqliteWords:
    """The table in one transaction. ``message_words_docsize`` has a row for each of its rows, by doc id."""

    connection: Connection

    def add(self, key: int, rows: Sequence[tuple[int, bytes]]) -> None:
        """Insert messages at doc ids that have none, with the hashes of their words."""
        statement = "INSERT INTO message_words (rowid, words) VALUES (?, ?)"
        self.connection.exec_driver_sql(statement, [(doc_id, " ".join(_tokens(key, words))) for doc_id, words in rows])

    def remove(self, key: int, rows: Sequence[tuple[int, bytes]]) -> int:
        """Delete messages that may be there, given with the hashes they were inserted with; return how many were."""
        # A contentless table takes a deletion at its word: of a row that it does not have it would spoil the index.
        present = self.present(key, [doc_id for doc_id, _ in rows])
        gone = [(doc_id, " ".join(_tokens(key, words))) for doc_id, words in rows if doc_id in present]
        if gone:
            statement = "INSERT INTO message_words (message_words, rowid, words) VALUES ('delete', ?, ?)"
            self.connection.exec_driver_sql(statement, gone)
        return len(gone)

    def doc_ids_with(self, key: int, hashes: bytes, at_most: int) -> list[Places | None]:
        """Return for each hash its doc ids, sorted; None where there are more than ``at_most``."""
        tokens = json.dumps([f'"{token}"' for token in _tokens(key, hashes)])
        found = self.connection.exec_driver_sql(_SQLITE_FIND, (at_most, tokens)).scalars()
        # Sorted here: group_concat promises no order.
        return [None if one is None else np.sort(np.fromstring(one, np.int64, sep=",")) for one in found]

    def present(self, key: int, doc_ids: Sequence[int]) -> set[int]:
        """Return which doc ids have a row."""
        statement = "SELECT id FROM message_words_docsize WHERE id IN (SELECT value FROM json_each(?))"
        return set(self.connection.exec_driver_sql(statement, (json.dumps(list(doc_ids)),)).scalars())

    def count_between(self, key: int, first: int, last: int) -> int:
        """Return how many rows a range of doc ids has."""
        statement = "SELECT count(*) FROM message_words_docsize WHERE id BETWEEN ? AND ?"
        return int(self.connection.exec_driver_sql(statement, (first, last)).scalar_one())

    def count_of_app(self, key: int, app_id: str) -> int:
        """Return how many messages of an app have a row."""
        return int(self.connection.exec_driver_sql(_SQLITE_OF_APP, (app_id,)).scalar_one())

    def remove_app(self, key: int) -> None:
        """Leave the rows where they are: their tokens mean nothing any more."""

    def size_bytes(self) -> int:
        """Return the bytes of its segments and sizes."""
        return int(self.connection.exec_driver_sql(_SQLITE_SIZE).scalar_one())

    def recreate(self) -> None:
        self.connection.exec_driver_sql("DROP TABLE IF EXISTS message_words")
        self.connection.exec_driver_sql(_SQLITE_CREATE)


def _tokens(key: int, hashes: bytes) -> list[str]:
    return [f"{key:x}x{word}" for word in hashes.hex(" ", HASH_BYTES).split()]
