"""The first schema: apps, conversations, jobs, energy, memories, receipts."""

import sqlalchemy as sa
from alembic import op

from shared.db.base import BigKey
from shared.db.types import UtcDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table of the first release."""
    op.create_table(
        "apps",
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("purge_epoch", sa.Integer(), nullable=False),
        sa.Column("hourly_budget_micro", sa.BigInteger(), nullable=True),
        sa.Column("daily_budget_micro", sa.BigInteger(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("uninstalled_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("app_id", name=op.f("pk_apps")),
    )
    op.create_table(
        "energy_ledger",
        sa.Column("entry", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("conversation_key", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("micro", sa.BigInteger(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("entry", name=op.f("pk_energy_ledger")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_energy_ledger_app_id_at", "energy_ledger", ["app_id", "at"], unique=False)
    op.create_index("ix_energy_ledger_at", "energy_ledger", ["at"], unique=False)
    op.create_index(op.f("ix_energy_ledger_conversation_key"), "energy_ledger", ["conversation_key"], unique=False)
    op.create_index(op.f("ix_energy_ledger_job_id"), "energy_ledger", ["job_id"], unique=False)
    op.create_index(
        "ix_energy_ledger_unsettled",
        "energy_ledger",
        ["entry"],
        unique=False,
        postgresql_where=sa.text("NOT settled"),
        sqlite_where=sa.text("NOT settled"),
    )
    op.create_table(
        "energy_level",
        sa.Column("only_row", sa.Integer(), nullable=False),
        sa.Column("micro", sa.BigInteger(), nullable=False),
        sa.Column("drawn_micro", sa.BigInteger(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("only_row = 1", name=op.f("ck_energy_level_one_row")),
        sa.PrimaryKeyConstraint("only_row", name=op.f("pk_energy_level")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("row", BigKey, autoincrement=True, nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=True),
        sa.Column("request_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("row", name=op.f("pk_idempotency_keys")),
        sa.UniqueConstraint("caller", "key", name=op.f("uq_idempotency_keys_caller_key")),
    )
    op.create_index(op.f("ix_idempotency_keys_app_id"), "idempotency_keys", ["app_id"], unique=False)
    op.create_index(op.f("ix_idempotency_keys_at"), "idempotency_keys", ["at"], unique=False)
    op.create_table(
        "conversations",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("conversation_id", sa.String(length=200), nullable=False),
        sa.Column("user_id", sa.String(length=200), nullable=True),
        sa.Column("energy_budget_micro", sa.BigInteger(), nullable=True),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("snoozed_until", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("end_reason", sa.String(length=500), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_conversations_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_conversations")),
        sa.UniqueConstraint("app_id", "conversation_id", name=op.f("uq_conversations_app_id_conversation_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_conversations_app_id_key", "conversations", ["app_id", "key"], unique=False)
    op.create_index(op.f("ix_conversations_snoozed_until"), "conversations", ["snoozed_until"], unique=False)
    op.create_table(
        "erasures",
        sa.Column("erasure_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("scope", sa.String(length=20), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("erased", sa.JSON(), nullable=False),
        sa.Column("left", sa.JSON(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_erasures_app_id")),
        sa.PrimaryKeyConstraint("erasure_id", name=op.f("pk_erasures")),
    )
    op.create_index(op.f("ix_erasures_app_id"), "erasures", ["app_id"], unique=False)
    op.create_table(
        "job_turns",
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("served_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_job_turns_app_id")),
        sa.PrimaryKeyConstraint("app_id", name=op.f("pk_job_turns")),
    )
    op.create_table(
        "tokens",
        sa.Column("token_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=True),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("(scope = 'app') = (app_id IS NOT NULL)", name=op.f("ck_tokens_scope_matches_app")),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_tokens_app_id")),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    op.create_index(op.f("ix_tokens_app_id"), "tokens", ["app_id"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("seq", BigKey, autoincrement=True, nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=True),
        sa.Column("conversation_key", BigKey, nullable=True),
        sa.Column("conversation_id", sa.String(length=200), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("dedupe", sa.String(length=300), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=200), nullable=True),
        sa.Column("leased_until", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("deferred_since", UtcDateTime(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_jobs_app_id")),
        sa.ForeignKeyConstraint(
            ["conversation_key"], ["conversations.key"], name=op.f("fk_jobs_conversation_key"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_jobs")),
        sa.UniqueConstraint("dedupe", name=op.f("uq_jobs_dedupe")),
        sa.UniqueConstraint("job_id", name=op.f("uq_jobs_job_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_app_id_seq", "jobs", ["app_id", "seq"], unique=False)
    op.create_index(op.f("ix_jobs_conversation_key"), "jobs", ["conversation_key"], unique=False)
    op.create_index(
        "ix_jobs_in_flight",
        "jobs",
        ["leased_until"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued','running')"),
        sqlite_where=sa.text("state IN ('queued','running')"),
    )
    op.create_index("ix_jobs_state_seq", "jobs", ["state", "seq"], unique=False)
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["due_at", "seq"],
        unique=False,
        postgresql_where=sa.text("state IN ('pending','deferred','retrying')"),
        sqlite_where=sa.text("state IN ('pending','deferred','retrying')"),
    )
    op.create_table(
        "memory_origins",
        sa.Column("memory_id", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("conversation_key", BigKey, nullable=True),
        sa.Column("conversation_id", sa.String(length=200), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_memory_origins_app_id")),
        sa.ForeignKeyConstraint(
            ["conversation_key"],
            ["conversations.key"],
            name=op.f("fk_memory_origins_conversation_key"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("memory_id", name=op.f("pk_memory_origins")),
        sa.UniqueConstraint("conversation_key", "epoch", name=op.f("uq_memory_origins_conversation_key_epoch")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_memory_origins_app_id"), "memory_origins", ["app_id"], unique=False)
    op.create_table(
        "messages",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("conversation_key", BigKey, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_messages_app_id")),
        sa.ForeignKeyConstraint(["conversation_key"], ["conversations.key"], name=op.f("fk_messages_conversation_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_messages")),
        sa.UniqueConstraint("conversation_key", "message_id", name=op.f("uq_messages_conversation_key_message_id")),
        sa.UniqueConstraint("conversation_key", "position", name=op.f("uq_messages_conversation_key_position")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_messages_app_id"), "messages", ["app_id"], unique=False)
    op.create_table(
        "app_memories",
        sa.Column("memory_id", BigKey, autoincrement=False, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("importance", sa.Integer(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("importance >= 0 AND importance <= 10", name=op.f("ck_app_memories_importance_in_range")),
        sa.CheckConstraint("length(content) > 0", name=op.f("ck_app_memories_content_not_empty")),
        sa.CheckConstraint("slot >= 1 AND slot <= 10", name=op.f("ck_app_memories_slot_within_cap")),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_app_memories_app_id")),
        sa.ForeignKeyConstraint(["memory_id"], ["memory_origins.memory_id"], name=op.f("fk_app_memories_memory_id")),
        sa.PrimaryKeyConstraint("memory_id", name=op.f("pk_app_memories")),
        sa.UniqueConstraint("app_id", "slot", name=op.f("uq_app_memories_app_id_slot")),
    )
    op.create_index("ix_app_memories_app_id_created_at", "app_memories", ["app_id", "created_at"], unique=False)
    op.create_table(
        "memory_history",
        sa.Column("change_id", BigKey, autoincrement=True, nullable=False),
        sa.Column("memory_id", BigKey, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("source_keys", sa.JSON(), nullable=False),
        sa.Column("standing", sa.JSON(), nullable=False),
        sa.Column("related_memory_id", sa.BigInteger(), nullable=True),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_memory_history_app_id")),
        sa.ForeignKeyConstraint(["memory_id"], ["memory_origins.memory_id"], name=op.f("fk_memory_history_memory_id")),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_memory_history")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_history_app_id_change_id", "memory_history", ["app_id", "change_id"], unique=False)
    op.create_index(op.f("ix_memory_history_memory_id"), "memory_history", ["memory_id"], unique=False)
    op.create_table(
        "memory_sources",
        sa.Column("memory_id", BigKey, nullable=False),
        sa.Column("conversation_key", BigKey, nullable=False),
        sa.Column("message_ids", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_key"], ["conversations.key"], name=op.f("fk_memory_sources_conversation_key")
        ),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["app_memories.memory_id"], name=op.f("fk_memory_sources_memory_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_id", "conversation_key", name=op.f("pk_memory_sources")),
    )
    op.create_index(op.f("ix_memory_sources_conversation_key"), "memory_sources", ["conversation_key"], unique=False)
