"""Reads and writes of summaries, always of one conversation or of one app.

What is summarised when is left to ``shared.conversations.summarising``, what it says to the agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, or_, select, update
from sqlalchemy.orm import Session

from shared.conversations.models import Conversation
from shared.db.counting import count, rows_changed
from shared.ids import new_id
from shared.llm.tokens import estimate_tokens
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


def summaries_to_embed(session: Session, app_id: str, model: str, limit: int) -> dict[int, str]:
    """Return the texts of an app's summaries that have no vector by a model, by their keys, newest first."""
    lacks = or_(Summary.vector_model.is_(None), Summary.vector_model != model)
    query = select(Summary.key, Summary.content).where(Summary.app_id == app_id, lacks)
    rows = session.execute(query.order_by(Summary.key.desc()).limit(limit))
    return {key: content for key, content in rows}  # noqa: C416 - dict() takes a result for a mapping


def count_of_app(session: Session, app_id: str, conversations: Select[int] | None = None) -> int:
    """Return how many summaries an app has, or some of its conversations."""
    query = select(func.count()).select_from(Summary).where(Summary.app_id == app_id)
    return count(session, query if conversations is None else query.where(Summary.conversation_key.in_(conversations)))


@dataclass(frozen=True)
class NewSummary:
    """What was made of a part of a conversation, from one position to another, both included."""

    content: str
    agent: str
    from_position: int
    to_position: int
    vector: bytes | None = None
    vector_model: str | None = None
    job_id: str | None = None


def insert_summary(session: Session, conversation: Conversation, new: NewSummary, now: datetime) -> Summary:
    """Keep a summary of a locked conversation."""
    summary = Summary(
        summary_id=new_id("sum", now),
        app_id=conversation.app_id,
        conversation_key=conversation.key,
        conversation_id=conversation.conversation_id,
        content=new.content,
        agent=new.agent,
        from_position=new.from_position,
        to_position=new.to_position,
        tokens=estimate_tokens(new.content),
        vector=new.vector,
        vector_model=new.vector_model,
        job_id=new.job_id,
        created_at=now,
    )
    session.add(summary)
    session.flush()
    return summary


def update_summary_vectors(session: Session, vectors: Mapping[int, bytes], model: str) -> None:
    """Give summaries their vectors; those that are gone by now stay gone."""
    for key, vector in vectors.items():
        session.execute(update(Summary).where(Summary.key == key).values(vector=vector, vector_model=model))


def forget_all(session: Session, app_id: str, conversations: Select[int] | None = None) -> dict[str, int]:
    """Remove all summaries of a locked app, or of some of its conversations.

    How far the conversations were summarised stays, so none comes back.
    """
    gone = delete(Summary).where(Summary.app_id == app_id)
    gone = gone if conversations is None else gone.where(Summary.conversation_key.in_(conversations))
    return {"summaries": rows_changed(session, gone)}


def left_of_app(session: Session, app_id: str, conversations: Select[int] | None = None) -> dict[str, int]:
    """Count what is left of the summaries of an app, or of some of its conversations."""
    return {"summaries": count_of_app(session, app_id, conversations)}
