"""Which facts go: rules of age, category and confidence, and carrying them out. Pinned ones are exempt.

Source: seed 000; decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.subjects import Subject
from shared.facts import queries
from shared.facts.changes import FactTexts, free_slots, record, remove_rows
from shared.facts.models import LIFETIMES, WEIGHTS, Category, Fact, FactChangeKind

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


def held(facts: Sequence[Fact]) -> list[RetainedFact]:
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
    going = evicted(held(facts), cause.at)
    by_id = {fact.fact_id: fact for fact in facts}
    for one in going:
        why = f"{len(facts)} facts stood, more than {PRUNE_TO}; its score was {one.score:.2f}"
        evict(session, by_id[one.fact.fact_id], cause.by(RULE_EVICTION, why))
    return tuple(one.fact.fact_id for one in going)


def prune_if_full(session: Session, subject: Subject, cause: Cause) -> tuple[int, ...]:
    """Evict what is too much where no place is free; return which went."""
    return () if free_slots(session, subject) else prune(session, subject, cause)


def evict(session: Session, fact: Fact, cause: Cause, kind: FactChangeKind = FactChangeKind.EVICTED) -> None:
    """Let a fact go, and what it had replaced with it; their history stays."""
    record(session, fact, kind, cause, FactTexts(before=fact.statement))
    remove_rows(session, [fact, *queries.chain_beneath(session, fact)])
