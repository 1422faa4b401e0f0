"""How retrievals went, what there is to retrieve, and how complete an app's indexes are."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from loop.api.schemas.wire import Answer
from shared.indexing.filling import IndexStatus, Progress
from shared.indexing.models import SetState
from shared.retrieval.figures import Figures, Gate, Took, Way


class Durations(Answer):
    """Durations, milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, took: Took) -> Durations:
        """Return durations as they go over the wire."""
        figures = {name: round(getattr(took, name), 3) for name in ("mean", "p50", "p95", "p99")}
        return cls(count=took.count, **figures)


class WayAtGate(Answer):
    """One way of searching at the release gate."""

    passes: bool
    why: str
    durations: Durations | None


class GateAnswer(Answer):
    """Whether a release may go out by what was measured: at least 20 queries each way, fast enough."""

    passes: bool
    ways: dict[Way, WayAtGate]
    summaries_asked: int
    summaries_made: int
    summaries_pass: bool

    @classmethod
    def of(cls, gate: Gate) -> GateAnswer:
        """Return the gate's judgement as it goes over the wire."""
        ways = {
            way: WayAtGate(
                passes=one.passes, why=one.why, durations=None if one.took is None else Durations.of(one.took)
            )
            for way, one in gate.ways.items()
        }
        return cls(
            passes=gate.passes,
            ways=ways,
            summaries_asked=gate.summaries_asked,
            summaries_made=gate.summaries_made,
            summaries_pass=gate.summaries_pass,
        )


class RetrievalMetrics(Answer):
    """What the retrievals of a period amount to."""

    app_id: str | None = Field(description="Null: of all apps.")
    since: datetime
    retrievals: int
    hit_rate: float | None = Field(description="Share that found something, 0..1.")
    mean_top_score: float | None
    durations: dict[str, Durations] = Field(description="By stage: total, embed, words, dense, rank.")
    sources: dict[str, int] = Field(description="Results by what brought them; one may count more than once.")
    flags: dict[str, float] = Field(description="Share of retrievals with each flag on, 0..1.")
    degraded: dict[str, int] = Field(description="Retrievals that did without a part.")
    token_budget_used: float | None = Field(description="Mean share of the budget that contexts used, 0..1.")
    gate: GateAnswer

    @classmethod
    def of(cls, app_id: str | None, since: datetime, figures: Figures, gate: Gate) -> RetrievalMetrics:
        """Return the figures as they go over the wire."""
        return cls(
            app_id=app_id,
            since=since,
            retrievals=figures.retrievals,
            hit_rate=figures.hit_rate,
            mean_top_score=figures.mean_top_score,
            durations={stage: Durations.of(took) for stage, took in figures.stages.items()},
            sources=figures.sources,
            flags=figures.flags,
            degraded=figures.degraded,
            token_budget_used=figures.budget_used,
            gate=GateAnswer.of(gate),
        )


class IndexSizes(Answer):
    """Sizes in bytes."""

    messages: int
    embeddings: int
    words: int | None = Field(description="Of the whole installation; null where one app was asked about.")


class RetrievalStats(Answer):
    """How much there is to retrieve."""

    app_id: str | None
    total_messages: int
    total_conversations: int
    total_chunks: int
    total_summaries: int
    total_vectors: int
    profile_consent: bool | None = Field(description="Of the user asked about; null where no app was named.")
    index_sizes: IndexSizes


class ProgressAnswer(Answer):
    """How far something has come, in messages."""

    done: int
    total: int

    @classmethod
    def of(cls, progress: Progress | None) -> ProgressAnswer | None:
        """Return progress as it goes over the wire."""
        return None if progress is None else cls(done=progress.done, total=progress.total)


class VectorSetAnswer(Answer):
    """The vectors of an app by one model."""

    model: str
    state: SetState
    vectors: int
    progress: ProgressAnswer | None = Field(description="While it is made beside the one that serves.")


class IndexAnswer(Answer):
    """How complete an app's indexes are."""

    app_id: str
    messages: int = Field(description="Messages of users and assistants; others are not indexed.")
    words: int = Field(description="Of them, those whose words are indexed.")
    word_index_present: bool
    unembedded: int = Field(description="Of them, those whose vectors are still to be made.")
    vectors: list[VectorSetAnswer]
    backfill: ProgressAnswer | None
    backfill_asked_at: datetime | None
    backfill_ended_at: datetime | None

    @classmethod
    def of(cls, app_id: str, status: IndexStatus) -> IndexAnswer:
        """Return the state of the indexes as it goes over the wire."""
        return cls(
            app_id=app_id,
            messages=status.messages,
            words=status.words,
            word_index_present=status.word_index_is_present,
            unembedded=status.unembedded,
            vectors=[
                VectorSetAnswer(
                    model=one.model, state=one.state, vectors=one.vectors, progress=ProgressAnswer.of(one.fill)
                )
                for one in status.sets
            ],
            backfill=ProgressAnswer.of(status.fill),
            backfill_asked_at=status.fill_asked_at,
            backfill_ended_at=status.fill_ended_at,
        )


class Rebuilt(Answer):
    """The word index was made anew, empty; its apps are being filled in."""

    apps: int
