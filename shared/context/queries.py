"""Reads for a context: only the columns it needs, and of a long conversation only the messages that will stay.

How long a conversation is, is summed in the database. Nothing here makes objects that the session has to keep track of.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, BindParameter, Select, bindparam, cast, func, select, text
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import no_such_app
from shared.base.choices import Category
from shared.context.render import RecalledFact, RecalledMemory, without_recalled
from shared.context.window import TAIL, Utterance
from shared.conversations.days import TimeZones
from shared.conversations.models import Conversation, Message
from shared.facts.models import Fact
from shared.llm.calls import Rate
from shared.memories.models import Memory
from shared.memories.queries import with_zones
from shared.search.models import EVERYWHERE
from shared.search.search_queries import OVERRIDES

_CATEGORIES = {category.value: category for category in Category}
_SPEAKERS = ("user", "assistant")

# Written once, and read on the connection: to build a statement, and to look whether what it finds are objects that the
# session knows, takes longer than most of these take to run.
_APP: BindParameter[str] = bindparam("app_id")
_WHOSE: BindParameter[Sequence[str]] = bindparam("users", expanding=True)
_RECALLED_FOR = select(App.name, App.shared_memory, *OVERRIDES).where(App.app_id == _APP)
_MEMORIES = (
    with_zones(select(Memory.memory_id, Memory.content, Memory.created_at, Memory.updated_at))
    .where(Memory.app_id == _APP, Memory.user_id.in_(_WHOSE))
    .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
)
_FACTS = select(Fact.fact_id, Fact.statement, Fact.category, Fact.confidence, Fact.last_seen, Fact.pin_slot).where(
    Fact.app_id == _APP, Fact.user_id.in_(_WHOSE), Fact.slot.is_not(None)
)


class RecalledApp(NamedTuple):
    """What a context has to know of its app."""

    name: str
    is_shared: bool
    """Whether what names no user is recalled for every user."""
    overrides: dict[str, str | None]
    """What was changed of the tuning, as JSON by scope."""


def app_recalled_for(session: Session, app_id: str) -> RecalledApp:
    """Raises: NotFound."""
    row = session.connection().execute(_RECALLED_FOR, {"app_id": app_id}).one_or_none()
    if row is None:
        raise no_such_app(app_id)
    return RecalledApp(row[0], row[1], {EVERYWHERE: row[2], app_id: row[3]})


def memories_to_recall(session: Session, whose: Mapping[str, object]) -> tuple[RecalledMemory, ...]:
    """Return the memories of users of an app, the last updated first, dated by the clocks of whose they are."""
    found = session.connection().execute(_MEMORIES, whose)
    return tuple(
        RecalledMemory(memory_id, content, *map(TimeZones(*known).local, (created_at, updated_at)))
        for memory_id, content, created_at, updated_at, *known in found
    )


def facts_to_recall(session: Session, whose: Mapping[str, object]) -> tuple[RecalledFact, ...]:
    """Return the facts that are active about users of an app."""
    return tuple(
        RecalledFact(fact_id, statement, _CATEGORIES[category], confidence, last_seen, pin)
        for fact_id, statement, category, confidence, last_seen, pin in session.connection().execute(_FACTS, whose)
    )


_MINE = Message.conversation_key == bindparam("key")
_ROLE_IN = Message.role.in_(bindparam("roles", expanding=True))
_POSITION = select(Message.position).where(_MINE, _ROLE_IN).limit(1)
_FIRST_AFTER = _POSITION.where(Message.position > bindparam("after")).order_by(Message.position)
_COLUMNS = (Message.role, Message.content, Message.name, Message.tokens, Message.payload)
_ALL = select(*_COLUMNS).where(_MINE).order_by(Message.position)
_ROWS = select(Message.position, func.coalesce(Message.call_position, Message.position), *_COLUMNS).where(_MINE)
_SAID = select(Message.position, Message.content).where(_MINE, Message.role == "user").order_by(Message.position)
_LENGTHS = select(Conversation.key, Conversation.message_count).where(
    Conversation.key.in_(bindparam("keys", expanding=True))
)
_NEWEST = _ROWS.order_by(Message.position.desc()).limit(TAIL)
# Written out as its partial index has it: a value that is sent beside the statement finds no such index.
_SYSTEM = _ROWS.where(text("messages.role = 'system'"))
_AT = _ROWS.where(Message.position.in_(bindparam("positions", expanding=True)))
_RESULTS = _ROWS.where(Message.call_position.in_(bindparam("positions", expanding=True)))
_CHARS = func.coalesce(Message.payload_chars, func.length(Message.content))
_RATE_CHARS = bindparam("chars", type_=BigInteger)
# Rounded up for each message, as ``Rate.tokens_in`` does.
_BY_RATE = (cast(_CHARS, BigInteger) * bindparam("tokens") + (_RATE_CHARS - 1)) // _RATE_CHARS
_EACH = select(func.coalesce(Message.tokens, _BY_RATE).label("tokens")).where(_MINE)
_LATELY = _EACH.order_by(Message.position.desc()).limit(bindparam("newest")).subquery()
_LENGTH = select(func.coalesce(func.sum(_LATELY.c.tokens), 0))


def said_by_users(session: Session, conversation_key: int) -> list[tuple[int, str]]:
    """Return what users said in a conversation, in order, each with its position; nothing that was recalled into it."""
    return [(at, without_recalled(content)) for at, content in session.execute(_SAID, {"key": conversation_key})]


def lengths_of(session: Session, keys: Sequence[int]) -> dict[int, int]:
    """Return how many messages conversations have, by key."""
    return dict(session.connection().execute(_LENGTHS, {"keys": keys}).all())


def all_messages(session: Session, conversation_key: int) -> list[Utterance]:
    """Return all messages of a conversation, in order."""
    return [Utterance(*row) for row in session.execute(_ALL, {"key": conversation_key})]


def tokens_stored(session: Session, conversation_key: int, rate: Rate, newest: int) -> int:
    """Return the length of a conversation's newest messages: as provided, or else by the rate."""
    values = {"key": conversation_key, "tokens": rate.tokens, "chars": rate.chars, "newest": newest}
    return int(session.scalar(_LENGTH, values) or 0)


def staying_messages(session: Session, conversation_key: int) -> list[Utterance]:
    """Return, in order, at least the messages of a conversation that stay when its middle goes.

    Those are system messages, the first user message and what was said next, and the last six; with each, the call of a
    tool that it belongs to, and all results of that call.
    """

    def rows_of(query: Select[*tuple[Any, ...]], positions: Iterable[int] = ()) -> dict[int, tuple[int, Utterance]]:
        """Return messages by position, each with the position of the call it belongs to, or its own."""
        found = session.execute(query, {"key": conversation_key, "positions": list(positions)})
        return {position: (call, Utterance(*columns)) for position, call, *columns in found}

    def first_of(roles: Sequence[str], after: int) -> int | None:
        return session.scalar(_FIRST_AFTER, {"key": conversation_key, "roles": roles, "after": after})

    rows = rows_of(_NEWEST)
    first = first_of(("user",), -1)
    answer = None if first is None else first_of(_SPEAKERS, first)
    rows |= rows_of(_AT, [one for one in (first, answer) if one is not None])
    calls = {call for call, _ in rows.values()}
    rows |= rows_of(_AT, calls - rows.keys())
    rows |= rows_of(_RESULTS, calls) | rows_of(_SYSTEM)
    return [rows[position][1] for position in sorted(rows)]
