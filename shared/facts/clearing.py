"""Clearing all facts of an app: taken back for some seconds, then an erasure.

While a clear is open no fact of the app stands and none is written, so taking it back finds every place free. Making
it final, with its receipt, is left to ``shared.erasure``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.conversations.models import Conversation
from shared.errors import Conflict
from shared.facts import queries
from shared.facts.forgetting import forget_all
from shared.facts.history import Texts, record
from shared.facts.models import Fact, FactChangeKind, FactClear, FactState
from shared.facts.placing import lie_beneath, touch
from shared.ids import new_id


def open_clear(session: Session, app_id: str) -> FactClear | None:
    """Return the clear-all of an app that can still be taken back, or is yet to become final."""
    return queries.open_clear(session, app_id)


def refuse_while_clearing(session: Session, app_id: str) -> None:
    """Raises: Conflict, while the facts of an app are being cleared."""
    clear = queries.open_clear(session, app_id)
    if clear is not None:
        raise Conflict(
            f"The facts of app {app_id} are being cleared; take that back with POST /apps/{app_id}/facts/undo, "
            f"or wait until it is final.",
            code="clear_open",
            details={"clearId": clear.clear_id, "undoUntil": clear.undo_until.isoformat()},
        )


def clear_all(session: Session, app_id: str, cause: Cause, seconds: float) -> FactClear:
    """Delete all facts of a locked app that has no open clear; they can be taken back for so many seconds."""
    standing = queries.facts_in(session, app_id, (FactState.STANDING,))
    clear = FactClear(
        clear_id=new_id("clr", cause.at),
        app_id=app_id,
        actor=cause.actor,
        count=len(standing),
        last_message_key=queries.last_message_key(session, app_id),
        at=cause.at,
        undo_until=cause.at + timedelta(seconds=seconds),
    )
    session.add(clear)
    session.flush()
    for fact in standing:
        record(session, fact, FactChangeKind.DELETED, cause, Texts(before=fact.statement))
    for fact in queries.facts_in(session, app_id, (FactState.STANDING, FactState.REPLACED)):
        _take_out(fact, clear)
    session.flush()
    return clear


def undo_clear(session: Session, app_id: str, cause: Cause) -> int:
    """Take back the clear of a locked app: all is as it was; return how many facts stand again. Raises: Conflict."""
    clear = queries.open_clear(session, app_id)
    if clear is None or clear.undo_until <= cause.at:
        raise Conflict(
            f"No clearing of app {app_id}'s facts can be taken back: there was none, or its time is over. "
            "Facts that were exported can be imported again.",
            code="undo_over",
        )
    back = [fact for fact in queries.cleared_by(session, clear.clear_id) if not _stays_beneath(session, fact)]
    pins = iter(range(1, len(back) + 1))
    standing: dict[str, Fact] = {}
    for slot, fact in enumerate(back, 1):
        pin = next(pins) if fact.was_pinned else None
        other = standing.setdefault(fact.said_key, fact)
        if other is not fact:
            # A conversation was erased meanwhile, and in the words that remain it says what that one says.
            _put_beneath(session, fact, other, pin, cause)
            continue
        _put_back(fact, slot, pin, cause.at)
        record(session, fact, FactChangeKind.UNDONE, cause, Texts(after=fact.statement))
    clear.settled_at = cause.at
    session.flush()
    return len(standing)


def make_final(session: Session, clear: FactClear, now: datetime) -> dict[str, int]:
    """Erase what a clear deleted, and let nothing said before it become a fact; return how much of what.

    The app is locked, and so are its conversations.
    """
    erased = forget_all(session, clear.app_id)
    _see_all(session, clear)
    clear.settled_at = now
    session.flush()
    return erased


def _take_out(fact: Fact, clear: FactClear) -> None:
    fact.was_pinned = fact.pin_slot is not None
    fact.state, fact.slot, fact.pin_slot = FactState.DELETED, None, None
    fact.clear_id, fact.undo_until = clear.clear_id, clear.undo_until


def _stays_beneath(session: Session, fact: Fact) -> bool:
    """Whether a fact had been replaced when it was cleared; then it is so again."""
    if queries.fact_above(session, fact) is None:
        return False
    fact.state, fact.clear_id, fact.undo_until = FactState.REPLACED, None, None
    session.flush()
    return True


def _put_back(fact: Fact, slot: int, pin: int | None, at: datetime) -> None:
    fact.state, fact.slot, fact.pin_slot = FactState.STANDING, slot, pin
    fact.clear_id, fact.undo_until, fact.was_pinned = None, None, False
    touch(fact, at)


def _put_beneath(session: Session, fact: Fact, other: Fact, pin: int | None, cause: Cause) -> None:
    fact.state, fact.clear_id, fact.undo_until, fact.was_pinned = FactState.REPLACED, None, None, False
    lie_beneath(session, fact, other, pin)
    record(session, fact, FactChangeKind.REPLACED, cause, Texts(before=fact.statement), other.fact_id)


def _see_all(session: Session, clear: FactClear) -> None:
    """Move the pointers of the app's conversations up to what was said when it was cleared."""
    seen = queries.said_until(clear.last_message_key)
    mine = Conversation.app_id == clear.app_id
    session.execute(update(Conversation).where(mine, Conversation.facts_seen < seen).values(facts_seen=seen))
    all_seen = Conversation.facts_seen >= Conversation.message_count
    session.execute(update(Conversation).where(mine, all_seen).values(facts_due_at=None))
