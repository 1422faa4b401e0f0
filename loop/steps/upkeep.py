"""Takes back jobs that were leased and lost, resumes those whose server is back, and tidies what is no longer needed.

Jobs leased or due in a future that no lease and no retry reaches were written before the clock was set back; they are
taken back, or made due, as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import redis
from sqlalchemy import delete
from sqlalchemy.orm import Session

from loop.totals import erase_text
from shared.apps.models import DATABASE_LOG, QUEUED_TEXT, Erasure, IdempotencyKey
from shared.apps.queries import (
    erasures_with_files,
    erasures_with_queued_text,
    idempotency_keys_before,
    unscrubbed_erasures,
)
from shared.base.clock import Clock
from shared.base.errors import Transient
from shared.base.settings import Settings
from shared.db.base import Transactions
from shared.db.queries import rows_changed
from shared.energy import ledger
from shared.events.recording import record_end_of_job
from shared.facts import forgetting as fact_forgetting
from shared.jobs import dispatch, ownership, tenant_queues
from shared.jobs.control import forget_finished
from shared.jobs.models import Job, JobState
from shared.jobs.ownership import Swept
from shared.jobs.queries import has_expired, stale_tenant_queues, why_provider_is_awaited
from shared.memories import forgetting
from shared.search.models import Retrieval
from shared.search.search_queries import keys_before
from shared.search.tuning import in_force, tuning_of
from shared.sessions.store import Store
from shared.sessions.sweep import SESSION_FILES, clear_files
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_LOOK_AHEAD_SECONDS = 30.0


@dataclass
class Upkeep:
    """Takes back lost jobs, and lets go of what killed calls reserved."""

    database: Transactions
    clock: Clock
    settings: Settings
    metrics: Metrics
    horizon: timedelta = ownership.HORIZON
    """Further ahead than any lease or retry."""
    every_seconds: float = 1.0
    longest_call: timedelta = timedelta(minutes=2)
    """No model call takes longer."""
    name = "upkeep"
    _look_ahead_at = 0.0

    def run(self) -> bool:
        """Sweep once; True when jobs were taken back and can be relayed."""
        now = self.clock.now()
        with self.database.read() as session:
            # Only looked for here: a write each second, mostly for nothing, would keep other writers waiting.
            expired = has_expired(session, now, now + self.horizon) or self._is_behind_clock(session, now)
            lost_calls = ledger.has_lost(session, now, self.longest_call)
        swept = self._sweep() if expired else Swept()
        if lost_calls:
            with self.database.write() as session:
                count = ledger.expire_reservations(session, now, self.longest_call)
            get_logger().warning("reservations_let_go", count=count)
        return bool(swept)

    def _is_behind_clock(self, session: Session, now: datetime) -> bool:
        """Whether a job waits for a time that no retry reaches; looked for now and then, as clocks are seldom set."""
        if time.monotonic() < self._look_ahead_at:
            return False
        self._look_ahead_at = time.monotonic() + _LOOK_AHEAD_SECONDS
        return dispatch.is_behind_clock(session, now, self.horizon)

    def _sweep(self) -> Swept:
        with self.database.write() as session:
            swept = ownership.sweep(session, self.clock.now(), self.settings, self.horizon, self._record_end)
            made_due, released = dispatch.rebase_after_clock_change(session, self.clock.now(), self.horizon)
        self.metrics.jobs_lost.inc(swept.total())
        for (kind, state), count in swept.items():
            if state is JobState.DEAD:
                self.metrics.dead_letters.labels(kind).inc(count)
                self.metrics.jobs_finished.labels(kind, state).inc(count)
        counts = {f"{kind}_{state}": count for (kind, state), count in swept.items()}
        get_logger().warning("jobs_taken_back", made_due=made_due, apps_let_go=released, **counts)
        return swept

    def _record_end(self, session: Session, job: Job) -> None:
        now = self.clock.now()
        record_end_of_job(session, job.app_id, job.job_id, job.kind, job.state, now, job.conversation_id)


_PATIENCE_SECONDS = 0.5
_PAUSE = 30
"""After a scrub the next waits so many times longer than it took: nobody can write to SQLite meanwhile."""


@dataclass
class FinishErasures:
    """Completes receipts: scrubs the database's files, looks at Redis again, and removes files that are left."""

    database: Transactions
    store: Store
    client: redis.Redis
    name = "finish_erasures"
    every_seconds = 5.0
    _not_before = 0.0

    def run(self) -> bool:
        """Scrub if any receipt asks for it, and complete those that stood before; look for what else is left."""
        self._clear_files()
        self._erase_queued()
        with self.database.read() as session:
            waiting = [one.erasure_id for one in unscrubbed_erasures(session)]
        began = time.monotonic()
        if not waiting or began < self._not_before:
            return False
        try:
            self.database.scrub(_PATIENCE_SECONDS)
        except Transient as error:
            get_logger().info("scrub_put_off", receipts=len(waiting), why=error.message)
            return False
        finally:
            self._not_before = time.monotonic() + _PAUSE * (time.monotonic() - began)
        with self.database.write() as session:
            # Only those that stood before the scrub: it did nothing for what was erased meanwhile.
            for one in unscrubbed_erasures(session):
                if one.erasure_id in waiting:
                    one.left = one.left | {DATABASE_LOG: 0}
        get_logger().info("erasures_finished", receipts=len(waiting))
        return False

    def _erase_queued(self) -> None:
        with self.database.read() as session:
            waiting = {one.erasure_id: one for one in erasures_with_queued_text(session)}
        changed = {}
        for key, one in waiting.items():
            count = erase_text(self.client, one.app_id)
            if count is None:
                break  # Redis is away or busy, and would be for the next one.
            if count != one.left.get(QUEUED_TEXT):
                changed[key] = count
        if changed:
            with self.database.write() as session:
                for key, count in changed.items():
                    erasure = session.get_one(Erasure, key)
                    # A new dict, as the ORM sees no change within a value of JSON.
                    erasure.left = erasure.left | {QUEUED_TEXT: count}

    def _clear_files(self) -> None:
        with self.database.read() as session:
            waiting = {one.erasure_id: one.app_id for one in erasures_with_files(session, SESSION_FILES)}
        for erasure_id, app_id in waiting.items():
            try:
                left = clear_files(self.database, self.store, app_id)
            except (Transient, OSError) as error:
                get_logger().warning("session_files_left", app_id=app_id, error=type(error).__name__)
                continue
            with self.database.write() as session:
                erasure = session.get_one(Erasure, erasure_id)
                erasure.left = erasure.left | {SESSION_FILES: left}


BATCH = 1000
"""Rows looked at, and removed or folded, in one transaction."""
_BITES = 10
"""Of each rule in one tick; the rest goes a minute later."""


Bite = Callable[[Session, datetime, int], tuple[int, int | None]]
"""Sees to a ``BATCH`` of what is older than a time, above what was looked at before.

Returns how many went, and what to go on above; None when there is no more.
"""


@dataclass(frozen=True)
class AgeRule:
    """What goes with age. ``rows`` labels the metric."""

    rows: str
    days: Callable[[Session, Settings], float]
    """After how many; 0: never."""
    bite: Bite


def _in_order(forget: Callable[[Session, datetime, int], int]) -> Bite:
    """Return a bite of what goes oldest first, and leaves nothing behind that would be looked at again."""

    def bite(session: Session, before: datetime, _after: int) -> tuple[int, int | None]:
        count = forget(session, before, BATCH)
        return count, 0 if count == BATCH else None

    return bite


def _forget_jobs(session: Session, before: datetime, limit: int) -> int:
    left = limit
    for state in (JobState.DONE, JobState.NOTHING, JobState.CANCELLED):
        left -= forget_finished(session, state, before, left) if left else 0
    return limit - left


def _forget_dead(session: Session, before: datetime, limit: int) -> int:
    return forget_finished(session, JobState.DEAD, before, limit)


def _forget_keys(session: Session, before: datetime, limit: int) -> int:
    old = idempotency_keys_before(session, before, limit)
    return rows_changed(session, delete(IdempotencyKey).where(IdempotencyKey.row.in_(old)))


def _forget_retrievals(session: Session, before: datetime, limit: int) -> int:
    return rows_changed(session, delete(Retrieval).where(Retrieval.key.in_(keys_before(session, before, limit))))


AGE_RULES = (
    AgeRule("jobs", lambda _, settings: settings.job_days, _in_order(_forget_jobs)),
    AgeRule("dead_letters", lambda _, settings: settings.dead_letter_days, _in_order(_forget_dead)),
    AgeRule("energy_ledger", lambda _, settings: settings.ledger_days, _in_order(ledger.fold)),
    AgeRule(
        "memory_history",
        lambda _, settings: settings.history_days,
        lambda session, before, after: forgetting.forget_old_texts(session, before, after, BATCH),
    ),
    AgeRule(
        "fact_history",
        lambda _, settings: settings.history_days,
        lambda session, before, after: fact_forgetting.forget_old_texts(session, before, after, BATCH),
    ),
    AgeRule("idempotency_keys", lambda _, settings: settings.idempotency_hours / 24, _in_order(_forget_keys)),
    AgeRule(
        "retrievals",
        lambda session, settings: in_force(session, tuning_of(settings), None).metrics_days,
        _in_order(_forget_retrievals),
    ),
)


@dataclass
class ForgetOld:
    """Removes, folds or empties what is too old, rule by rule, in bites that cost the same at any size."""

    database: Transactions
    clock: Clock
    settings: Settings
    metrics: Metrics
    name = "forget_old"
    every_seconds = 60.0
    _after: dict[str, int] = field(default_factory=dict, init=False)

    def run(self) -> bool:
        """Take some bites of each rule; nobody waits for it, so it never asks to be run again at once."""
        for rule in AGE_RULES:
            forgotten = sum(self._bites(rule))
            if forgotten:
                self.metrics.rows_forgotten.labels(rule.rows).inc(forgotten)
                get_logger().info("rows_forgotten", rows=rule.rows, count=forgotten)
        return False

    def _bites(self, rule: AgeRule) -> Iterator[int]:
        for _ in range(_BITES):
            with self.database.write() as session:
                # A transaction for each bite, so that other writers wait for one at most.
                days = rule.days(session, self.settings)
                if not days:
                    return
                before = self.clock.now() - timedelta(days=days)
                count, after = rule.bite(session, before, self._after.get(rule.rows, 0))
            self._after[rule.rows] = after or 0
            yield count
            if after is None:
                return


@dataclass
class ProbeProvider:
    """Looks whether the model's server is back for which jobs wait, and lets all of them go on."""

    database: Transactions
    clock: Clock
    is_there: Callable[[], bool]
    name = "probe_provider"
    every_seconds = 5.0

    def run(self) -> bool:
        """Look once, if anything waits; True when jobs can be relayed."""
        with self.database.read() as session:
            if why_provider_is_awaited(session) is None:
                return False
        if not self.is_there():
            return False
        resumed, more = 0, True
        # In batches, so that other writers wait for one at most.
        while more:
            with self.database.write() as session:
                count = dispatch.resume(session, self.clock.now())
            resumed, more = resumed + count, count == dispatch.DEFER_LIMIT
        get_logger().info("provider_back", jobs=resumed)
        return True


@dataclass
class ReconcileTenantQueues:
    """Counts the tenant queues anew where their rows do not agree with the jobs."""

    database: Transactions
    clock: Clock
    name = "mend_tenant_queues"
    every_seconds = 600.0

    def run(self) -> bool:
        """Reconcile what is stale; True when that lets a job be relayed."""
        now = self.clock.now()
        with self.database.read() as session:
            if not stale_tenant_queues(session):
                return False
        with self.database.write() as session:
            reconciled = tenant_queues.reconcile(session, now)
        get_logger().warning("tenant_queues_mended", count=reconciled)
        return reconciled > 0
