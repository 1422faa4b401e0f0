"""What code that only opens transactions needs of a database: the database itself, or one that guards its writing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy.orm import Session


class Transactions(Protocol):
    """Short transactions; none may be held across a call to anything outside the database."""

    def read(self) -> AbstractContextManager[Session]:
        """Open a transaction that only reads. Raises: Transient."""

    def write(self) -> AbstractContextManager[Session]:
        """Open a transaction that may write; commits on leaving, rolls back on an error. Raises: Transient."""

    def scrub(self, patience_seconds: float = ..., /) -> None:
        """Make deleted text unreadable in the database's own files. Raises: Transient."""
