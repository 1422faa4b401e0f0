"""Reads of how retrievals went, and of how much there is to retrieve."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.contracts.jobs import JobKind
from shared.conversations.models import Conversation, Message
from shared.db.counting import count
from shared.indexing import word_index
from shared.indexing.models import MessageVector, Passage, VectorSet
from shared.outbox.models import Job, JobState
from shared.retrieval.figures import Row
from shared.retrieval.models import Retrieval
from shared.summaries.models import Summary

MOST_ROWS = 50_000
"""Figures are reckoned over the latest so many."""


@dataclass(frozen=True)
class Stock:
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


def retrievals_since(session: Session, since: datetime, app_id: str | None) -> list[Row]:
    """Return how retrievals went since a time, the latest ``MOST_ROWS``, oldest first."""
    one = Retrieval
    query = select(
        one.at, one.asker, one.results, one.top_score, one.sources, one.durations, one.flags, one.tokens_used,
        one.token_budget, one.top_similarities,
    ).where(one.at >= since, _of(one.app_id, app_id))  # fmt: skip
    rows = session.execute(query.order_by(one.at.desc()).limit(MOST_ROWS))
    return [Row(*row) for row in rows][::-1]


def keys_before(session: Session, at: datetime, limit: int) -> list[int]:
    """Return the keys of retrievals of before a time, the oldest first."""
    return list(session.scalars(select(Retrieval.key).where(Retrieval.at < at).order_by(Retrieval.at).limit(limit)))


def summaries_since(session: Session, since: datetime, app_id: str | None) -> tuple[int, int]:
    """Return how many summaries were asked for since a time and came to an end, and how many of them as they should."""
    ended = (Job.kind == JobKind.SUMMARISE, Job.finished_at >= since, _of(Job.app_id, app_id))
    query = select(func.count()).select_from(Job).where(*ended, Job.state != JobState.CANCELLED)
    return count(session, query), count(session, query.where(Job.state.in_((JobState.DONE, JobState.NOTHING))))


def stock(session: Session, app_id: str | None) -> Stock:
    """Return how much there is of one app, or of all; looks at each row."""
    vectors = select(func.count(), func.sum(func.length(MessageVector.vector))).join(
        VectorSet, VectorSet.key == MessageVector.set_key
    )
    vector_count, vector_bytes = session.execute(vectors.where(_of(VectorSet.app_id, app_id))).one()
    said = select(func.count(), func.sum(func.length(Message.content))).where(_of(Message.app_id, app_id))
    messages, message_bytes = session.execute(said).one()
    return Stock(
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
