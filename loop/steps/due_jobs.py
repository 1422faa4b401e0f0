"""Steps that ask for the jobs that are due: facts, summaries and vectors; and wake or end conversations in time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from operator import itemgetter

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import lock_app
from shared.base.clock import Clock
from shared.base.settings import Settings, Tuning
from shared.conversations import extraction, summarising
from shared.conversations.lifecycle import SILENCE, end, wake
from shared.conversations.models import Conversation
from shared.conversations.queries import LONGEST_SILENCE, facts_due, has_hidden_until, lock_some, silent, summaries_due
from shared.db.base import Transactions
from shared.jobs.models import Job
from shared.search.index import enqueue_embedding, may_enqueue_embedding
from shared.search.index_queries import apps_unembedded, apps_with_sets_to_see_to
from shared.search.tuning import in_force
from shared.telemetry.logging import get_logger

_LIMIT = 200
_LOOK_AT_SETS_SECONDS = 5.0
"""While nothing is to be done about any: a model seldom changes, and there are as many sets as apps."""


@dataclass
class AppByApp:
    """A step that asks for jobs of the conversations that are due, one transaction an app."""

    database: Transactions
    clock: Clock
    event = ""

    def run(self) -> bool:
        """Ask for what is due; True when jobs were written or there may be more."""
        with self.database.read() as session:
            due = self._due(session)
        enqueued = 0
        for app_id, found in groupby(sorted(due, key=itemgetter(1, 0)), key=itemgetter(1)):
            with self.database.write() as session:
                # The app before its conversations, in the order of all who lock both.
                app = lock_app(session, app_id)
                conversations = lock_some(session, [key for key, _ in found])
                enqueued += sum(job is not None for job in self._enqueue(session, app, conversations))
        if enqueued:
            get_logger().info(self.event, count=enqueued)
        return bool(enqueued) or len(due) == _LIMIT

    def _due(self, session: Session) -> Sequence[tuple[int, str]]:
        raise NotImplementedError

    def _enqueue(self, session: Session, app: App, conversations: Sequence[Conversation]) -> Iterable[Job | None]:
        raise NotImplementedError


@dataclass
class EnqueueExtraction(AppByApp):
    """Asks for facts once enough was said in a conversation, or it has been silent for long enough."""

    max_attempts: int
    name, event = "ask_for_facts", "facts_asked_for"
    every_seconds = 0.5

    def _due(self, session: Session) -> Sequence[tuple[int, str]]:
        return facts_due(session, self.clock.now(), _LIMIT)

    def _enqueue(self, session: Session, app: App, conversations: Sequence[Conversation]) -> Iterable[Job | None]:
        now = self.clock.now()
        return [
            extraction.enqueue_extraction(session, one, app.purge_epoch, now, self.max_attempts)
            for one in conversations
        ]


@dataclass
class EnqueueSummaries(AppByApp):
    """Asks for the summary of a conversation once the assistant has said enough in it."""

    max_attempts: int
    defaults: Tuning
    """The settings' values, in force where nothing was changed."""
    name, event = "ask_for_summaries", "summaries_asked_for"
    every_seconds = 0.5

    def _due(self, session: Session) -> Sequence[tuple[int, str]]:
        return summaries_due(session, _LIMIT)

    def _enqueue(self, session: Session, app: App, conversations: Sequence[Conversation]) -> Iterable[Job | None]:
        frequency = in_force(session, self.defaults, app.app_id).summary_frequency
        for one in conversations:
            if summarising.is_due(one, frequency):
                yield summarising.enqueue_summary(session, one, app.purge_epoch, self.clock.now(), self.max_attempts)
            else:
                # The frequency was changed since it became due.
                one.summary_due_at = None


@dataclass
class EnqueueEmbedding:
    """Asks for the vectors of messages that have none yet, and for what is left to do of a change of model."""

    database: Transactions
    clock: Clock
    model: str
    """What the embedder in force calls itself."""
    max_attempts: int
    name = "ask_for_vectors"
    every_seconds = 1.0
    """Where something is said all the time, one job embeds what was said within a second."""
    _after = ""
    """The last app that was looked at: those that rest must not keep the others from their turn."""
    _sets_at = 0.0

    def run(self) -> bool:
        """Ask for one job an app; True when any was written or there may be more."""
        with self.database.read() as session:
            now = self.clock.now()
            apps = set(apps_unembedded(session, self._after, _LIMIT))
            if time.monotonic() >= self._sets_at:
                changing = apps_with_sets_to_see_to(session, self.model, self._after, _LIMIT)
                self._sets_at = 0.0 if changing else time.monotonic() + _LOOK_AT_SETS_SECONDS
                apps |= set(changing)
            found = sorted(apps)[:_LIMIT]
            # Looked for before it is locked: while a job is under way each look would keep the app's writers waiting.
            ready = [one for one in found if may_enqueue_embedding(session, one, now)]
        self._after = found[-1] if len(found) == _LIMIT else ""
        enqueued = sum(map(self._enqueue, ready))
        if enqueued:
            get_logger().info("vectors_asked_for", count=enqueued)
        return bool(enqueued)

    def _enqueue(self, app_id: str) -> bool:
        with self.database.write() as session:
            epoch, now = lock_app(session, app_id).purge_epoch, self.clock.now()
            return enqueue_embedding(session, app_id, epoch, now, self.max_attempts) is not None


@dataclass
class EndSilent(AppByApp):
    """Ends conversations that were to end by themselves, once nothing was said in them for long enough."""

    settings: Settings
    name, event = "end_silent", "silent_conversations_ended"
    every_seconds = 1.0

    def _due(self, session: Session) -> Sequence[tuple[int, str]]:
        return silent(session, self.clock.now(), _LIMIT)

    def _enqueue(self, session: Session, app: App, conversations: Sequence[Conversation]) -> Iterable[Job | None]:
        now, attempts = self.clock.now(), self.settings.job_max_attempts
        for one in conversations:
            # Something may have been said since, or the clock was set back: then it is due again as long from now.
            until, minutes = one.silent_until, one.end_after_minutes
            if until is None or minutes is None:
                continue
            if until <= now:
                yield from end(session, one, app.purge_epoch, SILENCE.format(minutes), now, attempts, self.settings)
            elif until > now + LONGEST_SILENCE:
                one.silent_until = now + timedelta(minutes=minutes)


@dataclass
class WakeSnoozed:
    """Brings back, when their time has come, conversations that were snoozed or that the loop was to leave alone."""

    database: Transactions
    clock: Clock
    name = "wake_snoozed"
    every_seconds = 5.0

    def run(self) -> bool:
        now = self.clock.now()
        with self.database.read() as session:
            if not has_hidden_until(session, now):
                return False
        with self.database.write() as session:
            get_logger().info("conversations_woken", count=wake(session, now))
        return False
