"""Brings messages into the indexes that were said before there were any, or whose index was lost.

Each step is one transaction that adds what is absent and notes how far it has come, so a job that is killed goes on
where it was. No model is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from shared.apps.queries import lock_app
from shared.base.clock import Clock
from shared.base.errors import NotYet
from shared.db.engine import Database
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, confirm
from shared.search.index import BackfillStep, backfill_batch
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import WorkerContainer, end

LONGEST_SECONDS = 20.0
"""After this a job gives way to the other work of its app."""
NOTHING = "no back-fill is under way"


@dataclass(eq=False)
class IndexMessages:
    """The pipeline of ``index_messages`` jobs."""

    database: Database
    clock: Clock
    metrics: Metrics
    elapsed: Callable[[], float] = perf_counter

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or NOTHING. Raises: LeaseLost, and NotYet when more is left."""
        until, filled = self.elapsed() + LONGEST_SECONDS, self._step(claim)
        state, reason = (JobState.NOTHING, NOTHING) if filled is None else (JobState.DONE, None)
        while filled is not None and not filled.is_over:
            if self.elapsed() > until:
                raise NotYet("Messages are left to be indexed; other work of the app comes first.", self.clock.now())
            filled = self._step(claim)
        with self.database.write() as session:
            end(session, claim, state, self.clock.now(), reason)
        get_logger().info("messages_indexed", job_id=claim.job_id, app_id=claim.app_id, state=state)
        return state

    def _step(self, claim: Claim) -> BackfillStep | None:
        with self.database.write() as session:
            # The app before the job's row, in the order of all who lock both.
            lock_app(session, claim.app_id)
            confirm(session, claim)
            filled = backfill_batch(session, claim.app_id, self.clock.now())
        if filled is not None:
            self.metrics.messages_filled_in.labels("words").inc(filled.words)
            self.metrics.index_failures.inc(filled.without_words)
        return filled


def build(container: WorkerContainer) -> IndexMessages:
    return IndexMessages(container.database, container.clock, container.metrics)
