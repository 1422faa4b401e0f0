"""Which facts would go if more came, and which expire next: a dry run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from loop.api.dependencies import AppInPath, Reads, UserInQuery
from loop.api.policy import OF_APP, under
from loop.api.schema import ResponseModel
from shared.apps.queries import get_app
from shared.base.choices import Category, FactState
from shared.facts import queries
from shared.facts.models import SLOTS, Fact
from shared.facts.retention import PRUNE_TO, by_score, evicted, expires_at, score

router = APIRouter(prefix="/apps/{appId}/facts", tags=["Facts"], route_class=under(OF_APP))


class ScoredFactItem(ResponseModel):
    """A fact with its score; of each user the highest goes first."""

    id: int
    user_id: str | None
    fact: str
    category: Category
    confidence: float
    last_seen: datetime
    score: float
    goes: bool
    expires_at: datetime


class EvictionAnswer(ResponseModel):
    """What would go of each user's facts. Pinned facts never do, and are not named."""

    standing: int
    remain: int = Field(PRUNE_TO, description="Facts of a user that remain after an eviction.")
    limit: int = Field(SLOTS, description="Facts of a user at the very most.")
    more: int = Field(description="As if each user had so many new ones.")
    facts: list[ScoredFactItem]
    expiring: list[int] = Field(description="The same facts, the one that expires next first.")


@router.get("/eviction", summary="Show which facts would go")
def show_fact_eviction(
    ctx: Reads,
    app_id: AppInPath,
    user_id: UserInQuery = None,
    more: Annotated[int, Query(ge=0, le=SLOTS, description="As if so many new facts of each user came.")] = 0,
) -> EvictionAnswer:
    """Show which facts would go if more came, with their scores, and which expire next. Nothing is changed."""
    with ctx.read() as session:
        get_app(session, app_id)
        facts = {one.fact_id: one for one in queries.facts_in(session, app_id, (FactState.STANDING,), user_id)}
        of_users: dict[str, list[Fact]] = {}
        for fact in facts.values():
            of_users.setdefault(fact.user_id, []).append(fact)
        now = ctx.now()
        going = {fact.fact_id for own in of_users.values() for fact in evicted(own, now, more)}
        unpinned = by_score(list(facts.values()), now)
        scored = [
            ScoredFactItem(
                id=one.fact_id,
                user_id=one.user_id or None,
                fact=one.statement,
                category=Category(one.category),
                confidence=one.confidence,
                last_seen=one.last_seen,
                score=score(one, now),
                goes=one.fact_id in going,
                expires_at=expires_at(one),
            )
            for one in unpinned
        ]
        soonest = sorted(unpinned, key=lambda fact: (expires_at(fact), fact.fact_id))
        expiring = [fact.fact_id for fact in soonest]
    return EvictionAnswer(standing=len(facts), more=more, facts=scored, expiring=expiring)
