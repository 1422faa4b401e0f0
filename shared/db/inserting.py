"""Adding a row unless it is there, in one statement, so that two transactions that both add it do not collide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from shared.db.base import Base


def insert_if_absent(session: Session, table: type[Base], /, **values: object) -> None:
    """Insert a row; one with the same key that stands already, or is being added by another, stays as it is."""
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    session.execute(dialect.insert(table).values(**values).on_conflict_do_nothing())


def insert_all_if_absent(session: Session, table: type[Base], rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows; those whose key stands already stay as they are."""
    if rows:
        dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
        session.execute(dialect.insert(table.__table__).on_conflict_do_nothing(), list(rows))
