"""Facts by a person's hand: written, changed, moved, pinned. Needs no model and no vector."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.errors import Conflict
from shared.facts import queries
from shared.facts.categories import Category
from shared.facts.categorising import category_of
from shared.facts.clearing import refuse_while_clearing
from shared.facts.history import Texts, record
from shared.facts.models import Fact, FactChangeKind
from shared.facts.normalising import said_key
from shared.facts.placing import Said, free_pin, prune, touch
from shared.facts.writing import Learned, Tally, take_in
from shared.subjects import NOBODY, Subject

MAX_CHARS = 500
"""The longest fact that can be written by hand."""
_NO_VECTORS = 1.0


@dataclass(frozen=True)
class Written:
    """A fact as a person writes it."""

    statement: str
    category: Category | None = None
    """None: found by its words."""
    pinned: bool = False
    user_id: str = NOBODY


@dataclass(frozen=True)
class Outcome:
    """What became of it."""

    fact_id: int
    merged: bool
    """Whether a fact that stood already says it."""
    learned: Learned


@dataclass(frozen=True)
class Edit:
    """A change by hand; None leaves a part as it is."""

    statement: str | None = None
    category: Category | None = None
    pinned: bool | None = None


def write(session: Session, app_id: str, written: Written, cause: Cause) -> Outcome:
    """Write a fact into a locked app; one that stands already is said again. Raises: Conflict."""
    subject = Subject(app_id, written.user_id)
    refuse_while_clearing(session, subject)
    tally = Tally()
    category = written.category or category_of(written.statement)
    said = Said(written.statement, category, cause.actor, cause.at, cause.at, written.user_id)
    fact = queries.get_standing(session, app_id, take_in(session, app_id, said, cause, _NO_VECTORS, tally))
    if written.category is not None:
        move(session, fact, written.category, cause)
    if written.pinned:
        pin(session, fact, cause)
    tally.evicted += prune(session, subject, cause)
    return Outcome(fact.fact_id, fact.fact_id not in tally.learned, tally.outcome())


def edit(session: Session, fact: Fact, wanted: Edit, cause: Cause) -> None:
    """Change a fact that stands in a locked app. Raises: Conflict."""
    if wanted.statement is not None and wanted.statement != fact.statement:
        _reword(session, fact, wanted.statement, cause)
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


def _reword(session: Session, fact: Fact, statement: str, cause: Cause) -> None:
    key = said_key(fact.user_id, statement)
    other = queries.fact_saying(session, fact.app_id, key)
    if other is not None and other is not fact:
        raise Conflict(
            f"Fact {other.fact_id} says this already; change or delete that one.",
            code="already_known",
            details={"factId": other.fact_id},
        )
    record(session, fact, FactChangeKind.EDITED, cause, Texts(fact.statement, statement))
    fact.statement, fact.said_key, fact.agent = statement, key, cause.actor
    fact.vector = fact.vector_model = None
    own = queries.source_in(session, fact.fact_id, None)
    if own is not None:
        own.statement, own.agent = statement, cause.actor
    touch(fact, cause.at)
    session.flush()
