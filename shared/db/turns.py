"""Turns of the threads of one process that write to one SQLite file, and writes of several that are committed together.

A commit waits for the disk, longer than most writes take. So a thread that has written hands its open transaction to
the next one that waits, which writes behind a savepoint of its own, and the last of them commits for all. Each is
answered after that commit; an error of one takes back its own rows alone, and a commit that fails fails them all.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.base.errors import Transient

_Joining = Literal["create_savepoint", "rollback_only"]
BUSY_TIMEOUT_SECONDS = 15
_MOST_TOGETHER = 32
_HANDED_ON_SECONDS = 0.02
"""An older transaction is handed on no more: its first writer waits for the commit."""
_LOOK_SECONDS = 0.05
"""So often who waits for a commit looks whether anybody is there to make it."""


@dataclass(eq=False)
class _Group:
    """One transaction, and the writes of several threads in it."""

    connection: Connection
    began: float = field(default_factory=monotonic)
    writes: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    """Why nothing of it is in the database."""


class WriterTurns:
    """Lets one thread write at a time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self.waiting = 0
        """Threads that would go on with a transaction."""
        self._group: _Group | None = None
        """A transaction that was handed on; changed by who has the turn."""

    @contextmanager
    def alone(self, patience_seconds: float = BUSY_TIMEOUT_SECONDS) -> Iterator[None]:
        """Have the turn, with nothing of another thread's uncommitted. Raises: Transient."""
        self._wait_for_turn(patience_seconds)
        try:
            if self._group is not None:
                self._commit(self._group)
            yield
        finally:
            self._turn.release()

    @contextmanager
    def write(self, engine: Engine) -> Iterator[Session]:
        """Write in a transaction, committed when this ends, with those of others. Raises: Transient, the driver's."""
        with self._counting:
            self.waiting += 1
        try:
            self._wait_for_turn(BUSY_TIMEOUT_SECONDS)
        finally:
            with self._counting:
                self.waiting -= 1
        try:
            group = self._group
            if group is None:
                with ExitStack() as opening:
                    connection = opening.enter_context(engine.connect())
                    connection.begin()
                    # Closed here only where it does not begin.
                    opening.pop_all()
                group = self._group = _Group(connection)
            try:
                # What the first one writes needs no savepoint: to take it back is to end the transaction.
                mode: _Joining = "create_savepoint" if group.writes else "rollback_only"
                with Session(
                    group.connection, expire_on_commit=False, join_transaction_mode=mode
                ) as session, session.begin():  # fmt: skip
                    yield session
                group.writes += 1
            finally:
                self._go_on(group)
        finally:
            self._turn.release()
        self._wait_for_commit(group)

    def _wait_for_turn(self, seconds: float) -> None:
        if not self._turn.acquire(timeout=seconds):
            raise Transient("The database did not answer (another writer of this process holds it); try again.")

    def _go_on(self, group: _Group) -> None:
        """Hand a transaction to the next thread, or end it."""
        # On some errors, a full disk among them, SQLite has ended the whole transaction by itself.
        driver = _driver_of(group.connection)
        if not group.writes or driver is None or not driver.in_transaction:
            self._end(group, Transient("The database refused a write beside this one; try again."))
        elif not (self.waiting and group.writes < _MOST_TOGETHER and monotonic() - group.began < _HANDED_ON_SECONDS):
            self._commit(group)

    def _commit(self, group: _Group) -> None:
        # Whatever ends it: who went on with it, or committed it once more, would take it for one that is to come.
        error: Exception | None = Transient("The database was left while it wrote; try again.")
        try:
            group.connection.commit()
            error = None
        except SQLAlchemyError as failed:
            # Each of those that wait for it raises it.
            error = failed
        finally:
            driver = None if error is None else _driver_of(group.connection)
            # It may still be in the transaction, which the pool must not hand to anybody. Not closed: on a full disk
            # SQLite could not open the file again.
            if driver is not None:
                with suppress(sqlite3.Error):
                    driver.rollback()
            self._end(group, error)

    def _end(self, group: _Group, error: Exception | None = None) -> None:
        self._group, group.error = None, error
        try:
            # Rolls back what is still open.
            group.connection.close()
        finally:
            group.over.set()

    def _wait_for_commit(self, group: _Group) -> None:
        while not group.over.wait(_LOOK_SECONDS):
            # Who was to go on with it may have given up waiting.
            if self._turn.acquire(blocking=False):
                try:
                    if self._group is group:
                        self._commit(group)
                finally:
                    self._turn.release()
        if group.error is not None:
            raise group.error


def _driver_of(connection: Connection) -> sqlite3.Connection | None:
    found: sqlite3.Connection | None = None if connection.invalidated else connection.connection.driver_connection
    return found
