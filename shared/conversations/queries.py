"""Reads of conversations and messages, always within one app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from shared.conversations.models import Conversation, Message
from shared.errors import NotFound


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


def state_of(conversation: Conversation, now: datetime) -> ConversationState:
    """Return where a conversation stands at ``now``."""
    if conversation.ended_at is not None:
        return ConversationState.ENDED
    snoozed = conversation.snoozed_until is not None and conversation.snoozed_until > now
    return ConversationState.SNOOZED if snoozed else ConversationState.OPEN


def find_conversation(session: Session, app_id: str, conversation_id: str) -> Conversation | None:
    """Return an app's conversation, or None."""
    return session.scalar(_by_id(app_id, conversation_id))


def get_conversation(session: Session, app_id: str, conversation_id: str) -> Conversation:
    """Return an app's conversation. Raises: NotFound."""
    return _found(find_conversation(session, app_id, conversation_id), app_id, conversation_id)


def lock_conversation(session: Session, app_id: str, conversation_id: str) -> Conversation:
    """Return an app's conversation, locked until the transaction ends. Raises: NotFound."""
    query = _by_id(app_id, conversation_id).with_for_update()
    found = session.scalar(query, execution_options={"populate_existing": True})
    return _found(found, app_id, conversation_id)


def list_conversations(
    session: Session, app_id: str, wanted: ConversationFilter, limit: int, before: int | None = None
) -> Sequence[Conversation]:
    """Return an app's conversations, newest first; ``before`` is the key to go on below."""
    query = select(Conversation).where(Conversation.app_id == app_id).order_by(Conversation.key.desc()).limit(limit)
    if wanted.user_id is not None:
        query = query.where(Conversation.user_id == wanted.user_id)
    if wanted.ended is not None:
        query = query.where(Conversation.ended_at.is_not(None) if wanted.ended else Conversation.ended_at.is_(None))
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
    """Return which of the message ids the conversation already has."""
    query = select(Message).where(Message.conversation_key == conversation_key, Message.message_id.in_(message_ids))
    return {message.message_id: message for message in session.scalars(query)}


def lock_snoozed_until(session: Session, at: datetime) -> Sequence[int]:
    """Return the keys of conversations whose snooze ends by ``at``, locked; those in other hands come later."""
    query = select(Conversation.key).where(Conversation.snoozed_until <= at)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def lock_all(session: Session, app_id: str) -> Sequence[int]:
    """Return the keys of an app's conversations, locked until the transaction ends: nothing is said in them now."""
    query = select(Conversation.key).where(Conversation.app_id == app_id).order_by(Conversation.key)
    return session.scalars(query.with_for_update()).all()


def has_snoozed_until(session: Session, at: datetime) -> bool:
    """Whether the snooze of any conversation ends by ``at``."""
    return session.scalar(select(Conversation.key).where(Conversation.snoozed_until <= at).limit(1)) is not None


def count_conversations(session: Session, app_id: str | None = None) -> tuple[int, int]:
    """Return how many conversations are open and how many have ended, of one app or of all."""
    query = select(func.count(), func.count(Conversation.ended_at))
    if app_id is not None:
        query = query.where(Conversation.app_id == app_id)
    everything, ended = session.execute(query.select_from(Conversation)).one()
    return everything - ended, ended


def _by_id(app_id: str, conversation_id: str) -> Select[Conversation]:
    return select(Conversation).where(Conversation.app_id == app_id, Conversation.conversation_id == conversation_id)


def _found(conversation: Conversation | None, app_id: str, conversation_id: str) -> Conversation:
    if conversation is None:
        raise NotFound(
            f"App {app_id} has no conversation {conversation_id}; open it with POST /apps/{app_id}/conversations.",
            details={"appId": app_id, "conversationId": conversation_id},
        )
    return conversation
