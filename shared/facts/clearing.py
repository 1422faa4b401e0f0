"""Clearing all facts of an app: taken back for some seconds, then an erasure."""

from __future__ import annotations

from sqlalchemy.orm import Session

from shared.facts import queries
from shared.facts.models import FactClear


def open_clear(session: Session, app_id: str) -> FactClear | None:
    """Return the clear-all of an app that can still be taken back, or is yet to become final."""
    return queries.open_clear(session, app_id)
