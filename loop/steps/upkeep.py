"""Takes back jobs that were leased and lost, forgets old idempotency keys, and lets go of what killed calls reserved.

Jobs leased or due in a future that no lease and no retry reaches were written before the clock was set back; they are
taken back, or made due, as well.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.apps.models import IdempotencyKey
from shared.apps.queries import has_keys_before
from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.energy import ledger
from shared.events.recording import record_end_of_job
from shared.outbox import dispatch, ownership
from shared.outbox.models import Job, JobState
from shared.outbox.ownership import Swept
from shared.outbox.queries import has_due_beyond, has_expired
from shared.outbox.retry import RetryRule
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_LOOK_AHEAD_SECONDS = 30.0


class Upkeep:
    """A tick step."""

    name = "upkeep"

    def __init__(
        self,
        database: Transactions,
        clock: Clock,
        rule: RetryRule,
        keep_keys: timedelta,
        metrics: Metrics,
        horizon: timedelta = ownership.HORIZON,
        every_seconds: float = 1.0,
        longest_call: timedelta = timedelta(minutes=2),
    ) -> None:
        """``horizon`` is further ahead than any lease or retry; no model call takes longer than ``longest_call``."""
        self._database = database
        self._clock = clock
        self._rule = rule
        self._keep_keys = keep_keys
        self._metrics = metrics
        self._horizon = horizon
        self._longest_call = longest_call
        self._look_ahead_at = 0.0
        self.every_seconds = every_seconds
        self._log = get_logger()

    def run(self) -> bool:
        """Sweep once; True when jobs were taken back and can be relayed."""
        now = self._clock.now()
        with self._database.read() as session:
            expired = has_expired(session, now, now + self._horizon) or self._is_astray(session, now)
            old_keys = has_keys_before(session, now - self._keep_keys)
            lost_calls = ledger.has_lost(session, now, self._longest_call)
        swept = self._sweep() if expired else Swept()
        if old_keys:
            with self._database.write() as session:
                session.execute(delete(IdempotencyKey).where(IdempotencyKey.at < now - self._keep_keys))
        if lost_calls:
            with self._database.write() as session:
                count = ledger.let_go_of_lost(session, now, self._longest_call)
            self._log.warning("reservations_let_go", count=count)
        return bool(swept)

    def _is_astray(self, session: Session, now: datetime) -> bool:
        """Whether a job waits for a time that no retry reaches; looked for now and then, as clocks are seldom set."""
        if time.monotonic() < self._look_ahead_at:
            return False
        self._look_ahead_at = time.monotonic() + _LOOK_AHEAD_SECONDS
        return has_due_beyond(session, now + self._horizon)

    def _sweep(self) -> Swept:
        with self._database.write() as session:
            swept = ownership.sweep(session, self._clock.now(), self._rule, self._horizon, self._record)
            hastened = dispatch.hasten(session, self._clock.now(), self._horizon)
        self._metrics.jobs_lost.inc(swept.total())
        for (kind, state), count in swept.items():
            if state is JobState.DEAD:
                self._metrics.dead_letters.labels(kind).inc(count)
                self._metrics.jobs_finished.labels(kind, state).inc(count)
        told = {f"{kind}_{state}": count for (kind, state), count in swept.items()}
        self._log.warning("jobs_taken_back", hastened=hastened, **told)
        return swept

    def _record(self, session: Session, job: Job) -> None:
        now = self._clock.now()
        record_end_of_job(session, job.app_id, job.job_id, job.kind, job.state, now, job.conversation_id)
