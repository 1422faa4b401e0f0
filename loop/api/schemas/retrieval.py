"""How retrievals went, what there is to retrieve, and how complete an app's indexes are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import Field

from loop.api.schemas.wire import Answer
from shared.search.index import FillProgress, IndexStatus
from shared.search.models import SetState
from shared.search.statistics import DurationStatistics, GateVerdict, ReleaseGate, RetrievalStatistics, SearchMode

_STAGES = {"words": "fts", "rank": "rerank"}
_SOURCES = {"appDense": "globalDense", "words": "ftsLexical"}
"""The names of seed 002, for what is kept under others."""


def stage_in_ms(stage: str) -> str:
    """Return a stage of a retrieval by the name its duration has."""
    return f"{_STAGES.get(stage, stage)}Ms"


def sources_in_words(sources: Mapping[str, int]) -> dict[str, int]:
    """Return how many results each way of finding brought, by its name."""
    none = dict.fromkeys(("conversationDense", "globalDense", "ftsLexical", "summaries", "profile"), 0)
    return none | {_SOURCES.get(source, source): count for source, count in sources.items()}


class Durations(Answer):
    """Durations, milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, took: DurationStatistics) -> Durations:
        """Return durations as they go over the wire."""
        figures = {name: round(getattr(took, name), 3) for name in ("mean", "p50", "p95", "p99")}
        return cls(count=took.count, **figures)


class WayAtGate(Answer):
    """One way of searching at the release gate."""

    state: GateVerdict
    why: str
    durations: Durations | None


class GateAnswer(Answer):
    """Whether a release may go out by what was measured: each way with at least 20 queries fast enough."""

    passes: bool
    state: GateVerdict = Field(description="fails when anything does; not_enough_queries when no way has 20 queries.")
    ways: dict[SearchMode, WayAtGate]
    summaries_asked: int
    summaries_made: int
    summaries_state: GateVerdict = Field(description="not_enough_queries when none was asked for.")

    @classmethod
    def of(cls, gate: ReleaseGate) -> GateAnswer:
        """Return the gate's judgement as it goes over the wire."""
        ways = {
            way: WayAtGate(
                state=one.verdict, why=one.why, durations=None if one.took is None else Durations.of(one.took)
            )
            for way, one in gate.modes.items()
        }
        return cls(
            passes=gate.verdict is GateVerdict.PASSES,
            state=gate.verdict,
            ways=ways,
            summaries_asked=gate.summaries_asked,
            summaries_made=gate.summaries_made,
            summaries_state=gate.summaries,
        )


class RetrievalMetrics(Answer):
    """What the retrievals of a period amount to."""

    app_id: str | None = Field(description="Null: of all apps.")
    since: datetime
    retrievals: int
    hit_rate: float | None = Field(description="Share that found something, 0..1.")
    mean_top_score: float | None
    mean_top_similarities: list[float] = Field(
        description="Cosines of the three results most like each question: the mean of the best, the second, the third."
    )
    durations: dict[str, Durations] = Field(description="By stage: totalMs, embedMs, ftsMs, denseMs, rerankMs.")
    sources: dict[str, int] = Field(
        description=(
            "Results by what brought them: conversationDense, globalDense, ftsLexical, summaries, profile; "
            "one may count more than once."
        )
    )
    flags: dict[str, float] = Field(description="Share of retrievals with each flag on, 0..1.")
    degraded: dict[str, int] = Field(description="Retrievals that did without a part.")
    token_budget_used: float | None = Field(description="Mean share of the budget that contexts used, 0..1.")
    gate: GateAnswer

    @classmethod
    def of(
        cls, app_id: str | None, since: datetime, figures: RetrievalStatistics, gate: ReleaseGate
    ) -> RetrievalMetrics:
        """Return the figures as they go over the wire."""
        return cls(
            app_id=app_id,
            since=since,
            retrievals=figures.retrievals,
            hit_rate=figures.hit_rate,
            mean_top_score=figures.mean_top_score,
            mean_top_similarities=[round(one, 6) for one in figures.mean_top_similarities],
            durations={stage_in_ms(stage): Durations.of(took) for stage, took in figures.stages.items()},
            sources=sources_in_words(figures.sources),
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
    def of(cls, progress: FillProgress | None) -> ProgressAnswer | None:
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
