"""Reads of vectors, their sets and what waits for them, always within one app.

Messages are read here through their table alone: the room of conversations lies above this one and calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import column, func, select, table
from sqlalchemy.orm import Session

from shared.db.counting import count
from shared.indexing.models import AppIndex, MessageVector, SetState, VectorSet

_SAID = table(
    "messages",
    column("key"),
    column("app_id"),
    column("conversation_key"),
    column("position"),
    column("role"),
    column("content"),
)
_FRESH = {"populate_existing": True}
_SPOKEN = ("user", "assistant")


@dataclass(frozen=True)
class SaidMessage:
    """A message as the indexes see it."""

    key: int
    conversation_key: int
    position: int
    role: str
    content: str


@dataclass(frozen=True)
class StoredVector:
    """A row of a set."""

    key: int
    place: int
    part: int
    vector: bytes


def app_index(session: Session, app_id: str) -> AppIndex | None:
    """Return an app's index."""
    return session.scalar(select(AppIndex).where(AppIndex.app_id == app_id), execution_options=_FRESH)


def sets_of(session: Session, app_id: str) -> Sequence[VectorSet]:
    """Return an app's sets, oldest first."""
    query = select(VectorSet).where(VectorSet.app_id == app_id).order_by(VectorSet.key)
    return session.scalars(query, execution_options=_FRESH).all()


def serving_set(session: Session, app_id: str) -> VectorSet | None:
    """Return the set that searches look in."""
    query = select(VectorSet).where(VectorSet.app_id == app_id, VectorSet.state == SetState.SERVING)
    return session.scalar(query, execution_options=_FRESH)


def vectors_after(session: Session, set_key: int, after: int, limit: int) -> list[StoredVector]:
    """Return the vectors of a set by key, those after ``after``."""
    one = MessageVector
    query = select(one.key, one.place, one.part, one.vector).where(one.set_key == set_key, one.key > after)
    return [StoredVector(*row) for row in session.execute(query.order_by(one.key).limit(limit))]


def vectors_by_key(session: Session, set_key: int, keys: Sequence[int]) -> dict[int, bytes]:
    """Return some vectors of a set by their keys; those that are gone are left out."""
    one = MessageVector
    rows = session.execute(select(one.key, one.vector).where(one.key.in_(keys), one.set_key == set_key))
    return {key: vector for key, vector in rows}  # noqa: C416


def count_vectors(session: Session, set_key: int) -> int:
    """Return how many vectors a set has."""
    return count(session, select(func.count()).select_from(MessageVector).where(MessageVector.set_key == set_key))
