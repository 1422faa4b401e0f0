"""The word index: which words stand in which message, without the words.

Each message has one row of tokens. A token is the key of its app's index and a keyed hash of the word, so the index
holds nothing that can be read, the words of two apps never meet, and an app whose key and salt are gone cannot be
looked up any more. SQLite keeps them in a contentless FTS5 table, PostgreSQL in a ``tsvector`` under a GIN index.

Which words a text has is said in ``words``; what they count for is left to the ranking.
"""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.db.inserting import insert_if_absent
from shared.indexing.models import AppIndex
from shared.indexing.words import words_of
from shared.indexing.words_in_postgres import PostgresWords
from shared.indexing.words_in_sqlite import SqliteWords

_SALT_BYTES = 16
_HASH_BYTES = 5
_HASH_LETTERS = 8
MOST_WORDS = 40_000
"""Of one text, the first so many: a ``tsvector`` loses what lies beyond its first megabyte, without saying so."""
Places = NDArray[np.int64]
"""Sorted places."""


@dataclass(frozen=True)
class WordKey:
    """What an app's words are hashed with."""

    key: int
    salt: bytes

    def tokens_of(self, words: Iterable[str]) -> list[str]:
        """Return a token for each word."""
        keyed = blake2b(key=self.salt, digest_size=_HASH_BYTES)
        digests = []
        for word in words:
            one = keyed.copy()
            one.update(word.encode("utf-8", "surrogatepass"))
            digests.append(one.digest())
        letters = b32encode(b"".join(digests)).decode().lower()
        return [f"{self.key:x}x{letters[at : at + _HASH_LETTERS]}" for at in range(0, len(letters), _HASH_LETTERS)]

    def row_of(self, text: str) -> list[str]:
        """Return the tokens of a text, each once; of a very long one, those of its first words."""
        return list(dict.fromkeys(self.tokens_of(words_of(text)[:MOST_WORDS])))


@dataclass(frozen=True)
class Standing:
    """What there is to write to: the app's key, if it has one yet, and whether the index is there at all."""

    table: SqliteWords | PostgresWords
    key: WordKey | None
    is_present: bool


def look(session: Session, app_id: str) -> Standing:
    """Return what there is of an app's index, in one statement."""
    table = _table(session)
    key, salt, is_present = table.look(app_id)
    return Standing(table, None if key is None else WordKey(key, bytes(salt)), is_present)


def make_key(session: Session, app_id: str) -> WordKey:
    """Return an app's key; made now if it has none."""
    found = look(session, app_id).key
    if found is None:
        insert_if_absent(
            session, AppIndex, app_id=app_id, salt=secrets.token_bytes(_SALT_BYTES), filled_to=0, fill_total=0,
            fill_done=0,
        )  # fmt: skip
        found = look(session, app_id).key
    assert found is not None
    return found


def add(session: Session, app_id: str, standing: Standing, texts: Iterable[tuple[int, str]]) -> None:
    """Put texts into an app's index, each at a place that has none."""
    key = standing.key or make_key(session, app_id)
    rows = [(place, tokens) for place, text in texts if (tokens := key.row_of(text))]
    if rows:
        standing.table.add(rows)


def remove(session: Session, key: WordKey, texts: Sequence[tuple[int, str]]) -> int:
    """Take texts out of the index; return how many were in it."""
    present = places_present(session, [place for place, _ in texts])
    rows = [(place, key.row_of(text)) for place, text in texts if place in present]
    if rows:
        _table(session).remove(rows)
    return len(rows)


def postings(session: Session, app_id: str, words: Sequence[str], at_most: int) -> dict[str, Places | None]:
    """Return for each word the places of an app's messages it stands in; None for one in more than ``at_most``.

    Nothing where the app has no index, or the index is missing. A place may be that of a message erased meanwhile.
    """
    return postings_in(look(session, app_id), words, at_most)


def postings_in(standing: Standing, words: Sequence[str], at_most: int) -> dict[str, Places | None]:
    """Return the postings of words in an app's index that was looked at before in the same transaction."""
    if standing.key is None or not standing.is_present or not words:
        return {}
    found = standing.table.places_with(standing.key.tokens_of(words), at_most)
    return dict(zip(words, found, strict=True))


def is_present(session: Session) -> bool:
    """Whether there is a word index."""
    return _table(session).is_present()


def size_bytes(session: Session) -> int:
    """Return what the index takes on disk; 0 where it is missing."""
    return _table(session).size_bytes() if is_present(session) else 0


def places_present(session: Session, places: Sequence[int]) -> set[int]:
    """Return which places are in the index."""
    return set(chain.from_iterable(_table(session).present(places[at : at + 500]) for at in range(0, len(places), 500)))


def count_between(session: Session, first: int, last: int) -> int:
    """Return how many places of a range are in the index; 0 where it is missing."""
    return _table(session).count_between(first, last) if is_present(session) else 0


def count_of_app(session: Session, app_id: str) -> int:
    """Return how many messages of an app are in the index; 0 where it is missing. Looks at each of them."""
    return _table(session).count_of_app(app_id) if is_present(session) else 0


def remove_conversations_of(session: Session, app_id: str) -> None:
    """Take out what can be taken out without reading the messages of an app whose key goes as well.

    In FTS5 that is nothing: what is left are numbers without a meaning, until the index is made anew.
    """
    if is_present(session):
        _table(session).remove_conversations_of(app_id)


def make_anew(session: Session) -> None:
    """Make the index of the whole installation, empty, whether or not there was one.

    Raises: sqlalchemy.exc.OperationalError, on an SQLite without FTS5.
    """
    _table(session).make_anew()


def _table(session: Session) -> SqliteWords | PostgresWords:
    connection = session.connection()
    return SqliteWords(connection) if connection.dialect.name == "sqlite" else PostgresWords(connection)
