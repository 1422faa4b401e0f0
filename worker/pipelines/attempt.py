"""One attempt at one job, whatever its kind: claim it, renew its lease, run it, record how it ended.

A pipeline finishes its job itself, in the transaction that writes its result; an attempt that fails is recorded here,
and the task then raises ``JobFailed`` so that no failure ever looks like a success to Celery either.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import redis
from celery.exceptions import SoftTimeLimitExceeded
from pydantic import ValidationError
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import lock_app
from shared.base import errors
from shared.base.clock import Clock
from shared.base.setting_groups import JobSettings
from shared.base.settings import Settings
from shared.broker import notify
from shared.contracts.jobs import JobKind, JobMessage, JobPayload
from shared.contracts.values import EventKind
from shared.conversations.models import Conversation
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.events.recording import record, record_end_of_job
from shared.jobs import ownership
from shared.jobs.models import Deferral, JobState
from shared.jobs.ownership import Claim, Owner, finish
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.telemetry.tracing import Attributes, Role, Traced, Tracing
from worker.agent.protocol import Agents, RulesBehind

PayloadT = TypeVar("PayloadT", bound=JobPayload)
Pipeline = Callable[[Claim], JobState]
"""Carries a claimed job out and returns the state it finished the job in."""


@dataclass(frozen=True)
class WorkerContainer:
    """What pipelines are built of, once per pool process."""

    settings: Settings
    database: Database
    clock: Clock
    metrics: Metrics
    accountant: Accountant
    agents: Agents
    rules: RulesBehind
    store: Store


class NotRemembered(Exception):
    """Nothing is remembered of the job's conversation; what was made of it is dropped."""


class JobFailed(Exception):
    """The attempt failed, and the job's row says why and what comes next."""


@dataclass
class Attempts:
    """Runs pipelines under a lease."""

    database: Database
    clock: Clock
    owner: Owner
    settings: JobSettings
    metrics: Metrics
    news: redis.Redis
    tracing: Tracing = field(default_factory=Tracing)

    def run(self, message: JobMessage, kind: JobKind, pipeline: Pipeline) -> None:
        """Carry out one delivery of a job. Raises: JobFailed, Transient."""
        now = self.clock.now()
        with self.database.write() as session:
            claim = ownership.claim(session, message.job_id, message.fence, self.owner, self._until(now), now)
        if claim is None:
            get_logger().info("job_message_stale", job_id=message.job_id, fence=message.fence)
            self.metrics.stale_messages.labels(kind).inc()
            return
        begun = self.clock.now()
        with self._traced(claim) as traced, self._kept_alive(claim):
            state, failure = None, None
            try:
                state, failure = self._attempt(claim, pipeline)
            except (errors.LeaseLost, errors.Purged) as error:
                # The job was purged or taken over: its row already says so, and what was made is dropped.
                get_logger().info("job_result_dropped", job_id=claim.job_id, why=error.code)
                self.metrics.stale_messages.labels(claim.kind).inc()
            traced.attributes["afterthought.job.outcome"] = "dropped" if state is None else state.value
            traced.failed = failure is not None
        now = self.clock.now()
        self.metrics.job_duration.labels(claim.kind).observe((now - begun).total_seconds())
        if state is JobState.RETRYING:
            self.metrics.job_retries.labels(claim.kind).inc()
        elif state not in (JobState.DEFERRED, None):
            self.metrics.jobs_finished.labels(claim.kind, state).inc()
            self.metrics.job_delay.labels(claim.kind).observe((now - claim.created_at).total_seconds())
        if state is JobState.DEAD:
            self.metrics.dead_letters.labels(claim.kind).inc()
        get_logger().info("job_attempt_ended", kind=claim.kind, state=state, **_named(claim))
        notify(self.news, f"job:{claim.job_id}:{state}")
        # The row says it all already; this is for Celery, whose own view must not show a success.
        if failure is not None:
            raise JobFailed(f"{claim.job_id} is {state}: {failure}")

    def _traced(self, claim: Claim) -> AbstractContextManager[Traced]:
        about: Attributes = {
            "afterthought.app.id": claim.app_id,
            "afterthought.job.id": claim.job_id,
            "afterthought.job.kind": claim.kind,
            "afterthought.job.attempt": claim.attempt,
        }
        return self.tracing.span(f"job {claim.kind}", Role.CONSUMER, claim.traceparent, about)

    def _attempt(self, claim: Claim, pipeline: Pipeline) -> tuple[JobState, str | None]:
        """Run the pipeline; return the state that was recorded, and why it failed. Raises: LeaseLost, Purged."""
        try:
            return pipeline(claim), None
        except (errors.LeaseLost, errors.Purged):
            raise
        except NotRemembered as why:
            with self.database.write() as session:
                end(session, claim, JobState.NOTHING, self.clock.now(), str(why))
            return JobState.NOTHING, None
        except errors.OverBudget as error:
            # Nothing has failed: the job waits until its app's budget covers the work.
            get_logger().info(
                "job_over_budget", job_id=claim.job_id, app_id=claim.app_id, until=error.until.isoformat()
            )
            with self.database.write() as session:
                changed_at = lock_app(session, claim.app_id).updated_at
                ownership.postpone(session, claim, error.message, error.until, self.clock.now(), changed_at)
                record_deferral(session, claim, Deferral.BUDGET, self.clock.now())
            self.metrics.budget_deferrals.inc()
            return JobState.DEFERRED, None
        except errors.ProviderAway as error:
            get_logger().info("job_awaits_provider", job_id=claim.job_id, app_id=claim.app_id, why=error.message)
            with self.database.write() as session:
                ownership.await_provider(session, claim, error.message, self.clock.now())
                record_deferral(session, claim, Deferral.PROVIDER, self.clock.now())
            self.metrics.provider_deferrals.inc()
            return JobState.DEFERRED, None
        except errors.NotYet as error:
            get_logger().info("job_waits", job_id=claim.job_id, app_id=claim.app_id, until=error.until.isoformat())
            with self.database.write() as session:
                ownership.wait(session, claim, error.message, error.until, self.clock.now())
            return JobState.RETRYING, None
        except SoftTimeLimitExceeded:
            return self._fail(claim, "it took longer than the task's time limit")
        except errors.AfterthoughtError as error:
            get_logger().warning("job_attempt_failed", error=error.code, **_named(claim))
            return self._fail(
                claim,
                f"{error.code}: {error.message}",
                self._next_try(error),
                for_good=isinstance(error, errors.ModelOutput),
            )
        # The top of a worker's work: an error nobody foresaw is logged whole and must not lose the job.
        except Exception as error:  # noqa: BLE001
            get_logger().exception("job_attempt_broke", **_named(claim))
            return self._fail(claim, f"unexpected {type(error).__name__}; the worker's log has the traceback")

    def _next_try(self, error: errors.AfterthoughtError) -> datetime | None:
        """Return when to try again, where the error says so."""
        if isinstance(error, errors.RetryLater):
            return error.until
        # As late as is ever tried: it passes only when a person mends it.
        is_for_people = isinstance(error, errors.Configuration)
        return self.clock.now() + timedelta(seconds=self.settings.retry_max_seconds) if is_for_people else None

    def _fail(
        self, claim: Claim, reason: str, until: datetime | None = None, *, for_good: bool = False
    ) -> tuple[JobState, str]:
        with self.database.write() as session:
            now = self.clock.now()
            if for_good:
                state = ownership.give_up(session, claim, reason, now)
            else:
                state = ownership.fail(session, claim, reason, now, self.settings, until)
            if state is JobState.DEAD:
                record_end(session, claim, state, self.clock.now())
        return state, reason

    def _until(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.settings.lease_seconds)

    @contextmanager
    def _kept_alive(self, claim: Claim) -> Iterator[None]:
        """Renew the lease from a thread of its own until the block ends or the job is somebody else's."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self.settings.heartbeat_seconds):
                try:
                    with self.database.write() as session:
                        # The job is somebody else's by now: the pipeline finds out where it writes.
                        if not ownership.beat(session, claim, self._until(self.clock.now())):
                            return
                except errors.Transient as error:
                    # The lease outlasts several renewals, so one that fails costs nothing yet.
                    get_logger().warning("lease_not_renewed", job_id=claim.job_id, error=error.code)

        keeper = threading.Thread(target=renew, name="lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            # Not for ever, as the database may hang.
            keeper.join(timeout=self.settings.heartbeat_seconds)


def _named(claim: Claim) -> dict[str, str | int]:
    named: dict[str, str | int] = {"job_id": claim.job_id, "app_id": claim.app_id, "attempt": claim.attempt}
    return named if claim.conversation_id is None else named | {"conversation_id": claim.conversation_id}


def end(session: Session, claim: Claim, state: JobState, now: datetime, reason: str | None = None) -> None:
    """End a job in the transaction that writes its result. Raises: LeaseLost."""
    finish(session, claim, state, now, reason)
    record_end(session, claim, state, now)


def remembered(conversation: Conversation | None, claim: Claim) -> Conversation:
    """Return the conversation of a job that draws something from it; call it where it is read and, locked, where it is
    written. Raises: LeaseLost where it was erased, NotRemembered."""
    if conversation is None:
        raise errors.LeaseLost(f"The conversation of job {claim.job_id} was erased.")
    if not conversation.is_remembered:
        raise NotRemembered(f"memory is {conversation.memory} for this conversation")
    return conversation


def unpurged(app: App, claim: Claim) -> App:
    """Return the app of a job. Raises: Purged, where it was purged since the job was asked for."""
    if app.purge_epoch != claim.epoch:
        raise errors.Purged(f"App {claim.app_id} was purged after job {claim.job_id} was asked for.")
    return app


def payload_of(claim: Claim, shape: type[PayloadT]) -> PayloadT:
    """Return what a job names beside its row. Raises: Configuration, for what another release wrote."""
    try:
        return shape.model_validate(claim.payload)
    except ValidationError:
        raise errors.Configuration(f"The payload of job {claim.job_id} is not one this release knows.") from None


def record_end(session: Session, claim: Claim, state: JobState, now: datetime) -> None:
    """Record the event of a job that has ended for good."""
    record_end_of_job(session, claim.app_id, claim.job_id, claim.kind, state, now, claim.conversation_id)


def record_deferral(session: Session, claim: Claim, deferral: Deferral, now: datetime) -> None:
    """Record the event of a job that was begun and has to wait."""
    record(
        session,
        EventKind.JOB_DEFERRED,
        claim.app_id,
        now,
        conversation_id=claim.conversation_id,
        subject=claim.job_id,
        job=claim.kind,
        deferral=deferral.value,
    )
