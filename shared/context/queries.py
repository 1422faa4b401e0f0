"""Reads for a context: only the columns it needs, and of a long conversation only the messages that will stay.

How long a conversation is, is summed in the database. Nothing here makes objects that the session has to keep track of.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import BigInteger, ColumnElement, Select, and_, cast, func, or_, select
from sqlalchemy.orm import Session

from shared.context.block import Recalled
from shared.context.selection import KnownFact
from shared.context.window import TAIL, Utterance
from shared.conversations.models import Message
from shared.facts.categories import Category
from shared.facts.models import Fact
from shared.llm.tokens import Rate
from shared.memories.models import Memory
from shared.memories.queries import NEWEST_FIRST

_SPEAKERS = ("user", "assistant")
_COLUMNS = (Message.role, Message.content, Message.name, Message.tokens)


def memories_to_recall(session: Session, app_id: str) -> tuple[Recalled, ...]:
    """Return an app's memories, newest first."""
    query = select(Memory.memory_id, Memory.content, Memory.created_at).where(Memory.app_id == app_id)
    return tuple(Recalled(*row) for row in session.execute(query.order_by(*NEWEST_FIRST)))


def facts_to_recall(session: Session, app_id: str, user_id: str | None) -> tuple[KnownFact, ...]:
    """Return the facts that stand about a user, with those that name no user; without a user all of the app's."""
    query = select(Fact.fact_id, Fact.statement, Fact.category, Fact.confidence, Fact.last_seen, Fact.pin_slot).where(
        Fact.app_id == app_id, Fact.slot.is_not(None)
    )
    if user_id is not None:
        query = query.where(or_(Fact.user_id == user_id, Fact.user_id.is_(None)))
    return tuple(
        KnownFact(fact_id, statement, Category(category), confidence, last_seen, pin)
        for fact_id, statement, category, confidence, last_seen, pin in session.execute(query)
    )


def everything_said(session: Session, conversation_key: int) -> list[Utterance]:
    """Return a conversation's messages, in order."""
    return _read(session, select(*_COLUMNS).where(Message.conversation_key == conversation_key))


def tokens_said(session: Session, conversation_key: int, rate: Rate, newest: int) -> int:
    """Return the length of a conversation's newest messages: as provided, or else by the rate."""
    chars = cast(func.length(Message.content), BigInteger)
    by_rate = (chars * rate.tokens + (rate.chars - 1)) // rate.chars
    each = select(func.coalesce(Message.tokens, by_rate).label("tokens")).where(_of(conversation_key))
    lately = each.order_by(Message.position.desc()).limit(newest).subquery()
    return int(session.scalar(select(func.coalesce(func.sum(lately.c.tokens), 0))) or 0)


def what_stays(session: Session, conversation_key: int) -> list[Utterance]:
    """Return, in order, at least the messages of a conversation that stay when its middle goes.

    Those are system messages, the first user message and what was said next, and the last six; each tool's result with
    the message of the assistant it belongs to, and all results of such a message.
    """
    tail = _newest(session, conversation_key)
    stays: list[ColumnElement[bool]] = [Message.role == "system", Message.position >= min(tail, default=0)]
    stays += _head(session, conversation_key)
    first = next((place for place, role in sorted(tail.items()) if role in ("assistant", "tool")), None)
    if first is not None and tail[first] == "tool":
        stays += _call(session, conversation_key, _place(session, conversation_key, ("assistant",), before=first))
    return _read(session, select(*_COLUMNS).where(_of(conversation_key), or_(*stays)))


def _newest(session: Session, conversation_key: int) -> dict[int, str]:
    query = select(Message.position, Message.role).where(_of(conversation_key))
    rows = session.execute(query.order_by(Message.position.desc()).limit(TAIL))
    return {row.position: row.role for row in rows}


def _head(session: Session, conversation_key: int) -> list[ColumnElement[bool]]:
    first = _place(session, conversation_key, ("user",))
    if first is None:
        return []
    following = _place(session, conversation_key, _SPEAKERS, after=first)
    return [Message.position == first, *_call(session, conversation_key, following)]


def _call(session: Session, conversation_key: int, place: int | None) -> list[ColumnElement[bool]]:
    """Return what finds a message at a place and the results of the tools it called."""
    if place is None:
        return []
    following = _place(session, conversation_key, ("assistant",), after=place)
    results = [Message.role == "tool", Message.position > place]
    if following is not None:
        results.append(Message.position < following)
    return [Message.position == place, and_(*results)]


def _place(
    session: Session, conversation_key: int, roles: Sequence[str], after: int = -1, before: int | None = None
) -> int | None:
    """Return where the first message of these roles stands after a place, or the last one before another."""
    query = select(Message.position).where(_of(conversation_key), Message.role.in_(roles), Message.position > after)
    if before is None:
        return session.scalar(query.order_by(Message.position).limit(1))
    return session.scalar(query.where(Message.position < before).order_by(Message.position.desc()).limit(1))


def _of(conversation_key: int) -> ColumnElement[bool]:
    return Message.conversation_key == conversation_key


def _read(session: Session, query: Select[str, str, str | None, int | None]) -> list[Utterance]:
    return [Utterance(*row) for row in session.execute(query.order_by(Message.position))]
