"""Facts, where they were said, their history, and the ways to change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from loop.api.schemas.erasures import Receipt
from loop.api.schemas.wire import Answer, Body, Flag, Success
from shared.contracts.values import LARGEST_INTEGER, UserId
from shared.facts.categories import Category
from shared.facts.editing import MAX_CHARS
from shared.facts.models import SLOTS, Fact, FactChange, FactChangeKind, FactSource, FactState
from shared.facts.retention import PRUNE_TO, DryRun

Statement = Annotated[str, Field(min_length=1, max_length=MAX_CHARS, examples=["User lives in Copenhagen."])]
FactId = Annotated[int, Field(strict=True, ge=1, le=LARGEST_INTEGER)]


class WriteFact(Body):
    """A fact written by hand."""

    fact: Statement
    category: Category | None = Field(None, description="Left out: found by its words.")
    pinned: Flag = False
    user_id: UserId | None = None


class EditFact(Body):
    """Changes a fact; what is left out, or null, stays."""

    fact: Statement | None = None
    category: Category | None = None
    pinned: Flag | None = None


class BulkAction(StrEnum):
    """What is done to many facts at once."""

    DELETE = "delete"
    MOVE = "move"
    PIN = "pin"
    UNPIN = "unpin"


class ChangeFacts(Body):
    """Changes many facts, all or none."""

    action: BulkAction
    ids: Annotated[list[FactId], Field(min_length=1, max_length=SLOTS)]
    category: Category | None = Field(None, description="Where to; needed to move, and only then.")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if len(set(self.ids)) < len(self.ids):
            raise ValueError("names a fact twice")
        if (self.action is BulkAction.MOVE) != (self.category is not None):
            raise ValueError("a category is needed to move, and only then")
        return self


class FactSourceAnswer(Answer):
    """One place where a fact was said."""

    conversation_id: str | None = Field(description="Null: by a person's hand.")
    message_ids: list[str]
    fact: str = Field(description="As it was understood there.")
    agent: str
    mentions: int
    said_at: datetime = Field(description="When it was last said there.")
    first_seen: datetime
    last_seen: datetime

    @classmethod
    def of(cls, source: FactSource) -> FactSourceAnswer:
        """Return a source as it goes over the wire."""
        return cls(
            conversation_id=source.conversation_id,
            message_ids=source.message_ids,
            fact=source.statement,
            agent=source.agent,
            mentions=source.mentions,
            said_at=source.said_at,
            first_seen=source.first_seen,
            last_seen=source.last_seen,
        )


class FactAnswer(Answer):
    """A fact."""

    id: int
    fact: str
    category: Category
    state: FactState
    confidence: float = Field(ge=0, le=1)
    mention_count: int
    said_at: datetime = Field(description="When it was last said: the order of facts about one thing.")
    first_seen: datetime
    last_seen: datetime = Field(description="When it was last heard of here: the clock of expiry.")
    last_seen_conversation_id: str | None
    pinned: bool
    updates_fact_id: int | None = Field(description="The fact it contradicted and replaced.")
    user_id: str | None
    by_hand: bool = Field(description="Whether a person wrote it first.")
    agent: str = Field(description="Who wrote the present text: extractive, a model, admin or a token.")
    version: int
    updated_at: datetime
    undo_until: datetime | None = Field(description="Until when its deletion can be taken back.")
    sources: list[FactSourceAnswer]

    @classmethod
    def of(cls, fact: Fact, sources: Sequence[FactSource]) -> Self:
        """Return a fact as it goes over the wire."""
        said = [one for one in sources if one.conversation_id is not None]
        latest = max(said, key=lambda one: (one.last_seen, one.source_id), default=None)
        return cls(
            id=fact.fact_id,
            fact=fact.statement,
            category=Category(fact.category),
            state=FactState(fact.state),
            confidence=fact.confidence,
            mention_count=fact.mention_count,
            said_at=fact.said_at,
            first_seen=fact.first_seen,
            last_seen=fact.last_seen,
            last_seen_conversation_id=None if latest is None else latest.conversation_id,
            pinned=fact.pin_slot is not None,
            updates_fact_id=fact.updates_fact_id,
            user_id=fact.user_id or None,
            by_hand=fact.by_hand,
            agent=fact.agent,
            version=fact.version,
            updated_at=fact.updated_at,
            undo_until=fact.undo_until,
            sources=[FactSourceAnswer.of(one) for one in sources],
        )


class FactList(Answer):
    """Facts: pinned ones first, then by category, confidence and how lately they were said."""

    facts: list[FactAnswer]
    total: int = Field(description="On all pages.")
    cursor: str | None


class WrittenFact(FactAnswer):
    """A fact that was written by hand, and what came of it."""

    merged: bool = Field(False, description="A fact that stood already says it; its confidence grew.")
    evicted: list[int] = Field(default_factory=list, description="Facts that went because there were too many.")


class ChangedFact(Success):
    """A fact after a change."""

    fact: FactAnswer


class DeletedFact(Success):
    """A fact is deleted."""

    id: int
    undo_until: datetime


class ClearedFacts(Success):
    """All facts, or all of one user's, are deleted, and can be taken back for a moment."""

    user_id: str | None = Field(description="Whose; null: the app's.")
    deleted_count: int
    undo_until: datetime
    clear_id: str
    receipt: Receipt | None = Field(None, description="Of a clear before this one, which is final now.")


class RestoredFacts(Success):
    """Clearing was taken back."""

    restored_count: int


class FactOutcome(Answer):
    """What became of one of many facts."""

    id: int
    undo_until: datetime | None = None
    fact: FactAnswer | None = Field(None, description="As it is now; null for a deleted one.")


class ChangedFacts(Success):
    """What became of each, in the order in which they were named."""

    results: list[FactOutcome]


class ScoredFact(Answer):
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


class EvictionAnswer(Answer):
    """What would go of each user's facts. Pinned facts never do, and are not named."""

    standing: int
    remain: int = Field(PRUNE_TO, description="Facts of a user that remain after an eviction.")
    limit: int = Field(SLOTS, description="Facts of a user at the very most.")
    more: int = Field(description="As if each user had so many new ones.")
    facts: list[ScoredFact]
    expiring: list[int] = Field(description="The same facts, the one that expires next first.")

    @classmethod
    def of(cls, runs: Sequence[DryRun], facts: Mapping[int, Fact], more: int) -> EvictionAnswer:
        """Return the dry runs of users as they go over the wire."""
        expiring = sorted((one for run in runs for one in run.expiring), key=lambda one: (one.at, one.fact.fact_id))
        at = {one.fact.fact_id: one.at for one in expiring}
        going = {fact_id for run in runs for fact_id in run.going}
        scores = sorted((one for run in runs for one in run.scores), key=lambda one: -one.score)
        return cls(
            standing=len(facts),
            more=more,
            facts=[
                ScoredFact(
                    id=one.fact.fact_id,
                    user_id=facts[one.fact.fact_id].user_id or None,
                    fact=facts[one.fact.fact_id].statement,
                    category=one.fact.category,
                    confidence=one.fact.confidence,
                    last_seen=one.fact.last_seen,
                    score=one.score,
                    goes=one.fact.fact_id in going,
                    expires_at=at[one.fact.fact_id],
                )
                for one in scores
            ],
            expiring=[one.fact.fact_id for one in expiring],
        )


class FactChangeAnswer(Answer):
    """One thing that happened to a fact."""

    change_id: int
    fact_id: int
    user_id: str | None = Field(description="Whose fact it is, or was.")
    kind: FactChangeKind
    actor: str
    reason: str
    before: str | None
    after: str | None
    related_fact_id: int | None
    job_id: str | None
    at: datetime

    @classmethod
    def of(cls, change: FactChange) -> FactChangeAnswer:
        """Return a change as it goes over the wire."""
        return cls(
            change_id=change.change_id,
            fact_id=change.fact_id,
            user_id=change.user_id or None,
            kind=FactChangeKind(change.kind),
            actor=change.actor,
            reason=change.reason,
            before=change.before,
            after=change.after,
            related_fact_id=change.related_fact_id,
            job_id=change.job_id,
            at=change.at,
        )


class FactChangeList(Answer):
    """Changes: of one fact oldest first, of an app newest first."""

    changes: list[FactChangeAnswer]
    cursor: str | None
