"""The end of a job, told to those who listen, in the transaction in which it ends."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.contracts.events import EventKind
from shared.errors import LeaseLost, Purged
from shared.events.recording import record, record_end_of_job
from shared.outbox.models import Deferral, JobState
from shared.outbox.ownership import Claim, finish


def end(session: Session, claim: Claim, state: JobState, now: datetime, reason: str | None = None) -> None:
    """End a job in the transaction that writes its result. Raises: LeaseLost."""
    finish(session, claim, state, now, reason)
    record_end(session, claim, state, now)


def erased(claim: Claim) -> LeaseLost:
    """Return what to raise for a job whose conversation is gone."""
    return LeaseLost(f"The conversation of job {claim.job_id} was erased.")


def unpurged(app: App, claim: Claim) -> App:
    """Return the app of a job. Raises: Purged, where it was purged since the job was asked for."""
    if app.purge_epoch != claim.epoch:
        raise Purged(f"App {claim.app_id} was purged after job {claim.job_id} was asked for.")
    return app


def record_end(session: Session, claim: Claim, state: JobState, now: datetime) -> None:
    """Record the event of a job that has ended for good."""
    record_end_of_job(session, claim.app_id, claim.job_id, claim.kind, state, now, claim.conversation_id)


def record_deferral(session: Session, claim: Claim, now: datetime) -> None:
    """Record the event of a job that waits until its app's budget covers it."""
    record(
        session,
        EventKind.JOB_DEFERRED,
        claim.app_id,
        now,
        conversation_id=claim.conversation_id,
        subject=claim.job_id,
        job=claim.kind,
        deferral=Deferral.BUDGET.value,
    )
