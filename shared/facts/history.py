"""The record of everything that happens to a fact: who, why, before and after, and whose words stand in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.causes import ERASED, Cause
from shared.facts import queries
from shared.facts.models import Fact, FactChange, FactChangeKind


@dataclass(frozen=True)
class Texts:
    """A fact's statement before and after a change."""

    before: str | None = None
    after: str | None = None


NO_TEXTS = Texts()


def keys_of(session: Session, fact_id: int) -> list[int]:
    """Return the keys of the conversations a fact was said in."""
    return [one.conversation_key for one in queries.sources_of(session, fact_id) if one.conversation_key is not None]


def record(
    session: Session,
    fact: Fact,
    kind: FactChangeKind,
    cause: Cause,
    texts: Texts = NO_TEXTS,
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
        source_keys=[] if texts == NO_TEXTS else sorted(keys_of(session, fact.fact_id) if keys is None else keys),
        related_fact_id=related,
        job_id=cause.job_id,
        at=cause.at,
    )
    session.add(change)
    session.flush()
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
