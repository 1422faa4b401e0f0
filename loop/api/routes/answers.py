"""Answers of the loop: listed, approved, rejected."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, PageOf50, Reads, Writes, as_write
from loop.api.errors import TOO_LARGE
from loop.api.policy import OF_APP, under
from loop.api.routes.conversations import Reason
from loop.api.schema import RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.models import AnsweredBy
from shared.apps.queries import get_app, get_installed_app
from shared.base.errors import Limit
from shared.contracts.values import ID_PATTERN
from shared.conversations import answers, queries
from shared.conversations.answers import refresh
from shared.conversations.models import Answer, AnswerState, Conversation
from shared.search.tuning import tuning_of


class ApproveAnswer(RequestModel):
    """Sends an answer, in other words where ``content`` is given."""

    content: Annotated[str, Field(min_length=1)] | None = None


class RejectAnswer(RequestModel):
    """Refuses an answer; the loop is told the reason when it thinks again."""

    reason: Reason | None = None


class AnswerAnswer(ResponseModel):
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


class AnswerList(ResponseModel):
    """Answers, newest first."""

    answers: list[AnswerAnswer]
    cursor: str | None


router = APIRouter(prefix="/apps/{appId}/answers", tags=["Answers"], route_class=under(OF_APP))
AnswerInPath = Annotated[str, Path(alias="answerId", pattern=ID_PATTERN)]


@router.get("", summary="List answers")
def list_answers(ctx: Reads, page: PageOf50, app_id: AppInPath, state: AnswerState | None = None) -> AnswerList:
    """List what the loop answered or would answer in an app, newest first."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered("answers", partial(queries.list_answers, session, app_id, state))
        return AnswerList(answers=[AnswerAnswer.model_validate(one) for one in rows], cursor=following)


@router.post("/{answerId}/approve", response_model=AnswerAnswer, summary="Approve an answer")
def approve_answer(
    ctx: Writes, app_id: AppInPath, answer_id: AnswerInPath, body: ApproveAnswer | None = None
) -> Response:
    """Send an answer that waits, as it is or in other words. Approving it again changes nothing."""
    content = body.content if body is not None else None
    limit = ctx.loop.settings.max_message_chars
    if content is not None and len(content) > limit:
        raise Limit(f"content has {len(content)} characters; the most is {limit}.", code=TOO_LARGE)

    def work(session: Session) -> WriteResult:
        get_installed_app(session, app_id)
        answer, conversation = _locked(session, app_id, answer_id)
        # Before the answer is sent, by which nobody waits any more.
        waited = ctx.now() - (conversation.unanswered_since or ctx.now())
        was_pending = answer.state == AnswerState.PENDING
        answers.approve(
            session,
            conversation,
            answer,
            content,
            ctx.caller.name,
            ctx.now(),
            ctx.loop.settings,
            tuning_of(ctx.loop.settings),
        )

        def count() -> None:
            if was_pending:
                ctx.loop.metrics.answers.labels(AnswerState.SENT).inc()
                ctx.loop.metrics.answer_delay.observe(max(0.0, waited.total_seconds()))

        return WriteResult(AnswerAnswer.model_validate(answer), about=app_id, then=count)

    return ctx.write(work)


@router.post("/{answerId}/reject", response_model=AnswerAnswer, summary="Reject an answer")
@as_write
def reject_answer(
    ctx: Writes, session: Session, app_id: AppInPath, answer_id: AnswerInPath, body: RejectAnswer | None = None
) -> WriteResult:
    """Refuse an answer that waits; the loop thinks again, and after three rejections leaves the message alone."""
    reason = body.reason if body is not None else None
    app = get_installed_app(session, app_id)
    answer, conversation = _locked(session, app_id, answer_id)
    was_pending = answer.state == AnswerState.PENDING
    answers.reject(session, answer, reason, ctx.caller.name, ctx.now())
    refresh(session, conversation, app.answered_by == AnsweredBy.LOOP, ctx.now())

    def count() -> None:
        if was_pending:
            ctx.loop.metrics.answers.labels(AnswerState.REJECTED).inc()

    return WriteResult(AnswerAnswer.model_validate(answer), about=app_id, then=count)


def _locked(session: Session, app_id: str, answer_id: str) -> tuple[Answer, Conversation]:
    """Return an answer as it stands once its conversation is locked, so that two decisions never meet."""
    conversation_id = queries.get_answer(session, app_id, answer_id).conversation_id
    conversation = queries.lock_conversation(session, app_id, conversation_id)
    return queries.get_answer(session, app_id, answer_id), conversation
