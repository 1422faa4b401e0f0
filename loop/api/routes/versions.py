"""Versions of recorded sessions: asked for, foreseen, read and removed; and the jobs about sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import (
    JobInPath,
    PageOf50,
    Reads,
    RequestContext,
    SessionInPath,
    SessionsAppId,
    Writes,
    as_write,
)
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.jobs import JobAnswer
from loop.api.routes.session_items import MarkerForeseen
from loop.api.schema import TEXT, Flag, From, ResponseModel, Success
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.audit import BY_HAND
from shared.base.errors import Conflict
from shared.contracts.values import Words
from shared.jobs.queries import get_job
from shared.llm.calls import EXTRACTIVE
from shared.sessions import manifest
from shared.sessions.compress import queries, versions
from shared.sessions.compress.queries import SessionJob
from shared.sessions.compress.run import VersionEstimate, estimate_version
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.sources import CompressionOrigin, read_task
from shared.sessions.compress.versions import complete_settings, request_version
from shared.sessions.models import BuildState, RecordedSession, SessionVersion, version_id
from shared.sessions.queries import get_session, lock_project_by_key, lock_session, markers_of, project_by_key
from shared.sessions.registry.projects import SessionChangeKind, settings_of

VERSION_ID_PATTERN = r"^v\d{3,9}$"


class MakeVersion(CompressionSettings):
    """Asks for a version; what is left out is as the project says."""

    source_version: Annotated[str, Field(pattern=VERSION_ID_PATTERN)] | None = Field(
        None, description="The version to make it from; the original unless said."
    )
    reason: Words = Field("", max_length=300, description="Kept with the version.")
    dry_run: Flag = Field(False, description="Only say what would come of it.")


class KeepitStats(ResponseModel):
    """What became of marked parts."""

    preserved: int
    summarized: int
    weights: dict[str, int] = Field(description="How many there were of each weight.")


class Progress(ResponseModel):
    """How far a job has come, in parts; both are 0 while it is not known how many there are."""

    done: int
    total: int


class VersionAnswer(ResponseModel):
    """A version of a session."""

    session_id: str
    version_id: str = Field(examples=["v001"])
    state: BuildState
    file: str | None = Field(description="Name of its files, without `.md` and `.jsonl`.")
    created_at: datetime
    finished_at: datetime | None
    settings: dict[str, Any]
    source_version: str | None = Field(description="The version it was made from; null for the original.")
    source_bytes: int = Field(description="How much of the original it covers.")
    input_tokens: int
    output_tokens: int
    output_messages: int
    compression_ratio: float
    keepit_stats: KeepitStats | None
    statistics: dict[str, Any]
    why: str = Field(description="What it leaves out of what it was made from, by kind and count; empty until made.")
    agent: str | None
    asked_by: str
    reason: str
    uses: int
    last_used: datetime | None
    used_in: list[str] = Field(description="Names of the compositions that use it; it cannot be removed before them.")

    @classmethod
    def of(cls, version: SessionVersion, session_id: str, used_in: Sequence[str] = ()) -> VersionAnswer:
        source = version.source_number
        return cls.from_row(
            version,
            session_id=session_id,
            used_in=list(used_in),
            source_version=None if source is None else version_id(source),
            compression_ratio=round(version.ratio, 2),
            keepit_stats=version.keepit_stats or None,
            why=version.statistics.get("why", ""),
        )


class VersionContent(ResponseModel):
    """A version and what it says."""

    version: VersionAnswer
    content: str = Field(description="As Markdown.")


class VersionList(ResponseModel):
    """Versions of a session that are whole, newest first."""

    session_id: str
    versions: list[VersionAnswer]
    working: VersionAnswer | None = Field(description="The one that is being made.")
    cursor: str | None


class VersionForeseen(ResponseModel):
    """What would come of a compression, by the built-in agent."""

    input_tokens: Annotated[int, From("plan.input_tokens")]
    input_messages: Annotated[int, From("plan.messages")]
    output_tokens: int
    output_messages: int
    compression_ratio: float
    preserved: int = Field(description="Marked parts that would be kept word for word.")
    summarized: int
    thresholds: list[float] = Field(description="The least weight that survives, by tier; empty unless decay decides.")
    markers: list[MarkerForeseen]
    note: str | None = Field(description="Why the ratio would not be near the one asked for.")
    is_sampled: bool = Field(description="Whether tokens and messages are estimated from a sample of a long session.")

    @classmethod
    def of(cls, estimate: VersionEstimate) -> VersionForeseen:
        decisions = estimate.plan.decisions
        preserved = sum(one.survived for one in decisions)
        return cls.from_row(
            estimate,
            compression_ratio=round(estimate.ratio, 2),
            preserved=preserved,
            summarized=len(decisions) - preserved,
            markers=[
                MarkerForeseen(marker_id=one.marker_id, weight=one.weight / 100, survives=one.survived)
                for one in decisions
            ],
        )


class VersionMade(ResponseModel):
    """A version was asked for; its job says when it is there. Of a dry run only ``foreseen`` is given."""

    version_id: str | None = None
    job: JobAnswer | None = None
    foreseen: VersionForeseen | None = None


class VersionRemoved(Success):
    """A version was removed; its id is not given again."""

    version_id: str


class SessionJobAnswer(JobAnswer):
    """A job about recorded sessions."""

    session_id: str | None = None
    version_id: str | None = None
    composition_id: str | None = None
    progress: Progress

    @classmethod
    def about(cls, found: SessionJob, expected_at: datetime | None) -> SessionJobAnswer:
        version, composition = found.compression, found.composition
        return cls.from_row(
            found.job,
            expected_at=expected_at,
            session_id=found.session_id,
            version_id=None if version is None else version.version_id,
            composition_id=None if composition is None else composition.composition_id,
            progress=_progress(found),
        )


def _progress(found: SessionJob) -> Progress:
    if found.learnt is not None:
        return Progress(done=found.learnt[0], total=found.learnt[1])
    version = found.compression
    if version is None:
        return Progress(done=0, total=0)
    is_whole = version.state == BuildState.READY
    return Progress(done=version.parts_total if is_whole else version.parts_done, total=version.parts_total)


class SessionJobList(ResponseModel):
    """Jobs about recorded sessions, newest first."""

    jobs: list[SessionJobAnswer]
    cursor: str | None


router = APIRouter(prefix="/api/memory", tags=["Versions"], route_class=under(OF_APP_IN_QUERY))
_CHUNK_TOKENS = 1_000_000
"""Of what is foreseen nothing is given to an agent, so it need not be divided."""
_ENDINGS = {"markdown": "md", "jsonl": "jsonl"}
_TYPES = {"md": "text/markdown; charset=utf-8", "jsonl": "application/x-ndjson"}
VersionInPath = Annotated[str, PathParameter(alias="versionId", pattern=VERSION_ID_PATTERN)]
Format = Annotated[
    Literal["json", "markdown", "jsonl"],
    Query(alias="format", description="`json`: the version with its Markdown; `jsonl`: as a transcript."),
]


@router.get("/sessions/{sessionId}/versions", summary="List versions")
def list_versions(ctx: Reads, page: PageOf50, app_id: SessionsAppId, session_id: SessionInPath) -> VersionList:
    """List the versions of a session that are whole, newest first, and the one that is being made."""
    with ctx.read() as session:
        recorded = get_session(session, app_id, session_id)
        rows, following = page.numbered("versions", partial(queries.versions_of, session, recorded.key), "number")
        working = queries.working_of(session, recorded.key)
        used = queries.names_using(session, [one.key for one in rows])
        return VersionList(
            session_id=session_id,
            versions=[VersionAnswer.of(one, session_id, used[one.key]) for one in rows],
            working=None if working is None else VersionAnswer.of(working, session_id),
            cursor=following,
        )


@router.post(
    "/sessions/{sessionId}/versions",
    status_code=202,
    response_model=VersionMade,
    responses={200: {"model": VersionMade, "description": "What would come of it; nothing was written."}},
    summary="Compress a session",
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY)
def make_version(
    ctx: Writes, app_id: SessionsAppId, session_id: SessionInPath, body: MakeVersion | None = None
) -> Response:
    """Ask for a version of a session, or with `dryRun` only for what would come of it."""
    requested = body or MakeVersion()
    if requested.dry_run:
        return answer(VersionMade(foreseen=VersionForeseen.of(_foresee(ctx, app_id, session_id, requested))))

    def work(session: Session) -> WriteResult:
        app = lock_app(session, app_id)
        get_installed_app(session, app_id)
        recorded = lock_session(session, app_id, session_id)
        settings = _settings(ctx, session, recorded.project_key, requested)
        source = _source(session, recorded, requested)
        attempts = ctx.loop.settings.job_max_attempts
        cause = ctx.cause(BY_HAND)
        version = request_version(
            session, app, recorded, settings, cause, ctx.now(), source, requested.reason, attempts
        )
        assert version.job_id is not None
        job = get_job(session, version.job_id)
        made = VersionMade(version_id=version.version_id, job=JobAnswer.awaited(ctx, session, job))
        return WriteResult(made, 202, about=app_id, then=ctx.loop.ticker.wake)

    return ctx.write(work)


@router.get(
    "/sessions/{sessionId}/versions/{versionId}",
    response_model=VersionContent,
    responses={200: {"content": {"text/markdown": TEXT, "application/x-ndjson": TEXT}}},
    summary="Read a version",
)
def read_version(
    ctx: Reads, app_id: SessionsAppId, session_id: SessionInPath, version_id: VersionInPath, format_: Format = "json"
) -> Response:
    """Read what a version says: as Markdown, or as a transcript that tools can go on with; these count as a use."""
    with ctx.read() as session:
        recorded = get_session(session, app_id, session_id)
        version = queries.get_version(session, recorded, version_id)
        project_id = project_by_key(session, recorded.project_key).project_id
        used = queries.names_using(session, [version.key])[version.key]
    folder = ctx.loop.store.versions_folder(app_id, project_id, session_id)
    path = version_file(folder, version, _ENDINGS.get(format_, "md"))
    if format_ == "json":
        content = path.read_bytes().decode()
        return answer(VersionContent(version=VersionAnswer.of(version, session_id, used), content=content))
    # A transaction of its own, opened once the file is known to be there: what cannot be read is no use.
    with ctx.loop.database.write() as session:
        versions.count_version_use(session, version, ctx.now())
    return FileResponse(path, media_type=_TYPES[_ENDINGS[format_]])


@router.delete("/sessions/{sessionId}/versions/{versionId}", response_model=VersionRemoved, summary="Remove a version")
@as_write
def remove_version(
    ctx: Writes, session: Session, app_id: SessionsAppId, session_id: SessionInPath, version_id: VersionInPath
) -> WriteResult:
    """Remove a version that nothing uses, with its files; the session and its other versions stay."""
    lock_app(session, app_id)
    project = lock_project_by_key(session, get_session(session, app_id, session_id).project_key)
    recorded = lock_session(session, app_id, session_id)
    version = queries.get_version(session, recorded, version_id)
    files = versions.remove_version(session, project, recorded, version, SessionChangeKind.REMOVED, ctx.cause(BY_HAND))
    folder = ctx.loop.store.versions_folder(app_id, project.project_id, session_id)

    def clear() -> None:
        # After the commit, so that no row names a file that is gone.
        for file in files:
            ctx.loop.store.remove(folder / file)
        manifest.write(ctx.loop.database, ctx.loop.store, app_id, project.project_id)
        ctx.loop.metrics.versions_removed.labels("by_hand").inc()

    return WriteResult(VersionRemoved(version_id=version_id), about=app_id, then=clear)


@router.get("/jobs", summary="List jobs about sessions")
def list_session_jobs(ctx: Reads, page: PageOf50, app_id: SessionsAppId) -> SessionJobList:
    """List an app's compressions, compositions and the like, newest first, each with how far it has come."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered("session-jobs", partial(queries.session_jobs, session, app_id), "job.seq")
        return SessionJobList(
            jobs=[SessionJobAnswer.about(one, ctx.loop.regulator.expected(session, one.job)) for one in rows],
            cursor=following,
        )


@router.get("/jobs/{jobId}", summary="Show a job about sessions")
def show_session_job(ctx: Reads, app_id: SessionsAppId, job_id: JobInPath) -> SessionJobAnswer:
    """Show how far a compression or a composition has come."""
    with ctx.read() as session:
        found = queries.session_job(session, app_id, job_id)
        return SessionJobAnswer.about(found, ctx.loop.regulator.expected(session, found.job))


def version_file(folder: Path, version: SessionVersion, ending: str) -> Path:
    """Return a file of a version in its session's folder. Raises: Conflict where it is missing."""
    path = folder / f"{version.file}.{ending}"
    if not path.is_file():
        missing = f"The file of version {version.version_id} is missing; make the version anew."
        raise Conflict(missing, code="source_gone")
    return path


def _settings(ctx: RequestContext, session: Session, project_key: int, requested: MakeVersion) -> CompressionSettings:
    project = settings_of(session, project_by_key(session, project_key))
    own = requested.model_dump(exclude={"source_version", "reason", "dry_run"}, exclude_unset=True)
    return complete_settings(CompressionSettings.model_validate(own), ctx.loop.settings.model, project)


def _source(session: Session, recorded: RecordedSession, requested: MakeVersion) -> SessionVersion | None:
    return (
        None if requested.source_version is None else queries.get_version(session, recorded, requested.source_version)
    )


def _foresee(ctx: RequestContext, app_id: str, session_id: str, requested: MakeVersion) -> VersionEstimate:
    """Estimate the version by rules alone and keep nothing of it; no energy is spent."""
    with ctx.read() as session:
        recorded = get_session(session, app_id, session_id)
        settings = _settings(ctx, session, recorded.project_key, requested).model_copy(update={"model": EXTRACTIVE})
        source = _source(session, recorded, requested)
        project_id = project_by_key(session, recorded.project_key).project_id
        sha256 = recorded.sha256 if source is None else source.digests["jsonl"]
        markers = markers_of(session, recorded.key)
    origin = CompressionOrigin(app_id, project_id, session_id, sha256, recorded.size_bytes, source, markers)
    return estimate_version(read_task(ctx.loop.store, origin, settings), _CHUNK_TOKENS)
