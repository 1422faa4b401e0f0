"""Answers of the loop, and what people decide about them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from loop.api.schemas.conversations import Reason
from loop.api.schemas.wire import Answer, Body
from shared.conversations import models
from shared.conversations.models import AnswerState


class ApproveAnswer(Body):
    """Sends an answer, in other words where ``content`` is given."""

    content: Annotated[str, Field(min_length=1)] | None = None


class RejectAnswer(Body):
    """Refuses an answer; the loop is told the reason when it thinks again."""

    reason: Reason | None = None


class AnswerAnswer(Answer):
    """An answer the loop thought out."""

    answer_id: str
    app_id: str
    conversation_id: str
    state: AnswerState
    content: str | None = Field(description="While it waits for approval; later its text stands in the message alone.")
    answers_position: int = Field(description="Position of the message it answers.")
    model: str
    message_id: str | None = Field(description="The message it became.")
    reason: str | None = Field(description="Why it was rejected.")
    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None

    @classmethod
    def of(cls, answer: models.Answer) -> AnswerAnswer:
        """Return an answer as it goes over the wire."""
        return cls(
            answer_id=answer.answer_id,
            app_id=answer.app_id,
            conversation_id=answer.conversation_id,
            state=AnswerState(answer.state),
            content=answer.content,
            answers_position=answer.answers_position,
            model=answer.model,
            message_id=answer.message_id,
            reason=answer.reason,
            created_at=answer.created_at,
            decided_at=answer.decided_at,
            decided_by=answer.decided_by,
        )


class AnswerList(Answer):
    """Answers, newest first."""

    answers: list[AnswerAnswer]
    cursor: str | None
