"""How retrieval works and how well: its figures, a retrieval taken apart, its stock, and the state of the indexes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, Reads, RequestContext, Writes, as_write
from loop.api.policy import OF_ADMIN, OF_ADMIN_ABOUT_APP, OF_APP, policy, under
from loop.api.routes.jobs import JobAnswer
from loop.api.routes.search import MOST_QUERY_CHARS, DebugAnswer, DebugResult
from loop.api.schema import APP_ID_PATTERN, From, ResponseModel
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, lock_app
from shared.contracts.values import Id, UserId, Words
from shared.profiles import gate
from shared.search.index import index_status, recreate_word_index, request_backfill
from shared.search.models import SetState
from shared.search.ranking import SearchHit
from shared.search.search import flags_of
from shared.search.search_queries import count_stock, retrievals_since, summaries_since
from shared.search.statistics import (
    DurationStatistics,
    GateVerdict,
    ReleaseGate,
    SearchMode,
    judge_release,
    retrieval_statistics,
)
from shared.search.view import Search, SearchRequest
from shared.summaries.queries import of_conversation

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


class Durations(ResponseModel):
    """Durations, milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, took: DurationStatistics) -> Durations:
        figures = {name: round(getattr(took, name), 3) for name in ("mean", "p50", "p95", "p99")}
        return cls(count=took.count, **figures)


class WayAtGate(ResponseModel):
    """One way of searching at the release gate."""

    state: GateVerdict
    why: str
    durations: Durations | None


class ReleaseGateAnswer(ResponseModel):
    """Whether a release may go out by what was measured: each way with at least 20 queries fast enough."""

    passes: bool
    state: Annotated[GateVerdict, From("verdict")] = Field(
        description="fails when anything does; not_enough_queries when no way has 20 queries."
    )
    ways: dict[SearchMode, WayAtGate]
    summaries_asked: int
    summaries_made: int
    summaries_state: Annotated[GateVerdict, From("summaries")] = Field(
        description="not_enough_queries when none was asked for."
    )

    @classmethod
    def of(cls, gate: ReleaseGate) -> ReleaseGateAnswer:
        ways = {
            way: WayAtGate(state=one.verdict, why=one.why, durations=one.took and Durations.of(one.took))
            for way, one in gate.modes.items()
        }
        return cls.from_row(gate, passes=gate.verdict is GateVerdict.PASSES, ways=ways)


class RetrievalMetrics(ResponseModel):
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
    token_budget_used: Annotated[float | None, From("budget_used")] = Field(
        description="Mean share of the budget that contexts used, 0..1."
    )
    gate: ReleaseGateAnswer


class IndexSizes(ResponseModel):
    """Sizes in bytes."""

    messages: Annotated[int, From("message_bytes")]
    embeddings: Annotated[int, From("vector_bytes")]
    words: Annotated[int | None, From("word_bytes")] = Field(
        description="Of the whole installation; null where one app was asked about."
    )


class RetrievalStats(ResponseModel):
    """How much there is to retrieve."""

    app_id: str | None
    total_messages: Annotated[int, From("messages")]
    total_conversations: Annotated[int, From("conversations")]
    total_chunks: Annotated[int, From("passages")]
    total_summaries: Annotated[int, From("summaries")]
    total_vectors: Annotated[int, From("vectors")]
    profile_consent: bool | None = Field(description="Of the user asked about; null where no app was named.")
    index_sizes: IndexSizes


class ProgressAnswer(ResponseModel):
    """How far something has come, in messages."""

    done: int
    total: int


class VectorSetAnswer(ResponseModel):
    """The vectors of an app by one model."""

    model: str
    state: SetState
    vectors: int
    progress: Annotated[ProgressAnswer | None, From("fill")] = Field(
        description="While it is made beside the one that serves."
    )


class IndexAnswer(ResponseModel):
    """How complete an app's indexes are."""

    app_id: str
    messages: int = Field(description="Messages of users and assistants; others are not indexed.")
    words: int = Field(description="Of them, those whose words are indexed.")
    word_index_present: Annotated[bool, From("word_index_is_present")]
    unembedded: int = Field(description="Of them, those whose vectors are still to be made.")
    vectors: list[VectorSetAnswer]
    backfill: Annotated[ProgressAnswer | None, From("fill")]
    backfill_asked_at: Annotated[datetime | None, From("fill_asked_at")]
    backfill_ended_at: Annotated[datetime | None, From("fill_ended_at")]


class Rebuilt(ResponseModel):
    """The word index was made anew, empty; its apps are being filled in."""

    apps: int


router = APIRouter(tags=["Retrieval"], route_class=under(OF_APP))
_AppInQuery = Annotated[str | None, Query(alias="appId", pattern=APP_ID_PATTERN, description="Only this app.")]
_NeededApp = Annotated[str, Query(alias="appId", pattern=APP_ID_PATTERN)]
_UserInQuery = Annotated[UserId | None, Query(alias="userId")]
_ConversationInQuery = Annotated[Id | None, Query(alias="conversationId")]
_SUMMARIES = 20


@router.get("/api/memory/metrics", response_model=RetrievalMetrics, summary="Show how retrievals went")
@policy(OF_ADMIN_ABOUT_APP)
def show_retrieval_metrics(
    ctx: Reads, app_id: _AppInQuery = None, hours: Annotated[float, Query(gt=0, le=24 * 365)] = 24
) -> Response:
    """Add up the retrievals of the last hours: how often they found something, how long they took, from where."""
    since = ctx.now() - timedelta(hours=hours)
    # Searches are written down about once a second; those of the last one count as well.
    ctx.loop.searching.records.flush()
    with ctx.read() as session:
        if app_id is not None:
            get_app(session, app_id)
        rows = retrievals_since(session, since, app_id)
        requested, made = summaries_since(session, since, app_id)
    figures = retrieval_statistics(rows)
    return answer(
        RetrievalMetrics.from_row(
            figures,
            app_id=app_id,
            since=since,
            mean_top_similarities=[round(one, 6) for one in figures.mean_top_similarities],
            durations={stage_in_ms(stage): Durations.of(took) for stage, took in figures.stages.items()},
            sources=sources_in_words(figures.sources),
            gate=ReleaseGateAnswer.of(judge_release(rows, requested, made)),
        )
    )


@router.get("/api/memory/debug/retrieval", response_model=DebugAnswer, summary="Take a retrieval apart")
@policy(OF_ADMIN_ABOUT_APP)
def debug_retrieval(
    ctx: Reads,
    q: Annotated[Words, Query(min_length=1, max_length=MOST_QUERY_CHARS)],
    app_id: _NeededApp,
    conversation_id: _ConversationInQuery = None,
    user_id: _UserInQuery = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 10,
) -> Response:
    """Search as a context would, and say of each result where it came from and how its score came about."""
    request = SearchRequest(text=q, limit=limit, conversation_id=conversation_id, user_id=user_id)
    finder = ctx.loop.searching.finder
    search = finder.find(app_id, request)
    finder.record(search)
    summaries = _summaries(ctx, search)
    profile = _profile(ctx, app_id, search.user_id)
    return answer(
        DebugAnswer(
            query=q,
            results=[*map(_taken_apart, search.hits), *summaries, *profile],
            metrics={stage_in_ms(stage): round(taken, 3) for stage, taken in search.durations.items()},
            top_similarities=[round(one, 6) for one in search.top_similarities],
            sources=sources_in_words(search.sources) | {"summaries": len(summaries), "profile": len(profile)},
            flags=flags_of(search.tuning),
            degraded=list(search.degraded),
        )
    )


@router.get("/api/memory/debug/stats", response_model=RetrievalStats, summary="Show how much there is to retrieve")
@policy(OF_ADMIN_ABOUT_APP)
def show_retrieval_stats(ctx: Reads, app_id: _AppInQuery = None, user_id: _UserInQuery = None) -> Response:
    """Count what there is of one app, or of all. Looks at each row."""
    with ctx.read() as session:
        if app_id is not None:
            get_app(session, app_id)
        stock = count_stock(session, app_id)
        consent = None if app_id is None else gate.agrees(session, app_id, user_id)
    sizes = IndexSizes.from_row(stock)
    return answer(RetrievalStats.from_row(stock, app_id=app_id, profile_consent=consent, index_sizes=sizes))


@router.post("/api/memory/rebuild", response_model=Rebuilt, status_code=202, summary="Make the word index anew")
@policy(OF_ADMIN)
@as_write
def rebuild_word_index(ctx: Writes, session: Session) -> WriteResult:
    """Make the word index of the whole installation anew; until an app is filled in, its old words are not found."""
    apps = recreate_word_index(session, ctx.now(), ctx.loop.settings.job_max_attempts)
    return WriteResult(Rebuilt(apps=apps), 202, then=ctx.loop.ticker.wake)


@router.get("/apps/{appId}/indexes", summary="Show how complete an app's indexes are")
def show_indexes(ctx: Reads, app_id: AppInPath) -> IndexAnswer:
    """Show how many of an app's messages are in its indexes, and how far what is under way has come."""
    with ctx.read() as session:
        get_app(session, app_id)
        status = index_status(session, app_id)
    vectors = [VectorSetAnswer.from_row(one) for one in status.sets]
    return IndexAnswer.from_row(status, app_id=app_id, vectors=vectors)


@router.post(
    "/apps/{appId}/indexes/backfill", response_model=JobAnswer, status_code=202, summary="Index an app's old messages"
)
@as_write
def backfill_indexes(ctx: Writes, session: Session, app_id: AppInPath) -> WriteResult:
    """Bring messages into the indexes that are not there yet; again while it is under way: the same job."""
    app = lock_app(session, app_id)
    job = request_backfill(session, app_id, app.purge_epoch, ctx.now(), ctx.loop.settings.job_max_attempts)
    return WriteResult(JobAnswer.of(job), 202, about=app_id, then=ctx.loop.ticker.wake)


def _taken_apart(hit: SearchHit) -> DebugResult:
    one = hit.ranked.candidate
    brought = {(True, True): "both", (True, False): "fts", (False, True): "dense", (False, False): "neighbour"}
    return DebugResult(
        content=hit.content,
        score=round(hit.ranked.score, 6),
        source=brought[hit.by_words, hit.by_vector],
        type="chunk" if one.part else "message",
        message_id=hit.message_id,
        conversation_id=hit.conversation_id,
        # Adding 0.0 makes of -0.0 a plain 0.
        explanation={name: round(value, 6) + 0.0 for name, value in hit.ranked.parts.items()},
    )


def _summaries(ctx: RequestContext, search: Search) -> list[DebugResult]:
    """Return the summaries of the conversation that was named, and of no other, the most alike first."""
    if search.conversation_key is None:
        return []
    with ctx.read() as session:
        found = of_conversation(session, search.conversation_key, _SUMMARIES)
    scored = [
        (0.0 if search.query is None else search.query.likeness(one.vector, one.vector_model) or 0.0, one)
        for one in found
    ]
    return [
        DebugResult(
            content=one.content,
            score=round(score, 6),
            source="dense" if score else "recency",
            type="summary",
            message_id=None,
            conversation_id=one.conversation_id,
            explanation={"dense": round(score, 6)},
        )
        for score, one in sorted(scored, key=lambda pair: -pair[0])
    ]


def _profile(ctx: RequestContext, app_id: str, user_id: str | None) -> list[DebugResult]:
    loop = ctx.loop
    shown = gate.ask_for(loop.database, app_id, user_id, ctx.caller.name, ctx.now(), loop.metrics)
    text = "" if shown.profile is None else gate.text_of(shown.profile)
    if not text:
        return []
    return [
        DebugResult(
            content=text, score=1.0, source="consent", type="profile", message_id=None, conversation_id=None,
            explanation={},
        )
    ]  # fmt: skip
