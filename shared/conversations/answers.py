"""What the loop may think about, and what becomes of an answer it thought out: sent at once, or kept until approved.

One message is answered at most once: an answer names the message it answers, and is dropped when that is no longer the
last one. ``focus_since`` follows from everything else a conversation holds; whoever changes that has it computed anew,
so that the oldest is one look into an index. The caller has locked the conversation in every function that writes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from shared.apps.queries import answered_by_loop
from shared.base.errors import Conflict, Operation
from shared.base.ids import new_id
from shared.base.setting_groups import FactSettings
from shared.base.settings import Tuning
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
    # One that was sent without anybody's approval is refused below: it never waited for any.
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
    # Its text is the message's now, and goes with that when it is erased.
    answer.state, answer.content, answer.message_id = AnswerState.SENT, None, answer.answer_id
    session.flush()
    # Flushed before, as the index names messages by their keys.
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


MOST_REJECTIONS = 3
"""Rejected in a row for the same message; then the loop waits until something new is said."""


def refresh(
    session: Session, conversation: Conversation, by_loop: bool, now: datetime, *, is_new: bool = False
) -> None:
    """Reckon anew since when a locked conversation waits for the loop; ``by_loop``: its app lets the loop answer.

    ``is_new``: its last message was added in this transaction, so nobody can have drafted an answer to it.
    """
    hidden = (conversation.snoozed_until, conversation.think_after)
    waits = by_loop and conversation.ended_at is None and not any(until is not None and until > now for until in hidden)
    if waits and not is_new:
        # Its last message needs no further draft where one is to be approved, or too many were rejected.
        states = queries.states_of_answers(session, conversation.key, conversation.message_count - 1)
        waits = AnswerState.PENDING not in states and states.count(AnswerState.REJECTED) < MOST_REJECTIONS
    conversation.focus_since = conversation.unanswered_since if waits else None


def refresh_all(session: Session, conversations: Iterable[Conversation], now: datetime) -> None:
    """Reckon several locked conversations anew, of whatever apps."""
    found = list(conversations)
    by_loop = answered_by_loop(session, {one.app_id for one in found}) if found else ()
    for one in found:
        refresh(session, one, one.app_id in by_loop, now)


def hide_all(session: Session, app_id: str) -> None:
    """Have none of an app's conversations thought about any more; the caller has locked the app."""
    waits = or_(Conversation.focus_since.is_not(None), Conversation.think_after.is_not(None))
    hidden = update(Conversation).where(Conversation.app_id == app_id, waits)
    session.execute(hidden.values(focus_since=None, think_after=None))


def show_all(session: Session, app_id: str) -> None:
    """Have an app's unanswered conversations thought about from now on; the caller has locked the app."""
    waiting = (
        Conversation.app_id == app_id,
        Conversation.unanswered_since.is_not(None),
        Conversation.ended_at.is_(None),
        # Those that are hidden until later are shown by `wake` once that has come.
        Conversation.snoozed_until.is_(None),
        Conversation.think_after.is_(None),
        ~queries.is_settled(MOST_REJECTIONS),
    )
    shown = update(Conversation).where(*waiting).values(focus_since=Conversation.unanswered_since)
    session.execute(shown, execution_options={"synchronize_session": False})


def look_again(session: Session, app_id: str) -> None:
    """Forget that an app's conversations were put off, as when its budget was changed; the caller has locked the app,
    and shows them anew."""
    mine = (Conversation.app_id == app_id, Conversation.think_after.is_not(None))
    anew = update(Conversation).where(*mine).values(think_after=None, think_attempts=0)
    session.execute(anew, execution_options={"synchronize_session": False})


def postpone(conversation: Conversation, until: datetime, failed: bool) -> None:
    """Have the loop leave a locked conversation alone until then; ``failed``: because a turn brought nothing."""
    conversation.think_after, conversation.focus_since = until, None
    if failed:
        conversation.think_attempts += 1
