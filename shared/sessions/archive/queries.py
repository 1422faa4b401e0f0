"""Reads of a whole project, for its archive."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.sessions.models import RecordedSession, SessionChange
from shared.sessions.semantic.models import SemanticMemory


def memories_of(session: Session, project_key: int) -> Sequence[SemanticMemory]:
    """Return a project's semantic memories, oldest first."""
    query = select(SemanticMemory).where(SemanticMemory.project_key == project_key)
    return session.scalars(query.order_by(SemanticMemory.key)).all()


def changes_of(session: Session, app_id: str, project_id: str) -> Sequence[SessionChange]:
    """Return everything that was done to a project, oldest first."""
    query = select(SessionChange).where(SessionChange.app_id == app_id, SessionChange.project_id == project_id)
    return session.scalars(query.order_by(SessionChange.key)).all()


def known_sessions(session: Session, app_id: str, session_ids: Collection[str]) -> list[str]:
    """Return which of some sessions an app has registered already."""
    query = select(RecordedSession.session_id).where(RecordedSession.app_id == app_id)
    known = set(session.scalars(query))
    return sorted(known & set(session_ids))
