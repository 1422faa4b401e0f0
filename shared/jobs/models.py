"""A job is the one record of work that was asked for; the queue only carries its id."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.contracts.jobs import WorkClass
from shared.db.base import Base, BigKey, UtcDateTime, partial


class JobState(StrEnum):
    """Where a job stands."""

    PENDING = "pending"
    DEFERRED = "deferred"
    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    DONE = "done"
    NOTHING = "nothing"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Deferral(StrEnum):
    """What a deferred job waits for."""

    ENERGY = "energy"
    BUDGET = "budget"
    PROVIDER = "provider_away"
    """The model's server, or a model that it lacks; such a job does not compete for its app's turn, so what needs no
    model goes on."""


WAITING = (JobState.PENDING, JobState.DEFERRED, JobState.RETRYING)
IN_FLIGHT = (JobState.QUEUED, JobState.RUNNING)
OPEN = WAITING + IN_FLIGHT
FINISHED = (JobState.DONE, JobState.NOTHING, JobState.DEAD, JobState.CANCELLED)
NO_SEQUENCE = ""
"""The sequence of jobs that name none."""


class Job(Base):
    """One piece of background work. ``payload`` and ``reason`` never hold text of a conversation."""

    __tablename__ = "jobs"
    # A look at a tenant queue reads indexes alone: for SQLite, the state has to stand in partial ones too.
    __table_args__ = (
        Index("ix_jobs_waiting", "due_at", "seq", **partial("state IN ('pending','deferred','retrying')")),
        Index("ix_jobs_in_flight", "leased_until", **partial("state IN ('queued','running')")),
        Index(
            "ix_jobs_undeferred",
            "work_class",
            "due_at",
            "seq",
            **partial("state IN ('pending','retrying') AND work_class = 'thought'"),
        ),
        Index(
            "ix_jobs_tenant_queue_waiting",
            "app_id",
            "work_class",
            "priority",
            "seq",
            "due_at",
            "deferral",
            "sequence",
            "state",
            **partial("state IN ('pending','deferred','retrying')"),
        ),
        Index(
            "ix_jobs_tenant_queue_due",
            "app_id",
            "work_class",
            "due_at",
            "seq",
            "deferral",
            **partial("state IN ('pending','deferred','retrying')"),
        ),
        Index("ix_jobs_provider_away", "seq", **partial("state = 'deferred' AND deferral = 'provider_away'")),
        Index(
            "ix_jobs_tenant_queue_in_flight",
            "app_id",
            "work_class",
            "sequence",
            "state",
            **partial("state IN ('queued','running')"),
        ),
        Index("ix_jobs_app_id_seq", "app_id", "seq"),
        Index("ix_jobs_state_seq", "state", "seq", "kind"),
        # Else SQLite gives the number of a newest row that is gone out again, and a cursor passes the new one over.
        {"sqlite_autoincrement": True},
    )

    seq: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    job_id: Mapped[str] = mapped_column(String(40), unique=True)
    kind: Mapped[str] = mapped_column(String(40))
    app_id: Mapped[str | None] = mapped_column(ForeignKey("apps.app_id"))
    conversation_key: Mapped[int | None] = mapped_column(
        ForeignKey("conversations.key", ondelete="SET NULL"), index=True
    )
    conversation_id: Mapped[str | None] = mapped_column(String(200))
    epoch: Mapped[int] = mapped_column(default=0)
    dedupe: Mapped[str | None] = mapped_column(String(300), unique=True)
    """Two requests for the same work share one job."""
    payload: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    priority: Mapped[int] = mapped_column(default=5)
    """0 is first, 9 is last."""
    work_class: Mapped[str] = mapped_column(String(10), default=WorkClass.THOUGHT)
    sequence: Mapped[str] = mapped_column(String(200), default=NO_SEQUENCE)
    """Jobs of one app, work class and sequence are done one after the other; those of others side by side."""
    state: Mapped[str] = mapped_column(String(12))
    attempts: Mapped[int] = mapped_column(default=0)
    max_attempts: Mapped[int] = mapped_column(default=5)
    reason: Mapped[str | None] = mapped_column(Text)
    fence: Mapped[int] = mapped_column(default=0)
    """Raised with every change of owner; a stale owner's writing is refused."""
    lease_owner: Mapped[str | None] = mapped_column(String(200))
    leased_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime)
    deferred_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    deferral: Mapped[str | None] = mapped_column(String(20))
    """What a deferred job waits for."""
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    traceparent: Mapped[str | None] = mapped_column(String(55))
    """W3C trace context of the request or job that asked for it first; every attempt is a part of that trace."""

    @property
    def trace_id(self) -> str | None:
        """What an operator finds it by where traces are kept."""
        return None if self.traceparent is None else self.traceparent.split("-")[1]


class TenantQueue(Base):
    """The work of one app on one work class: what stands at its head, and when its turn is.

    One row an app and work class keeps the cost of choosing flat however many jobs wait. It can be made from the jobs
    at any time (``shared.jobs.tenant_queues``).
    """

    __tablename__ = "tenant_queues"
    __table_args__ = (
        Index("ix_tenant_queues_awake", "work_class", "start_tag", "head_seq", **partial("awake")),
        Index("ix_tenant_queues_asleep", "ready_at", **partial("NOT awake AND ready_at IS NOT NULL")),
        Index("ix_tenant_queues_held_until", "held_until"),
        Index("ix_tenant_queues_waiting", "work_class", "head_seq", **partial("head_seq IS NOT NULL")),
    )

    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), primary_key=True)
    work_class: Mapped[str] = mapped_column(String(10), primary_key=True)
    served: Mapped[int] = mapped_column(BigInteger, default=0)
    """Virtual time up to which the app has had its share."""
    start_tag: Mapped[int] = mapped_column(BigInteger, default=0)
    """Where its head stands among the heads of the other apps; the least is next."""
    head_seq: Mapped[int | None] = mapped_column(BigInteger)
    ready_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When a job of it may be sent; None when nothing waits, or what waits is behind jobs in flight."""
    awake: Mapped[bool] = mapped_column(default=False)
    """Whether ``ready_at`` has come, as far as the relay has noticed."""
    held_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Until when the app's budget allows nothing more."""
    held_why: Mapped[str | None] = mapped_column(String(300))


class VirtualTime(Base):
    """How far the virtual time of a work class has come: where an app that was idle joins in."""

    __tablename__ = "virtual_times"

    work_class: Mapped[str] = mapped_column(String(10), primary_key=True)
    virtual: Mapped[int] = mapped_column(BigInteger, default=0)
