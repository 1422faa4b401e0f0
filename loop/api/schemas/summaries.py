"""Summaries of a conversation."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from loop.api.schemas.wire import Answer
from shared.summaries.models import Summary


class SummaryItem(Answer):
    """Bullets over a part of a conversation."""

    summary_id: str
    content: str = Field(examples=["- We use SQLite\n- Backups are still open"])
    tokens: int
    agent: str = Field(description="Who wrote it: `extractive`, or the model.")
    from_position: int = Field(description="The first message it covers, counted from 0.")
    to_position: int = Field(description="The last message it covers.")
    embedded: bool = Field(description="Whether it has its vector yet.")
    created_at: datetime

    @classmethod
    def of(cls, summary: Summary) -> SummaryItem:
        """Return a summary as it goes over the wire."""
        return cls(
            summary_id=summary.summary_id,
            content=summary.content,
            tokens=summary.tokens,
            agent=summary.agent,
            from_position=summary.from_position,
            to_position=summary.to_position,
            embedded=summary.vector is not None,
            created_at=summary.created_at,
        )


class SummaryList(Answer):
    """A conversation's summaries, newest first."""

    conversation_id: str
    summaries: list[SummaryItem]
    summarised: int = Field(description="How many messages from the beginning they cover.")
    turns_since_summary: int = Field(description="Messages of the assistant since the last one.")
    cursor: str | None
