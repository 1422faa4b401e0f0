"""Retrieval: the indexes old messages are found by, summaries, profiles with consent, and how retrievals went.

New columns have defaults, so that the previous release can go on writing beside this one; what it writes meanwhile is
brought into the indexes by a back-fill. ``message_words`` is no model's table: each database keeps words its own way,
and an SQLite that was built without FTS5 goes without.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from shared.db.base import BigKey
from shared.db.types import UtcDateTime

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add retrieval."""
    _add_words()
    op.create_table(
        "tuning_overrides",
        sa.Column("scope", sa.String(length=100), nullable=False),
        sa.Column("values", sa.JSON(), nullable=False),
        sa.Column("changed_by", sa.String(length=200), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_tuning_overrides")),
    )
    op.create_table(
        "app_indexes",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("filled_to", sa.BigInteger(), nullable=False),
        sa.Column("fill_until", sa.BigInteger(), nullable=True),
        sa.Column("fill_total", sa.Integer(), nullable=False),
        sa.Column("fill_done", sa.Integer(), nullable=False),
        sa.Column("fill_asked_at", UtcDateTime(), nullable=True),
        sa.Column("fill_ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_app_indexes_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_app_indexes")),
        sa.UniqueConstraint("app_id", name=op.f("uq_app_indexes_app_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "consents",
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("user_id", sa.String(length=200), nullable=False),
        sa.Column("given", sa.Boolean(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.Column("changed_by", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_consents_app_id")),
        sa.PrimaryKeyConstraint("app_id", "user_id", name=op.f("pk_consents")),
    )
    op.create_table(
        "profile_audit",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("user_id", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_profile_audit_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_profile_audit")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_profile_audit_app_id_user_id_key", "profile_audit", ["app_id", "user_id", "key"], unique=False)
    op.create_table(
        "profiles",
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("user_id", sa.String(length=200), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("vector_model", sa.String(length=200), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_profiles_app_id")),
        sa.PrimaryKeyConstraint("app_id", "user_id", name=op.f("pk_profiles")),
    )
    op.create_table(
        "retrievals",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("conversation_key", sa.BigInteger(), nullable=True),
        sa.Column("asker", sa.String(length=10), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("results", sa.Integer(), nullable=False),
        sa.Column("top_score", sa.Double(), nullable=True),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("durations", sa.JSON(), nullable=False),
        sa.Column("flags", sa.JSON(), nullable=False),
        sa.Column("tokens_used", sa.Integer(), nullable=True),
        sa.Column("token_budget", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_retrievals_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_retrievals")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_retrievals_app_id_at", "retrievals", ["app_id", "at"], unique=False)
    op.create_index(op.f("ix_retrievals_at"), "retrievals", ["at"], unique=False)
    op.create_table(
        "unembedded",
        sa.Column("place", BigKey, autoincrement=False, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_unembedded_app_id")),
        sa.PrimaryKeyConstraint("place", name=op.f("pk_unembedded")),
    )
    op.create_index("ix_unembedded_app_id_place", "unembedded", ["app_id", "place"], unique=False)
    op.create_table(
        "vector_sets",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("erasures", sa.Integer(), nullable=False),
        sa.Column("filled_to", sa.BigInteger(), nullable=False),
        sa.Column("fill_until", sa.BigInteger(), nullable=True),
        sa.Column("fill_total", sa.Integer(), nullable=False),
        sa.Column("fill_done", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("completed_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_vector_sets_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_vector_sets")),
        sa.UniqueConstraint("app_id", "model", name=op.f("uq_vector_sets_app_id_model")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_vector_sets_serving",
        "vector_sets",
        ["app_id"],
        unique=True,
        postgresql_where=sa.text("state = 'serving'"),
        sqlite_where=sa.text("state = 'serving'"),
    )
    op.create_table(
        "message_vectors",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("set_key", BigKey, nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["set_key"], ["vector_sets.key"], name=op.f("fk_message_vectors_set_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_message_vectors")),
        sa.UniqueConstraint("set_key", "place", "part", name=op.f("uq_message_vectors_set_key_place_part")),
    )
    op.create_index("ix_message_vectors_set_key_key", "message_vectors", ["set_key", "key"], unique=False)
    op.create_table(
        "summaries",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("summary_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("conversation_key", BigKey, nullable=False),
        sa.Column("conversation_id", sa.String(length=200), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("from_position", sa.Integer(), nullable=False),
        sa.Column("to_position", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("vector_model", sa.String(length=200), nullable=True),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(content) > 0", name=op.f("ck_summaries_content_not_empty")),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_summaries_app_id")),
        sa.ForeignKeyConstraint(
            ["conversation_key"],
            ["conversations.key"],
            name=op.f("fk_summaries_conversation_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_summaries")),
        sa.UniqueConstraint("summary_id", name=op.f("uq_summaries_summary_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_summaries_app_id"), "summaries", ["app_id"], unique=False)
    op.create_index("ix_summaries_conversation_key_key", "summaries", ["conversation_key", "key"], unique=False)
    op.create_table(
        "passages",
        sa.Column("message_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=5), nullable=False),
        sa.Column("language", sa.String(length=40), nullable=True),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_passages_app_id")),
        sa.ForeignKeyConstraint(
            ["message_key"], ["messages.key"], name=op.f("fk_passages_message_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message_key", "part", name=op.f("pk_passages")),
    )
    op.create_index(op.f("ix_passages_app_id"), "passages", ["app_id"], unique=False)
    op.create_index(op.f("ix_passages_place"), "passages", ["place"], unique=False)
    op.add_column("conversations", sa.Column("summarised", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("conversations", sa.Column("turns_since_summary", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("conversations", sa.Column("summary_due_at", UtcDateTime(), nullable=True))
    op.create_index(
        "ix_conversations_summary_due_at",
        "conversations",
        ["summary_due_at"],
        unique=False,
        postgresql_where=sa.text("summary_due_at IS NOT NULL"),
        sqlite_where=sa.text("summary_due_at IS NOT NULL"),
    )
    op.create_index("ix_conversations_app_id_user_id", "conversations", ["app_id", "user_id"], unique=False)
    op.drop_index(op.f("ix_messages_app_id"), table_name="messages")
    op.create_index("ix_messages_app_id_key", "messages", ["app_id", "key"], unique=False)


def _add_words() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        try:
            op.execute(
                "CREATE VIRTUAL TABLE message_words USING fts5(words, content='', detail='none', tokenize='ascii')"
            )
        except OperationalError as error:
            if "no such module" not in str(error):
                raise
    else:
        op.execute("CREATE TABLE message_words (place BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)")
        op.execute("CREATE INDEX ix_message_words_words ON message_words USING gin (words)")
