"""Steps about recorded sessions: transcripts are found, indexed, aged, and their versions and compositions tended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Thread

from shared.apps.models import App
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.clock import Clock
from shared.base.errors import AfterthoughtError, NotFound, Transient
from shared.base.settings import Settings
from shared.db.base import Transactions
from shared.sessions import manifest
from shared.sessions.compose.compositions import JOB_ENDED, fail_abandoned
from shared.sessions.models import Project
from shared.sessions.queries import lock_project_by_key, projects_that_age, projects_to_scan, projects_to_write
from shared.sessions.registry.projects import configuration_of
from shared.sessions.registry.registration import Registrar
from shared.sessions.registry.scan import FolderScanner
from shared.sessions.retention.rules import is_due
from shared.sessions.retention.runs import rules_of, run_ageing
from shared.sessions.search.index import index_session, index_version
from shared.sessions.search.queries import next_unindexed, next_unindexed_version
from shared.sessions.store import Store
from shared.sessions.sweep import sweep, trim_cache
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_MOST_FILES = 10
"""Taken in by one look."""
_MOST_PROJECTS = 20
_FOUND = "it was found in the project's folder"


@dataclass
class ScanSessions:
    """Looks through the folders of projects for transcripts, in a thread of its own: a large one takes its time."""

    database: Transactions
    clock: Clock
    store: Store
    registrar: Registrar
    seconds: float
    """How long a folder is left alone once it was looked through."""
    metrics: Metrics
    name = "scan_sessions"
    _looking: Thread | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.every_seconds = min(self.seconds, 1.0)
        self._scanner = FolderScanner(self.database, self.store, self.registrar)

    def run(self) -> bool:
        """Begin to scan the folders that are due, unless a scan is under way."""
        if self._looking is None or not self._looking.is_alive():
            with self.database.read() as session:
                before = self.clock.now() - timedelta(seconds=self.seconds)
                due = projects_to_scan(session, before, _MOST_PROJECTS)
            if due:
                self._looking = Thread(target=self.look, args=(due,), name="scan-sessions", daemon=True)
                self._looking.start()
        return False

    def drain(self, seconds: float) -> None:
        """Wait for a scan under way; the next one repairs what this leaves undone."""
        if self._looking is not None:
            self._looking.join(seconds)

    def look(self, due: Sequence[Project]) -> None:
        """Look through folders, one after the other; one that fails keeps no other waiting."""
        files_left = _MOST_FILES
        for project in due:
            try:
                files_left -= self._scan(project, files_left) if files_left > 0 else 0
            except (AfterthoughtError, OSError) as error:
                get_logger().warning("scan_failed", error=type(error).__name__, why=str(error))

    def _scan(self, project: Project, limit: int) -> int:
        """Look through one folder; return how many files were taken in."""
        cause = Cause("rule:auto_register", _FOUND, self.clock.now())
        try:
            scan = self._scanner.scan(project.app_id, project.project_id, cause, limit)
        except NotFound:
            # Removed since the list was made.
            return 0
        taken = len(scan.registered) + len(scan.synced)
        if taken:
            manifest.write(self.database, self.store, project.app_id, project.project_id)
        self.metrics.sessions_registered.labels("scan").inc(len(scan.registered))
        # Told once: what was refused before is so until it changes.
        new = set(scan.refused) - set(project.refused_files)
        self.metrics.session_files_refused.inc(len(new))
        if scan.registered or scan.synced or new:
            counted = {"registered": len(scan.registered), "synced": len(scan.synced), "refused": len(new)}
            get_logger().info("sessions_scanned", app_id=project.app_id, project_id=project.project_id, **counted)
        return taken


_LONGEST_SECONDS = 1.0


@dataclass
class IndexSessions:
    """Makes recorded sessions and their versions findable."""

    database: Transactions
    store: Store
    name = "index_sessions"
    every_seconds = 0.5

    def run(self) -> bool:
        """Index for at most a second; True when there may be more."""
        until = time.monotonic() + _LONGEST_SECONDS
        while self._index_next():
            if time.monotonic() > until:
                return True
        return False

    def _index_next(self) -> bool:
        """Index one session and one version; False when there are none."""
        with self.database.read() as session:
            recorded, version = next_unindexed(session), next_unindexed_version(session)
        if recorded is not None:
            app_id, session_id = recorded
            # Where it was unregistered meanwhile there is nothing to index.
            with suppress(NotFound):
                passages = index_session(self.database, self.store, app_id, session_id)
                get_logger().info("session_indexed", app_id=app_id, session_id=session_id, passages=passages)
        if version is not None:
            passages = index_version(self.database, self.store, *version)
            get_logger().info("version_indexed", app_id=version[0], passages=passages)
        return recorded is not None or version is not None


ACTOR, REASON = "rule:ageing", "as scheduled"
_LIMIT = 50
"""Projects looked at in one run; the others in the next."""


@dataclass
class AgeSessions:
    """Carries out the schedules by which projects let versions go."""

    database: Transactions
    clock: Clock
    store: Store
    metrics: Metrics
    settings: Settings
    name = "age_sessions"
    every_seconds = 60.0
    _after = 0

    def run(self) -> bool:
        """Age what is due, some projects at a time, each in a transaction of its own; True while there are more."""
        now = self.clock.now()
        with self.database.read() as session:
            found = projects_that_age(session, self._after, _LIMIT)
            rules = [rules_of(session, one) for one in found]
        for project, of_it in zip(found, rules, strict=True):
            if of_it.is_active and is_due(of_it.schedule, project.tended_at, project.last_accessed, now):
                # Only chosen here: what goes is worked out anew once the project is locked.
                self._age(project)
        self._after = found[-1].key if len(found) == _LIMIT else 0
        return bool(self._after)

    def _age(self, project: Project) -> None:
        now = self.clock.now()
        with self.database.write() as session:
            app = lock_app(session, project.app_id)
            if app.uninstalled_at is not None:
                return
            locked = lock_project_by_key(session, project.key)
            done = run_ageing(session, app, locked, Cause(ACTOR, REASON, now), self.settings)
        done.settle(self.database, self.store, self.metrics, project.app_id, project.project_id)
        if done.plan.make or done.plan.remove:
            counts = done.plan.shown()["counts"]
            get_logger().info(
                "sessions_aged", app_id=project.app_id, project_id=project.project_id, dry=done.is_dry, **counts
            )


_MOST_MANIFESTS = 20
# A file is written before the row that names it: one that is younger may still be given its row.
_ORPHAN_AFTER = timedelta(hours=1)
_SWEEP_EVERY = timedelta(minutes=10)


@dataclass
class TendSessions:
    """Writes manifests that are out of date, and removes files that no row knows any more."""

    database: Transactions
    clock: Clock
    store: Store
    metrics: Metrics
    settings: Settings
    name = "tend_sessions"
    every_seconds = 5.0
    _swept_at: datetime | None = field(default=None, init=False)

    def run(self) -> bool:
        """Fail abandoned compositions, write manifests, and now and then sweep and write configurations."""
        now = self.clock.now()
        fail_abandoned(self.database, Cause("rule:job_ended", JOB_ENDED, now))
        with self.database.read() as session:
            stale = [(one.app_id, one.project_id) for one in projects_to_write(session, _MOST_MANIFESTS)]
        for app_id, project_id in stale:
            manifest.write(self.database, self.store, app_id, project_id)
        if self._swept_at is None or now - self._swept_at >= _SWEEP_EVERY:
            self._swept_at = now
            before = now - _ORPHAN_AFTER
            for app_id in self.store.apps():
                try:
                    removed = sweep(self.database, self.store, app_id, before.timestamp())
                    removed += self._trim(app_id)
                    # They also show settings of the service, which a restart may have changed.
                    manifest.write_configuration(self.database, self.store, app_id, self.settings)
                except (OSError, Transient) as error:
                    get_logger().warning("sessions_not_swept", app_id=app_id, error=type(error).__name__)
                    continue
                if removed:
                    self.metrics.session_files_swept.inc(removed)
                    get_logger().info("session_files_swept", app_id=app_id, count=removed)
        return False

    def _trim(self, app_id: str) -> int:
        """Bring an app's cache down to what it may take; return how many files went."""
        with self.database.read() as session:
            app = session.get(App, app_id)
        if app is None:
            return 0
        most = configuration_of(app, self.settings).storage.cache_bytes
        return trim_cache(self.store, app_id, most, self.clock.now().timestamp())
