"""Reads of conversations and messages, always within one app."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import BinaryExpression, ColumnElement, Select, bindparam, case, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.apps.models import AnsweredBy, App
from shared.apps.queries import get_installed_app
from shared.base.errors import Conflict, NotFound, Operation
from shared.conversations.models import Answer, AnswerState, Conversation, MemoryMode, Message
from shared.energy.ledger import spent_of

# With a lock, as what the session knows of a row may be from before it.
_FRESH = {"populate_existing": True}
_USER = "user"
_ASSISTANT = "assistant"
SPOKEN = ("user", "assistant")
"""Who says something. The others give instructions, or return what a tool found."""
MOST_RECOGNISED = 200
"""Newest conversations among which one is looked for by its messages."""
LONGEST_UNREAD = timedelta(days=70)
"""No pace leaves what was said unread for longer."""
LONGEST_SILENCE = timedelta(days=8)
"""No conversation is left open in silence for longer, if it ends by itself: a week, after a day of being snoozed."""
LONGEST_PUT_OFF = timedelta(hours=25)
"""The loop leaves nothing alone for longer: a daily budget is free again within a day. What is put off until later was
so before the clock was set back."""

# Written once: building a statement takes longer than most of these take to run. Those of answers run on the
# connection: through the session they would write what is new in the conversation, which then is written twice.
_PENDING = select(Answer.key).where(
    Answer.conversation_key == bindparam("conversation_key"), Answer.state == AnswerState.PENDING
)
_STATES = select(Answer.state).where(
    Answer.conversation_key == bindparam("conversation_key"), Answer.answers_position == bindparam("position")
)
_BY_ID = select(Conversation).where(
    Conversation.app_id == bindparam("app_id"), Conversation.conversation_id == bindparam("conversation_id")
)
_LOCKED = _BY_ID.with_for_update()
_REMEMBERED = Conversation.memory == MemoryMode.ON
_LOCKED_WITH_APP = (
    _BY_ID.join(App, App.app_id == Conversation.app_id)
    .add_columns(App.answered_by, App.uninstalled_at)
    # Of the conversation alone: who speaks would else wait at the app's row for everybody else of the app.
    .with_for_update(of=Conversation)
)


class ConversationState(StrEnum):
    """Where a conversation stands."""

    OPEN = "open"
    SNOOZED = "snoozed"
    ENDED = "ended"


@dataclass(frozen=True)
class ConversationFilter:
    """Narrows a listing; None means any."""

    user_id: str | None = None
    ended: bool | None = None
    unanswered: bool | None = None


def state_of(conversation: Conversation, now: datetime) -> ConversationState:
    """Return where a conversation stands at ``now``."""
    if conversation.ended_at is not None:
        return ConversationState.ENDED
    snoozed = conversation.snoozed_until is not None and conversation.snoozed_until > now
    return ConversationState.SNOOZED if snoozed else ConversationState.OPEN


def find_conversation(session: Session, app_id: str, conversation_id: str) -> Conversation | None:
    """Return an app's conversation, or None."""
    return session.scalar(_BY_ID, {"app_id": app_id, "conversation_id": conversation_id})


def get_conversation(session: Session, app_id: str, conversation_id: str) -> Conversation:
    """Return an app's conversation. Raises: NotFound."""
    return _found(find_conversation(session, app_id, conversation_id), app_id, conversation_id)


def user_asking(conversation: Conversation, user_id: str | None) -> str | None:
    """Return whose conversation it is; ``user_id``: who is said to ask in it, if that was said. Raises: Conflict."""
    if user_id is not None and user_id != conversation.user_id:
        raise Conflict(
            f"Conversation {conversation.conversation_id} is not one of the user named by userId. Leave userId out, or "
            "open a conversation with this userId and name that one.",
            details={"conversationId": conversation.conversation_id},
        )
    return conversation.user_id


def ids_of(app_id: str, user_id: str) -> Select[str]:
    """Select the app's own ids of a user's conversations."""
    return select(Conversation.conversation_id).where(Conversation.app_id == app_id, Conversation.user_id == user_id)


def lock_conversation(session: Session, app_id: str, conversation_id: str) -> Conversation:
    """Return an app's conversation, locked until the transaction ends. Raises: NotFound."""
    which = {"app_id": app_id, "conversation_id": conversation_id}
    return _found(session.scalar(_LOCKED, which, execution_options=_FRESH), app_id, conversation_id)


def lock_with_app(session: Session, app_id: str, conversation_id: str) -> tuple[Conversation, bool]:
    """Return an installed app's conversation, locked, and whether the app lets the loop answer, in one statement.

    Raises: NotFound; Conflict where the app is uninstalled.
    """
    which = {"app_id": app_id, "conversation_id": conversation_id}
    row = session.execute(_LOCKED_WITH_APP, which, execution_options=_FRESH).first()
    if row is None or row.uninstalled_at is not None:
        # Raises for an app that is unknown or uninstalled; otherwise it is the conversation that is missing.
        get_installed_app(session, app_id)
        return _found(None, app_id, conversation_id), False
    return row[0], row.answered_by == AnsweredBy.LOOP


def list_conversations(
    session: Session, app_id: str, conversation_filter: ConversationFilter, limit: int, before: int | None = None
) -> Sequence[Conversation]:
    """Return an app's conversations, newest first; ``before`` is the key to go on below."""
    query = select(Conversation).where(Conversation.app_id == app_id).order_by(Conversation.key.desc()).limit(limit)
    if conversation_filter.user_id is not None:
        # Empty for those that name nobody, as everywhere where a user is asked for.
        query = query.where(Conversation.user_id == (conversation_filter.user_id or None))
    if conversation_filter.ended is not None:
        query = query.where(
            Conversation.ended_at.is_not(None) if conversation_filter.ended else Conversation.ended_at.is_(None)
        )
    if conversation_filter.unanswered is not None:
        waits = Conversation.unanswered_since
        query = query.where(waits.is_not(None) if conversation_filter.unanswered else waits.is_(None))
    return session.scalars(query if before is None else query.where(Conversation.key < before)).all()


def messages_of(
    session: Session, conversation_key: int, limit: int | None = None, after: int = -1
) -> Sequence[Message]:
    """Return a conversation's messages by position, those after position ``after``."""
    query = (
        select(Message)
        .where(Message.conversation_key == conversation_key, Message.position > after)
        .order_by(Message.position)
    )
    return session.scalars(query if limit is None else query.limit(limit)).all()


def known_messages(session: Session, conversation_key: int, message_ids: Sequence[str]) -> dict[str, Message]:
    if not message_ids:
        return {}
    query = select(Message).where(Message.conversation_key == conversation_key, Message.message_id.in_(message_ids))
    return {message.message_id: message for message in session.scalars(query)}


def get_message(session: Session, conversation_key: int, message_id: str) -> Message:
    """Return a message of a conversation. Raises: NotFound."""
    found = known_messages(session, conversation_key, [message_id]).get(message_id)
    if found is None:
        raise NotFound(f"The conversation has no message {message_id}.")
    return found


def latest_of_assistant(session: Session, conversation_key: int, before: int, limit: int) -> list[Message]:
    """Return the last messages of the assistant before a position, in order."""
    mine = (Message.conversation_key == conversation_key, Message.role == _ASSISTANT, Message.position < before)
    query = select(Message).where(*mine).order_by(Message.position.desc()).limit(limit)
    return list(reversed(session.scalars(query).all()))


def has_unseen_words(session: Session, conversation: Conversation, least: int) -> bool:
    """Whether a user said something no facts were extracted of, in a conversation of ``least`` messages or more.

    Only messages of users and assistants count.
    """
    mine = Message.conversation_key == conversation.key
    unseen = select(Message.key).where(mine, Message.role == _USER, Message.position >= conversation.facts_seen)
    if session.scalar(unseen.limit(1)) is None:
        return False
    # Not counted: no more are read than are asked for, however long the conversation is.
    return len(session.scalars(select(Message.key).where(mine, Message.role.in_(SPOKEN)).limit(least)).all()) == least


def has_words_from(session: Session, conversation_key: int, position: int) -> bool:
    """Whether a user or an assistant said anything in a conversation from a position on."""
    spoken = (Message.conversation_key == conversation_key, Message.position >= position, Message.role.in_(SPOKEN))
    return session.scalar(select(Message.key).where(*spoken).limit(1)) is not None


def count_turns_from(session: Session, conversation_key: int, position: int) -> int:
    """Return in how many messages the assistant said something in a conversation from a position on."""
    mine = (Message.conversation_key == conversation_key, Message.position >= position)
    has_text = (*mine, Message.role == _ASSISTANT, Message.content != "")
    return session.scalar(select(func.count()).select_from(Message).where(*has_text)) or 0


def summaries_due(session: Session, limit: int) -> Sequence[tuple[int, str]]:
    """Return key and app of conversations of which a summary is due, longest due first."""
    due = Conversation.summary_due_at
    query = select(Conversation.key, Conversation.app_id).where(due.is_not(None)).order_by(due).limit(limit)
    return [(key, app_id) for key, app_id in session.execute(query)]


def facts_due(session: Session, at: datetime, limit: int) -> Sequence[tuple[int, str]]:
    """Return key and app of conversations of which facts are due by ``at``, longest due first."""
    return _due(session, Conversation.facts_due_at, LONGEST_UNREAD, at, limit)


def silent(session: Session, at: datetime, limit: int) -> Sequence[tuple[int, str]]:
    """Return key and app of conversations that silence ends by ``at``, longest due first."""
    return _due(session, Conversation.silent_until, LONGEST_SILENCE, at, limit)


def _due(
    session: Session, due: InstrumentedAttribute[datetime | None], longest: timedelta, at: datetime, limit: int
) -> Sequence[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    # What is due later than anything waits was set before the clock was set back, and is due now.
    for is_due in (due <= at, due > at + longest):
        query = select(Conversation.key, Conversation.app_id).where(is_due).order_by(due).limit(limit - len(found))
        found += [(key, app_id) for key, app_id in session.execute(query)]
    return found


def lock_some(session: Session, keys: Sequence[int]) -> Sequence[Conversation]:
    """Return conversations by key, locked, in one order everywhere; those in other hands are left out."""
    query = select(Conversation).where(Conversation.key.in_(keys)).order_by(Conversation.key)
    return session.scalars(query.with_for_update(skip_locked=True), execution_options=_FRESH).all()


def lock_by_key(session: Session, key: int | None) -> Conversation | None:
    """Return a conversation, locked until the transaction ends, or None when it was erased."""
    query = select(Conversation).where(Conversation.key == key).with_for_update()
    return session.scalar(query, execution_options=_FRESH)


def newest_messages(session: Session, conversation_key: int, limit: int, before: int | None = None) -> list[Message]:
    """Return a conversation's last messages, in order; ``before`` is the position to stop at."""
    query = select(Message).where(Message.conversation_key == conversation_key)
    query = query if before is None else query.where(Message.position < before)
    return list(reversed(session.scalars(query.order_by(Message.position.desc()).limit(limit)).all()))


def lock_hidden_until(session: Session, at: datetime, limit: int) -> Sequence[Conversation]:
    """Return conversations that are hidden until ``at`` at most, locked; those in other hands come later."""
    found: dict[int, Conversation] = {}
    for is_over in _hidden_until(at):
        query = select(Conversation).where(is_over).order_by(is_over.left).limit(limit)
        locked = session.scalars(query.with_for_update(skip_locked=True), execution_options=_FRESH)
        found |= {one.key: one for one in locked}
    return list(found.values())


def lock_all(session: Session, app_id: str, user_id: str | None = None) -> Sequence[int]:
    """Return the keys of an app's conversations, or of one user's, locked: nothing is said in them now."""
    return session.scalars(keys_of(app_id, user_id).order_by(Conversation.key).with_for_update()).all()


def names_of(session: Session, app_id: str, user_id: str | None = None) -> Sequence[str]:
    """Return the ids of an app's conversations, or of one user's, as the app gave them."""
    query = select(Conversation.conversation_id).where(Conversation.key.in_(keys_of(app_id, user_id)))
    return session.scalars(query).all()


def keys_of(app_id: str, user_id: str | None = None) -> Select[int]:
    """Select the keys of an app's conversations, or of one user's (empty: of those that name nobody)."""
    query = select(Conversation.key).where(Conversation.app_id == app_id)
    if user_id is None:
        return query
    return query.where(Conversation.user_id == user_id if user_id else Conversation.user_id.is_(None))


def has_hidden_until(session: Session, at: datetime) -> bool:
    """Whether any conversation is hidden until ``at`` at most."""
    return any(session.scalar(select(Conversation.key).where(over).limit(1)) is not None for over in _hidden_until(at))


def _hidden_until(at: datetime) -> tuple[BinaryExpression[bool], ...]:
    later = at + LONGEST_PUT_OFF
    return (Conversation.snoozed_until <= at, Conversation.think_after <= at, Conversation.think_after > later)  # type: ignore[return-value]


def oldest_unanswered(session: Session, since: datetime) -> Conversation | None:
    """Return the conversation that has waited longest for the loop, of those waiting since after ``since``."""
    waits = Conversation.focus_since
    return session.scalar(select(Conversation).where(waits > since).order_by(waits).limit(1))


def has_changed_since(session: Session, app_id: str, at: datetime | None) -> bool:
    """Whether anything happened in any of an app's conversations that are remembered, after ``at``."""
    query = select(Conversation.key).where(Conversation.app_id == app_id, _REMEMBERED)
    query = query if at is None else query.where(Conversation.updated_at > at)
    return session.scalar(query.limit(1)) is not None


def recent_conversations(session: Session, app_id: str, limit: int) -> Sequence[Conversation]:
    """Return an app's conversations that are remembered and not snoozed, the one something happened in last first."""
    mine = (Conversation.app_id == app_id, _REMEMBERED)
    query = select(Conversation).where(*mine, Conversation.snoozed_until.is_(None))
    return session.scalars(query.order_by(Conversation.updated_at.desc(), Conversation.key.desc()).limit(limit)).all()


def states_of_answers(session: Session, conversation_key: int, position: int) -> list[str]:
    """Return the states of all answers to the message at ``position``."""
    which = {"conversation_key": conversation_key, "position": position}
    return list(session.connection().execute(_STATES, which).scalars())


def is_settled(most_rejections: int) -> ColumnElement[bool]:
    """Say of many conversations that no further draft is wanted: one is to be approved, or too many were rejected."""
    last = (Answer.conversation_key == Conversation.key, Answer.answers_position == Conversation.message_count - 1)
    of_last = select(func.count()).select_from(Answer).where(*last).correlate(Conversation)
    pending = of_last.where(Answer.state == AnswerState.PENDING).scalar_subquery()
    rejected = of_last.where(Answer.state == AnswerState.REJECTED).scalar_subquery()
    return or_(pending > 0, rejected >= most_rejections)


def last_rejection(session: Session, conversation_key: int, position: int) -> Answer | None:
    """Return the answer to the message at ``position`` that was rejected last."""
    mine = (Answer.conversation_key == conversation_key, Answer.answers_position == position)
    query = select(Answer).where(*mine, Answer.state == AnswerState.REJECTED)
    return session.scalar(query.order_by(Answer.key.desc()).limit(1))


def pending_answer(session: Session, conversation_key: int) -> Answer | None:
    query = select(Answer).where(Answer.conversation_key == conversation_key, Answer.state == AnswerState.PENDING)
    return session.scalar(query.limit(1))


def has_pending_answer(session: Session, conversation_key: int) -> bool:
    return session.connection().execute(_PENDING, {"conversation_key": conversation_key}).first() is not None


def get_answer(session: Session, app_id: str, answer_id: str) -> Answer:
    """Return an answer of an app's, as the database has it now. Raises: NotFound."""
    query = select(Answer).where(Answer.app_id == app_id, Answer.answer_id == answer_id)
    answer = session.scalar(query, execution_options=_FRESH)
    if answer is None:
        raise NotFound(
            f"App {app_id} has no answer {answer_id}; {{operation}} lists those it has.",
            details={"appId": app_id, "answerId": answer_id},
            operation=Operation("listAnswers", {"appId": app_id}),
        )
    return answer


def list_answers(
    session: Session, app_id: str, state: AnswerState | None, limit: int, before: int | None = None
) -> Sequence[Answer]:
    """Return an app's answers, newest first; ``before`` is the key to go on below."""
    query = select(Answer).where(Answer.app_id == app_id).order_by(Answer.key.desc()).limit(limit)
    query = query if state is None else query.where(Answer.state == state)
    return session.scalars(query if before is None else query.where(Answer.key < before)).all()


def count_answers(session: Session, app_id: str, conversations: Select[int] | Sequence[int] | None = None) -> int:
    query = select(func.count()).select_from(Answer).where(Answer.app_id == app_id)
    query = query if conversations is None else query.where(Answer.conversation_key.in_(conversations))
    return session.scalar(query) or 0


def count_unanswered(session: Session) -> int:
    """Return how many conversations wait for an answer, whoever is to give it."""
    waiting = select(func.count()).select_from(Conversation).where(Conversation.unanswered_since.is_not(None))
    return session.scalar(waiting) or 0


def oldest_owed(session: Session, since: datetime) -> datetime | None:
    """Return since when the oldest message waits that the loop is to answer, those put off for a while included.

    Messages from before ``since`` are left alone, and nobody waits for the loop to answer them.
    """
    focused = select(func.min(Conversation.focus_since)).where(Conversation.focus_since > since)
    # Put off after it came, so later than ``since`` as well. Where it says snoozed, SQLite takes the wrong index.
    waits = case((Conversation.snoozed_until.is_(None), Conversation.unanswered_since))
    postpone = select(func.min(waits)).where(Conversation.think_after > since, Conversation.unanswered_since > since)
    return min(filter(None, (session.scalar(focused), session.scalar(postpone))), default=None)


def spent_of_budgets(session: Session) -> list[tuple[int, int]]:
    """Return budget and spending (micro-units) of every open conversation that has a budget."""
    budget = Conversation.energy_budget_micro
    spent = spent_of(Conversation.key)
    rows = session.execute(select(budget, spent).where(budget.is_not(None), Conversation.ended_at.is_(None)))
    return [(has, int(used)) for has, used in rows if has is not None]


def count_conversations(session: Session, app_id: str | None = None, user_id: str | None = None) -> tuple[int, int]:
    """Return how many conversations are open and how many have ended: of all apps, of one, or of one of its users."""
    query = select(func.count(), func.count(Conversation.ended_at))
    if app_id is not None:
        query = query.where(Conversation.app_id == app_id)
    if user_id is not None:
        query = query.where(Conversation.user_id == user_id)
    everything, ended = session.execute(query.select_from(Conversation)).one()
    return everything - ended, ended


def _found(conversation: Conversation | None, app_id: str, conversation_id: str) -> Conversation:
    if conversation is None:
        raise NotFound(
            f"App {app_id} has no conversation {conversation_id}; open it with {{operation}}.",
            details={"appId": app_id, "conversationId": conversation_id},
            operation=Operation("startConversation", {"appId": app_id}),
        )
    return conversation


@dataclass(frozen=True)
class StoredMessageId:
    """Where a message of an id stands."""

    message_id: str
    conversation_id: str
    is_ended: bool
    """Of its conversation."""
    is_last: bool
    """Whether nothing was said after it."""
    memory: MemoryMode
    """Of its conversation."""
    time_zone: str | None
    """Of its conversation."""


def find_message_ids(
    session: Session, app_id: str, user_id: str | None, ids: Sequence[str], conversation_id: str | None = None
) -> list[StoredMessageId]:
    """Return which of the messages a user's conversations hold, or the one named, the newest conversation first."""
    mine = select(Conversation).where(Conversation.app_id == app_id)
    if conversation_id is None:
        mine = mine.where(Conversation.user_id.is_(None) if user_id is None else Conversation.user_id == user_id)
        mine = mine.order_by(Conversation.key.desc()).limit(MOST_RECOGNISED)
    else:
        mine = mine.where(Conversation.conversation_id == conversation_id)
    one = mine.subquery()
    where = one.c
    found = session.execute(
        select(
            Message.message_id,
            where.conversation_id,
            where.ended_at.is_not(None),
            Message.position == where.message_count - 1,
            where.memory,
            where.time_zone,
        )
        .join(one, one.c.key == Message.conversation_key)
        .where(Message.message_id.in_(ids))
        .order_by(one.c.key.desc())
    )
    return [StoredMessageId(*row) for row in found]
