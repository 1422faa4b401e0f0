"""Reads of vectors, their sets and what waits for them, always within one app.

Messages are read through their table alone: the conversations lie above the index and write into it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.contracts.jobs import JobKind
from shared.contracts.values import LARGEST_INTEGER
from shared.conversations.models import Message
from shared.db.queries import count, given_numbers
from shared.jobs.queries import is_open_in_tenant_queue
from shared.search.models import (
    LAST_CONVERSATION,
    LAST_POSITION,
    AppIndex,
    MessageVector,
    Passage,
    SetState,
    Unembedded,
    VectorBlock,
    VectorErasure,
    VectorSet,
)

# The tables themselves: mapping objects costs more than reading them.
_SAID, _APPS = Message.__table__, App.__table__
# A row this session knows from before it had the lock would keep its old values unless it is read over.
_FRESH = {"populate_existing": True}
_POSITIONS = LAST_POSITION + 1
"""Shifting bits is written otherwise on each database; multiplying is not."""
_SPOKEN = ("user", "assistant")


_KEYS, _KEY = given_numbers("keys")
# One by one: a set has many vectors, and of a join a planner may believe that it has few, and read them all.
_VECTORS_BY_KEY = select(
    _KEY,
    select(MessageVector.vector)
    .where(MessageVector.set_key == bindparam("set_key"), MessageVector.key == _KEY)
    .scalar_subquery(),
).select_from(_KEYS)


@dataclass(frozen=True)
class IndexedMessage:
    """A message as the indexes see it."""

    key: int
    conversation_key: int
    position: int
    role: str
    content: str


class ServingVectors(NamedTuple):
    """The set that searches of an app look in, as it stood when it was looked at."""

    key: int
    model: str
    dimensions: int
    """0 while it has no vectors."""
    erasures: int
    newest: int | None
    """Key of its last vector."""


StoredVector = tuple[int, int, int, bytes]
"""Key, doc id, part and vector of a row: they are read by the ten thousand."""


def app_index(session: Session, app_id: str) -> AppIndex | None:
    return session.scalar(select(AppIndex).where(AppIndex.app_id == app_id), execution_options=_FRESH)


def sets_of(session: Session, app_id: str) -> Sequence[VectorSet]:
    """Return an app's sets, oldest first."""
    query = select(VectorSet).where(VectorSet.app_id == app_id).order_by(VectorSet.key)
    return session.scalars(query, execution_options=_FRESH).all()


def serving_set(session: Session, app_id: str) -> VectorSet | None:
    """Return the set that searches look in."""
    query = select(VectorSet).where(VectorSet.app_id == app_id, VectorSet.state == SetState.SERVING)
    return session.scalar(query, execution_options=_FRESH)


def vectors_after(session: Session, set_key: int, after: int, limit: int) -> Sequence[StoredVector]:
    """Return the vectors of a set by key, those after ``after``."""
    one = MessageVector
    query = select(one.key, one.doc_id, one.part, one.vector).where(one.set_key == set_key, one.key > after)
    return session.connection().execute(query.order_by(one.key).limit(limit)).all()


def vectors_by_key(session: Session, set_key: int, keys: Sequence[int]) -> dict[int, bytes]:
    """Return some vectors of a set by their keys; those that are gone are left out."""
    rows = session.connection().execute(_VECTORS_BY_KEY, {"set_key": set_key, "keys": keys})
    return {key: vector for key, vector in rows.all() if vector is not None}


def vectors_between(session: Session, set_key: int, first: int, last: int) -> Sequence[int]:
    one = MessageVector
    return session.scalars(select(one.key).where(one.set_key == set_key, one.doc_id.between(first, last))).all()


def has_vectors_after(session: Session, set_key: int, after: int, count: int) -> bool:
    """Whether a set has so many vectors whose keys come after ``after``."""
    keys = select(MessageVector.key).where(MessageVector.set_key == set_key, MessageVector.key > after)
    # A step to the last one needed, where counting would go through all that come after.
    return session.scalar(keys.order_by(MessageVector.key).offset(count - 1).limit(1)) is not None


def ends_of_blocks(session: Session, set_key: int) -> Sequence[int]:
    """Return the last key of each block of a set, ascending."""
    query = select(VectorBlock.last_key).where(VectorBlock.set_key == set_key)
    return session.scalars(query.order_by(VectorBlock.last_key)).all()


def blocks_of(session: Session, set_key: int) -> Sequence[bytes]:
    """Return the rows of each block of a set, by key."""
    query = select(VectorBlock.rows).where(VectorBlock.set_key == set_key)
    return session.scalars(query.order_by(VectorBlock.last_key)).all()


def erased_since(session: Session, serving: ServingVectors, number: int) -> Sequence[int] | None:
    """Return whose vectors went since a set's erasures were at a number, by conversation; None if that is long ago."""
    one = VectorErasure
    between = (one.number > number, one.number <= serving.erasures)
    keys = session.scalars(select(one.conversation_key).where(one.set_key == serving.key, *between)).all()
    # Only the last thousand are kept: fewer rows than numbers, and whoever asks has missed more than those.
    return keys if len(keys) == serving.erasures - number else None


def count_vectors(session: Session, set_key: int) -> int:
    return count(session, select(func.count()).select_from(MessageVector).where(MessageVector.set_key == set_key))


def first_vectors(session: Session, set_key: int, limit: int) -> Sequence[int]:
    query = select(MessageVector.key).where(MessageVector.set_key == set_key).order_by(MessageVector.key).limit(limit)
    return session.scalars(query).all()


def newest_message(session: Session, app_id: str) -> int:
    """Return the key of an app's last message; 0 when it has none."""
    return count(session, select(func.max(_SAID.c.key)).where(_SAID.c.app_id == app_id))


def count_messages(session: Session, app_id: str, after: int, until: int) -> int:
    """Return how many messages of an app have a key above ``after`` and up to ``until``."""
    query = select(func.count()).select_from(_SAID)
    return count(session, query.where(_SAID.c.app_id == app_id, _SAID.c.key > after, _SAID.c.key <= until))


def messages_between(session: Session, app_id: str, after: int, until: int, limit: int) -> list[IndexedMessage]:
    """Return an app's messages by key, whoever said them."""
    query = _said().where(_SAID.c.app_id == app_id, _SAID.c.key > after, _SAID.c.key <= until)
    return [IndexedMessage(*row) for row in session.execute(query.order_by(_SAID.c.key).limit(limit))]


def messages_of_conversation(session: Session, key: int, after: int, limit: int) -> list[IndexedMessage]:
    """Return a conversation's messages by position, those after position ``after``."""
    query = _said().where(_SAID.c.conversation_key == key, _SAID.c.position > after)
    return [IndexedMessage(*row) for row in session.execute(query.order_by(_SAID.c.position).limit(limit))]


def _said() -> Select[int, int, int, str, str]:
    return select(_SAID.c.key, _SAID.c.conversation_key, _SAID.c.position, _SAID.c.role, _SAID.c.content)


def standing_messages(session: Session, keys: Collection[int]) -> set[int]:
    """Return which of some messages still stand."""
    return set(session.scalars(select(_SAID.c.key).where(_SAID.c.key.in_(keys))))


def unembedded(session: Session, app_id: str, limit: int) -> dict[int, IndexedMessage | None]:
    """Return places of an app whose vectors are to be made, with what was said there; the newest conversations first.

    None for one whose message is gone.
    """
    of_place = and_(
        _SAID.c.conversation_key == Unembedded.doc_id // _POSITIONS, _SAID.c.position == Unembedded.doc_id % _POSITIONS
    )
    first = select(Unembedded.doc_id).where(Unembedded.app_id == app_id).order_by(Unembedded.doc_id.desc()).limit(limit)
    query = _said().add_columns(Unembedded.doc_id).select_from(Unembedded).outerjoin(_SAID, of_place)
    mine = (Unembedded.app_id == app_id, Unembedded.doc_id.in_(first))
    rows = session.execute(query.where(*mine).order_by(Unembedded.doc_id.desc()))
    return {doc_id: None if said[0] is None else IndexedMessage(*said) for *said, doc_id in rows}


def still_unembedded(session: Session, app_id: str, doc_ids: Collection[int]) -> set[int]:
    query = select(Unembedded.doc_id).where(Unembedded.app_id == app_id, Unembedded.doc_id.in_(doc_ids))
    return set(session.scalars(query))


def has_unembedded(session: Session, app_id: str) -> bool:
    return session.scalar(select(Unembedded.doc_id).where(Unembedded.app_id == app_id).limit(1)) is not None


def count_all_unembedded(session: Session) -> int:
    return count(session, select(func.count()).select_from(Unembedded))


def count_unembedded(session: Session, app_id: str) -> int:
    return count(session, select(func.count()).select_from(Unembedded).where(Unembedded.app_id == app_id))


def passages_of_messages(session: Session, keys: Collection[int]) -> dict[int, list[Passage]]:
    """Return the passages of some messages by message, in order."""
    found: dict[int, list[Passage]] = {}
    query = select(Passage).where(Passage.message_key.in_(keys)).order_by(Passage.message_key, Passage.part)
    for one in session.scalars(query):
        found.setdefault(one.message_key, []).append(one)
    return found


def parts_kept(session: Session, set_key: int, doc_ids: Collection[int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    one = MessageVector
    for doc_id, part in session.execute(
        select(one.doc_id, one.part).where(one.set_key == set_key, one.doc_id.in_(doc_ids))
    ):
        found.setdefault(doc_id, set()).add(part)
    return found


def doc_ids_without_vectors(session: Session, kept: VectorSet, after: int) -> Sequence[int]:
    """Return the places of an app's messages above a key that have no vector in a set."""
    doc_id = _SAID.c.conversation_key * _POSITIONS + _SAID.c.position
    one = MessageVector
    # Part 0 is the message as a whole, which every embedded one has; further parts only long ones.
    has = select(one.key).where(one.set_key == kept.key, one.doc_id == doc_id, one.part == 0).exists()
    said = (_SAID.c.app_id == kept.app_id, _SAID.c.key > after, _SAID.c.role.in_(_SPOKEN), _is_placed())
    return session.scalars(select(doc_id).where(*said, ~has)).all()


def _is_placed() -> ColumnElement[bool]:
    # What lies beyond has no doc id: a position would run into the next conversation, a conversation out of 63 bits.
    return and_(_SAID.c.position <= LAST_POSITION, _SAID.c.conversation_key <= LAST_CONVERSATION)


def has_passages(session: Session, keys: Collection[int]) -> set[int]:
    """Return which of some messages have passages."""
    return set(session.scalars(select(Passage.message_key).where(Passage.message_key.in_(keys)).distinct()))


def lock_apps_with_messages(session: Session) -> dict[str, int]:
    """Lock the apps that have messages until the transaction ends, in the order of their ids; return their epochs."""
    has_some = select(_SAID.c.key).where(_SAID.c.app_id == _APPS.c.app_id).exists()
    query = select(_APPS.c.app_id, _APPS.c.purge_epoch).where(has_some).order_by(_APPS.c.app_id)
    # `key_share`: rows that refer to an app can be added meanwhile; a plain FOR UPDATE makes their foreign keys wait.
    rows = session.execute(query.with_for_update(key_share=True, of=_APPS))
    return {app_id: epoch for app_id, epoch in rows}  # noqa: C416


def count_spoken(session: Session, app_id: str) -> int:
    """Return how many messages an app has that belong into the indexes; blank ones are counted although they do not."""
    spoken = (_SAID.c.app_id == app_id, _SAID.c.role.in_(_SPOKEN), _is_placed())
    return count(session, select(func.count()).select_from(_SAID).where(*spoken))


def count_passages(session: Session, app_id: str, first: int = 0, last: int = LARGEST_INTEGER) -> int:
    mine = (Passage.app_id == app_id, Passage.doc_id.between(first, last))
    return count(session, select(func.count()).select_from(Passage).where(*mine))


def count_vectors_between(session: Session, app_id: str, first: int, last: int) -> int:
    """Return how many vectors an app has between two places, in all of its sets."""
    sets = [one.key for one in sets_of(session, app_id)]
    mine = (MessageVector.set_key.in_(sets), MessageVector.doc_id.between(first, last))
    return count(session, select(func.count()).select_from(MessageVector).where(*mine))


def apps_with_sets_to_see_to(session: Session, model: str, after: str, limit: int) -> Sequence[str]:
    """Return apps whose sets are changing, or to be changed for a model, and no unfinished job for it; by id.

    Looks at every set there is, unless all of them serve and are of the model.
    """
    one, serves = VectorSet, SetState.SERVING
    # By ranges of an index: what serves and is of the model is as much as there are apps.
    other = (one.model < model, one.model > model)
    changing = (and_(one.model == model, is_other) for is_other in (one.state < serves, one.state > serves))
    if all(session.scalar(select(one.key).where(found).limit(1)) is None for found in (*other, *changing)):
        return []
    unsettled = or_(VectorSet.state != SetState.SERVING, VectorSet.model != model)
    idle = ~is_open_in_tenant_queue(VectorSet.app_id, JobKind.EMBED_MESSAGES)
    found = select(VectorSet.app_id).where(unsettled, idle, VectorSet.app_id > after).distinct()
    return session.scalars(found.order_by(VectorSet.app_id).limit(limit)).all()


def apps_unembedded(session: Session, after: str, limit: int) -> Sequence[str]:
    """Return apps that have messages without vectors, and no unfinished job for it; by id.

    Looks once for each app and not at each message.
    """
    least = select(func.min(Unembedded.app_id).label("app_id"))
    first = least.where(Unembedded.app_id > after).cte("waiting", recursive=True)
    following = least.where(Unembedded.app_id > first.c.app_id).scalar_subquery()
    waiting = first.union_all(select(following).where(first.c.app_id.is_not(None)))
    idle = ~is_open_in_tenant_queue(waiting.c.app_id, JobKind.EMBED_MESSAGES)
    found = select(waiting.c.app_id).where(waiting.c.app_id.is_not(None), idle)
    return session.scalars(found.limit(limit)).all()
