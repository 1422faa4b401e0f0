"""Semantic memories: learnt from a project's sessions, listed, confirmed, rejected, removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field, model_validator
from sqlalchemy.orm import Session

from loop.api.dependencies import PageOf50, ProjectInPath, Reads, SessionsAppId, Writes, as_write
from loop.api.policy import OF_APP_IN_QUERY, under
from loop.api.routes.jobs import JobAnswer
from loop.api.schema import From, RequestModel, ResponseModel, Success
from loop.api.writes import WriteResult
from shared.apps.queries import lock_app
from shared.base.choices import SemanticVerdict
from shared.contracts.values import ID_PATTERN, Words
from shared.sessions.models import SemanticKind, SemanticMemory, SemanticSource
from shared.sessions.queries import get_project, lock_project
from shared.sessions.semantic import queries
from shared.sessions.semantic.memories import MAX_MEMORY_CHARS, judge_memory, remove_memory, request_learning


class SemanticSourceItem(ResponseModel):
    """Where it was found."""

    session_id: str
    message_uuid: str
    excerpt: str


class SemanticItem(ResponseModel):
    """What sessions of a project have in common, or one of them laid down."""

    id: Annotated[str, From("memory_id")]
    type: Annotated[SemanticKind, From("kind")]
    content: str
    confidence: float = Field(description="0..1; rises with the sessions that bear it.")
    verdict: SemanticVerdict
    validated_by_user: bool = Field(description="Whether a person confirmed it.")
    decided_by: str | None
    decided_at: datetime | None
    agent: str
    sources: list[SemanticSourceItem]
    extracted_at: datetime

    @classmethod
    def of(cls, one: SemanticMemory, sources: Sequence[tuple[SemanticSource, str]]) -> SemanticItem:
        """Return a memory as it goes over the wire; ``sources`` may hold those of others."""
        own = [
            SemanticSourceItem.from_row(source, session_id=session_id)
            for source, session_id in sources
            if source.memory_key == one.key
        ]
        confirmed = one.verdict == SemanticVerdict.CONFIRMED
        return cls.from_row(one, validated_by_user=confirmed, sources=own)


class SemanticList(ResponseModel):
    """A project's semantic memories, newest first."""

    memories: list[SemanticItem]
    sessions_learnt: int = Field(description="Sessions that were learnt from as they are now.")
    sessions: int
    cursor: str | None


class JudgeMemory(RequestModel):
    """What a person says of it."""

    verdict: SemanticVerdict | None = None
    content: Annotated[Words, Field(min_length=1, max_length=MAX_MEMORY_CHARS)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> JudgeMemory:
        if self.verdict is None and self.content is None:
            raise ValueError("give verdict, content, or both")
        return self


class RequestedLearning(ResponseModel):
    """The job that learns."""

    project_id: str
    job: JobAnswer


router = APIRouter(prefix="/api/memory", tags=["Recorded sessions"], route_class=under(OF_APP_IN_QUERY))
SemanticInPath = Annotated[str, Path(alias="semanticId", pattern=ID_PATTERN)]


@router.get("/projects/{projectId}/semantic", summary="List semantic memories")
def list_semantic_memories(
    ctx: Reads,
    page: PageOf50,
    app_id: SessionsAppId,
    project_id: ProjectInPath,
    kind: Annotated[SemanticKind | None, Query(alias="type")] = None,
    verdict: Annotated[SemanticVerdict | None, Query()] = None,
) -> SemanticList:
    """List what was learnt from a project's sessions, newest first, with where it was found."""
    with ctx.read() as session:
        project = get_project(session, app_id, project_id)
        rows, following = page.numbered(
            "semantic", partial(queries.list_semantic_memories, session, project.key, kind=kind, verdict=verdict)
        )
        sources = queries.sources_of(session, [one.key for one in rows])
        learnt, sessions = queries.count_to_learn(session, project.key)
        return SemanticList(
            memories=[SemanticItem.of(one, sources) for one in rows],
            sessions_learnt=learnt,
            sessions=sessions,
            cursor=following,
        )


@router.post(
    "/projects/{projectId}/semantic/learn",
    response_model=RequestedLearning,
    status_code=202,
    summary="Learn from sessions",
)
@as_write
def learn_from_project(ctx: Writes, session: Session, app_id: SessionsAppId, project_id: ProjectInPath) -> WriteResult:
    """Ask for what a project's sessions teach; while a job is at it, answer that one."""
    app = lock_app(session, app_id)
    project = lock_project(session, app_id, project_id)
    job = request_learning(session, app, project, ctx.now(), ctx.loop.settings.job_max_attempts)
    requested = RequestedLearning(project_id=project_id, job=JobAnswer.awaited(ctx, session, job))
    return WriteResult(requested, 202, about=app_id, then=ctx.loop.ticker.wake)


@router.get("/semantic/{semanticId}", summary="Show a semantic memory")
def show_semantic_memory(ctx: Reads, app_id: SessionsAppId, memory_id: SemanticInPath) -> SemanticItem:
    """Show one semantic memory with where it was found."""
    with ctx.read() as session:
        memory = queries.get_semantic_memory(session, app_id, memory_id)
        return SemanticItem.of(memory, queries.sources_of(session, [memory.key]))


@router.patch("/semantic/{semanticId}", response_model=SemanticItem, summary="Judge a semantic memory")
@as_write
def judge_semantic_memory(
    ctx: Writes, session: Session, app_id: SessionsAppId, memory_id: SemanticInPath, body: JudgeMemory
) -> WriteResult:
    """Confirm or reject a memory, or put it in other words. A rejected one is not proposed again."""
    lock_app(session, app_id)
    cause = ctx.cause("judged by a person")
    memory = judge_memory(session, app_id, memory_id, body.verdict, body.content, cause)
    return WriteResult(SemanticItem.of(memory, queries.sources_of(session, [memory.key])), about=app_id)


@router.delete("/semantic/{semanticId}", response_model=Success, summary="Remove a semantic memory")
@as_write
def remove_semantic_memory(
    ctx: Writes, session: Session, app_id: SessionsAppId, memory_id: SemanticInPath
) -> WriteResult:
    """Remove a memory; found again, it is proposed again, unlike a rejected one."""
    lock_app(session, app_id)
    remove_memory(session, app_id, memory_id, ctx.cause("removed by a person"))
    return WriteResult(Success(), about=app_id)
