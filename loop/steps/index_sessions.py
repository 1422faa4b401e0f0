"""Makes registered sessions and their versions findable, as many as a moment allows.

It looks at what the rows say and not at who changed them, so what a crash left out is found as well.
"""

from __future__ import annotations

import time

from shared.db.transactions import Transactions
from shared.errors import NotFound
from shared.sessions.search.index import index_session, index_version
from shared.sessions.search.queries import next_unindexed, next_unindexed_version
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger

_LONGEST_SECONDS = 1.0


class IndexSessions:
    """A tick step."""

    name = "index_sessions"
    every_seconds = 0.5

    def __init__(self, database: Transactions, store: Store) -> None:
        self._database = database
        self._store = store
        self._log = get_logger()

    def run(self) -> bool:
        """Index what lacks it until the moment is over; True when there may be more."""
        until = time.monotonic() + _LONGEST_SECONDS
        while self._index_next():
            if time.monotonic() > until:
                return True
        return False

    def _index_next(self) -> bool:
        """Index one session and one version; False when there are none."""
        with self._database.read() as session:
            recorded, version = next_unindexed(session), next_unindexed_version(session)
        if recorded is not None:
            self._index_session(*recorded)
        if version is not None:
            passages = index_version(self._database, self._store, *version)
            self._log.info("version_indexed", app_id=version[0], passages=passages)
        return recorded is not None or version is not None

    def _index_session(self, app_id: str, session_id: str) -> None:
        try:
            passages = index_session(self._database, self._store, app_id, session_id)
        except NotFound:
            return  # It was unregistered meanwhile.
        self._log.info("session_indexed", app_id=app_id, session_id=session_id, passages=passages)
