"""Takes an app's facts out: those that stand, what they replaced, where each was said, and their history.

What was deleted stays behind, and so does the history of facts that are gone; vectors are made anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from shared.archive.document import ArchivedFact, ArchivedFactChange, ArchivedFactSource
from shared.choices import FactState
from shared.facts import queries
from shared.facts.categories import Category
from shared.facts.models import Fact, FactChange, FactChangeKind, FactSource


def out_facts(session: Session, app_id: str) -> list[ArchivedFact]:
    """Return an app's facts, the oldest first."""
    facts = _leaving(session, app_id)
    sources = queries.sources_by_fact(session, [fact.fact_id for fact in facts])
    return [_out_fact(fact, sources.get(fact.fact_id, [])) for fact in facts]


def out_history(session: Session, facts: Sequence[ArchivedFact], ids: Mapping[int, str]) -> list[ArchivedFactChange]:
    """Return the history of facts; ``ids`` names the conversations by their keys."""
    changes = queries.history_of_many(session, [fact.fact_id for fact in facts])
    return [_out_change(one, ids) for one in changes]


def _leaving(session: Session, app_id: str) -> list[Fact]:
    standing = queries.facts_in(session, app_id, (FactState.STANDING,))
    replaced = {one.fact_id: one for one in queries.facts_in(session, app_id, (FactState.REPLACED,))}
    leaving = {one.fact_id: one for one in standing}
    for fact in standing:
        lower = replaced.pop(fact.updates_fact_id or 0, None)
        while lower is not None:
            leaving[lower.fact_id] = lower
            lower = replaced.pop(lower.updates_fact_id or 0, None)
    return [leaving[fact_id] for fact_id in sorted(leaving)]


def _out_fact(one: Fact, sources: Sequence[FactSource]) -> ArchivedFact:
    return ArchivedFact(
        fact_id=one.fact_id,
        user_id=one.user_id or None,
        statement=one.statement,
        category=Category(one.category),
        confidence=one.confidence,
        mention_count=one.mention_count,
        pinned=one.pin_slot is not None,
        by_hand=one.by_hand,
        agent=one.agent,
        updates_fact_id=one.updates_fact_id,
        version=one.version,
        said_at=one.said_at,
        first_seen=one.first_seen,
        last_seen=one.last_seen,
        updated_at=one.updated_at,
        sources=[_out_source(source) for source in sources],
    )


def _out_source(one: FactSource) -> ArchivedFactSource:
    return ArchivedFactSource(
        conversation_id=one.conversation_id,
        message_ids=one.message_ids,
        statement=one.statement,
        category=Category(one.category),
        agent=one.agent,
        mentions=one.mentions,
        said_at=one.said_at,
        first_seen=one.first_seen,
        last_seen=one.last_seen,
    )


def _out_change(one: FactChange, ids: Mapping[int, str]) -> ArchivedFactChange:
    return ArchivedFactChange(
        fact_id=one.fact_id,
        kind=FactChangeKind(one.kind),
        actor=one.actor,
        reason=one.reason,
        before=one.before,
        after=one.after,
        conversation_ids=[ids[key] for key in one.source_keys if key in ids],
        related_fact_id=one.related_fact_id,
        at=one.at,
    )
