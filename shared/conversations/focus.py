"""Which conversations the loop may think about, and since when each of them waits.

``focus_since`` follows from everything else a conversation holds; whoever changes one of those facts has it reckoned
anew, so that the oldest is one look into an index however many conversations are open.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from shared.apps.queries import answered_by_loop
from shared.conversations import queries
from shared.conversations.models import AnswerState, Conversation

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
