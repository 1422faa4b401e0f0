"""Asks for the vectors of messages that have none yet, and for what is left to do of a change of model."""

from __future__ import annotations

import time

from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.search.index import enqueue_embedding, may_enqueue_embedding
from shared.search.index_queries import apps_unembedded, apps_with_sets_to_see_to
from shared.telemetry.logging import get_logger

_LIMIT = 200
_LOOK_AT_SETS_SECONDS = 5.0
"""While nothing is to be done about any: a model seldom changes, and there are as many sets as apps."""


class AskForVectors:
    """A tick step. ``model``: what the embedder in force calls itself."""

    name = "enqueue_embedding"
    every_seconds = 0.5

    def __init__(self, database: Transactions, clock: Clock, model: str, max_attempts: int) -> None:
        self._database = database
        self._clock = clock
        self._model = model
        self._max_attempts = max_attempts
        self._after = ""
        """The last app that was looked at: those that rest must not keep the others from their turn."""
        self._sets_at = 0.0
        self._log = get_logger()

    def run(self) -> bool:
        """Ask for one job an app; True when any was written or there may be more."""
        with self._database.read() as session:
            now = self._clock.now()
            found = self._find(session)
            ready = [one for one in found if may_enqueue_embedding(session, one, now)]
        self._after = found[-1] if len(found) == _LIMIT else ""
        asked = sum(map(self._ask, ready))
        if asked:
            self._log.info("vectors_asked_for", count=asked)
        return bool(asked)

    def _find(self, session: Session) -> list[str]:
        found = set(apps_unembedded(session, self._after, _LIMIT))
        if time.monotonic() >= self._sets_at:
            changing = apps_with_sets_to_see_to(session, self._model, self._after, _LIMIT)
            self._sets_at = 0.0 if changing else time.monotonic() + _LOOK_AT_SETS_SECONDS
            found |= set(changing)
        return sorted(found)[:_LIMIT]

    def _ask(self, app_id: str) -> bool:
        with self._database.write() as session:
            epoch, now = lock_app(session, app_id).purge_epoch, self._clock.now()
            return enqueue_embedding(session, app_id, epoch, now, self._max_attempts) is not None
