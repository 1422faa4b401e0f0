"""Gives committed events their positions, asks for the deliveries to webhooks, and tells those who listen.

The position, and the jobs of the deliveries, are one transaction; listeners are told after it, best effort: they look
by themselves now and then. Events that are older than listeners may resume from are forgotten, once they
were delivered or are to be delivered no more.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from shared.base.clock import Clock
from shared.contracts.jobs import JobKind, WebhookPayload
from shared.db.base import Transactions
from shared.events import queries, recording
from shared.events.recording import PublishedEvent
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.queries import positions_to_deliver
from shared.telemetry.metrics import Metrics

BATCH = 500
FORGET_EVERY_SECONDS = 60.0
Notify = Callable[[int], None]
"""Tells the listeners of every loop that there are events up to a position."""


@dataclass
class PublishEvents:
    """Places what waits, asks for its deliveries, tells the listeners, and forgets old events now and then."""

    database: Transactions
    clock: Clock
    notify: Notify
    keep: timedelta
    """How long a listener may resume from an event."""
    max_attempts: int
    metrics: Metrics
    name = "publish_events"
    every_seconds = 0.0
    _forgot_at: float | None = field(default=None, init=False)

    def run(self) -> bool:
        """Place what waits, at most a batch; True when there may be more, or deliveries to relay."""
        with self.database.read() as session:
            waiting = queries.has_unplaced(session)
        published: list[PublishedEvent] = []
        notified = 0
        if waiting:
            with self.database.write() as session:
                published = recording.publish(session, BATCH)
                listeners = recording.listeners(session, published)
                for event, webhook in listeners:
                    new_job = NewJob(
                        kind=JobKind.DELIVER_WEBHOOK,
                        app_id=event.app_id,
                        dedupe=f"webhook:{webhook.webhook_id}:{event.position}",
                        max_attempts=self.max_attempts,
                        payload=WebhookPayload(webhook_id=webhook.webhook_id, position=event.position),
                        sequence=webhook.webhook_id,
                        # Where the webhook failed, it waits with what is tried again there.
                        due_at=webhook.retry_at,
                    )
                    # In the transaction that gives the position: no event has one without its deliveries.
                    enqueue(session, new_job, self.clock.now())
            notified = len(listeners)
        if published:
            for kind, count in Counter(one.kind for one in published).items():
                self.metrics.events_placed.labels(kind).inc(count)
            self.notify(published[-1].position)
        forgot_all = self._forget()
        return len(published) == BATCH or notified > 0 or not forgot_all

    def _forget(self) -> bool:
        """Delete old events now and then; False when more of them are left."""
        if self._forgot_at is not None and time.monotonic() - self._forgot_at < FORGET_EVERY_SECONDS:
            return True
        before = self.clock.now() - self.keep
        with self.database.read() as session:
            old = queries.has_older(session, before)
        if old:
            with self.database.write() as session:
                count = recording.forget(session, before, BATCH, positions_to_deliver(session))
            self.metrics.rows_forgotten.labels("events").inc(count)
            if count == BATCH:
                return False
        self._forgot_at = time.monotonic()
        return True
