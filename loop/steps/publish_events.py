"""Gives committed events their positions, asks for the deliveries to webhooks, and tells those who listen.

The position, and the jobs of the deliveries, are one transaction; listeners are told after it, best effort: they look
by themselves now and then. Events that are older than listeners may resume from are forgotten.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy.orm import Session

from shared.clock import Clock
from shared.contracts.jobs import JobKind
from shared.db.transactions import Transactions
from shared.events import placing, queries
from shared.events.models import Webhook
from shared.events.placing import PlacedEvent
from shared.outbox.dispatch import NewJob, enqueue
from shared.telemetry.metrics import Metrics

BATCH = 500
FORGET_EVERY_SECONDS = 60.0
POSITION, WEBHOOK = "position", "webhookId"
Tell = Callable[[int], None]
"""Tells the listeners of every loop that there are events up to a position."""


class PublishEvents:
    """A tick step."""

    name = "publish_events"
    every_seconds = 0.0

    def __init__(
        self, database: Transactions, clock: Clock, tell: Tell, keep: timedelta, max_attempts: int, metrics: Metrics
    ) -> None:
        self._database = database
        self._clock = clock
        self._tell = tell
        self._keep = keep
        self._max_attempts = max_attempts
        self._metrics = metrics
        self._forgot_at: float | None = None

    def run(self) -> bool:
        """Place what waits, at most a batch; True when there may be more, or deliveries to relay."""
        with self._database.read() as session:
            waiting = queries.has_unplaced(session)
        placed, told = self._place() if waiting else ([], 0)
        if placed:
            for kind, count in Counter(one.kind for one in placed).items():
                self._metrics.events_placed.labels(kind).inc(count)
            self._tell(placed[-1].position)
        forgot_all = self._forget()
        return len(placed) == BATCH or told > 0 or not forgot_all

    def _place(self) -> tuple[list[PlacedEvent], int]:
        with self._database.write() as session:
            placed = placing.place(session, BATCH)
            listeners = placing.listeners(session, placed)
            for event, webhook in listeners:
                self._ask(session, event, webhook)
        return placed, len(listeners)

    def _ask(self, session: Session, event: PlacedEvent, webhook: Webhook) -> None:
        wanted = NewJob(
            kind=JobKind.DELIVER_WEBHOOK,
            app_id=event.app_id,
            dedupe=f"webhook:{webhook.webhook_id}:{event.position}",
            max_attempts=self._max_attempts,
            payload={WEBHOOK: webhook.webhook_id, POSITION: event.position},
        )
        enqueue(session, wanted, self._clock.now())

    def _forget(self) -> bool:
        """Delete old events now and then; False when more of them are left."""
        if self._forgot_at is not None and time.monotonic() - self._forgot_at < FORGET_EVERY_SECONDS:
            return True
        before = self._clock.now() - self._keep
        with self._database.read() as session:
            old = queries.has_older(session, before)
        if old:
            with self._database.write() as session:
                if placing.forget(session, before, BATCH) == BATCH:
                    return False
        self._forgot_at = time.monotonic()
        return True
