"""Deleting single facts: taken back for a while, then gone for good with the text of their history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.errors import Conflict, NotFound
from shared.facts import queries
from shared.facts.clearing import refuse_while_clearing
from shared.facts.history import Texts, empty, record
from shared.facts.models import SLOTS, Fact, FactChangeKind, FactState
from shared.facts.placing import free_pins, free_slots, remove_rows, subject_in_words, touch

RULE_UNDO_OVER = "rule:undo_over"
"""Makes a deletion final; who asked for it stands in the fact's history."""


def delete(session: Session, fact: Fact, cause: Cause, seconds: float) -> datetime:
    """Delete a standing fact of a locked app; return until when it can be taken back."""
    record(session, fact, FactChangeKind.DELETED, cause, Texts(before=fact.statement))
    until = cause.at + timedelta(seconds=seconds)
    fact.was_pinned = fact.pin_slot is not None
    fact.state, fact.slot, fact.pin_slot, fact.undo_until = FactState.DELETED, None, None, until
    touch(fact, cause.at)
    session.flush()
    return until


def undo(session: Session, app_id: str, fact_id: int, cause: Cause) -> Fact:
    """Take back the deletion of a fact in a locked app; its pin too, if a place is free. Raises: NotFound, Conflict."""
    fact = _deleted(session, app_id, fact_id, cause.at)
    refuse_while_clearing(session, fact.subject)
    slot = _free_place(session, fact)
    pin = next(iter(free_pins(session, fact.subject)), None) if fact.was_pinned else None
    fact.state, fact.slot, fact.pin_slot, fact.undo_until, fact.was_pinned = FactState.STANDING, slot, pin, None, False
    touch(fact, cause.at)
    record(session, fact, FactChangeKind.UNDONE, cause, Texts(after=fact.statement))
    return fact


def finish(session: Session, deleted: Sequence[Fact]) -> tuple[dict[str, int], list[int]]:
    """Make deletions in a locked app final, with what those facts had replaced; return how much went, and which facts.

    The text of their history goes too.
    """
    going = [one for fact in deleted for one in (fact, *queries.chain_beneath(session, fact))]
    changes = 0
    for one in going:
        history = queries.history_of(session, one.fact_id)
        changes += len(history)
        empty(history)
    remove_rows(session, going)
    session.flush()
    return {"facts": len(going), "factHistory": changes}, [one.fact_id for one in going]


def _deleted(session: Session, app_id: str, fact_id: int, now: datetime) -> Fact:
    try:
        fact = queries.get_fact(session, app_id, fact_id)
    except NotFound:
        if queries.history_in_app(session, app_id, fact_id):
            _refuse_late(fact_id)
        raise
    if fact.state != FactState.DELETED:
        raise Conflict(f"Fact {fact_id} was not deleted; it is {fact.state}.", code="not_deleted")
    if fact.undo_until is None or fact.undo_until <= now:
        _refuse_late(fact_id)
    return fact


def _refuse_late(fact_id: int) -> NoReturn:
    raise Conflict(f"Fact {fact_id} can no longer be brought back; write it anew.", code="undo_over")


def _free_place(session: Session, fact: Fact) -> int:
    other = queries.fact_saying(session, fact.app_id, fact.said_key)
    if other is not None:
        raise Conflict(
            f"Fact {other.fact_id} says the same by now; there is nothing to bring back.",
            code="already_known",
            details={"factId": other.fact_id},
        )
    free = free_slots(session, fact.subject)
    if not free:
        raise Conflict(
            f"{subject_in_words(fact.subject)} has {SLOTS} facts, which is the most; delete one first.",
            code="no_room",
            details={"limit": SLOTS},
        )
    return free[0]
