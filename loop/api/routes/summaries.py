"""Summaries of conversations: listed, and asked for."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.dependencies import AppInPath, ConversationInPath, CursorInQuery, Desk, LimitInQuery, Reads, Writes
from loop.api.schemas.jobs import JobAnswer, JobAsked
from loop.api.schemas.summaries import SummaryItem, SummaryList
from loop.api.writes import Done
from shared.apps.queries import lock_app
from shared.contracts.jobs import JobKind
from shared.conversations import summarising
from shared.conversations.models import Conversation
from shared.conversations.queries import get_conversation, lock_conversation
from shared.errors import Conflict
from shared.outbox.models import Job
from shared.outbox.queries import get_open
from shared.summaries.queries import of_conversation

router = APIRouter(prefix="/apps/{appId}/conversations/{conversationId}/summaries", tags=["Summaries"])
_SUMMARIES = "summaries"


@router.get("", response_model=SummaryList, summary="List summaries")
def list_summaries(
    desk: Reads,
    app_id: AppInPath,
    conversation_id: ConversationInPath,
    limit: LimitInQuery = 50,
    cursor: CursorInQuery = None,
) -> SummaryList:
    """List a conversation's summaries, newest first. Costs no energy."""
    before = cursors.decode_number(_SUMMARIES, cursor)
    with desk.read() as session:
        conversation = get_conversation(session, app_id, conversation_id)
        rows, more = cursors.page(of_conversation(session, conversation.key, limit + 1, before), limit)
        return SummaryList(
            conversation_id=conversation_id,
            summaries=[SummaryItem.of(one) for one in rows],
            summarised=conversation.summarised,
            turns_since_summary=conversation.turns_since_summary,
            cursor=cursors.encode(_SUMMARIES, rows[-1].key) if more else None,
        )


@router.post("", status_code=202, response_model=JobAsked, summary="Summarise now")
def make_summary(desk: Writes, app_id: AppInPath, conversation_id: ConversationInPath) -> Response:
    """Ask for a summary of what was said since the last; while one is under way, answer its job."""

    def work(session: Session) -> Done:
        epoch = lock_app(session, app_id).purge_epoch
        conversation = lock_conversation(session, app_id, conversation_id)
        job = get_open(session, conversation.key, JobKind.SUMMARISE) or _ask(desk, session, conversation, epoch)
        expected = desk.loop.regulator.expected(session, job)
        asked = JobAsked(conversation_id=conversation_id, job=JobAnswer.of(job, expected))
        return Done(asked, 202, about=app_id, then=desk.loop.ticker.wake)

    return desk.write(work)


def _ask(desk: Desk, session: Session, conversation: Conversation, epoch: int) -> Job:
    job = summarising.ask(session, conversation, epoch, desk.now(), desk.loop.settings.job_max_attempts)
    if job is None:
        raise Conflict(
            f"Nothing was said in conversation {conversation.conversation_id} since it was last summarised.",
            code="nothing_new",
        )
    return job
