"""Facts: what an app knows about its users, where each was said, and how lengths in tokens are reckoned.

New columns have defaults, so that the previous release can go on writing beside this one. ``job_turns``, which the
previous release no longer used, goes.
"""

import sqlalchemy as sa
from alembic import op

from shared.db.base import BigKey
from shared.db.types import UtcDateTime

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add facts."""
    op.create_table(
        "token_rates",
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("chars", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("model", name=op.f("pk_token_rates")),
    )
    op.create_table(
        "fact_clears",
        sa.Column("clear_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("last_message_key", sa.BigInteger(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("undo_until", UtcDateTime(), nullable=False),
        sa.Column("settled_at", UtcDateTime(), nullable=True),
        sa.Column("erasure_id", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_fact_clears_app_id")),
        sa.PrimaryKeyConstraint("clear_id", name=op.f("pk_fact_clears")),
    )
    op.create_index(op.f("ix_fact_clears_undo_until"), "fact_clears", ["undo_until"], unique=False)
    op.create_index(
        "uq_fact_clears_open",
        "fact_clears",
        ["app_id"],
        unique=True,
        postgresql_where=sa.text("settled_at IS NULL"),
        sqlite_where=sa.text("settled_at IS NULL"),
    )
    op.create_table(
        "fact_history",
        sa.Column("change_id", BigKey, autoincrement=True, nullable=False),
        sa.Column("fact_id", sa.BigInteger(), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("source_keys", sa.JSON(), nullable=False),
        sa.Column("related_fact_id", sa.BigInteger(), nullable=True),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_fact_history_app_id")),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_fact_history")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_fact_history_app_id_change_id", "fact_history", ["app_id", "change_id"], unique=False)
    op.create_index(op.f("ix_fact_history_fact_id"), "fact_history", ["fact_id"], unique=False)
    op.create_table(
        "facts",
        sa.Column("fact_id", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("user_id", sa.String(length=200), nullable=True),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("pin_slot", sa.Integer(), nullable=True),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("said_key", sa.String(length=64), nullable=False),
        sa.Column("category", sa.String(length=12), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("mention_count", sa.Integer(), nullable=False),
        sa.Column("by_hand", sa.Boolean(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("updates_fact_id", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("first_seen", UtcDateTime(), nullable=False),
        sa.Column("last_seen", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("undo_until", UtcDateTime(), nullable=True),
        sa.Column("clear_id", sa.String(length=40), nullable=True),
        sa.Column("was_pinned", sa.Boolean(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("vector_model", sa.String(length=200), nullable=True),
        sa.CheckConstraint("(state = 'standing') = (slot IS NOT NULL)", name=op.f("ck_facts_standing_has_slot")),
        sa.CheckConstraint("confidence >= 0 AND confidence <= 1", name=op.f("ck_facts_confidence_in_range")),
        sa.CheckConstraint("length(statement) > 0", name=op.f("ck_facts_statement_not_empty")),
        sa.CheckConstraint("pin_slot >= 1 AND pin_slot <= 10", name=op.f("ck_facts_pin_within_cap")),
        sa.CheckConstraint("pin_slot IS NULL OR slot IS NOT NULL", name=op.f("ck_facts_pinned_stands")),
        sa.CheckConstraint("slot >= 1 AND slot <= 150", name=op.f("ck_facts_slot_within_cap")),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_facts_app_id")),
        sa.ForeignKeyConstraint(["clear_id"], ["fact_clears.clear_id"], name=op.f("fk_facts_clear_id")),
        sa.PrimaryKeyConstraint("fact_id", name=op.f("pk_facts")),
        sa.UniqueConstraint("app_id", "pin_slot", name=op.f("uq_facts_app_id_pin_slot")),
        sa.UniqueConstraint("app_id", "slot", name=op.f("uq_facts_app_id_slot")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_facts_app_id_state", "facts", ["app_id", "state"], unique=False)
    op.create_index(
        "ix_facts_category_state_last_seen",
        "facts",
        ["category", "state", "pin_slot", "last_seen"],
        unique=False,
    )
    op.create_index(op.f("ix_facts_clear_id"), "facts", ["clear_id"], unique=False)
    op.create_index(op.f("ix_facts_undo_until"), "facts", ["undo_until"], unique=False)
    op.create_index(
        "uq_facts_said",
        "facts",
        ["app_id", "said_key"],
        unique=True,
        postgresql_where=sa.text("slot IS NOT NULL"),
        sqlite_where=sa.text("slot IS NOT NULL"),
    )
    op.create_table(
        "fact_sources",
        sa.Column("source_id", BigKey, autoincrement=True, nullable=False),
        sa.Column("fact_id", BigKey, nullable=False),
        sa.Column("conversation_key", BigKey, nullable=True),
        sa.Column("conversation_id", sa.String(length=200), nullable=True),
        sa.Column("message_ids", sa.JSON(), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("category", sa.String(length=12), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("first_seen", UtcDateTime(), nullable=False),
        sa.Column("last_seen", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_key"], ["conversations.key"], name=op.f("fk_fact_sources_conversation_key")
        ),
        sa.ForeignKeyConstraint(
            ["fact_id"], ["facts.fact_id"], name=op.f("fk_fact_sources_fact_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_fact_sources")),
        sa.UniqueConstraint("fact_id", "conversation_key", name=op.f("uq_fact_sources_fact_id_conversation_key")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_fact_sources_conversation_key"), "fact_sources", ["conversation_key"], unique=False)
    op.create_index(op.f("ix_fact_sources_fact_id"), "fact_sources", ["fact_id"], unique=False)
    op.drop_table("job_turns")
    op.add_column("conversations", sa.Column("facts_seen", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("conversations", sa.Column("facts_due_at", UtcDateTime(), nullable=True))
    op.create_index(
        "ix_conversations_facts_due_at",
        "conversations",
        ["facts_due_at"],
        unique=False,
        postgresql_where=sa.text("facts_due_at IS NOT NULL"),
        sqlite_where=sa.text("facts_due_at IS NOT NULL"),
    )
    op.add_column("messages", sa.Column("tokens", sa.Integer(), nullable=True))
    op.create_index(
        "ix_messages_system",
        "messages",
        ["conversation_key"],
        unique=False,
        postgresql_where=sa.text("role = 'system'"),
        sqlite_where=sa.text("role = 'system'"),
    )
