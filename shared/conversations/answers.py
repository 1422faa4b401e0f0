"""What becomes of an answer the loop thought out: sent at once, or kept until a person approves it.

One message is answered at most once, however often it was thought about: an answer names the message it answers, and
is dropped when that is no longer the last one. The caller has locked the conversation in every function here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.base.errors import Conflict, Operation
from shared.base.ids import new_id
from shared.base.search_settings import Tuning
from shared.base.setting_groups import FactSettings
from shared.contracts.values import EventKind
from shared.conversations import queries, summarising
from shared.conversations.extraction import FACTS_OFF, plan
from shared.conversations.models import Answer, AnswerState, Conversation, Message
from shared.events.recording import record
from shared.search.index import index_messages

ASSISTANT = "assistant"


class Stale(Conflict):
    """Something was said, or the conversation ended, after what this was thought of."""

    code = "stale"


class Duplicate(Conflict):
    """The message has an answer already."""

    code = "duplicate"


@dataclass(frozen=True)
class AnswerDraft:
    """An answer, what it answers, and who thought it out."""

    text: str
    position: int
    """Of the last message that was seen."""
    model: str


def check_unchanged(session: Session, conversation: Conversation, position: int) -> None:
    """Raises: Stale, Duplicate, when what was thought of at ``position`` may not be carried out any more."""
    states = queries.states_of_answers(session, conversation.key, position)
    if AnswerState.PENDING in states or AnswerState.SENT in states:
        raise Duplicate("The last message has an answer already; this one is dropped.")
    if conversation.ended_at is not None or conversation.message_count - 1 != position:
        raise Stale("Something was said, or the conversation ended, meanwhile; this is dropped.")


def give(
    session: Session,
    conversation: Conversation,
    thought: AnswerDraft,
    approves: bool,
    now: datetime,
    fact_settings: FactSettings = FACTS_OFF,
    tuning: Tuning | None = None,
) -> Answer:
    """Answer a conversation; ``approves``: a person approves answers first. Raises: Stale, Duplicate."""
    check_unchanged(session, conversation, thought.position)
    answer = Answer(
        answer_id=new_id("ans", now),
        app_id=conversation.app_id,
        conversation_key=conversation.key,
        conversation_id=conversation.conversation_id,
        answers_position=thought.position,
        state=AnswerState.PENDING,
        content=thought.text,
        model=thought.model,
        created_at=now,
    )
    session.add(answer)
    conversation.think_after, conversation.think_attempts = None, 0
    if approves:
        conversation.focus_since = None
        _record_event(session, EventKind.ANSWER_PENDING, answer, answer.answer_id, now)
    else:
        _send(session, conversation, answer, now, fact_settings, tuning)
    session.flush()
    return answer


def approve(
    session: Session,
    conversation: Conversation,
    answer: Answer,
    content: str | None,
    actor: str,
    now: datetime,
    fact_settings: FactSettings = FACTS_OFF,
    tuning: Tuning | None = None,
) -> Answer:
    """Send a pending answer, in other words where ``content`` is given; again, do nothing. Raises: Conflict."""
    if answer.state == AnswerState.SENT and answer.decided_by is not None:
        return answer
    _refuse_decided(answer, "approved")
    answer.content = answer.content if content is None else content
    answer.decided_by, answer.decided_at = actor, now
    _send(session, conversation, answer, now, fact_settings, tuning)
    session.flush()
    return answer


def reject(session: Session, answer: Answer, reason: str | None, actor: str, now: datetime) -> Answer:
    """Refuse a pending answer; again, do nothing. The caller reckons the focus anew. Raises: Conflict."""
    if answer.state == AnswerState.REJECTED:
        return answer
    _refuse_decided(answer, "rejected")
    answer.state, answer.content, answer.reason = AnswerState.REJECTED, None, reason
    answer.decided_by, answer.decided_at = actor, now
    _record_event(session, EventKind.ANSWER_REJECTED, answer, answer.answer_id, now)
    session.flush()
    return answer


def supersede(session: Session, conversation: Conversation, now: datetime) -> None:
    """Withdraw the answer that waits for approval: what it answers is no longer the last word."""
    # Looked for first: hardly ever is there one, and an update through the session costs as much as storing a message.
    if not queries.has_pending_answer(session, conversation.key):
        return
    waiting = (Answer.conversation_key == conversation.key, Answer.state == AnswerState.PENDING)
    gone = {"state": AnswerState.SUPERSEDED, "content": None, "decided_at": now}
    session.execute(update(Answer).where(*waiting).values(gone), execution_options={"synchronize_session": "fetch"})


def supersede_all(session: Session, app_id: str, now: datetime, user_id: str | None = None) -> int:
    """Withdraw every answer of a locked app, or to one of its users, that waits for approval; return how many."""
    mine = Answer.conversation_key.in_(queries.keys_of(app_id, user_id))
    waiting = (Answer.app_id == app_id, Answer.state == AnswerState.PENDING, mine)
    gone = {"state": AnswerState.SUPERSEDED, "content": None, "decided_at": now}
    statement = update(Answer).where(*waiting).values(gone)
    done = session.execute(statement, execution_options={"synchronize_session": "fetch"})
    return int(done.rowcount)  # type: ignore[attr-defined]


def _send(
    session: Session,
    conversation: Conversation,
    answer: Answer,
    now: datetime,
    fact_settings: FactSettings,
    tuning: Tuning | None,
) -> None:
    message = Message(
        conversation_key=conversation.key,
        app_id=conversation.app_id,
        position=conversation.message_count,
        message_id=answer.answer_id,
        role=ASSISTANT,
        content=answer.content or "",
        created_at=now,
    )
    session.add(message)
    answer.state, answer.content, answer.message_id = AnswerState.SENT, None, answer.answer_id
    session.flush()
    index_messages(session, message.app_id, [message])
    conversation.message_count += 1
    conversation.updated_at = now
    conversation.unanswered_since = conversation.focus_since = conversation.woken_at = None
    plan(conversation, fact_settings, now)
    summarising.count(session, conversation, 1, tuning, now)
    _record_event(session, EventKind.ANSWER_SENT, answer, answer.message_id, now)


def _record_event(session: Session, kind: EventKind, answer: Answer, subject: str | None, now: datetime) -> None:
    record(session, kind, answer.app_id, now, conversation_id=answer.conversation_id, subject=subject)


def _refuse_decided(answer: Answer, what: str) -> None:
    if answer.state == AnswerState.PENDING:
        return
    why = {
        AnswerState.SENT: "it has been sent already",
        AnswerState.REJECTED: "it was rejected; the loop thinks about the conversation again",
        AnswerState.SUPERSEDED: "something was said or erased, or the conversation ended, after it was drafted; "
        "{operation} lists those that wait",
    }[AnswerState(answer.state)]
    waiting = Operation("listAnswers", {"state": "pending"}) if answer.state == AnswerState.SUPERSEDED else None
    message = f"Answer {answer.answer_id} cannot be {what}: {why}."
    raise Conflict(message, code=f"answer_{answer.state}", operation=waiting)
