"""The audit of the gate: who granted, revoked, wrote, erased, used or was refused a profile, and when. No text."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.profiles.models import AuditEntry, AuditKind
from shared.profiles.queries import line_since

GATHERED = timedelta(hours=1)
"""Uses by one actor within so long are one line with a count."""
_REPEATED = (AuditKind.USED, AuditKind.WITHHELD)


def note(session: Session, app_id: str, user_id: str, kind: AuditKind, actor: str, now: datetime) -> None:
    """Write down what happened; the same use again within an hour is counted on the line of the first."""
    known = line_since(session, app_id, user_id, kind, actor, now - GATHERED, now) if kind in _REPEATED else None
    if known is None:
        line = AuditEntry(app_id=app_id, user_id=user_id, kind=kind, actor=actor, count=1, at=now, last_at=now)
        session.add(line)
        session.flush()
    else:
        again = update(AuditEntry).where(AuditEntry.key == known)
        session.execute(again.values(count=AuditEntry.count + 1, last_at=now))
