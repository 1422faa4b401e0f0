"""Asks for the extraction of facts once enough was said in a conversation, or it has been silent for long enough."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from shared.apps.queries import lock_app
from shared.clock import Clock
from shared.conversations import extraction
from shared.conversations.queries import facts_due, lock_some
from shared.db.transactions import Transactions
from shared.telemetry.logging import get_logger

_LIMIT = 200


class AskForFacts:
    """A tick step."""

    name = "ask_for_facts"
    every_seconds = 0.5

    def __init__(self, database: Transactions, clock: Clock, max_attempts: int) -> None:
        self._database = database
        self._clock = clock
        self._max_attempts = max_attempts
        self._log = get_logger()

    def run(self) -> bool:
        """Ask for what is due, app by app; True when jobs were written or there may be more."""
        with self._database.read() as session:
            due = facts_due(session, self._clock.now(), _LIMIT)
        asked = 0
        for app_id, found in groupby(sorted(due, key=itemgetter(1, 0)), key=itemgetter(1)):
            asked += self._ask(app_id, [key for key, _ in found])
        if asked:
            self._log.info("facts_asked_for", count=asked)
        return bool(asked) or len(due) == _LIMIT

    def _ask(self, app_id: str, keys: Sequence[int]) -> int:
        with self._database.write() as session:
            epoch, now = lock_app(session, app_id).purge_epoch, self._clock.now()
            jobs = [extraction.ask(session, one, epoch, now, self._max_attempts) for one in lock_some(session, keys)]
        return sum(job is not None for job in jobs)
