"""Looks through the folders of projects that register their new sessions by themselves."""

from __future__ import annotations

from datetime import timedelta

from shared.causes import Cause
from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.errors import NotFound
from shared.sessions import manifest
from shared.sessions.models import Project
from shared.sessions.queries import projects_to_scan
from shared.sessions.registry.registering import Registrar
from shared.sessions.registry.scanning import Scan, Scanner
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_MOST_FILES = 10
"""Taken in by one run, so that other steps do not wait long."""
_MOST_PROJECTS = 20
_FOUND = "it was found in the project's folder"


class ScanSessions:
    """A tick step."""

    name = "scan_sessions"

    def __init__(
        self, database: Transactions, clock: Clock, store: Store, registrar: Registrar, seconds: float, metrics: Metrics
    ) -> None:
        """``seconds``: how long a folder is left alone once it was looked through."""
        self.every_seconds = min(seconds, 1.0)
        self._database = database
        self._clock = clock
        self._store = store
        self._scanner = Scanner(database, store, registrar)
        self._pause = timedelta(seconds=seconds)
        self._metrics = metrics

    def run(self) -> bool:
        """Look through the folders that are due."""
        with self._database.read() as session:
            due = projects_to_scan(session, self._clock.now() - self._pause, _MOST_PROJECTS)
        room = _MOST_FILES
        for project in due:
            if room > 0:
                room -= self._scan(project, room)
        return False

    def _scan(self, project: Project, room: int) -> int:
        """Look through one folder; return how many files were taken in."""
        cause = Cause("rule:auto_register", _FOUND, self._clock.now())
        try:
            scan = self._scanner.scan(project.app_id, project.project_id, cause, room)
        except NotFound:
            # Removed since the list was made.
            return 0
        taken = len(scan.registered) + len(scan.synced)
        if taken:
            manifest.write(self._database, self._store, project.app_id, project.project_id)
        self._count(scan, project)
        return taken

    def _count(self, scan: Scan, project: Project) -> None:
        self._metrics.sessions_registered.labels("scan").inc(len(scan.registered))
        new = set(scan.refused) - set(project.refused_files)
        self._metrics.session_files_refused.inc(len(new))
        if scan.registered or scan.synced or new:
            counted = {"registered": len(scan.registered), "synced": len(scan.synced), "refused": len(new)}
            get_logger().info("sessions_scanned", app_id=project.app_id, project_id=project.project_id, **counted)
