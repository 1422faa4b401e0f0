"""Reads of summaries, always of one conversation or of one app."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from shared.db.counting import count
from shared.summaries.models import Summary


def of_conversation(
    session: Session, conversation_key: int, limit: int | None = None, before: int | None = None
) -> Sequence[Summary]:
    """Return a conversation's summaries, newest first; ``before`` is the key to go on below."""
    query = select(Summary).where(Summary.conversation_key == conversation_key).order_by(Summary.key.desc())
    query = query if before is None else query.where(Summary.key < before)
    return session.scalars(query.limit(limit)).all()


def newest(session: Session, conversation_key: int) -> Summary | None:
    """Return a conversation's last summary, or None."""
    return next(iter(of_conversation(session, conversation_key, 1)), None)


def to_embed(session: Session, app_id: str, model: str, limit: int) -> dict[int, str]:
    """Return the texts of an app's summaries that have no vector by a model, by their keys, newest first."""
    lacks = or_(Summary.vector_model.is_(None), Summary.vector_model != model)
    query = select(Summary.key, Summary.content).where(Summary.app_id == app_id, lacks)
    rows = session.execute(query.order_by(Summary.key.desc()).limit(limit))
    return {key: content for key, content in rows}  # noqa: C416 - dict() takes a result for a mapping


def count_of_app(session: Session, app_id: str, conversations: Select[int] | None = None) -> int:
    """Return how many summaries an app has, or some of its conversations."""
    query = select(func.count()).select_from(Summary).where(Summary.app_id == app_id)
    return count(session, query if conversations is None else query.where(Summary.conversation_key.in_(conversations)))


def count_of_conversation(session: Session, conversation_key: int) -> int:
    """Return how many summaries a conversation has."""
    query = select(func.count()).select_from(Summary)
    return count(session, query.where(Summary.conversation_key == conversation_key))
