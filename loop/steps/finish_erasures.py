"""Finishes erasures whose text may still stand in the database's own files.

A reader can keep the log from being emptied while the request waits, a large database is not written anew while
somebody waits, and the loop can be killed between the commit and the scrub; the receipt says so until this step has
made it good.
"""

from __future__ import annotations

import time

from shared.apps.models import DATABASE_LOG, Erasure
from shared.apps.queries import erasures_with_files, unscrubbed_erasures
from shared.db.transactions import Transactions
from shared.errors import Transient
from shared.sessions.store import Store
from shared.sessions.sweep import SESSION_FILES, clear_files
from shared.telemetry.logging import get_logger

_PATIENCE_SECONDS = 0.05
_PAUSE = 30
"""After a scrub the next waits so many times longer than it took: nobody can write to SQLite meanwhile."""


class FinishErasures:
    """A tick step."""

    name = "finish_erasures"
    every_seconds = 5.0

    def __init__(self, database: Transactions, store: Store) -> None:
        self._database = database
        self._store = store
        self._log = get_logger()
        self._not_before = 0.0

    def run(self) -> bool:
        """Scrub if any receipt asks for it, and complete those that stood before; remove files that are left."""
        self._clear_files()
        with self._database.read() as session:
            waiting = [one.erasure_id for one in unscrubbed_erasures(session)]
        began = time.monotonic()
        if not waiting or began < self._not_before:
            return False
        try:
            self._database.scrub(_PATIENCE_SECONDS)
        except Transient as error:
            self._log.info("scrub_put_off", receipts=len(waiting), why=error.message)
            return False
        finally:
            self._not_before = time.monotonic() + _PAUSE * (time.monotonic() - began)
        self._complete(waiting)
        return False

    def _clear_files(self) -> None:
        with self._database.read() as session:
            waiting = {one.erasure_id: one.app_id for one in erasures_with_files(session, SESSION_FILES)}
        for erasure_id, app_id in waiting.items():
            try:
                left = clear_files(self._database, self._store, app_id)
            except (Transient, OSError) as error:
                self._log.warning("session_files_left", app_id=app_id, error=type(error).__name__)
                continue
            with self._database.write() as session:
                erasure = session.get_one(Erasure, erasure_id)
                erasure.left = erasure.left | {SESSION_FILES: left}

    def _complete(self, waiting: list[str]) -> None:
        with self._database.write() as session:
            for one in unscrubbed_erasures(session):
                if one.erasure_id in waiting:
                    one.left = one.left | {DATABASE_LOG: 0}
        self._log.info("erasures_finished", receipts=len(waiting))
