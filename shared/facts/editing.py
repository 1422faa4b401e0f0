"""Facts by a person's hand: written, changed, moved, pinned, deleted and brought back. Needs no model and no vector.

A deletion can be taken back for a while; then the fact is gone for good, with the text of its history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.choices import Category, FactState
from shared.base.errors import Conflict, NotFound
from shared.base.subjects import NOBODY, Subject
from shared.facts import queries
from shared.facts.changes import (
    FactTexts,
    Mention,
    empty,
    free_pin,
    free_pins,
    free_slots,
    record,
    remove_rows,
    subject_in_words,
    touch,
)
from shared.facts.clearing import prune, refuse_while_clearing
from shared.facts.models import SLOTS, Fact, FactChangeKind, category_of, said_key
from shared.facts.writing import FactLearning, take_in
from shared.text.gate import refuse_secret

MAX_CHARS = 500
"""The longest fact that can be written by hand."""
_NO_VECTORS = 1.0


@dataclass(frozen=True)
class FactDraft:
    """A fact as a person writes it."""

    statement: str
    category: Category | None = None
    """None: found by its words."""
    pinned: bool = False
    user_id: str = NOBODY
    said_at: datetime | None = None
    """None: now."""


@dataclass(frozen=True)
class FactWriteResult:
    """What became of it."""

    fact_id: int
    merged: bool
    """Whether a fact that stood already says it."""
    learned: FactLearning


@dataclass(frozen=True)
class FactEdit:
    """A change by hand; None leaves a part as it is."""

    statement: str | None = None
    category: Category | None = None
    pinned: bool | None = None


def write(session: Session, app_id: str, written: FactDraft, cause: Cause) -> FactWriteResult:
    """Write a fact into a locked app; one that stands already is said again. Raises: Conflict, Invalid for a secret."""
    refuse_secret(written.statement, "fact: it")
    subject = Subject(app_id, written.user_id)
    refuse_while_clearing(session, subject)
    result = FactLearning()
    category = written.category or category_of(written.statement)
    said_at = written.said_at or cause.at
    said = Mention(written.statement, category, cause.actor, cause.at, said_at, written.user_id)
    fact = queries.get_standing(session, app_id, take_in(session, app_id, said, cause, _NO_VECTORS, result))
    if written.category is not None:
        move(session, fact, written.category, cause)
    if written.pinned:
        pin(session, fact, cause)
    result.evicted += prune(session, subject, cause)
    return FactWriteResult(fact.fact_id, fact.fact_id not in result.learned, result)


def edit(session: Session, fact: Fact, wanted: FactEdit, cause: Cause) -> None:
    """Change a fact that stands in a locked app. Raises: Conflict, Invalid for a secret."""
    if wanted.statement is not None and wanted.statement != fact.statement:
        refuse_secret(wanted.statement, "fact: it")
        key = said_key(fact.user_id, wanted.statement)
        other = queries.fact_saying(session, fact.app_id, key)
        if other is not None and other is not fact:
            raise Conflict(
                f"Fact {other.fact_id} says this already; change or delete that one.",
                code="already_known",
                details={"factId": other.fact_id},
            )
        record(session, fact, FactChangeKind.EDITED, cause, FactTexts(fact.statement, wanted.statement))
        fact.statement, fact.said_key, fact.agent = wanted.statement, key, cause.actor
        fact.vector = fact.vector_model = None
        own = queries.source_in(session, fact.fact_id, None)
        if own is not None:
            own.statement, own.agent = wanted.statement, cause.actor
        touch(fact, cause.at)
        session.flush()
    if wanted.category is not None:
        move(session, fact, wanted.category, cause)
    if wanted.pinned is not None:
        (pin if wanted.pinned else unpin)(session, fact, cause)


def move(session: Session, fact: Fact, category: Category, cause: Cause) -> None:
    """Put a fact into a category; where it is there already, nothing happens."""
    if fact.category != category:
        why = cause.by(cause.actor, f"moved from {fact.category} to {category}")
        fact.category = category
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.MOVED, why)


def pin(session: Session, fact: Fact, cause: Cause) -> None:
    """Exempt a fact from eviction and expiry; pinning twice changes nothing. Raises: Conflict when ten are pinned."""
    if fact.pin_slot is None:
        fact.pin_slot = free_pin(session, fact.subject)
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.PINNED, cause)


def unpin(session: Session, fact: Fact, cause: Cause) -> None:
    """Let a fact be evicted and expire again; one that is not pinned stays as it is."""
    if fact.pin_slot is not None:
        fact.pin_slot = None
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.UNPINNED, cause)


RULE_UNDO_OVER = "rule:undo_over"
"""Makes a deletion final; who asked for it stands in the fact's history."""


def delete(session: Session, fact: Fact, cause: Cause, seconds: float) -> datetime:
    """Delete a standing fact of a locked app; return until when it can be taken back."""
    record(session, fact, FactChangeKind.DELETED, cause, FactTexts(before=fact.statement))
    until = cause.at + timedelta(seconds=seconds)
    fact.was_pinned = fact.pin_slot is not None
    fact.state, fact.slot, fact.pin_slot, fact.undo_until = FactState.DELETED, None, None, until
    touch(fact, cause.at)
    session.flush()
    return until


def undo(session: Session, app_id: str, fact_id: int, cause: Cause) -> Fact:
    """Take back the deletion of a fact in a locked app; its pin too, if a place is free.

    Raises: NotFound, Conflict, Invalid for a secret.
    """
    try:
        fact = queries.get_fact(session, app_id, fact_id)
    except NotFound:
        if queries.history_in_app(session, app_id, fact_id):
            _refuse_late(fact_id)
        raise
    if fact.state != FactState.DELETED:
        raise Conflict(f"Fact {fact_id} was not deleted; it is {fact.state}.", code="not_deleted")
    if fact.undo_until is None or fact.undo_until <= cause.at:
        _refuse_late(fact_id)
    refuse_secret(fact.statement, f"Fact {fact_id}")
    refuse_while_clearing(session, fact.subject)
    slot = _free_place(session, fact)
    pin = next(iter(free_pins(session, fact.subject)), None) if fact.was_pinned else None
    fact.state, fact.slot, fact.pin_slot, fact.undo_until, fact.was_pinned = FactState.STANDING, slot, pin, None, False
    touch(fact, cause.at)
    record(session, fact, FactChangeKind.UNDONE, cause, FactTexts(after=fact.statement))
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
