"""Short transactions on SQLite or PostgreSQL behind one object.

``read()`` reads what is committed: on SQLite a snapshot; on PostgreSQL, where each statement sees its own moment
anyway, without a transaction, whose beginning and end would be two trips more. ``write()`` takes the writer's place at
once: on SQLite a deferred transaction that reads and then writes is refused however long the busy timeout is, so
writers begin with ``BEGIN IMMEDIATE``.
Both translate the driver's errors; neither may be held across a call to anything outside the database.

What keeps a database from taking writes, as its driver tells it, and what to do about it.

A name of SQLite's result code or a SQLSTATE of PostgreSQL tells which; the drivers' classes do not.
"""

import select
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.orm import Session

from shared.base.errors import Transient
from shared.db.base import Base
from shared.db.turns import BUSY_TIMEOUT_SECONDS, WriterTurns

_MAY_PASS = (OperationalError, InterfaceError)


class Trouble(StrEnum):
    """What is wrong; the value says it, and what to do."""

    FULL = (
        "The disk of the database is full: what is there can be read, nothing can be written. Make room on it; the "
        "service goes on by itself."
    )
    READ_ONLY = (
        "The database is read-only at the moment, as after a failover: what is there can be read. Try again; the "
        "service looks for one that takes writes by itself."
    )
    DAMAGED = (
        "The database's file is damaged. Stop everything, keep a copy of its folder, and restore the last backup "
        "(ops/runbook.md, Backup and restore)."
    )
    FAILING = "The disk of the database fails: look at the machine's log and its disks, and keep a backup at hand."


_SIGNS: dict[Trouble, tuple[str, ...]] = {
    Trouble.FULL: ("SQLITE_FULL", "53100"),
    Trouble.READ_ONLY: ("SQLITE_READONLY", "25006"),
    Trouble.DAMAGED: ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002"),
    Trouble.FAILING: ("SQLITE_IOERR", "58030"),
}


def trouble_of(error: DBAPIError) -> Trouble | None:
    """Return what is wrong with the database itself; None where an error says nothing of it."""
    sign = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None) or ""
    return next((trouble for trouble, signs in _SIGNS.items() if sign.startswith(signs)), None)


def as_transient(error: DBAPIError) -> Transient | None:
    """Return what is to be told of a driver's error that may pass; None for one that is a mistake of ours."""
    trouble = trouble_of(error)
    if trouble is not None:
        return Transient(f"{trouble} ({_brief(error)})")
    if isinstance(error, _MAY_PASS) or error.connection_invalidated:
        return Transient(f"The database did not answer ({_brief(error)}); try again.")
    return None


def _brief(error: DBAPIError) -> str:
    return (str(error.orig).splitlines() or [""])[0][:200]


SCRUB_PATIENCE_SECONDS = 2.0
"""How long scrubbing may wait for others; who asked for it is waiting too, and it is tried again later."""
_LOG_SECONDS, _LOG_TRY_SECONDS = 2.0, 0.05
_TROUBLED_SECONDS = 5.0
"""How long a database counts as troubled after it refused something; then it is asked again."""
_ANEW_SECONDS = 1.0
_VANISHED_SECONDS = 16


class Database:
    """One database, opened once per process and after a fork: its connections must not be shared between processes."""

    def __init__(self, url: str, pool_size: int = 20) -> None:
        self.url = url
        self.is_sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = _sqlite_engine(url, pool_size) if self.is_sqlite else _postgres_engine(url, pool_size)
        self._writing = self.engine.execution_options(begin_immediate=True)
        self._reading = self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")
        if not self.is_sqlite:
            sa.event.listen(self._reading, "before_cursor_execute", _fetch_in_binary)
        self._open = threading.local()
        self.turns = WriterTurns() if self.is_sqlite else None
        self._trouble: tuple[Trouble, float] | None = None
        """What it refused something for, and when (monotonic seconds)."""
        self._anew_at = 0.0

    @property
    def is_held_here(self) -> bool:
        """Whether this thread is inside a transaction: model, HTTP and broker calls must find it false."""
        return bool(getattr(self._open, "depth", 0))

    def read(self) -> AbstractContextManager[Session]:
        """Open a session that only reads. Raises: Transient."""
        return self._transaction(self._reading)

    def write(self, *, together: bool = False) -> AbstractContextManager[Session]:
        """Open a transaction that may write; commits on leaving, rolls back on an error. Raises: Transient.

        ``together``: on SQLite it may be committed with those of other threads that wait for it, which costs one trip
        to the disk; for what takes some milliseconds. PostgreSQL does so by itself.
        """
        return self._transaction(self._writing) if self.turns is None else self._in_turn(self.turns, together)

    @contextmanager
    def _in_turn(self, turns: WriterTurns, together: bool) -> Iterator[Session]:
        """Write when the other threads here have: SQLite lets waiting writers sleep, and some of them for seconds."""
        if together:
            with self._held(), turns.write(self._writing) as session:
                yield session
        else:
            with turns.alone(), self._transaction(self._writing) as session:
                yield session

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Session]:
        # Rows are read after their transaction has ended, too, and must not begin another one for that.
        with self._held(), Session(engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Note that this thread is in a transaction, and translate what the driver raises."""
        self._open.depth = getattr(self._open, "depth", 0) + 1
        try:
            yield
        except DBAPIError as error:
            transient = self._translate(error)
            if transient is None:
                raise
            raise transient from error
        finally:
            self._open.depth -= 1

    def look(self) -> None:
        """See whether the database answers and takes writes. Raises: Transient."""
        noted = self._trouble
        # Damage is not asked about again: only a look at the whole file could say that it is over (decision 32).
        if noted is not None and (noted[0] is Trouble.DAMAGED or time.monotonic() - noted[1] < _TROUBLED_SECONDS):
            raise Transient(noted[0])
        if not self.is_sqlite:
            with self.read() as session:
                is_read_only = session.scalar(sa.text("SELECT current_setting('transaction_read_only')")) == "on"
            if is_read_only:
                self._note(Trouble.READ_ONLY)
                raise Transient(Trouble.READ_ONLY)
        elif noted is None:
            with self.read() as session:
                session.execute(sa.text("SELECT 1"))
        else:
            with self.write() as session:
                # Only what really writes a page says that there is room for one.
                number = session.scalar(sa.text("PRAGMA user_version")) or 0
                session.execute(sa.text(f"PRAGMA user_version = {int(number)}"))
        # Unless another thread has met with trouble meanwhile.
        if self._trouble is noted:
            self._trouble = None

    def _translate(self, error: DBAPIError) -> Transient | None:
        """Return what to tell of a driver's error, and remember what is wrong with the database itself."""
        trouble = trouble_of(error)
        if trouble is not None:
            self._note(trouble)
        return as_transient(error)

    def _note(self, trouble: Trouble) -> None:
        now = time.monotonic()
        self._trouble = (trouble, now)
        if trouble is Trouble.READ_ONLY and now - self._anew_at >= _ANEW_SECONDS:
            # The others lead to the same server; a new one may be the primary by now. Not at every refusal, or a busy
            # loop would open connections all the time.
            self._anew_at = now
            self.engine.dispose()

    def scrub(self, patience_seconds: float = SCRUB_PATIENCE_SECONDS, most_bytes: int | None = None) -> None:
        """Make deleted text unreadable in the database's own files; one larger than ``most_bytes`` is left to others.

        SQLite is written anew as a whole: ``secure_delete`` overwrites deleted cells, but where a page was divided
        before, copies of cells stay in the gap of the page they were moved from, and nothing overwrites those. Its
        write-ahead log keeps old pages until a checkpoint truncates it. PostgreSQL keeps dead rows until a vacuum.
        Raises: Transient.
        """
        try:
            if self.is_sqlite:
                self._rewrite(min(patience_seconds, BUSY_TIMEOUT_SECONDS), most_bytes)
            else:
                # Ours alone: the server's catalogues hold no text, and are most of the work.
                ours = [table.name for table in Base.metadata.sorted_tables]
                with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    words = connection.scalars(
                        sa.text(
                            "SELECT relname FROM pg_class WHERE oid IN (to_regclass('message_words'),"
                            " to_regclass('message_words_blocks'))"
                        )
                    )
                    connection.execute(sa.text(f"VACUUM {', '.join([*ours, *words])}"))
        except DBAPIError as error:
            transient = self._translate(error)
            if transient is None:
                raise
            raise transient from error

    def _rewrite(self, patience_seconds: float, most_bytes: int | None) -> None:
        with self.engine.connect().execution_options(no_transaction=True) as connection:
            pages, size = (connection.scalar(sa.text(f"PRAGMA {name}")) or 0 for name in ("page_count", "page_size"))
            if most_bytes is not None and pages * size > most_bytes:
                raise Transient(f"The database has {pages * size} bytes; the loop writes it anew within minutes.")
            # Ours among the threads here, as for any writer: SQLite lets those that wait sleep, and some for seconds.
            with nullcontext() if self.turns is None else self.turns.alone(patience_seconds):
                _impatiently(connection, patience_seconds, "VACUUM")
            # Truncate SQLite's log, which takes a moment in which nobody reads from it. Raises: Transient.
            until = time.monotonic() + min(max(patience_seconds, _LOG_SECONDS), BUSY_TIMEOUT_SECONDS)
            # In short tries: writers wait during each, and one that is long may still miss the moment.
            while _impatiently(connection, _LOG_TRY_SECONDS, "PRAGMA wal_checkpoint(TRUNCATE)").one()[0]:
                if time.monotonic() > until:
                    raise Transient("A reader holds the write-ahead log, so deleted text is still in it; try again.")
                time.sleep(_LOG_TRY_SECONDS)

    def dispose(self) -> None:
        self.engine.dispose()


def _impatiently(connection: Connection, patience_seconds: float, statement: str) -> sa.CursorResult[Any]:
    """Carry out a statement of SQLite that waits no longer than this for others."""
    try:
        connection.execute(sa.text(f"PRAGMA busy_timeout={int(patience_seconds * 1000)}"))
        return connection.execute(sa.text(statement))
    finally:
        connection.execute(sa.text(f"PRAGMA busy_timeout={int(BUSY_TIMEOUT_SECONDS * 1000)}"))


def _sqlite_engine(url: str, pool_size: int) -> Engine:
    location = make_url(url).database
    if location and location != ":memory:":
        Path(location).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = sa.create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=30,
        hide_parameters=True,  # They hold what people said, and errors end in logs.
        # The pool lends a connection to one thread at a time, but not always to the one that opened it.
        connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
    )
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver must not open transactions by itself, or BEGIN IMMEDIATE comes too late.
    connection.isolation_level = None
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",  # Costs most of its rate, but what was erased must not be back after a loss of power.
        "foreign_keys=ON",
        f"busy_timeout={int(BUSY_TIMEOUT_SECONDS * 1000)}",
        "secure_delete=ON",
        "journal_size_limit=67108864",  # Or the log would stay as long as a slow reader once let it grow.
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    # A checkpoint inside a transaction waits for that very transaction and is refused.
    if not options.get("no_transaction"):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("begin_immediate") else "BEGIN")


def _postgres_engine(url: str, pool_size: int) -> Engine:
    engine = sa.create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=30,
        hide_parameters=True,  # They hold what people said, and errors end in logs.
        pool_use_lifo=True,
        connect_args={
            "connect_timeout": 5,
            # A server that vanishes without closing its connections is not waited for longer than this: while something
            # was sent to it, and while its answer is awaited.
            "tcp_user_timeout": _VANISHED_SECONDS * 1000,
            "keepalives_idle": _VANISHED_SECONDS // 2,
            "keepalives_interval": _VANISHED_SECONDS // 4,
            "keepalives_count": 2,
            # No transaction waits for anything outside the database, so one that idles belongs to a frozen process, and
            # others wait for its locks.
            "options": "-c lock_timeout=15s -c idle_in_transaction_session_timeout=15s",
        },
    )
    sa.event.listen(engine, "checkout", _refuse_closed)
    return engine


def _refuse_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Have the pool open another connection where the server closed this one, which a ping would find out in a trip."""
    # A server that has something to say while nobody asks ends the connection.
    looked = select.poll()
    looked.register(connection.pgconn.socket, select.POLLIN | select.POLLHUP)
    if looked.poll(0):
        raise sa.exc.DisconnectionError


def _fetch_in_binary(_connection: Connection, cursor: Any, *_: object) -> None:
    """Have what is read come as it lies in the server: as text, vectors and postings are twice their bytes."""
    # Deferred: to import the driver takes a tenth of a second, and SQLite does without.
    from psycopg.pq import Format

    cursor.format = Format.BINARY
