"""Jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from loop.api.schemas.wire import Answer
from shared.contracts.jobs import JobKind
from shared.outbox.models import Deferral, Job, JobState


class JobAnswer(Answer):
    """A job."""

    job_id: str
    kind: JobKind
    app_id: str | None
    conversation_id: str | None
    state: JobState
    attempts: int
    max_attempts: int
    reason: str | None = Field(description="Why it waits, was deferred, failed or was cancelled.")
    created_at: datetime
    due_at: datetime
    deferral: Deferral | None = Field(description="What a deferred job waits for.")
    deferred_since: datetime | None
    expected_at: datetime | None = Field(description="When a deferred job may start, as far as can be told; else null.")
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, job: Job, expected_at: datetime | None = None) -> JobAnswer:
        """Return a job as it goes over the wire."""
        return cls(
            job_id=job.job_id,
            kind=JobKind(job.kind),
            app_id=job.app_id,
            conversation_id=job.conversation_id,
            state=JobState(job.state),
            attempts=job.attempts,
            max_attempts=job.max_attempts,
            reason=job.reason,
            created_at=job.created_at,
            due_at=job.due_at,
            deferral=None if job.deferral is None else Deferral(job.deferral),
            deferred_since=job.deferred_since,
            expected_at=expected_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
        )


class JobAsked(Answer):
    """The job of a conversation that was asked for."""

    conversation_id: str
    job: JobAnswer


class JobList(Answer):
    """Jobs, newest first."""

    jobs: list[JobAnswer]
    cursor: str | None
