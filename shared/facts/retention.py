"""Which facts a subject keeps: places and pins, what goes for its age or for want of a place, and their history.

Every change of a fact is recorded here: who, why, before and after, and whose words stand in it. What a fact says is
left to ``mentions`` and ``fold``. Source: seed 000; decisions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class RetainedFact:
    """A standing fact, as far as eviction looks at it."""

    fact_id: int
    category: Category
    confidence: float
    last_seen: datetime
    pinned: bool = False


@dataclass(frozen=True)
class FactScore:
    """A fact with its score; the highest goes first."""

    fact: RetainedFact
    score: float


@dataclass(frozen=True)
class ExpiringFact:
    """A fact with the last moment at which it still stands."""

    fact: RetainedFact
    at: datetime


@dataclass(frozen=True)
class DryRun:
    """What would go, in the order in which it would."""

    scores: tuple[FactScore, ...]
    """Every unpinned fact, the highest score first."""
    going: tuple[int, ...]
    expiring: tuple[ExpiringFact, ...]
    """Every unpinned fact, the one that expires next first."""


def score(fact: RetainedFact, now: datetime) -> float:
    """Return how readily a fact gives way: days since it was last heard, weighted, over its confidence."""
    age_days = max((now - fact.last_seen) / _DAY, 0.0)
    return age_days * WEIGHTS[fact.category] / max(fact.confidence, _LEAST_CONFIDENCE)


def by_score(facts: Sequence[RetainedFact], now: datetime) -> list[FactScore]:
    """Return the unpinned facts, the next to go first; equal scores by older ``last_seen``, then smaller id."""
    scored = [FactScore(fact, score(fact, now)) for fact in facts if not fact.pinned]
    return sorted(scored, key=lambda one: (-one.score, one.fact.last_seen, one.fact.fact_id))


def evicted(facts: Sequence[RetainedFact], now: datetime, more: int = 0) -> list[FactScore]:
    """Return which facts go, so that with ``more`` new ones no more than ``PRUNE_TO`` remain."""
    return by_score(facts, now)[: max(len(facts) + more - PRUNE_TO, 0)]


def dry_run(facts: Sequence[RetainedFact], now: datetime, more: int = 0) -> DryRun:
    """Return what would go if ``more`` facts came now, and what expires next; nothing is changed."""
    expiring = [ExpiringFact(fact, fact.last_seen + LIFETIMES[fact.category]) for fact in facts if not fact.pinned]
    expiring.sort(key=lambda one: (one.at, one.fact.fact_id))
    going = tuple(one.fact.fact_id for one in evicted(facts, now, more))
    return DryRun(tuple(by_score(facts, now)), going, tuple(expiring))


def retained(facts: Sequence[Fact]) -> list[RetainedFact]:
    """Return facts as eviction sees them."""
    return [
        RetainedFact(one.fact_id, Category(one.category), one.confidence, one.last_seen, one.pin_slot is not None)
        for one in facts
    ]


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
    going = evicted(retained(facts), cause.at)
    by_id = {fact.fact_id: fact for fact in facts}
    for one in going:
        why = f"{len(facts)} facts stood, more than {PRUNE_TO}; its score was {one.score:.2f}"
        evict(session, by_id[one.fact.fact_id], cause.by(RULE_EVICTION, why))
    return tuple(one.fact.fact_id for one in going)


def evict(session: Session, fact: Fact, cause: Cause, kind: FactChangeKind = FactChangeKind.EVICTED) -> None:
    """Let a fact go, and what it had replaced with it; their history stays."""
    record(session, fact, kind, cause, FactTexts(before=fact.statement))
    remove_rows(session, [fact, *queries.chain_beneath(session, fact)])


def remove_rows(session: Session, facts: Sequence[Fact]) -> None:
    """Remove facts with their mentions and vectors."""
    ids = [fact.fact_id for fact in facts]
    session.flush()
    session.execute(delete(FactMention).where(FactMention.fact_id.in_(ids)))
    for fact in facts:
        session.delete(fact)
    session.flush()


def free_slots(session: Session, subject: Subject) -> list[int]:
    """Return the places of a subject that are free, the lowest first."""
    taken, _ = queries.taken_places(session, subject)
    return [slot for slot in range(1, SLOTS + 1) if slot not in taken]


def free_pins(session: Session, subject: Subject) -> list[int]:
    """Return the places among the pinned facts of a subject that are free, the lowest first."""
    _, taken = queries.taken_places(session, subject)
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


@dataclass(frozen=True)
class FactTexts:
    """A fact's statement before and after a change."""

    before: str | None = None
    after: str | None = None


NO_TEXTS = FactTexts()


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
    texts: FactTexts = NO_TEXTS,
    related: int | None = None,
    keys: Iterable[int] | None = None,
) -> FactChange:
    """Add one change of a fact; ``keys`` names the conversations whose words the texts hold, if not all of its own."""
    change = FactChange(
        fact_id=fact.fact_id,
        app_id=fact.app_id,
        user_id=fact.user_id,
        kind=kind,
        actor=cause.actor,
        reason=cause.reason,
        before=texts.before,
        after=texts.after,
        source_keys=[]
        if texts == NO_TEXTS
        else sorted(queries.keys_of(session, fact.fact_id) if keys is None else keys),
        related_fact_id=related,
        job_id=cause.job_id,
        at=cause.at,
    )
    session.add(change)
    session.flush()
    event_kind = (
        EventKind.FACT_CREATED
        if kind in _CREATES
        else (EventKind.FACT_REMOVED if kind in _REMOVES else EventKind.FACT_CHANGED)
    )
    record_event(session, event_kind, fact.app_id, cause.at, subject=fact.fact_id, change=kind.value)
    return change


def empty(changes: Iterable[FactChange]) -> int:
    """Empty the texts and reasons of changes; return of how many. What happened when, and by whom, stays."""
    count = 0
    for change in changes:
        change.before = change.after = None
        change.reason = ERASED
        change.source_keys = []
        count += 1
    return count
