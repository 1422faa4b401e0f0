"""Writing an event in the transaction in which the thing happened."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.contracts.events import EventKind
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
            details=_given(details),
            at=now,
        )
    )


def _given(details: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in details.items() if value is not None}
