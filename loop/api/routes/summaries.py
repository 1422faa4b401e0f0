"""Summaries of conversations: listed, and asked for."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, ConversationInPath, PageOf50, Reads, RequestContext, Writes, as_write
from loop.api.policy import OF_APP, Whose, policy, under
from loop.api.routes.jobs import JobAnswer, RequestedJob
from loop.api.schema import ResponseModel
from loop.api.writes import WriteResult
from shared.apps.queries import lock_app
from shared.base.errors import Conflict
from shared.contracts.jobs import JobKind
from shared.conversations import summarising
from shared.conversations.extraction import refuse_unremembered
from shared.conversations.models import Conversation
from shared.conversations.queries import get_conversation, lock_conversation
from shared.jobs.models import Job
from shared.jobs.queries import get_open
from shared.summaries.queries import of_conversation


class SummaryItem(ResponseModel):
    """Bullets over a part of a conversation."""

    summary_id: str
    content: str = Field(examples=["- We use SQLite\n- Backups are still open"])
    tokens: int
    agent: str = Field(description="Who wrote it: `extractive`, or the model.")
    from_position: int = Field(description="The first message it covers, counted from 0.")
    to_position: int = Field(description="The last message it covers.")
    embedded: bool = Field(description="Whether it has its vector yet.")
    created_at: datetime


class SummaryList(ResponseModel):
    """A conversation's summaries, newest first."""

    conversation_id: str
    summaries: list[SummaryItem]
    summarised: int = Field(description="How many messages from the beginning they cover.")
    turns_since_summary: int = Field(description="Messages of the assistant since the last one.")
    cursor: str | None


router = APIRouter(
    prefix="/apps/{appId}/conversations/{conversationId}/summaries", tags=["Summaries"], route_class=under(OF_APP)
)


@router.get("", summary="List summaries")
@policy(OF_APP, whose=Whose.IN_PATH)
def list_summaries(ctx: Reads, page: PageOf50, app_id: AppInPath, conversation_id: ConversationInPath) -> SummaryList:
    """List a conversation's summaries, newest first. Costs no energy."""
    with ctx.read() as session:
        conversation = get_conversation(session, app_id, conversation_id)
        rows, following = page.numbered("summaries", partial(of_conversation, session, conversation.key))
        return SummaryList(
            conversation_id=conversation_id,
            summaries=[SummaryItem.from_row(one, embedded=one.vector is not None) for one in rows],
            summarised=conversation.summarised,
            turns_since_summary=conversation.turns_since_summary,
            cursor=following,
        )


@router.post("", status_code=202, response_model=RequestedJob, summary="Summarise now")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def make_summary(ctx: Writes, session: Session, app_id: AppInPath, conversation_id: ConversationInPath) -> WriteResult:
    """Ask for a summary of what was said since the last; while one is under way, answer its job."""
    epoch = lock_app(session, app_id).purge_epoch
    conversation = lock_conversation(session, app_id, conversation_id)
    job = get_open(session, conversation.key, JobKind.SUMMARISE) or _enqueue(ctx, session, conversation, epoch)
    requested = RequestedJob(conversation_id=conversation_id, job=JobAnswer.awaited(ctx, session, job))
    return WriteResult(requested, 202, about=app_id, then=ctx.loop.ticker.wake)


def _enqueue(ctx: RequestContext, session: Session, conversation: Conversation, epoch: int) -> Job:
    refuse_unremembered(conversation)
    job = summarising.enqueue_summary(session, conversation, epoch, ctx.now(), ctx.loop.settings.job_max_attempts)
    if job is None:
        raise Conflict(
            f"Nothing was said in conversation {conversation.conversation_id} since it was last summarised.",
            code="nothing_new",
        )
    return job
