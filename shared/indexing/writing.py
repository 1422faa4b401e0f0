"""Brings messages into the indexes, in the transaction in which they are said.

Their words and passages are there at once; their vectors are made later, so each is noted as unembedded. A word index
that is missing costs the words and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from sqlalchemy import insert
from sqlalchemy.orm import Session

from shared.indexing import word_index
from shared.indexing.chunking import passages_of
from shared.indexing.models import Passage, Unembedded
from shared.indexing.places import place_of
from shared.telemetry.logging import get_logger

_WITHOUT_WORDS = "messages_without_words"
INDEXED_ROLES = frozenset({"user", "assistant"})
# The tables themselves: this is in the way of every message, and mapping objects costs more than the rest.
_NOTE = insert(Unembedded.__table__)  # type: ignore[arg-type]
_CUT = insert(Passage.__table__)  # type: ignore[arg-type]


class Said(Protocol):
    """A message as the indexes see it."""

    @property
    def key(self) -> int:
        """Its key."""

    @property
    def conversation_key(self) -> int:
        """The key of its conversation."""

    @property
    def position(self) -> int:
        """Its position in it."""

    @property
    def role(self) -> str:
        """Who spoke."""

    @property
    def content(self) -> str:
        """What was said."""


def index(session: Session, app_id: str, messages: Sequence[Said]) -> int:
    """Bring new messages of an app into the indexes; return how many went without words, the index being missing."""
    placed = list(with_places(messages))
    if not placed:
        return 0
    lacking = add_words(session, app_id, placed)
    add_passages(session, app_id, placed)
    session.connection().execute(_NOTE, [{"place": place, "app_id": app_id} for place, _ in placed])
    return lacking


def without_words(session: Session) -> int:
    """Return how many messages a session has kept without words so far; for who counts them after the commit."""
    return int(session.info.get(_WITHOUT_WORDS, 0))


def with_places(messages: Sequence[Said]) -> Iterator[tuple[int, Said]]:
    """Return those messages that are indexed, each with its place: what people and assistants said in words."""
    for one in messages:
        place = place_of(one.conversation_key, one.position) if one.role in INDEXED_ROLES else None
        if place is not None and one.content.strip():
            yield place, one


def add_words(session: Session, app_id: str, placed: Sequence[tuple[int, Said]]) -> int:
    """Add the words of messages that have none in the index; return how many went without."""
    standing = word_index.look(session, app_id)
    if not standing.is_present:
        get_logger().warning("word_index_missing", app_id=app_id, messages=len(placed))
        session.info[_WITHOUT_WORDS] = without_words(session) + len(placed)
        return len(placed)
    word_index.add(session, app_id, standing, [(place, one.content) for place, one in placed])
    return 0


def add_passages(session: Session, app_id: str, placed: Sequence[tuple[int, Said]]) -> None:
    """Add the passages of messages that have none."""
    rows = [row for place, one in placed for row in _passages(app_id, place, one)]
    if rows:
        session.connection().execute(_CUT, rows)


def _passages(app_id: str, place: int, said: Said) -> list[dict[str, Any]]:
    return [
        {
            "message_key": said.key,
            "part": part,
            "app_id": app_id,
            "place": place,
            "kind": span.kind,
            "language": span.language,
            "start": span.start,
            "length": span.length,
            "tokens": span.tokens,
        }
        for part, span in enumerate(passages_of(said.content), 1)
    ]
