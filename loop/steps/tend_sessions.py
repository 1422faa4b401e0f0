"""Keeps the store of sessions as its rows say: manifests written, leftovers removed or said to have failed."""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.causes import Cause
from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.errors import Transient
from shared.sessions import manifest
from shared.sessions.compose.compositions import JOB_ENDED, fail_abandoned
from shared.sessions.queries import projects_to_write
from shared.sessions.store import Store
from shared.sessions.sweep import sweep
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_MOST_MANIFESTS = 20
_ORPHAN_AFTER = timedelta(hours=1)
_SWEEP_EVERY = timedelta(minutes=10)


class TendSessions:
    """A tick step."""

    name = "tend_sessions"
    every_seconds = 5.0

    def __init__(self, database: Transactions, clock: Clock, store: Store, metrics: Metrics) -> None:
        self._database = database
        self._clock = clock
        self._store = store
        self._metrics = metrics
        self._swept_at: datetime | None = None

    def run(self) -> bool:
        """Do what there is to do; nobody waits for it."""
        now = self._clock.now()
        fail_abandoned(self._database, Cause("rule:job_ended", JOB_ENDED, now))
        self._write_manifests()
        if self._swept_at is None or now - self._swept_at >= _SWEEP_EVERY:
            self._swept_at = now
            self._sweep(now - _ORPHAN_AFTER)
        return False

    def _write_manifests(self) -> None:
        with self._database.read() as session:
            stale = [(one.app_id, one.project_id) for one in projects_to_write(session, _MOST_MANIFESTS)]
        for app_id, project_id in stale:
            manifest.write(self._database, self._store, app_id, project_id)

    def _sweep(self, before: datetime) -> None:
        for app_id in self._store.apps():
            try:
                removed = sweep(self._database, self._store, app_id, before.timestamp())
            except (OSError, Transient) as error:
                get_logger().warning("sessions_not_swept", app_id=app_id, error=type(error).__name__)
                continue
            if removed:
                self._metrics.session_files_swept.inc(removed)
                get_logger().info("session_files_swept", app_id=app_id, count=removed)
