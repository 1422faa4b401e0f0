"""Governing and thinking: reservations, lanes, the mandate, answers, events and webhooks.

New columns have defaults, so that the previous release can go on writing beside this one. ``job_turns`` is no longer
used and stays until that release is gone. Apps installed before keep answering for themselves.
"""

import sqlalchemy as sa
from alembic import op

from shared.db.base import BigKey
from shared.db.types import UtcDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what governs and what thinks."""
    op.create_table(
        "energy_estimates",
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("micro", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "model", name=op.f("pk_energy_estimates")),
    )
    op.create_table(
        "energy_reservations",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("micro", sa.BigInteger(), nullable=False),
        sa.Column("most_micro", sa.BigInteger(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_energy_reservations")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_energy_reservations_app_id"), "energy_reservations", ["app_id"], unique=False)
    op.create_index(op.f("ix_energy_reservations_job_id"), "energy_reservations", ["job_id"], unique=False)
    op.create_index(op.f("ix_energy_reservations_until"), "energy_reservations", ["until"], unique=False)
    op.create_table(
        "lane_rounds",
        sa.Column("track", sa.String(length=10), nullable=False),
        sa.Column("virtual", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("track", name=op.f("pk_lane_rounds")),
    )
    op.create_table(
        "mandate",
        sa.Column("only_row", sa.Integer(), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.CheckConstraint("only_row = 1", name=op.f("ck_mandate_one_row")),
        sa.PrimaryKeyConstraint("only_row", name=op.f("pk_mandate")),
    )
    op.create_table(
        "events",
        sa.Column("row", BigKey, autoincrement=True, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("conversation_id", sa.String(length=200), nullable=True),
        sa.Column("subject", sa.String(length=200), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_events_app_id")),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_events")),
        sa.UniqueConstraint("position", name=op.f("uq_events_position")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_app_id_conversation_id", "events", ["app_id", "conversation_id"], unique=False)
    op.create_index("ix_events_app_id_position", "events", ["app_id", "position"], unique=False)
    op.create_index("ix_events_at", "events", ["at"], unique=False)
    op.create_index(
        "ix_events_unplaced",
        "events",
        ["row"],
        unique=False,
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.create_table(
        "event_counts",
        sa.Column("name", sa.String(length=10), nullable=False),
        sa.Column("placed", sa.BigInteger(), nullable=False),
        sa.Column("forgotten", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_event_counts")),
    )
    op.create_table(
        "lanes",
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("track", sa.String(length=10), nullable=False),
        sa.Column("served", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("head_seq", sa.BigInteger(), nullable=True),
        sa.Column("ready_at", UtcDateTime(), nullable=True),
        sa.Column("awake", sa.Boolean(), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=True),
        sa.Column("held_why", sa.String(length=300), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_lanes_app_id")),
        sa.PrimaryKeyConstraint("app_id", "track", name=op.f("pk_lanes")),
    )
    op.create_index(
        "ix_lanes_asleep",
        "lanes",
        ["ready_at"],
        unique=False,
        postgresql_where=sa.text("NOT awake AND ready_at IS NOT NULL"),
        sqlite_where=sa.text("NOT awake AND ready_at IS NOT NULL"),
    )
    op.create_index(
        "ix_lanes_awake",
        "lanes",
        ["track", "turn", "head_seq"],
        unique=False,
        postgresql_where=sa.text("awake"),
        sqlite_where=sa.text("awake"),
    )
    op.create_index("ix_lanes_held_until", "lanes", ["held_until"], unique=False)
    op.create_table(
        "webhooks",
        sa.Column("webhook_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("url", sa.String(length=2000), nullable=False),
        sa.Column("secret", sa.String(length=100), nullable=False),
        sa.Column("kinds", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("disabled_at", UtcDateTime(), nullable=True),
        sa.Column("disabled_why", sa.String(length=300), nullable=True),
        sa.Column("tried_at", UtcDateTime(), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_webhooks_app_id")),
        sa.PrimaryKeyConstraint("webhook_id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_app_id"), "webhooks", ["app_id"], unique=False)
    op.create_table(
        "answers",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("answer_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("conversation_key", BigKey, nullable=False),
        sa.Column("conversation_id", sa.String(length=200), nullable=False),
        sa.Column("answers_position", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("message_id", sa.String(length=200), nullable=True),
        sa.Column("reason", sa.String(length=500), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("decided_at", UtcDateTime(), nullable=True),
        sa.Column("decided_by", sa.String(length=100), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_answers_app_id")),
        sa.ForeignKeyConstraint(["conversation_key"], ["conversations.key"], name=op.f("fk_answers_conversation_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answers")),
        sa.UniqueConstraint("answer_id", name=op.f("uq_answers_answer_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_answers_app_id_state_key", "answers", ["app_id", "state", "key"], unique=False)
    op.create_index(
        "ix_answers_conversation_key_answers_position",
        "answers",
        ["conversation_key", "answers_position"],
        unique=False,
    )
    op.create_index(
        "uq_answers_standing",
        "answers",
        ["conversation_key", "answers_position"],
        unique=True,
        postgresql_where=sa.text("state IN ('pending','sent')"),
        sqlite_where=sa.text("state IN ('pending','sent')"),
    )
    op.add_column("apps", sa.Column("weight", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("apps", sa.Column("answered_by", sa.String(length=10), nullable=False, server_default="app"))
    op.add_column("apps", sa.Column("approves_answers", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("apps", sa.Column("reviewed_at", UtcDateTime(), nullable=True))
    op.add_column("conversations", sa.Column("woken_at", UtcDateTime(), nullable=True))
    op.add_column("conversations", sa.Column("unanswered_since", UtcDateTime(), nullable=True))
    op.add_column("conversations", sa.Column("focus_since", UtcDateTime(), nullable=True))
    op.add_column("conversations", sa.Column("think_after", UtcDateTime(), nullable=True))
    op.add_column("conversations", sa.Column("think_attempts", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_conversations_app_id_updated_at", "conversations", ["app_id", "updated_at"], unique=False)
    op.create_index(op.f("ix_conversations_focus_since"), "conversations", ["focus_since"], unique=False)
    op.create_index(op.f("ix_conversations_think_after"), "conversations", ["think_after"], unique=False)
    op.add_column("jobs", sa.Column("track", sa.String(length=10), nullable=False, server_default="thought"))
    op.add_column("jobs", sa.Column("deferral", sa.String(length=10), nullable=True))
    op.create_index(
        "ix_jobs_lane_in_flight",
        "jobs",
        ["app_id", "track"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued','running')"),
        sqlite_where=sa.text("state IN ('queued','running')"),
    )
    op.create_index(
        "ix_jobs_lane_waiting",
        "jobs",
        ["app_id", "track", "priority", "seq", "due_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('pending','deferred','retrying')"),
        sqlite_where=sa.text("state IN ('pending','deferred','retrying')"),
    )
    op.create_index(
        "ix_jobs_undeferred",
        "jobs",
        ["track", "due_at", "seq"],
        unique=False,
        postgresql_where=sa.text("state IN ('pending','retrying') AND track = 'thought'"),
        sqlite_where=sa.text("state IN ('pending','retrying') AND track = 'thought'"),
    )
    op.create_index(
        "ix_energy_ledger_of_jobs",
        "energy_ledger",
        ["entry"],
        unique=False,
        postgresql_where=sa.text("job_id IS NOT NULL"),
        sqlite_where=sa.text("job_id IS NOT NULL"),
    )
