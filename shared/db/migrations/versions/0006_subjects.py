"""Whose memory it is: memories and facts belong to a user of an app, and so do their places.

Each memory goes to the user of the conversation it came from. One that holds words of several users goes to nobody, so
that none of them is shown another's. Facts named their user already. Beside that: when a fact was said, messages as
they were sent, what an app shares with all of its users, and the similarities of a retrieval.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

from shared.db.types import UtcDateTime

revision = "0006"
down_revision = "0005"

_USER = sa.String(length=200)
_EPOCH = sa.text("'1970-01-01 00:00:00'")
"""Stands in a new column that may not be empty until the statement after fills it."""


def upgrade() -> None:
    """Give memories and facts to their users."""
    op.add_column("apps", sa.Column("shared_memory", sa.Boolean(), nullable=False, server_default=sa.false()))
    _give_messages()
    op.add_column("erasures", sa.Column("user_id", _USER, nullable=True))
    op.add_column("retrievals", sa.Column("top_similarities", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("memory_origins", sa.Column("user_id", _USER, nullable=False, server_default=""))
    _give_memories()
    _give_facts()


def _give_messages() -> None:
    op.add_column("messages", sa.Column("payload", sa.JSON(), nullable=True))
    op.add_column("messages", sa.Column("payload_chars", sa.Integer(), nullable=True))
    op.add_column("messages", sa.Column("call_position", sa.Integer(), nullable=True))
    # No message named its call so far: each result belonged to the last message of the assistant before it.
    op.execute(
        """UPDATE messages SET call_position =
               (SELECT max(m.position) FROM messages m WHERE m.conversation_key = messages.conversation_key
                AND m.role = 'assistant' AND m.position < messages.position)
           WHERE role = 'tool'"""
    )
    is_result = sa.text("call_position IS NOT NULL")
    op.create_index(
        "ix_messages_results",
        "messages",
        ["conversation_key", "call_position"],
        postgresql_where=is_result,
        sqlite_where=is_result,
    )


def _give_memories() -> None:
    op.drop_index("ix_app_memories_app_id_created_at", "app_memories")
    with _rebuilt(
        "app_memories",
        sa.CheckConstraint("importance >= 0 AND importance <= 10", name=op.f("ck_app_memories_importance_in_range")),
        sa.CheckConstraint("length(content) > 0", name=op.f("ck_app_memories_content_not_empty")),
        sa.CheckConstraint("slot >= 1 AND slot <= 10", name=op.f("ck_app_memories_slot_within_cap")),
    ) as table:
        table.add_column(sa.Column("user_id", _USER, nullable=False, server_default=""))
        table.drop_constraint("uq_app_memories_app_id_slot", type_="unique")
        table.create_unique_constraint("uq_app_memories_app_id_user_id_slot", ["app_id", "user_id", "slot"])
    op.create_index("ix_app_memories_app_id_user_id_updated_at", "app_memories", ["app_id", "user_id", "updated_at"])
    op.execute(
        """UPDATE memory_origins SET user_id = coalesce(
               (SELECT c.user_id FROM conversations c WHERE c.key = memory_origins.conversation_key), '')"""
    )
    op.execute(
        """UPDATE memory_origins SET user_id = '' WHERE user_id <> '' AND EXISTS (
               SELECT 1 FROM memory_sources s JOIN conversations c ON c.key = s.conversation_key
               WHERE s.memory_id = memory_origins.memory_id AND coalesce(c.user_id, '') <> memory_origins.user_id)"""
    )
    op.execute(
        """UPDATE app_memories SET user_id =
               (SELECT o.user_id FROM memory_origins o WHERE o.memory_id = app_memories.memory_id)"""
    )


def _give_facts() -> None:
    op.execute("UPDATE facts SET user_id = '' WHERE user_id IS NULL")
    op.drop_index("ix_facts_app_id_state", "facts")
    with _rebuilt(
        "facts",
        sa.CheckConstraint("(state = 'standing') = (slot IS NOT NULL)", name=op.f("ck_facts_standing_has_slot")),
        sa.CheckConstraint("confidence >= 0 AND confidence <= 1", name=op.f("ck_facts_confidence_in_range")),
        sa.CheckConstraint("length(statement) > 0", name=op.f("ck_facts_statement_not_empty")),
        sa.CheckConstraint("pin_slot >= 1 AND pin_slot <= 10", name=op.f("ck_facts_pin_within_cap")),
        sa.CheckConstraint("pin_slot IS NULL OR slot IS NOT NULL", name=op.f("ck_facts_pinned_stands")),
        sa.CheckConstraint("slot >= 1 AND slot <= 150", name=op.f("ck_facts_slot_within_cap")),
    ) as table:
        table.alter_column("user_id", existing_type=_USER, nullable=False, server_default="")
        table.add_column(sa.Column("said_at", UtcDateTime(), nullable=False, server_default=_EPOCH))
        table.drop_constraint("uq_facts_app_id_pin_slot", type_="unique")
        table.drop_constraint("uq_facts_app_id_slot", type_="unique")
        table.create_unique_constraint("uq_facts_app_id_user_id_pin_slot", ["app_id", "user_id", "pin_slot"])
        table.create_unique_constraint("uq_facts_app_id_user_id_slot", ["app_id", "user_id", "slot"])
    op.create_index("ix_facts_app_id_user_id_state", "facts", ["app_id", "user_id", "state"])
    op.execute("UPDATE facts SET said_at = last_seen")
    op.add_column("fact_sources", sa.Column("said_at", UtcDateTime(), nullable=False, server_default=_EPOCH))
    op.execute("UPDATE fact_sources SET said_at = last_seen")
    op.add_column("fact_history", sa.Column("user_id", _USER, nullable=False, server_default=""))
    # Of a fact that is gone, the conversations whose words its history holds still know the user.
    op.execute(
        """UPDATE fact_history SET user_id = coalesce(
               (SELECT f.user_id FROM facts f WHERE f.fact_id = fact_history.fact_id),
               (SELECT max(c.user_id) FROM fact_history h
                    JOIN conversations c ON c.key = CAST(h.source_keys ->> 0 AS BIGINT)
                    WHERE h.fact_id = fact_history.fact_id),
               '')"""
    )
    op.create_index("ix_fact_history_app_id_user_id", "fact_history", ["app_id", "user_id"])
    op.add_column("fact_clears", sa.Column("user_id", _USER, nullable=True))
    op.drop_index("uq_fact_clears_open", "fact_clears")
    still_open = sa.text("settled_at IS NULL")
    op.create_index(
        "uq_fact_clears_open",
        "fact_clears",
        ["app_id", "user_id"],
        unique=True,
        postgresql_where=still_open,
        sqlite_where=still_open,
    )


@contextmanager
def _rebuilt(table: str, *checks: sa.CheckConstraint) -> Iterator[BatchOperations]:
    """Alter a table; SQLite rebuilds it, which would lose its checks and give numbers of removed rows anew."""
    if op.get_bind().dialect.name != "sqlite":
        with op.batch_alter_table(table) as batch:
            yield batch
        return
    counted = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
    last = op.get_bind().scalar(counted, {"name": table})
    kwargs = {} if last is None else {"sqlite_autoincrement": True}
    with op.batch_alter_table(table, table_args=checks, table_kwargs=kwargs) as batch:
        yield batch
    if last is not None:
        numbered = sa.text("UPDATE sqlite_sequence SET seq = :last WHERE name = :name")
        op.get_bind().execute(numbered, {"last": last, "name": table})
