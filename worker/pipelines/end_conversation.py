"""Ends a conversation because an app said so on the intake queue.

A message that cannot be understood, or names what does not exist, becomes a dead letter with its reason: it is seen
and counted, and never silently dropped.
"""

from dataclasses import dataclass
from typing import Any

import redis
from pydantic import ValidationError

from shared.apps.queries import lock_app
from shared.base.clock import Clock
from shared.base.errors import Conflict, NotFound
from shared.base.settings import Settings
from shared.broker import notify
from shared.contracts.jobs import EndConversationMessage, JobKind, wrong_fields
from shared.conversations.lifecycle import end
from shared.conversations.queries import lock_conversation
from shared.db.engine import Database
from shared.jobs.dispatch import dead_letter
from shared.jobs.models import JobState
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics


@dataclass
class EndConversationByMessage:
    """Carries out messages of the intake queue; ending twice is ending once."""

    database: Database
    clock: Clock
    settings: Settings
    metrics: Metrics
    news: redis.Redis

    def __call__(self, fields: dict[str, Any]) -> None:
        """Carry out one message. Raises: Transient, when it should be delivered again."""
        try:
            message = EndConversationMessage.model_validate(fields)
            with self.database.write() as session:
                app = lock_app(session, message.app_id)
                conversation = lock_conversation(session, app.app_id, message.conversation_id)
                now, attempts = self.clock.now(), self.settings.job_max_attempts
                end(session, conversation, app.purge_epoch, message.reason, now, attempts, self.settings)
        except ValidationError as error:
            wrong = wrong_fields(EndConversationMessage, error.errors())
            self._dead_letter(f"malformed intake message: {wrong}")
        except (NotFound, Conflict) as error:
            self._dead_letter(f"{error.code}: {error.message}")
        notify(self.news, "intake")

    def _dead_letter(self, reason: str) -> None:
        with self.database.write() as session:
            # In a transaction of its own: the one that failed was rolled back.
            job = dead_letter(session, JobKind.END_CONVERSATION, reason, self.clock.now())
        self.metrics.dead_letters.labels(JobKind.END_CONVERSATION).inc()
        self.metrics.jobs_finished.labels(JobKind.END_CONVERSATION, JobState.DEAD).inc()
        get_logger().warning("intake_message_dead", job_id=job.job_id)
