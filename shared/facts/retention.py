"""Which facts a subject keeps: places and pins, what goes for its age or for want of a place, and their history.

Every change of a fact is recorded here: who, why, before and after, and whose words stand in it. What a fact says is
left to ``mentions`` and ``fold``. Source: seed 000; decisions.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.base.audit import ERASED, Cause
from shared.base.choices import Category
from shared.base.errors import Conflict
from shared.base.subjects import Subject
from shared.contracts.values import EventKind
from shared.events.recording import record as record_event
from shared.facts import queries
from shared.facts.models import (
    LIFETIMES,
    PIN_SLOTS,
    SLOTS,
    WEIGHTS,
    Fact,
    FactChange,
    FactChangeKind,
    FactMention,
)

PRUNE_TO = 120
"""Facts that remain when there were more. Source: seed 000."""
RULE_EVICTION = "rule:eviction"
RULE_EXPIRY = "rule:expiry"
_LEAST_CONFIDENCE = 0.01
_DAY = timedelta(days=1)


def score(fact: Fact, now: datetime) -> float:
    """Return how readily a fact gives way: days since it was last heard, weighted, over its confidence."""
    # A clock that was set back makes nothing younger than new.
    age_days = max((now - fact.last_seen) / _DAY, 0.0)
    return age_days * WEIGHTS[Category(fact.category)] / max(fact.confidence, _LEAST_CONFIDENCE)


def expires_at(fact: Fact) -> datetime:
    """Return the last moment at which a fact still stands, if nothing is heard of it and it is not pinned."""
    return fact.last_seen + LIFETIMES[Category(fact.category)]


def by_score(facts: Sequence[Fact], now: datetime) -> list[Fact]:
    """Return the unpinned facts, the next to go first; equal scores by older ``last_seen``, then smaller id."""
    unpinned = [fact for fact in facts if fact.pin_slot is None]
    return sorted(unpinned, key=lambda one: (-score(one, now), one.last_seen, one.fact_id))


def evicted(facts: Sequence[Fact], now: datetime, more: int = 0) -> list[Fact]:
    """Return which of a subject's facts go, so that with ``more`` new ones no more than ``PRUNE_TO`` remain."""
    return by_score(facts, now)[: max(len(facts) + more - PRUNE_TO, 0)]


def expire(session: Session, app_id: str, cause: Cause) -> tuple[int, ...]:
    """Let the expired facts of a locked app go; return which went."""
    going = queries.expired(session, app_id, cause.at)
    ids = tuple(fact.fact_id for fact in going)
    for fact in going:
        days = LIFETIMES[Category(fact.category)].days
        why = cause.by(RULE_EXPIRY, f"nothing was heard of it for more than {days} days")
        evict(session, fact, why, FactChangeKind.EXPIRED)
    return ids


def prune(session: Session, subject: Subject, cause: Cause) -> tuple[int, ...]:
    """Evict what is too much of a subject's facts; return which went."""
    facts = queries.standing(session, subject)
    going = {fact.fact_id: fact for fact in evicted(facts, cause.at)}
    for fact in going.values():
        why = f"{len(facts)} facts stood, more than {PRUNE_TO}; its score was {score(fact, cause.at):.2f}"
        evict(session, fact, cause.by(RULE_EVICTION, why))
    return tuple(going)


def evict(session: Session, fact: Fact, cause: Cause, kind: FactChangeKind = FactChangeKind.EVICTED) -> None:
    """Let a fact go, and what it had replaced with it; their history stays."""
    # Before the rows go: the change names the conversations it was said in.
    record(session, fact, kind, cause, before=fact.statement)
    remove_rows(session, [fact, *queries.chain_beneath(session, fact)])


def remove_rows(session: Session, facts: Sequence[Fact]) -> None:
    """Remove facts with their mentions and vectors."""
    ids = [fact.fact_id for fact in facts]
    # Mentions that have moved to another fact must not be taken along.
    session.flush()
    session.execute(delete(FactMention).where(FactMention.fact_id.in_(ids)))
    for fact in facts:
        session.delete(fact)
    session.flush()


def free_slots(session: Session, subject: Subject) -> list[int]:
    """Return the places of a subject that are free, the lowest first."""
    taken = {slot for slot, _ in queries.taken_places(session, subject)}
    return [slot for slot in range(1, SLOTS + 1) if slot not in taken]


def free_pins(session: Session, subject: Subject) -> list[int]:
    """Return the places among the pinned facts of a subject that are free, the lowest first."""
    taken = {pin_slot for _, pin_slot in queries.taken_places(session, subject)}
    return [slot for slot in range(1, PIN_SLOTS + 1) if slot not in taken]


def free_pin(session: Session, subject: Subject) -> int:
    """Return a free place among the pinned facts of a subject. Raises: Conflict."""
    free = free_pins(session, subject)
    if not free:
        raise Conflict(
            f"{subject_in_words(subject)} has {PIN_SLOTS} pinned facts, which is the most; unpin one first.",
            code="all_pinned",
            details={"limit": PIN_SLOTS},
        )
    return free[0]


def subject_in_words(subject: Subject) -> str:
    """Return a subject as a message names it, at the beginning of a sentence."""
    return f"User {subject.user_id} of app {subject.app_id}" if subject.user_id else f"App {subject.app_id}"


def touch(fact: Fact, at: datetime) -> None:
    """Note that a fact changed."""
    fact.version += 1
    fact.updated_at = at


_CREATES = (FactChangeKind.LEARNED, FactChangeKind.WRITTEN, FactChangeKind.UNDONE, FactChangeKind.RESTORED)
_REMOVES = (
    FactChangeKind.REPLACED, FactChangeKind.DELETED, FactChangeKind.EVICTED, FactChangeKind.EXPIRED,
    FactChangeKind.ERASED,
)  # fmt: skip


def record(
    session: Session,
    fact: Fact,
    kind: FactChangeKind,
    cause: Cause,
    related: int | None = None,
    *,
    before: str | None = None,
    after: str | None = None,
    keys: Iterable[int] | None = None,
) -> None:
    """Add one change of a fact; ``keys`` names the conversations whose words the texts hold, if not all of its own."""
    if before is None and after is None:
        keys = ()
    change = FactChange(
        fact_id=fact.fact_id,
        app_id=fact.app_id,
        user_id=fact.user_id,
        kind=kind,
        actor=cause.actor,
        reason=cause.reason,
        before=before,
        after=after,
        source_keys=sorted(queries.keys_of(session, fact.fact_id) if keys is None else keys),
        related_fact_id=related,
        job_id=cause.job_id,
        at=cause.at,
    )
    session.add(change)
    session.flush()
    event = EventKind.FACT_CREATED if kind in _CREATES else EventKind.FACT_CHANGED
    event = EventKind.FACT_REMOVED if kind in _REMOVES else event
    record_event(session, event, fact.app_id, cause.at, subject=fact.fact_id, change=kind.value)


def empty(changes: Iterable[FactChange]) -> int:
    """Empty the texts and reasons of changes; return of how many. What happened when, and by whom, stays."""
    emptied = list(changes)
    for change in emptied:
        change.before, change.after, change.reason, change.source_keys = None, None, ERASED, []
    return len(emptied)
