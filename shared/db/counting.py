"""How many rows there are, and how many a statement changed."""

from __future__ import annotations

from sqlalchemy import Delete, Select, Update
from sqlalchemy.orm import Session


def count(session: Session, query: Select[int]) -> int:
    """Return the one number a query selects; 0 where it selects none."""
    return session.scalar(query) or 0


def rows_changed(session: Session, statement: Delete | Update) -> int:
    """Carry a statement out and return how many rows it deleted or changed."""
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]
