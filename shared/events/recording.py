"""Writing an event in the transaction in which the thing happened."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from shared.contracts.events import EventKind
from shared.contracts.jobs import JobKind
from shared.events.models import Event


def record(
    session: Session,
    kind: EventKind,
    app_id: str,
    now: datetime,
    *,
    conversation_id: str | None = None,
    subject: str | int | None = None,
    **details: str | int | float | None,
) -> None:
    """Add an event; listeners are told once the transaction has ended and the regulating loop has placed it."""
    session.add(
        Event(
            app_id=app_id,
            kind=kind,
            conversation_id=conversation_id,
            subject=None if subject is None else str(subject),
            details={name: value for name, value in details.items() if value is not None},
            at=now,
        )
    )


def record_end_of_job(
    session: Session,
    app_id: str | None,
    job_id: str,
    kind: str,
    state: str,
    now: datetime,
    conversation_id: str | None = None,
) -> None:
    """Add the event of a job that ended for good; that a webhook was told is not told again."""
    if app_id is None or kind == JobKind.DELIVER_WEBHOOK:
        return
    record(
        session,
        EventKind.JOB_FINISHED,
        app_id,
        now,
        conversation_id=conversation_id,
        subject=job_id,
        job=kind,
        state=state,
    )
