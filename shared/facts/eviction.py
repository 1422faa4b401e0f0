"""Which facts go: pure rules of age, category and confidence. Pinned ones are exempt. Source: seed 000; decisions.

Carrying it out, with its history, is left to ``placing`` and ``expiring``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.facts.categories import LIFETIMES, WEIGHTS, Category

PRUNE_TO = 120
"""Facts that remain when there were more. Source: seed 000."""
RULE_EVICTION = "rule:eviction"
RULE_EXPIRY = "rule:expiry"
_LEAST_CONFIDENCE = 0.01
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Held:
    """A standing fact, as far as eviction looks at it."""

    fact_id: int
    category: Category
    confidence: float
    last_seen: datetime
    pinned: bool = False


@dataclass(frozen=True)
class Scored:
    """A fact with its score; the highest goes first."""

    fact: Held
    score: float


@dataclass(frozen=True)
class Expiring:
    """A fact with the time after which it expires."""

    fact: Held
    at: datetime


@dataclass(frozen=True)
class DryRun:
    """What would go, in the order in which it would."""

    scores: tuple[Scored, ...]
    """Every unpinned fact, the highest score first."""
    going: tuple[int, ...]
    expiring: tuple[Expiring, ...]
    """Every unpinned fact, the one that expires next first."""


def score(fact: Held, now: datetime) -> float:
    """Return how readily a fact gives way: days since it was last heard, weighted, over its confidence."""
    age_days = max((now - fact.last_seen) / _DAY, 0.0)
    return age_days * WEIGHTS[fact.category] / max(fact.confidence, _LEAST_CONFIDENCE)


def by_score(facts: Sequence[Held], now: datetime) -> list[Scored]:
    """Return the unpinned facts, the next to go first; equal scores by older ``last_seen``, then smaller id."""
    scored = [Scored(fact, score(fact, now)) for fact in facts if not fact.pinned]
    return sorted(scored, key=lambda one: (-one.score, one.fact.last_seen, one.fact.fact_id))


def evicted(facts: Sequence[Held], now: datetime, more: int = 0) -> list[Scored]:
    """Return which facts go, so that with ``more`` new ones no more than ``PRUNE_TO`` remain."""
    return by_score(facts, now)[: max(len(facts) + more - PRUNE_TO, 0)]


def expires_at(fact: Held) -> datetime:
    """Return the last moment at which a fact that is not pinned still stands."""
    return fact.last_seen + LIFETIMES[fact.category]


def is_expired(fact: Held, now: datetime) -> bool:
    """Whether a fact was not heard of for longer than its category lives; at exactly that age it stays."""
    return not fact.pinned and now > expires_at(fact)


def dry_run(facts: Sequence[Held], now: datetime, more: int = 0) -> DryRun:
    """Return what would go if ``more`` facts came now, and what expires next; nothing is changed."""
    expiring = sorted((Expiring(fact, expires_at(fact)) for fact in facts if not fact.pinned), key=_soonest)
    going = tuple(one.fact.fact_id for one in evicted(facts, now, more))
    return DryRun(tuple(by_score(facts, now)), going, tuple(expiring))


def _soonest(one: Expiring) -> tuple[datetime, int]:
    return one.at, one.fact.fact_id
