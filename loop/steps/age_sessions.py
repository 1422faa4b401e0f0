"""Ages the versions of recorded sessions as each project's rules say, when its schedule says."""

from __future__ import annotations

from collections.abc import Sequence

from shared.apps.queries import lock_app
from shared.causes import Cause
from shared.clock import Clock
from shared.db.transactions import Transactions
from shared.sessions import manifest
from shared.sessions.compose.requests import VersionMaking
from shared.sessions.models import Project
from shared.sessions.queries import lock_project_by_key, projects_that_age
from shared.sessions.retention.rules import is_due
from shared.sessions.retention.runs import AgeingResult, rules_of, run_ageing
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

ACTOR, REASON = "rule:ageing", "as scheduled"
_LIMIT = 50
"""Projects looked at in one run; the others in the next."""


class AgeSessions:
    """A tick step."""

    name = "age_sessions"
    every_seconds = 60.0

    def __init__(
        self, database: Transactions, clock: Clock, store: Store, metrics: Metrics, means: VersionMaking
    ) -> None:
        self._database = database
        self._clock = clock
        self._store = store
        self._metrics = metrics
        self._means = means
        self._after = 0
        self._log = get_logger()

    def run(self) -> bool:
        """Age what is due, some projects at a time, each in a transaction of its own; True while there are more."""
        found = self._next()
        for project in found:
            self._age(project)
        self._after = found[-1].key if len(found) == _LIMIT else 0
        return bool(self._after)

    def _next(self) -> Sequence[Project]:
        with self._database.read() as session:
            return projects_that_age(session, self._after, _LIMIT)

    def _age(self, project: Project) -> None:
        now = self._clock.now()
        if not is_due(rules_of(project).schedule, project.tended_at, project.last_accessed, now):
            return
        with self._database.write() as session:
            app = lock_app(session, project.app_id)
            if app.uninstalled_at is not None:
                return
            locked = lock_project_by_key(session, project.key)
            done = run_ageing(session, app, locked, Cause(ACTOR, REASON, now), self._means)
        self._tell(project, done)

    def _tell(self, project: Project, done: AgeingResult) -> None:
        for what_for, count in done.removed.items():
            self._metrics.versions_removed.labels(what_for).inc(count)
        if done.removed:
            done.clear_away(self._store, project.app_id, project.project_id)
            manifest.write(self._database, self._store, project.app_id, project.project_id)
        if not done.plan.is_empty:
            counts = done.plan.shown()["counts"]
            self._log.info(
                "sessions_aged", app_id=project.app_id, project_id=project.project_id, dry=done.is_dry, **counts
            )
