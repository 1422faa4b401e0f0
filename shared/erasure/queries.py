"""Counts over several stores: what an erasure leaves, what a purge of memories does not reach, who the users are."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select, union
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.apps.models import App, IdempotencyKey, Token, UserSettings
from shared.base.choices import FactState
from shared.base.subjects import NOBODY
from shared.contracts.jobs import WorkClass
from shared.conversations.models import Answer, AnswerState, Conversation, Message
from shared.conversations.queries import count_answers, keys_of
from shared.db.queries import count, given_numbers
from shared.facts.models import Fact
from shared.facts.queries import FactFilter, count_listed
from shared.jobs.models import OPEN, Job
from shared.memories.models import Memory, Origin
from shared.memories.queries import count_by_app
from shared.profiles.models import Consent, Profile
from shared.summaries.queries import count_of_app


def remembered_answers(session: Session, app_id: str) -> Sequence[int]:
    """Return the rows of the idempotency keys whose answers may hold something of an app."""
    return session.scalars(select(IdempotencyKey.row).where(IdempotencyKey.app_id == app_id)).all()


def count_remembered(session: Session, rows: Sequence[int]) -> int:
    """Return how many of some idempotency keys have an answer that may hold something of an app."""
    numbers, number = given_numbers("rows")
    listed = IdempotencyKey.row.in_(select(number).select_from(numbers))
    query = select(func.count()).where(listed, IdempotencyKey.app_id.is_not(None))
    return session.scalar(query, {"rows": rows}) or 0


def count_unfinished_jobs(
    session: Session, app_id: str, work_classes: Collection[WorkClass], conversations: Select[int] | None = None
) -> int:
    """Return how many jobs of an app in some work classes, or about some conversations only, could still write."""
    query = select(func.count()).select_from(Job)
    query = query.where(Job.app_id == app_id, Job.state.in_(OPEN), Job.work_class.in_(work_classes))
    return count(session, query if conversations is None else query.where(Job.conversation_key.in_(conversations)))


def rows_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Return how many conversations, messages and answers of the loop's an app has, or one of its users."""
    mine = keys_of(app_id, user_id)
    conversations = select(func.count()).select_from(mine.subquery())
    return {"conversations": count(session, conversations), **rows_of_conversations(session, app_id, mine)}


def rows_of_conversations(session: Session, app_id: str, keys: Select[int] | Sequence[int]) -> dict[str, int]:
    """Return how many messages and answers of the loop's some conversations have."""
    messages = select(func.count()).select_from(Message).where(Message.conversation_key.in_(keys))
    return {"messages": count(session, messages), "answers": count_answers(session, app_id, keys)}


def count_persons_tokens(session: Session, app_id: str, user_id: str | None = None) -> int:
    """Return how many tokens of an app are users' own, or one user's."""
    whose = Token.user_id.is_not(None) if user_id is None else Token.user_id == user_id
    return count(session, select(func.count()).select_from(Token).where(Token.app_id == app_id, whose))


_OWNED: dict[str, tuple[type[Conversation | Fact | Origin], InstrumentedAttribute[Any]]] = {
    "conversationId": (Conversation, Conversation.conversation_id),
    # A removed memory has its making, and a fact its row, for as long as either can be taken back.
    "factId": (Fact, Fact.fact_id),
    "memoryId": (Origin, Origin.memory_id),
}


def own_all(session: Session, app_id: str, user_id: str, names: Mapping[str, object]) -> bool:
    """Whether all that is named is a user's; ``names``: of conversations, facts and memories, as requests name them.

    What is not there is nobody's, and so is nothing at all.
    """
    asked = [(*_OWNED[name], value) for name, value in names.items() if name in _OWNED]
    owners = [
        session.scalar(select(kind.user_id).where(kind.app_id == app_id, key == value)) for kind, key, value in asked
    ]
    return bool(owners) and all(one == user_id for one in owners)


def still_remembered(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Return what an app, or one of its users, is remembered by when no memory is left."""
    mine = keys_of(app_id, user_id)
    return {
        "facts": count_listed(session, app_id, FactFilter(user_id=user_id)),
        "messages": rows_of_conversations(session, app_id, mine)["messages"],
        "summaries": count_of_app(session, app_id, mine),
    }


@dataclass(frozen=True)
class UserCounts:
    """One user of an app, and how much there is of them."""

    user_id: str
    conversations: int
    messages: int
    memories: int
    facts: int
    has_profile: bool
    last_active_at: datetime | None
    time_zone: str | None


@dataclass(frozen=True)
class AppCounts:
    """How much an app holds, and what of it waits for a person."""

    users: int
    """Those that are named."""
    conversations: int
    memories: int
    pending_answers: int
    last_active_at: datetime | None


_ABOUT_USERS: tuple[type[Memory | Fact | Profile | Consent | UserSettings], ...] = (
    Memory, Fact, Profile, Consent, UserSettings,
)  # fmt: skip


def list_users(
    session: Session, app_id: str, limit: int, after: str | None = None, search: str | None = None
) -> list[UserCounts]:
    """Return the users of an app by id, those after ``after`` and with ``search`` in it; nobody (empty) comes first."""
    query = _users(app_id).order_by("user_id").limit(limit)
    user_id = query.selected_columns.user_id
    query = query if after is None else query.where(user_id > after)
    query = query if search is None else query.where(user_id.icontains(search, autoescape=True))
    return _counted(session, app_id, session.scalars(query))


def count_of_apps(session: Session, app_ids: Collection[str]) -> dict[str, AppCounts]:
    """Return how much there is of each of some apps; takes time by how many conversations and facts they have."""
    tables: tuple[type[Any], ...] = (Conversation, *_ABOUT_USERS)
    named = union(*(select(one.app_id, one.user_id).where(one.app_id.in_(app_ids), one.user_id > "") for one in tables))
    whose = named.subquery()
    users = _by_app(session, select(whose.c.app_id, func.count()).group_by(whose.c.app_id))
    spoken = select(Conversation.app_id, func.count(), func.max(Conversation.updated_at))
    conversations = {
        app_id: (number, last)
        for app_id, number, last in session.execute(
            spoken.where(Conversation.app_id.in_(app_ids)).group_by(Conversation.app_id)
        )
    }
    memories = count_by_app(session, app_ids)
    pending = select(Answer.app_id, func.count()).where(Answer.app_id.in_(app_ids), Answer.state == AnswerState.PENDING)
    answers = _by_app(session, pending.group_by(Answer.app_id))
    return {
        one: AppCounts(
            users=users.get(one, 0), conversations=conversations.get(one, (0, None))[0], memories=memories.get(one, 0),
            pending_answers=answers.get(one, 0), last_active_at=conversations.get(one, (0, None))[1],
        )
        for one in app_ids
    }  # fmt: skip


def _by_app(session: Session, query: Select[str, int]) -> dict[str, int]:
    return {app_id: number for app_id, number in session.execute(query)}  # noqa: C416 - dict() takes it for a mapping


def has_pending_answers() -> ColumnElement[bool]:
    """Return the condition on apps that an answer of theirs waits for a person's approval."""
    return select(Answer.key).where(Answer.app_id == App.app_id, Answer.state == AnswerState.PENDING).exists()


def is_user(session: Session, app_id: str, user_id: str) -> bool:
    """Whether an app holds something of a user."""
    query = _users(app_id)
    return session.scalar(query.where(query.selected_columns.user_id == user_id)) is not None


def _users(app_id: str) -> Select[tuple[str]]:
    whose = func.coalesce(Conversation.user_id, NOBODY)
    named = union(
        select(whose.label("user_id")).where(Conversation.app_id == app_id),
        *(select(table.user_id).where(table.app_id == app_id) for table in _ABOUT_USERS),
    ).subquery()
    return select(named.c.user_id)


def count_of_user(session: Session, app_id: str, user_id: str) -> UserCounts:
    """Return how much there is of one user of an app, be it nothing."""
    return _counted(session, app_id, [user_id])[0]


def _counted(session: Session, app_id: str, user_ids: Iterable[str]) -> list[UserCounts]:
    users = list(user_ids)
    zones = select(UserSettings.user_id, UserSettings.time_zone).where(UserSettings.app_id == app_id)
    # Through `iter`, as `dict` takes a result itself for a mapping.
    time_zones = dict(iter(session.execute(zones.where(UserSettings.user_id.in_(users)))))
    # For each user how many conversations and messages there are, and when something happened last.
    whose = func.coalesce(Conversation.user_id, NOBODY)
    of_these = [Conversation.user_id.in_([user for user in users if user])]
    of_these += [Conversation.user_id.is_(None)] if NOBODY in users else []
    counts = (func.count(), func.sum(Conversation.message_count), func.max(Conversation.updated_at))
    query = select(whose, *counts).where(Conversation.app_id == app_id, or_(*of_these)).group_by(whose)
    spoken = {user: (number, int(messages), last) for user, number, messages, last in session.execute(query)}
    memories, facts, profiles = (
        _by_user(session, app_id, users, table, *only)
        for table, only in ((Memory, ()), (Fact, (Fact.state == FactState.STANDING,)), (Profile, ()))
    )
    return [
        UserCounts(one, *spoken.get(one, (0, 0))[:2], memories.get(one, 0), facts.get(one, 0), one in profiles,
                   spoken[one][2] if one in spoken else None, time_zones.get(one))
        for one in users
    ]  # fmt: skip


def _by_user(
    session: Session,
    app_id: str,
    users: Sequence[str],
    table: type[Memory | Fact | Profile],
    *only: ColumnElement[bool],
) -> dict[str, int]:
    mine = (table.app_id == app_id, table.user_id.in_(users), *only)
    query = select(table.user_id, func.count().label("number")).where(*mine).group_by(table.user_id)
    return {one.user_id: one.number for one in session.execute(query)}
