"""Asks for the summary of a conversation once the assistant has said enough in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.clock import Clock
from shared.conversations import summarising
from shared.conversations.models import Conversation
from shared.conversations.queries import lock_some, summaries_due
from shared.db.transactions import Transactions
from shared.outbox.models import Job
from shared.search.tuning import Tuning, in_force
from shared.telemetry.logging import get_logger

_LIMIT = 200


class AskForSummaries:
    """A tick step."""

    name = "ask_for_summaries"
    every_seconds = 0.5

    def __init__(self, database: Transactions, clock: Clock, max_attempts: int, defaults: Tuning) -> None:
        """``defaults``: the settings' values, in force where nothing was changed."""
        self._database = database
        self._clock = clock
        self._max_attempts = max_attempts
        self._defaults = defaults
        self._log = get_logger()

    def run(self) -> bool:
        """Ask for what is due, app by app; True when jobs were written or there may be more."""
        with self._database.read() as session:
            due = summaries_due(session, _LIMIT)
        asked = 0
        for app_id, found in groupby(sorted(due, key=itemgetter(1, 0)), key=itemgetter(1)):
            asked += self._ask(app_id, [key for key, _ in found])
        if asked:
            self._log.info("summaries_asked_for", count=asked)
        return bool(asked) or len(due) == _LIMIT

    def _ask(self, app_id: str, keys: Sequence[int]) -> int:
        with self._database.write() as session:
            epoch = lock_app(session, app_id).purge_epoch
            frequency = in_force(session, self._defaults, app_id).summary_frequency
            jobs = [self._ask_for(session, one, frequency, epoch) for one in lock_some(session, keys)]
        return sum(job is not None for job in jobs)

    def _ask_for(self, session: Session, conversation: Conversation, frequency: int, epoch: int) -> Job | None:
        """Ask for one summary, unless the frequency was changed since it became due."""
        if not summarising.is_due(conversation, frequency):
            conversation.summary_due_at = None
            return None
        return summarising.ask(session, conversation, epoch, self._clock.now(), self._max_attempts)
