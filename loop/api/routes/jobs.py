"""Jobs: seen by admins and, their own, by apps; replayed and cancelled by admins."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.dependencies import JobInPath, PageOf50, Reads, RequestContext, Writes, as_write
from loop.api.policy import OF_ADMIN, OF_APP_IN_QUERY, policy, under
from loop.api.schema import APP_ID_PATTERN, AppId, RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.models import Scope
from shared.apps.queries import lock_app
from shared.base.errors import Denied, NotFound, Operation
from shared.contracts.jobs import JobKind
from shared.contracts.values import Words
from shared.energy.budget import to_units
from shared.energy.ledger import calls_of_job
from shared.events.recording import record_end_of_job
from shared.jobs import control, queries
from shared.jobs.control import ReplayRound
from shared.jobs.models import Deferral, Job, JobState
from shared.jobs.queries import JobFilter
from shared.llm.calls import CallOutcome, WorkKind
from shared.telemetry.logging import get_logger


class JobAnswer(ResponseModel):
    """A job."""

    job_id: str
    kind: JobKind | str = Field(description="One that is none of these is of another release.")
    app_id: str | None
    conversation_id: str | None
    state: JobState
    attempts: int
    max_attempts: int
    reason: str | None = Field(
        description="Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead."
    )
    created_at: datetime
    due_at: datetime
    deferral: Deferral | None = Field(description="What a deferred job waits for.")
    deferred_since: datetime | None
    expected_at: datetime | None = Field(description="When a deferred job may start, as far as can be told; else null.")
    started_at: datetime | None
    finished_at: datetime | None
    trace_id: str | None = Field(description="The trace of whatever asked for it; null where none was made.")

    @classmethod
    def of(cls, job: Job, expected_at: datetime | None = None) -> JobAnswer:
        return cls.from_row(job, expected_at=expected_at)

    @classmethod
    def awaited(cls, ctx: RequestContext, session: Session, job: Job) -> JobAnswer:
        return cls.of(job, ctx.loop.regulator.expected(session, job))


class JobCall(ResponseModel):
    """A call of a model, or of the built-in agent, that a job made."""

    at: datetime = Field(description="When it ended.")
    kind: WorkKind
    model: str
    outcome: CallOutcome
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = Field(description="Whether the tokens are reckoned here, as the provider did not say.")
    units: float


class JobDetails(JobAnswer):
    """A job and what it cost."""

    calls: list[JobCall] = Field(
        description="Of all its attempts, the oldest first; those that were folded into sums are not among them."
    )


class RequestedJob(ResponseModel):
    """The job of a conversation that was asked for."""

    conversation_id: str
    job: JobAnswer


class JobList(ResponseModel):
    """Jobs, newest first."""

    jobs: list[JobAnswer]
    cursor: str | None


_PART_OF_REASON = "Part of their reason, in any case of letters."


class ReplayJobs(RequestModel):
    """Which dead letters to run again; without any field, all there are."""

    app_id: AppId | None = None
    kind: JobKind | None = None
    reason: Annotated[Words, Field(min_length=1, max_length=200)] | None = Field(
        None, description=_PART_OF_REASON, examples=["cannot be reached"]
    )
    dry_run: bool = Field(False, description="Only count them.")
    cursor: Annotated[str, Field(max_length=400)] | None = Field(
        None, description="Goes on where a former round ended."
    )


class ReplayAnswer(ResponseModel):
    """What one round came to; ask again with the cursor until it is null."""

    matching: dict[str, int] = Field(description="By kind, the dead letters that this round and later ones are for.")
    replayed: int
    refused: int = Field(description="Stay dead: what they were about was purged or erased, or they never became jobs.")
    left: int = Field(description="For later rounds.")
    cursor: str | None


router = APIRouter(prefix="/jobs", tags=["Jobs"], route_class=under(OF_APP_IN_QUERY))
_REPLAYS = "replays"
_REPLAYED_AT_ONCE = 100
"""So that the transaction stays short; its apps are locked meanwhile."""


@router.get("", summary="List jobs")
def list_jobs(
    ctx: Reads,
    page: PageOf50,
    state: JobState | None = None,
    app_id: Annotated[str | None, Query(alias="appId", pattern=APP_ID_PATTERN)] = None,
    kind: JobKind | None = None,
    reason: Annotated[Words | None, Query(min_length=1, max_length=200, description=_PART_OF_REASON)] = None,
) -> JobList:
    """List jobs, newest first. An app's token must name its own app."""
    if not _may_list(ctx, app_id):
        own = Operation("listJobs", {"appId": ctx.caller.app_id})
        raise Denied("This token sees only its own app's jobs: {operation}.", operation=own)
    wanted = JobFilter(state, app_id, kind, reason=reason)
    with ctx.read() as session:
        rows, following = page.numbered(
            "jobs", lambda most, before: queries.list_jobs(session, wanted, most, before), "seq"
        )
        return JobList(jobs=[JobAnswer.awaited(ctx, session, job) for job in rows], cursor=following)


def _may_list(ctx: RequestContext, app_id: str | None) -> bool:
    return ctx.caller.scope is Scope.ADMIN or (app_id is not None and ctx.caller.may_touch(app_id))


@router.get("/{jobId}", summary="Show a job")
def show_job(ctx: Reads, job_id: JobInPath) -> JobDetails:
    """Show one job, and the calls it made."""
    with ctx.read() as session:
        job = _visible(ctx, session, job_id)
        calls = [JobCall.from_row(one, units=to_units(one.micro)) for one in calls_of_job(session, job_id)]
        return JobDetails.from_row(job, expected_at=ctx.loop.regulator.expected(session, job), calls=calls)


def _visible(ctx: RequestContext, session: Session, job_id: str) -> Job:
    """Return a job the caller may see; an app learns nothing of others', not even whether there is one."""
    try:
        job = queries.get_job(session, job_id)
    except NotFound:
        if ctx.caller.scope is Scope.ADMIN:
            raise
        job = None
    if job is None or not _may_list(ctx, job.app_id):
        raise Denied("This token sees only its own app's jobs.")
    return job


@router.post("/replay", response_model=ReplayAnswer, summary="Replay dead letters")
@policy(OF_ADMIN)
@as_write
def replay_jobs(ctx: Writes, session: Session, replay: ReplayJobs) -> WriteResult:
    """Run dead letters again with fresh attempts, by app, by kind, by reason, or all, oldest first, 100 at a time."""
    after = cursors.decode_number(_REPLAYS, replay.cursor) or 0
    dead = JobFilter(JobState.DEAD, replay.app_id, replay.kind, reason=replay.reason)
    matching = queries.count_jobs(session, dead, after)
    done = ReplayRound(0, 0, None)
    if not replay.dry_run:
        done = control.replay_dead(session, dead, after, _REPLAYED_AT_ONCE, ctx.now())
    left = max(0, sum(matching.values()) - done.replayed - done.refused)
    cursor = cursors.encode(_REPLAYS, done.last) if left and done.last is not None else None
    body = ReplayAnswer(matching=matching, replayed=done.replayed, refused=done.refused, left=left, cursor=cursor)
    return WriteResult(body, about=replay.app_id, then=lambda: _log_and_wake(ctx, body))


def _log_and_wake(ctx: RequestContext, body: ReplayAnswer) -> None:
    if body.replayed:
        ctx.loop.ticker.wake()
    get_logger().info("jobs_replayed", by=ctx.caller.name, replayed=body.replayed, refused=body.refused, left=body.left)


@router.post("/{jobId}/replay", response_model=JobAnswer, summary="Replay a job")
@policy(OF_ADMIN)
@as_write
def replay_job(ctx: Writes, session: Session, job_id: JobInPath) -> WriteResult:
    """Run a dead or cancelled job again, with fresh attempts."""
    app_id = queries.get_job(session, job_id).app_id
    # Locked, so that no purge comes between looking at the epoch and running the job under it.
    epoch = lock_app(session, app_id).purge_epoch if app_id is not None else 0
    job = control.replay(session, job_id, epoch, ctx.now())
    return WriteResult(JobAnswer.of(job), about=app_id, then=ctx.loop.ticker.wake)


@router.post("/{jobId}/cancel", response_model=JobAnswer, summary="Cancel a job")
@policy(OF_ADMIN)
@as_write
def cancel_job(ctx: Writes, session: Session, job_id: JobInPath) -> WriteResult:
    """Stop a job that has not finished; one that is being worked on can write nothing any more."""
    app_id = queries.get_job(session, job_id).app_id
    if app_id is not None:
        lock_app(session, app_id)  # The answer names what the job is about, which may be erased at this moment.
    known = queries.lock_job(session, job_id)
    was_cancelled = known is not None and known.state == JobState.CANCELLED
    job = control.cancel(session, job_id, ctx.caller.name, ctx.now())
    if not was_cancelled:
        record_end_of_job(session, job.app_id, job_id, job.kind, job.state, ctx.now(), job.conversation_id)
    return WriteResult(JobAnswer.of(job), about=job.app_id, then=lambda: None if was_cancelled else _count(ctx, job))


def _count(ctx: RequestContext, job: Job) -> None:
    ctx.loop.metrics.jobs_finished.labels(job.kind, JobState.CANCELLED).inc()
