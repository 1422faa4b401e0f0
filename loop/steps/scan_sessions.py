"""Looks through the folders of projects that register their new sessions by themselves.

Copying and reading long files takes seconds, so it is done beside the tick, one look at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from threading import Thread

from shared.causes import Cause
from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.errors import AfterthoughtError, NotFound
from shared.sessions import manifest
from shared.sessions.models import Project
from shared.sessions.queries import projects_to_scan
from shared.sessions.registry.registration import Registrar
from shared.sessions.registry.scan import FolderScan, FolderScanner
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_MOST_FILES = 10
"""Taken in by one look."""
_MOST_PROJECTS = 20
_FOUND = "it was found in the project's folder"


class ScanSessions:
    """A tick step."""

    name = "scan_sessions"

    def __init__(
        self, database: Transactions, clock: Clock, store: Store, registrar: Registrar, seconds: float, metrics: Metrics
    ) -> None:
        """``seconds``: how long a folder is left alone once it was looked through."""
        self._looking: Thread | None = None
        self.every_seconds = min(seconds, 1.0)
        self._database = database
        self._clock = clock
        self._store = store
        self._scanner = FolderScanner(database, store, registrar)
        self._pause = timedelta(seconds=seconds)
        self._metrics = metrics

    def run(self) -> bool:
        """Begin to look through the folders that are due, unless that is being done."""
        if self._looking is None or not self._looking.is_alive():
            due = self._due()
            if due:
                self._looking = Thread(target=self.look, args=(due,), name="scan-sessions", daemon=True)
                self._looking.start()
        return False

    def drain(self, seconds: float) -> None:
        """Wait for a look that goes on; what is cut off leaves nothing that the next does not mend."""
        if self._looking is not None:
            self._looking.join(seconds)

    def look(self, due: Sequence[Project]) -> None:
        """Look through folders, one after the other; one that fails keeps no other waiting."""
        room = _MOST_FILES
        for project in due:
            try:
                room -= self._scan(project, room) if room > 0 else 0
            except (AfterthoughtError, OSError) as error:
                get_logger().warning("scan_failed", error=type(error).__name__, why=str(error))

    def _due(self) -> Sequence[Project]:
        with self._database.read() as session:
            return projects_to_scan(session, self._clock.now() - self._pause, _MOST_PROJECTS)

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

    def _count(self, scan: FolderScan, project: Project) -> None:
        self._metrics.sessions_registered.labels("scan").inc(len(scan.registered))
        new = set(scan.refused) - set(project.refused_files)
        self._metrics.session_files_refused.inc(len(new))
        if scan.registered or scan.synced or new:
            counted = {"registered": len(scan.registered), "synced": len(scan.synced), "refused": len(new)}
            get_logger().info("sessions_scanned", app_id=project.app_id, project_id=project.project_id, **counted)
