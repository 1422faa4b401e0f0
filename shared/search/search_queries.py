"""Reads for a search: who may be searched, the messages and passages at the places found, and how searches went.

Every statement names the app and the roles, so that whatever an index says, and whatever stands beside what it says,
only what users and assistants of the app said is ever read.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
    text,
    true,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.apps.models import App, UserSettings
from shared.apps.queries import no_such_app
from shared.contracts.jobs import JobKind
from shared.conversations.days import TimeZones
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import SPOKEN
from shared.db.queries import count, given_numbers
from shared.jobs.models import Job, JobState
from shared.jobs.queries import last_asked_before
from shared.search import word_index
from shared.search.index_queries import ServingVectors
from shared.search.models import (
    EVERYWHERE,
    LAST_POSITION,
    AppIndex,
    MessageVector,
    Passage,
    Retrieval,
    SetState,
    TuningOverride,
    VectorSet,
)
from shared.search.statistics import RetrievalRecord
from shared.summaries.models import Summary

MOST_CHARS = 8_000
"""So much of a message is read to rank it; what lies beyond is found through its passages."""

_POSITIONS = LAST_POSITION + 1
_APP: BindParameter[str] = bindparam("app_id")
_PLACES, _DOC_ID = given_numbers("places")
# Written so that no index on it is used: an app has many messages, and few places are asked for.
_SPOKEN_IN_APP = and_(func.coalesce(Message.app_id, "") == _APP, Message.role.in_(SPOKEN))
# Said in divisions: the two databases shift bits by different types.
_STANDS_THERE = and_(Message.conversation_key == _DOC_ID // _POSITIONS, Message.position == _DOC_ID % _POSITIONS)
# Written once: building a statement takes longer than most of these take to run.
_MESSAGES_AT = (
    select(
        _DOC_ID,
        Message.key,
        Message.message_id,
        Message.role,
        Message.name,
        func.substr(Message.content, 1, MOST_CHARS),
        func.length(Message.content),
        Message.created_at,
    )
    .add_columns(Conversation.conversation_id, Conversation.user_id)
    .select_from(_PLACES)
    .join(Message, _STANDS_THERE)
    .join(Conversation, Conversation.key == Message.conversation_key)
    .where(_SPOKEN_IN_APP)
)
_NAMES_AT = (
    select(Message.name)
    .distinct()
    .select_from(_PLACES)
    .join(Message, _STANDS_THERE)
    .where(_SPOKEN_IN_APP, Message.name.is_not(None))
)
_PASSAGES_AT = (
    select(Passage.doc_id, Passage.part, Passage.kind, Passage.language, Passage.start, Passage.length)
    .select_from(_PLACES)
    .join(Passage, and_(Passage.doc_id == _DOC_ID, Passage.app_id == _APP))
    .join(Message, and_(Message.key == Passage.message_key, Message.role.in_(SPOKEN)))
    .order_by(Passage.doc_id, Passage.part)
)
_OF_APP = Conversation.app_id == _APP
# Written out as its partial index has it, as everything else of a conversation that is kept apart from the others.
_IS_APART = text("conversations.memory <> 'on'")
_IS_REMEMBERED = text("conversations.memory = 'on'")
_NAMES_NOBODY = Conversation.user_id.is_(None)
_IS_USERS = Conversation.user_id == bindparam("user_id")
_OF_EVERYBODY = select(Conversation.key).where(_OF_APP, _IS_REMEMBERED)
_OF_USER = _OF_EVERYBODY.where(_IS_USERS)
_OF_USER_OR_NOBODY = _OF_EVERYBODY.where(or_(_IS_USERS, _NAMES_NOBODY))
_OF_NOBODY = _OF_EVERYBODY.where(_NAMES_NOBODY)
_MORE = and_(Message.app_id == _APP, Message.key > bindparam("after"))
_OVERRIDE = select(cast(TuningOverride.chosen, Text))
OVERRIDES = tuple(
    _OVERRIDE.where(TuningOverride.scope == scope).scalar_subquery() for scope in (EVERYWHERE, App.app_id)
)
"""Columns beside an app: what was changed of the tuning, as JSON, for all apps and for this one."""


def _look(dialect: str) -> Select[Any]:
    # One statement: reads on PostgreSQL are no transaction (`Database`), so several would each see another moment.
    serving = and_(VectorSet.app_id == App.app_id, VectorSet.state == SetState.SERVING)
    newest = select(func.max(MessageVector.key)).where(MessageVector.set_key == VectorSet.key)
    return (
        select(
            App.shared_memory,
            exists().where(Conversation.app_id == App.app_id, Conversation.user_id.is_not(None)),
            exists().where(Conversation.app_id == App.app_id, _IS_APART),
            *OVERRIDES,
            AppIndex.key,
            AppIndex.salt,
            AppIndex.has_names,
            literal_column(word_index.IS_PRESENT[dialect]),
            VectorSet.key,
            VectorSet.model,
            VectorSet.dimensions,
            VectorSet.erasures,
            newest.scalar_subquery(),
        )
        .add_columns(
            select(func.count()).select_from(Message).where(_MORE).scalar_subquery(),
            select(func.max(Message.key)).where(_MORE).scalar_subquery(),
            App.time_zone,
            select(UserSettings.time_zone)
            .where(UserSettings.app_id == App.app_id, UserSettings.user_id == bindparam("user_id", type_=Text))
            .scalar_subquery(),
        )
        .select_from(App)
        .outerjoin(AppIndex, AppIndex.app_id == App.app_id)
        .outerjoin(VectorSet, serving)
        .where(App.app_id == _APP)
    )


_LOOK = {dialect: _look(dialect) for dialect in word_index.IS_PRESENT}


class SearchedApp(NamedTuple):
    """What a search has to know of its app before it begins."""

    shared_memory: bool
    has_users: bool
    """Whether any of its conversations names one."""
    has_apart: bool
    """Whether nothing is remembered of any of its conversations."""
    overrides: dict[str, str | None]
    """What was changed of the tuning, as JSON by scope."""
    words: word_index.OpenIndex
    vectors: ServingVectors | None
    more: int
    """Messages behind the last one that was counted before."""
    newest: int
    """Key of the last of these; else of that one."""
    zones: TimeZones
    """What tells where the user is, outside of a conversation."""


def look_at(session: Session, app_id: str, after: int = 0, user_id: str | None = None) -> SearchedApp:
    """Return what is to be known of an app, in one statement; messages are counted behind the key ``after``.

    Raises: NotFound.
    """
    values = {"app_id": app_id, "user_id": user_id, "after": after}
    row = session.connection().execute(_LOOK[session.get_bind().dialect.name], values).one_or_none()
    if row is None:
        raise no_such_app(app_id)
    shared, has_users, has_apart, *overrides, key, salt, has_names, is_present, set_key = row[:10]
    *vectors, more, newest, app_zone, user_zone = row[10:]
    return SearchedApp(
        shared_memory=shared,
        has_users=has_users,
        has_apart=has_apart,
        overrides=dict(zip((EVERYWHERE, app_id), overrides, strict=True)),
        words=word_index.opened(session, key, salt, has_names, is_present),
        vectors=None if set_key is None else ServingVectors(set_key, *vectors),
        more=more,
        newest=after if newest is None else newest,
        zones=TimeZones(user=user_zone, app=app_zone),
    )


class CountedMessages(NamedTuple):
    """How many messages an app has up to one."""

    total: int = 0
    newest: int = 0
    """Key of the last that is counted."""
    until: float = 0.0
    """When all are to be counted anew, by the clock that only goes forward."""
    vectors: ServingVectors | None = None
    """By which a question of it was embedded last, word for word; None where names are left out of questions."""


_COUNTED_ANEW_SECONDS = 300.0
"""Until then, what was erased still counts: how rare words are changes little by it."""
_MOST_APPS = 10_000


class MessageCounts:
    """How many messages apps have: those counted before, and those that came since. Counting all takes long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, CountedMessages] = OrderedDict()

    def of(self, app_id: str) -> CountedMessages:
        """Return what was counted of an app; nothing where it is time to count anew."""
        with self._lock:
            known = self._known.get(app_id)
        if known is None or monotonic() >= known.until:
            return CountedMessages(until=monotonic() + _COUNTED_ANEW_SECONDS)
        return known

    def note(self, app_id: str, known: CountedMessages, found: SearchedApp) -> int:
        """Note what was found behind what was counted; return how many messages the app has."""
        # Total and newest are of one look, so it does no harm whose is kept where two searches counted at once.
        vectors = None if found.words.has_names else found.vectors
        counted = known._replace(total=known.total + found.more, newest=found.newest, vectors=vectors)
        with self._lock:
            self._known[app_id] = counted
            self._known.move_to_end(app_id)
            while len(self._known) > _MOST_APPS:
                self._known.popitem(last=False)
        return counted.total


class MessageRow(NamedTuple):
    """A message that was found; ``content`` is cut at ``MOST_CHARS``."""

    doc_id: int
    key: int
    message_id: str
    role: str
    name: str | None
    content: str
    chars: int
    created_at: datetime
    conversation_id: str
    user_id: str | None
    """Whose conversation it is."""


class PassageRow(NamedTuple):
    """A passage of a message that was found; ``start`` and ``length`` are characters of its content."""

    doc_id: int
    part: int
    kind: str
    language: str | None
    start: int
    length: int


def messages_at(session: Session, app_id: str, doc_ids: Sequence[int]) -> dict[int, MessageRow]:
    """Return what users and assistants of an app said at these places; nothing else that stands there, or stood."""
    # All at once: to ask the driver for each of some hundred rows takes as long as the statement itself.
    rows = session.connection().execute(_MESSAGES_AT, {"app_id": app_id, "places": doc_ids}).all()
    # A message that only calls a tool says nothing.
    return {row.doc_id: row for row in map(MessageRow._make, rows) if row.content.strip()}


def passages_at(session: Session, app_id: str, doc_ids: Sequence[int]) -> dict[int, list[PassageRow]]:
    """Return the passages of those messages of an app at these places that have any, in order."""
    found: dict[int, list[PassageRow]] = {}
    rows = session.connection().execute(_PASSAGES_AT, {"app_id": app_id, "places": doc_ids})
    for row in map(PassageRow._make, rows.all()):
        found.setdefault(row.doc_id, []).append(row)
    return found


def names_at(session: Session, app_id: str, doc_ids: Sequence[int]) -> set[str]:
    """Return the names of who speaks at these places of an app."""
    return set(session.scalars(_NAMES_AT, {"app_id": app_id, "places": doc_ids}))


def whole_contents(session: Session, keys: Sequence[int]) -> dict[int, str]:
    rows = session.execute(select(Message.key, Message.content).where(Message.key.in_(keys)))
    return {key: content for key, content in rows}  # noqa: C416 - dict() takes a result for a mapping


def conversations_for(
    session: Session, app_id: str, app: SearchedApp, user_id: str | None, all_users: bool
) -> NDArray[np.int64] | None:
    """Return the keys of the conversations a user is handed something of, ascending; None for all of the app's.

    Their own alone, with those that name nobody where the app shares these. Without a user, those that name nobody, or
    everybody's. Never those of which nothing is remembered.
    """
    if user_id is None:
        # Nothing to leave out: then no keys are read, and no place has to be looked up among them.
        if not app.has_apart and (all_users or not app.has_users):
            return None
        keys = session.scalars(_OF_EVERYBODY if all_users else _OF_NOBODY, {"app_id": app_id})
    else:
        query = _OF_USER_OR_NOBODY if app.shared_memory else _OF_USER
        keys = session.scalars(query, {"app_id": app_id, "user_id": user_id})
    return np.sort(np.fromiter(keys, np.int64))


def tags_of(session: Session, conversation_ids: Collection[str], app_id: str) -> dict[str, frozenset[str]]:
    """Return the tags of conversations of an app: the texts under ``tags`` in the metadata it gave them."""
    query = select(Conversation.conversation_id, Conversation.details)
    rows = session.execute(
        query.where(Conversation.app_id == app_id, Conversation.conversation_id.in_(conversation_ids))
    )
    return {conversation_id: _tags(details) for conversation_id, details in rows}


def keys_of(session: Session, app_id: str, conversation_ids: Collection[str]) -> NDArray[np.int64]:
    """Return the keys of an app's conversations by their ids, ascending; an id that is not known has none."""
    query = select(Conversation.key).where(Conversation.app_id == app_id)
    keys = session.scalars(query.where(Conversation.conversation_id.in_(conversation_ids)))
    return np.sort(np.fromiter(keys, np.int64))


def _tags(details: dict[str, Any]) -> frozenset[str]:
    tags = details.get("tags")
    return frozenset(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else frozenset()


MOST_ROWS = 50_000
"""Statistics are of the latest so many."""


@dataclass(frozen=True)
class SearchStock:
    """How much there is. Sizes in bytes; of messages, what they say."""

    messages: int
    conversations: int
    passages: int
    summaries: int
    vectors: int
    message_bytes: int
    vector_bytes: int
    word_bytes: int | None
    """Of the whole installation, as the words of all apps lie together; None where one app was asked about."""


def retrievals_since(session: Session, since: datetime, app_id: str | None) -> list[RetrievalRecord]:
    """Return how retrievals went since a time, the latest ``MOST_ROWS``, oldest first."""
    one = Retrieval
    query = select(
        one.app_id, one.conversation_key, one.asker, one.at, one.results, one.top_score, one.sources, one.durations,
        one.flags, one.tokens_used, one.token_budget, one.top_similarities,
    ).where(one.at >= since, _of(one.app_id, app_id))  # fmt: skip
    rows = session.execute(query.order_by(one.at.desc()).limit(MOST_ROWS))
    return [RetrievalRecord(*row) for row in rows][::-1]


def keys_before(session: Session, at: datetime, limit: int) -> list[int]:
    """Return the keys of retrievals of before a time, the oldest first."""
    return list(session.scalars(select(Retrieval.key).where(Retrieval.at < at).order_by(Retrieval.at).limit(limit)))


def summaries_since(session: Session, since: datetime, app_id: str | None) -> tuple[int, int]:
    """Return how many summaries were asked for since a time and came to an end, and how many of them as they should."""
    asked = (Job.seq > last_asked_before(session, since), Job.kind == JobKind.SUMMARISE, _of(Job.app_id, app_id))
    made = case((Job.state.in_((JobState.DONE, JobState.NOTHING)), 1))
    counts = select(func.count(), func.count(made)).where(*asked, Job.finished_at >= since)
    ended, as_they_should = session.execute(counts.where(Job.state != JobState.CANCELLED)).one()
    return ended, as_they_should


def count_stock(session: Session, app_id: str | None) -> SearchStock:
    """Return how much there is of one app, or of all; looks at each row."""
    vectors = select(func.count(), func.sum(func.length(MessageVector.vector))).join(
        VectorSet, VectorSet.key == MessageVector.set_key
    )
    vector_count, vector_bytes = session.execute(vectors.where(_of(VectorSet.app_id, app_id))).one()
    said = select(func.count(), func.sum(func.length(Message.content))).where(_of(Message.app_id, app_id))
    messages, message_bytes = session.execute(said).one()
    return SearchStock(
        messages=messages,
        conversations=_count(session, Conversation.app_id, app_id),
        passages=_count(session, Passage.app_id, app_id),
        summaries=_count(session, Summary.app_id, app_id),
        vectors=vector_count,
        message_bytes=message_bytes or 0,
        vector_bytes=vector_bytes or 0,
        word_bytes=word_index.size_bytes(session) if app_id is None else None,
    )


def _count(session: Session, column: InstrumentedAttribute[str], app_id: str | None) -> int:
    return count(session, select(func.count(column)).where(_of(column, app_id)))


def _of(
    column: InstrumentedAttribute[str] | InstrumentedAttribute[str | None], app_id: str | None
) -> ColumnElement[bool]:
    return true() if app_id is None else column == app_id
