"""Two transactions that meet: the second begins while the first is open, and goes as far as the first lets it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from shared.db.engine import Database
from tests.support.waiting import wait_until

_Result = TypeVar("_Result")
_WAITING = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def wait_for_waiting(database: Database, *running: Future[_Result]) -> None:
    """Wait until each of what runs waits for a lock of somebody else's, or is done.

    On SQLite nobody goes on while another writes, so there is nothing to wait for.
    """
    if database.is_sqlite:
        return
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        wait_until(
            lambda: (connection.scalar(_WAITING) or 0) >= sum(not one.done() for one in running),
            60,
            "the others to wait",
        )


def meet(
    database: Database,
    first: Callable[[Session], object],
    second: Callable[[], _Result],
    then: Callable[[Session], object] = Session.flush,
) -> _Result:
    """Have the second begin in a thread once the first has written, and the first end when the second waits or is done.

    Return what the second returned.
    """
    begun = threading.Event()

    def run_second() -> _Result:
        assert begun.wait(60)
        return second()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run_second)
        with database.write() as session:
            first(session)
            session.flush()
            begun.set()
            wait_for_waiting(database, waiting)
            then(session)
        return waiting.result(60)
