"""Letting facts go that were not heard of for longer than their category lives."""

from __future__ import annotations

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.facts import queries
from shared.facts.categories import LIFETIMES, Category
from shared.facts.eviction import RULE_EXPIRY
from shared.facts.models import FactChangeKind
from shared.facts.placing import evict


def expire(session: Session, app_id: str, cause: Cause) -> tuple[int, ...]:
    """Let the expired facts of a locked app go; return which went."""
    going = queries.expired(session, app_id, cause.at)
    ids = tuple(fact.fact_id for fact in going)
    for fact in going:
        days = LIFETIMES[Category(fact.category)].days
        why = cause.by(RULE_EXPIRY, f"nothing was heard of it for more than {days} days")
        evict(session, fact, why, FactChangeKind.EXPIRED)
    return ids
