"""Recorded sessions: projects, sessions, marked parts, versions, compositions, links and semantic memories.

Every table is new, so the previous release goes on beside this one without knowing of them.
"""

import sqlalchemy as sa
from alembic import op

from shared.db.base import BigKey
from shared.db.types import UtcDateTime

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add recorded sessions."""
    op.create_table(
        "projects",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("project_id", sa.String(length=200), nullable=False),
        sa.Column("original_path", sa.Text(), nullable=False),
        sa.Column("display_name", sa.String(length=200), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("source_folder", sa.Text(), nullable=True),
        sa.Column("refused_files", sa.JSON(), nullable=False),
        sa.Column("scanned_at", UtcDateTime(), nullable=True),
        sa.Column("tended_at", UtcDateTime(), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("written_revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_accessed", UtcDateTime(), nullable=False),
        sa.Column("last_modified", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_projects_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_projects")),
        sa.UniqueConstraint("app_id", "project_id", name=op.f("uq_projects_app_id_project_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_projects_unwritten",
        "projects",
        ["key"],
        unique=False,
        postgresql_where=sa.text("written_revision <> revision"),
        sqlite_where=sa.text("written_revision <> revision"),
    )
    op.create_index(
        "ix_projects_scanned_at",
        "projects",
        ["scanned_at"],
        unique=False,
        postgresql_where=sa.text("source_folder IS NOT NULL"),
        sqlite_where=sa.text("source_folder IS NOT NULL"),
    )
    op.create_table(
        "session_changes",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("project_id", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=True),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=300), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_session_changes_app_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_session_changes")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_session_changes_app_id_project_id_key", "session_changes", ["app_id", "project_id", "key"], unique=False
    )
    op.create_table(
        "compositions",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("composition_id", sa.String(length=40), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("project_key", BigKey, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=False),
        sa.Column("total_tokens", sa.Integer(), nullable=False),
        sa.Column("total_messages", sa.Integer(), nullable=False),
        sa.Column("digests", sa.JSON(), nullable=False),
        sa.Column("used_in_sessions", sa.JSON(), nullable=False),
        sa.Column("asked_by", sa.String(length=200), nullable=False),
        sa.Column("failure", sa.String(length=500), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("last_used", UtcDateTime(), nullable=True),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_compositions_app_id")),
        sa.ForeignKeyConstraint(
            ["project_key"], ["projects.key"], name=op.f("fk_compositions_project_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_compositions")),
        sa.UniqueConstraint("composition_id", name=op.f("uq_compositions_composition_id")),
        sa.UniqueConstraint("project_key", "name", name=op.f("uq_compositions_project_key_name")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_compositions_app_id"), "compositions", ["app_id"], unique=False)
    op.create_index(op.f("ix_compositions_job_id"), "compositions", ["job_id"], unique=False)
    op.create_index(
        "ix_compositions_working",
        "compositions",
        ["key"],
        unique=False,
        postgresql_where=sa.text("state = 'working'"),
        sqlite_where=sa.text("state = 'working'"),
    )
    op.create_table(
        "recorded_sessions",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("project_key", BigKey, nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("original_file", sa.Text(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("original_tokens", sa.Integer(), nullable=False),
        sa.Column("original_messages", sa.Integer(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("marker_problems", sa.JSON(), nullable=False),
        sa.Column("first_timestamp", UtcDateTime(), nullable=True),
        sa.Column("last_timestamp", UtcDateTime(), nullable=True),
        sa.Column("registered_at", UtcDateTime(), nullable=False),
        sa.Column("synced_at", UtcDateTime(), nullable=False),
        sa.Column("last_accessed", UtcDateTime(), nullable=False),
        sa.Column("indexed_bytes", sa.BigInteger(), nullable=False),
        sa.Column("learnt_bytes", sa.BigInteger(), nullable=False),
        sa.Column("learnt_prompts", sa.Integer(), nullable=False),
        sa.Column("next_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_recorded_sessions_app_id")),
        sa.ForeignKeyConstraint(
            ["project_key"], ["projects.key"], name=op.f("fk_recorded_sessions_project_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_recorded_sessions")),
        sa.UniqueConstraint("app_id", "session_id", name=op.f("uq_recorded_sessions_app_id_session_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_recorded_sessions_last_timestamp"), "recorded_sessions", ["last_timestamp"], unique=False)
    op.create_index(op.f("ix_recorded_sessions_project_key"), "recorded_sessions", ["project_key"], unique=False)
    op.create_table(
        "semantic_memories",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("memory_id", sa.String(length=40), nullable=False),
        sa.Column("project_key", BigKey, nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("normal", sa.String(length=64), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("decided_by", sa.String(length=200), nullable=True),
        sa.Column("decided_at", UtcDateTime(), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("extracted_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(content) > 0", name=op.f("ck_semantic_memories_content_not_empty")),
        sa.ForeignKeyConstraint(["app_id"], ["apps.app_id"], name=op.f("fk_semantic_memories_app_id")),
        sa.ForeignKeyConstraint(
            ["project_key"], ["projects.key"], name=op.f("fk_semantic_memories_project_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_semantic_memories")),
        sa.UniqueConstraint("memory_id", name=op.f("uq_semantic_memories_memory_id")),
        sa.UniqueConstraint("project_key", "kind", "normal", name=op.f("uq_semantic_memories_project_key_kind_normal")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_semantic_memories_app_id"), "semantic_memories", ["app_id"], unique=False)
    op.create_table(
        "compressions",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("session_key", BigKey, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("source_number", sa.Integer(), nullable=True),
        sa.Column("source_sha256", sa.String(length=64), nullable=False),
        sa.Column("source_bytes", sa.BigInteger(), nullable=False),
        sa.Column("asked_by", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=300), nullable=False),
        sa.Column("parts_done", sa.Integer(), nullable=False),
        sa.Column("parts_total", sa.Integer(), nullable=False),
        sa.Column("file", sa.String(length=120), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("output_messages", sa.Integer(), nullable=False),
        sa.Column("ratio", sa.Double(), nullable=False),
        sa.Column("keepit_stats", sa.JSON(), nullable=False),
        sa.Column("statistics", sa.JSON(), nullable=False),
        sa.Column("digests", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("last_used", UtcDateTime(), nullable=True),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("indexed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_compressions_session_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_compressions")),
        sa.UniqueConstraint("session_key", "number", name=op.f("uq_compressions_session_key_number")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_compressions_job_id"), "compressions", ["job_id"], unique=False)
    op.create_index(
        "uq_compressions_working",
        "compressions",
        ["session_key"],
        unique=True,
        postgresql_where=sa.text("state = 'working'"),
        sqlite_where=sa.text("state = 'working'"),
    )
    op.create_table(
        "keepit_markers",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("session_key", BigKey, nullable=False),
        sa.Column("marker_id", sa.String(length=40), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("message_uuid", sa.String(length=200), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("override_weight", sa.Integer(), nullable=True),
        sa.Column("overridden_by", sa.String(length=200), nullable=True),
        sa.Column("overridden_at", UtcDateTime(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("said_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_keepit_markers_session_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_keepit_markers")),
        sa.UniqueConstraint("session_key", "marker_id", name=op.f("uq_keepit_markers_session_key_marker_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "project_links",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("link_id", sa.String(length=40), nullable=False),
        sa.Column("session_key", BigKey, nullable=False),
        sa.Column("target_key", BigKey, nullable=False),
        sa.Column("reason", sa.String(length=300), nullable=False),
        sa.Column("linked_by", sa.String(length=200), nullable=False),
        sa.Column("linked_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_project_links_session_key"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_key"], ["projects.key"], name=op.f("fk_project_links_target_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_project_links")),
        sa.UniqueConstraint("link_id", name=op.f("uq_project_links_link_id")),
        sa.UniqueConstraint("session_key", "target_key", name=op.f("uq_project_links_session_key_target_key")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_project_links_target_key"), "project_links", ["target_key"], unique=False)
    op.create_table(
        "semantic_sources",
        sa.Column("memory_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("session_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("message_uuid", sa.String(length=200), nullable=False),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_key"], ["semantic_memories.key"], name=op.f("fk_semantic_sources_memory_key"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_semantic_sources_session_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_key", "session_key", "message_uuid", name=op.f("pk_semantic_sources")),
    )
    op.create_index(op.f("ix_semantic_sources_session_key"), "semantic_sources", ["session_key"], unique=False)
    op.create_table(
        "session_files",
        sa.Column("session_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("path", sa.String(length=500), nullable=False),
        sa.Column("touches", sa.Integer(), nullable=False),
        sa.Column("changed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_session_files_session_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_key", "path", name=op.f("pk_session_files")),
    )
    op.create_index("ix_session_files_path", "session_files", ["path"], unique=False)
    op.create_table(
        "composition_components",
        sa.Column("composition_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session_key", BigKey, nullable=False),
        sa.Column("compression_key", BigKey, nullable=True),
        sa.Column("allocation", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("recompress", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["composition_key"],
            ["compositions.key"],
            name=op.f("fk_composition_components_composition_key"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["compression_key"], ["compressions.key"], name=op.f("fk_composition_components_compression_key")
        ),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_composition_components_session_key")
        ),
        sa.PrimaryKeyConstraint("composition_key", "position", name=op.f("pk_composition_components")),
    )
    op.create_index(
        op.f("ix_composition_components_compression_key"), "composition_components", ["compression_key"], unique=False
    )
    op.create_index(
        op.f("ix_composition_components_session_key"), "composition_components", ["session_key"], unique=False
    )
    op.create_table(
        "compression_parts",
        sa.Column("compression_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["compression_key"],
            ["compressions.key"],
            name=op.f("fk_compression_parts_compression_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("compression_key", "position", name=op.f("pk_compression_parts")),
    )
    op.create_table(
        "marker_fates",
        sa.Column("compression_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("marker_key", BigKey, autoincrement=False, nullable=False),
        sa.Column("survived", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["compression_key"], ["compressions.key"], name=op.f("fk_marker_fates_compression_key"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["marker_key"], ["keepit_markers.key"], name=op.f("fk_marker_fates_marker_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("compression_key", "marker_key", name=op.f("pk_marker_fates")),
    )
    op.create_index(op.f("ix_marker_fates_marker_key"), "marker_fates", ["marker_key"], unique=False)
    op.create_table(
        "session_passages",
        sa.Column("key", BigKey, autoincrement=True, nullable=False),
        sa.Column("session_key", BigKey, nullable=False),
        sa.Column("compression_key", BigKey, nullable=True),
        sa.Column("message_uuid", sa.String(length=200), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("said_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["compression_key"],
            ["compressions.key"],
            name=op.f("fk_session_passages_compression_key"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["session_key"], ["recorded_sessions.key"], name=op.f("fk_session_passages_session_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_session_passages")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_session_passages_compression_key"), "session_passages", ["compression_key"], unique=False)
    op.create_index("ix_session_passages_session_key_key", "session_passages", ["session_key", "key"], unique=False)
    op.create_table(
        "session_words",
        sa.Column("word", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("passage_key", BigKey, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["passage_key"],
            ["session_passages.key"],
            name=op.f("fk_session_words_passage_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("word", "passage_key", name=op.f("pk_session_words")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_session_words_passage_key", "session_words", ["passage_key"], unique=False)
    for table, condition in (
        ("recorded_sessions", "indexed_bytes <> size_bytes"),
        ("compressions", "state = 'ready' AND NOT indexed"),
    ):
        op.create_index(
            f"ix_{table}_unindexed",
            table,
            ["key"],
            unique=False,
            postgresql_where=sa.text(condition),
            sqlite_where=sa.text(condition),
        )
