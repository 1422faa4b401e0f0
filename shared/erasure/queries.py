"""Counts of what an erasure leaves in stores that belong to no single room."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from shared.apps.models import IdempotencyKey
from shared.contracts.jobs import Track
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import count_answers
from shared.db.counting import count
from shared.outbox.models import OPEN, Job


def count_idempotency_keys(session: Session, app_id: str) -> int:
    """Return how many remembered answers hold something of an app."""
    query = select(func.count()).select_from(IdempotencyKey)
    return count(session, query.where(IdempotencyKey.app_id == app_id))


def count_unfinished_jobs(session: Session, app_id: str, tracks: Collection[Track]) -> int:
    """Return how many jobs of an app on some tracks could still write."""
    query = select(func.count()).select_from(Job)
    return count(session, query.where(Job.app_id == app_id, Job.state.in_(OPEN), Job.track.in_(tracks)))


def rows_of_app(session: Session, app_id: str) -> dict[str, int]:
    """Return how many conversations, messages and answers of the loop's an app has."""
    conversations = select(func.count()).select_from(Conversation).where(Conversation.app_id == app_id)
    messages = select(func.count()).select_from(Message).where(Message.app_id == app_id)
    return {
        "conversations": count(session, conversations),
        "messages": count(session, messages),
        "answers": count_answers(session, app_id),
    }


def rows_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Return how many messages and answers of the loop's one conversation has."""
    messages = select(func.count()).select_from(Message).where(Message.conversation_key == conversation_key)
    return {"messages": count(session, messages), "answers": count_answers(session, app_id, conversation_key)}
