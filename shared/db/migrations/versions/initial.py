"""The schema as it is before the first release: one revision, which changes with the models until then.

It is named after its own text, so that a database made by another state of it is refused instead of failing later; the
first release gives it a name that stays.

``message_words`` is no model's table: each database keeps words its own way, and an SQLite that was built without FTS5
goes without (``shared.search.word_index``). Names of constraints come from the naming convention of the models.
"""

import functools
from hashlib import sha256
from pathlib import Path

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Double,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.exc import OperationalError

from shared.db.base import BigKey, UtcDateTime, partial

revision = f"initial_{sha256(Path(__file__).read_bytes()).hexdigest()[:12]}"
down_revision = None

required = functools.partial(Column, nullable=False)
cascading = functools.partial(ForeignKey, ondelete="CASCADE")
_EPOCH = text("'1970-01-01 00:00:00'")


def upgrade() -> None:
    """Create every table."""
    _create_tables()
    if op.get_bind().dialect.name == "sqlite":
        try:
            op.execute(
                "CREATE VIRTUAL TABLE message_words USING fts5(words, content='', detail='none', tokenize='ascii')"
            )
        except OperationalError as error:
            if "no such module" not in str(error):
                raise
    else:
        # A vector is asked for in its set alone: an index of keys by themselves would serve nobody.
        op.execute("ALTER TABLE message_vectors DROP CONSTRAINT pk_message_vectors")
        op.execute("ALTER TABLE message_vectors REPLICA IDENTITY USING INDEX uq_message_vectors_set_key_key")
        # Signs do not get smaller by being compressed, only slower.
        op.execute("ALTER TABLE vector_blocks ALTER COLUMN rows SET STORAGE EXTERNAL")
        op.execute(
            "CREATE TABLE message_words (key BIGINT, doc_id BIGINT, words BYTEA NOT NULL, PRIMARY KEY (key, doc_id))"
        )
        op.execute(
            "CREATE TABLE message_words_blocks (bucket BIGINT, nth INTEGER, hashes BYTEA NOT NULL,"
            " doc_ids BYTEA NOT NULL, PRIMARY KEY (bucket, nth)) WITH (autovacuum_vacuum_scale_factor = 0.05)"
        )


# fmt: off
def _create_tables() -> None:
    op.create_table(
        "apps", Column("app_id", String(100), primary_key=True), required("name", String(200)),
        required("config", JSON), Column("time_zone", String(64)),
        required("session_settings", JSON, server_default=text("'{}'")),
        required("purge_epoch", Integer), Column("hourly_budget_micro", BigInteger),
        Column("daily_budget_micro", BigInteger), required("weight", Integer, server_default="1"),
        required("answered_by", String(10), server_default="app"),
        required("approves_answers", Boolean, server_default=false()),
        required("shared_memory", Boolean, server_default=false()), Column("reviewed_at", UtcDateTime),
        required("created_at", UtcDateTime), required("updated_at", UtcDateTime),
        Column("uninstalled_at", UtcDateTime))
    op.create_index(
        "ix_apps_to_review", "apps", ["reviewed_at", "app_id"],
        **partial("answered_by = 'loop' AND uninstalled_at IS NULL"))
    op.create_table(
        "energy_estimates", Column("kind", String(40), primary_key=True),
        Column("model", String(200), primary_key=True), required("micro", BigInteger), required("calls", BigInteger))
    op.create_table(
        "energy_ledger", Column("entry", BigKey, primary_key=True), required("app_id", String(100)),
        Column("job_id", String(40), index=True), Column("conversation_key", BigInteger, index=True),
        required("kind", String(40)), required("model", String(200)), required("outcome", String(20)),
        required("prompt_tokens", Integer), required("completion_tokens", Integer), required("estimated", Boolean),
        required("micro", BigInteger), required("settled", Boolean), required("at", UtcDateTime),
        sqlite_autoincrement=True)
    op.create_index("ix_energy_ledger_app_id_at", "energy_ledger", ["app_id", "at"])
    op.create_index("ix_energy_ledger_at", "energy_ledger", ["at"])
    op.create_index("ix_energy_ledger_of_jobs", "energy_ledger", ["entry"], **partial("job_id IS NOT NULL"))
    op.create_index("ix_energy_ledger_unsettled", "energy_ledger", ["entry"], **partial("NOT settled"))
    op.create_table(
        "energy_days", Column("app_id", String(100), primary_key=True), Column("day", Date, primary_key=True),
        Column("kind", String(40), primary_key=True), Column("model", String(200), primary_key=True),
        required("calls", BigInteger), required("prompt_tokens", BigInteger),
        required("completion_tokens", BigInteger), required("micro", BigInteger))
    op.create_table(
        "energy_conversations", Column("conversation_key", BigKey, primary_key=True, autoincrement=False),
        required("micro", BigInteger))
    op.create_table(
        "energy_level", Column("only_row", Integer, primary_key=True), required("micro", BigInteger),
        required("drawn_micro", BigInteger), required("at", UtcDateTime),
        CheckConstraint("only_row = 1", name="one_row"))
    op.create_table(
        "energy_reservations", Column("key", BigKey, primary_key=True), required("app_id", String(100), index=True),
        Column("job_id", String(40), index=True), required("kind", String(40)), required("model", String(200)),
        required("micro", BigInteger), required("most_micro", BigInteger), required("at", UtcDateTime),
        required("until", UtcDateTime, index=True), sqlite_autoincrement=True)
    op.create_table(
        "event_counts", Column("name", String(10), primary_key=True), required("published", BigInteger),
        required("forgotten", BigInteger))
    op.create_table(
        "idempotency_keys", Column("row", BigKey, primary_key=True), required("caller", String(40)),
        required("key", String(200)), Column("app_id", String(100), index=True),
        required("request_digest", String(64)), required("status", Integer), required("answer", JSON),
        required("at", UtcDateTime, index=True), UniqueConstraint("caller", "key"))
    op.create_table(
        "virtual_times", Column("work_class", String(10), primary_key=True), required("virtual", BigInteger))
    op.create_table(
        "leadership", Column("only_row", Integer, primary_key=True), Column("holder", String(200)),
        required("fence", BigInteger), required("beats", BigInteger), required("since", UtcDateTime),
        CheckConstraint("only_row = 1", name="one_row"))
    op.create_table(
        "token_rates", Column("model", String(200), primary_key=True), required("chars", BigInteger),
        required("tokens", BigInteger), required("calls", BigInteger))
    op.create_table(
        "model_breakers", Column("model", String(200), primary_key=True), required("outcomes", String(20)),
        Column("ask_at", UtcDateTime), required("failed_probes", Integer))
    op.create_table(
        "tuning_overrides", Column("scope", String(100), primary_key=True), required("values", JSON),
        required("changed_by", String(200)), required("changed_at", UtcDateTime))
    op.create_table(
        "app_indexes", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), unique=True), required("salt", LargeBinary),
        required("has_names", Boolean, server_default=false()),
        required("filled_to", BigInteger), Column("fill_until", BigInteger), required("fill_total", Integer),
        required("fill_done", Integer), Column("fill_asked_at", UtcDateTime), Column("fill_ended_at", UtcDateTime),
        sqlite_autoincrement=True)
    op.create_table(
        "consents", Column("app_id", String(100), ForeignKey("apps.app_id"), primary_key=True),
        Column("user_id", String(200), primary_key=True), required("given", Boolean),
        required("changed_at", UtcDateTime), required("changed_by", String(200)))
    op.create_table(
        "conversations", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("conversation_id", String(200)),
        Column("user_id", String(200)), Column("energy_budget_micro", BigInteger), required("metadata", JSON),
        Column("time_zone", String(64)), required("memory", String(4), server_default="on"),
        required("message_count", Integer), required("created_at", UtcDateTime), required("updated_at", UtcDateTime),
        Column("snoozed_until", UtcDateTime, index=True), Column("woken_at", UtcDateTime),
        Column("unanswered_since", UtcDateTime), Column("focus_since", UtcDateTime, index=True),
        Column("think_after", UtcDateTime, index=True), required("think_attempts", Integer, server_default="0"),
        required("facts_seen", Integer, server_default="0"), Column("facts_due_at", UtcDateTime),
        required("summarised", Integer, server_default="0"),
        required("turns_since_summary", Integer, server_default="0"), Column("summary_due_at", UtcDateTime),
        Column("end_after_minutes", Integer), Column("silent_until", UtcDateTime),
        Column("ended_at", UtcDateTime), Column("end_reason", String(500)),
        UniqueConstraint("app_id", "conversation_id"), sqlite_autoincrement=True)
    op.create_index("ix_conversations_app_id_key", "conversations", ["app_id", "key"])
    op.create_index("ix_conversations_app_id_updated_at", "conversations", ["app_id", "updated_at"])
    op.create_index("ix_conversations_app_id_user_id", "conversations", ["app_id", "user_id"])
    op.create_index(
        "ix_conversations_facts_due_at", "conversations", ["facts_due_at"], **partial("facts_due_at IS NOT NULL"))
    op.create_index("ix_conversations_kept_apart", "conversations", ["app_id"], **partial("memory <> 'on'"))
    op.create_index(
        "ix_conversations_silent_until", "conversations", ["silent_until"], **partial("silent_until IS NOT NULL"))
    op.create_index(
        "ix_conversations_summary_due_at", "conversations", ["summary_due_at"], **partial("summary_due_at IS NOT NULL"))
    op.create_index(
        "ix_conversations_unanswered", "conversations", ["app_id", "key"], **partial("unanswered_since IS NOT NULL"))
    op.create_table(
        "erasures", Column("erasure_id", String(40), primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True), required("scope", String(20)),
        Column("user_id", String(200)), required("actor", String(100)), required("epoch", Integer),
        required("erased", JSON), required("left", JSON), required("at", UtcDateTime))
    op.create_table(
        "events", Column("row", BigKey, primary_key=True), Column("position", BigInteger, unique=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("kind", String(40)),
        Column("conversation_id", String(200)), Column("subject", String(200)), required("details", JSON),
        required("at", UtcDateTime), sqlite_autoincrement=True)
    op.create_index("ix_events_app_id_conversation_id", "events", ["app_id", "conversation_id"])
    op.create_index("ix_events_app_id_position", "events", ["app_id", "position"])
    op.create_index("ix_events_at", "events", ["at"])
    op.create_index("ix_events_unplaced", "events", ["row"], **partial("position IS NULL"))
    op.create_table(
        "fact_clears", Column("clear_id", String(40), primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), Column("user_id", String(200)),
        required("actor", String(200)), required("count", Integer), required("last_message_key", BigInteger),
        required("at", UtcDateTime), required("undo_until", UtcDateTime, index=True),
        Column("settled_at", UtcDateTime), Column("erasure_id", String(40)))
    op.create_index(
        "uq_fact_clears_open", "fact_clears", ["app_id", "user_id"], unique=True, **partial("settled_at IS NULL"))
    op.create_table(
        "fact_history", Column("change_id", BigKey, primary_key=True), required("fact_id", BigInteger, index=True),
        required("app_id", String(100), ForeignKey("apps.app_id")),
        required("user_id", String(200), server_default=""), required("kind", String(12)),
        required("actor", String(200)), required("reason", Text), Column("before", Text), Column("after", Text),
        required("source_keys", JSON), Column("related_fact_id", BigInteger), Column("job_id", String(40)),
        required("at", UtcDateTime), sqlite_autoincrement=True)
    op.create_index("ix_fact_history_app_id_change_id", "fact_history", ["app_id", "change_id"])
    op.create_index("ix_fact_history_app_id_user_id", "fact_history", ["app_id", "user_id"])
    op.create_table(
        "tenant_queues", Column("app_id", String(100), ForeignKey("apps.app_id"), primary_key=True),
        Column("work_class", String(10), primary_key=True), required("served", BigInteger),
        required("start_tag", BigInteger),
        Column("head_seq", BigInteger), Column("ready_at", UtcDateTime), required("awake", Boolean),
        Column("held_until", UtcDateTime), Column("held_why", String(300)))
    op.create_index(
        "ix_tenant_queues_asleep", "tenant_queues", ["ready_at"], **partial("NOT awake AND ready_at IS NOT NULL")
    )
    op.create_index(
        "ix_tenant_queues_awake", "tenant_queues", ["work_class", "start_tag", "head_seq"], **partial("awake")
    )
    op.create_index("ix_tenant_queues_held_until", "tenant_queues", ["held_until"])
    op.create_index(
        "ix_tenant_queues_waiting", "tenant_queues", ["work_class", "head_seq"], **partial("head_seq IS NOT NULL"))
    op.create_table(
        "profile_audit", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("user_id", String(200)),
        required("kind", String(10)), required("actor", String(200)), required("reason", String(500)),
        required("count", Integer), required("at", UtcDateTime), required("last_at", UtcDateTime),
        sqlite_autoincrement=True)
    op.create_index("ix_profile_audit_app_id_user_id_key", "profile_audit", ["app_id", "user_id", "key"])
    op.create_table(
        "profiles", Column("app_id", String(100), ForeignKey("apps.app_id"), primary_key=True),
        Column("user_id", String(200), primary_key=True), required("fields", JSON), required("notes", Text),
        required("version", Integer), Column("vector", LargeBinary), Column("vector_model", String(200)),
        required("created_at", UtcDateTime), required("updated_at", UtcDateTime))
    op.create_table(
        "projects", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("project_id", String(200)),
        required("original_path", Text), required("display_name", String(200)), required("settings", JSON),
        Column("source_folder", Text), required("refused_files", JSON), Column("scanned_at", UtcDateTime),
        Column("tended_at", UtcDateTime), required("revision", BigInteger), required("written_revision", BigInteger),
        required("created_at", UtcDateTime), required("last_accessed", UtcDateTime),
        required("last_modified", UtcDateTime), UniqueConstraint("app_id", "project_id"), sqlite_autoincrement=True)
    op.create_index("ix_projects_scanned_at", "projects", ["scanned_at"], **partial("source_folder IS NOT NULL"))
    op.create_index("ix_projects_unwritten", "projects", ["key"], **partial("written_revision <> revision"))
    op.create_table(
        "retrievals", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), Column("conversation_key", BigInteger),
        required("asker", String(10)), required("at", UtcDateTime, index=True), required("results", Integer),
        Column("top_score", Double), required("top_similarities", JSON, server_default="[]"),
        required("sources", JSON), required("durations", JSON), required("flags", JSON),
        Column("tokens_used", Integer), Column("token_budget", Integer), sqlite_autoincrement=True)
    op.create_index("ix_retrievals_app_id_at", "retrievals", ["app_id", "at"])
    op.create_table(
        "session_changes", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("project_id", String(200)),
        Column("session_id", String(200)), required("subject", String(200)), required("kind", String(20)),
        required("actor", String(200)), required("reason", String(300)), required("before", JSON),
        required("after", JSON), required("at", UtcDateTime), sqlite_autoincrement=True)
    op.create_index("ix_session_changes_app_id_project_id_key", "session_changes", ["app_id", "project_id", "key"])
    op.create_table(
        "tokens", Column("token_id", String(40), primary_key=True),
        Column("app_id", String(100), ForeignKey("apps.app_id"), index=True), required("scope", String(10)),
        required("label", String(200)), required("digest", String(64), unique=True),
        required("grants", JSON, server_default=text("'[]'")),
        Column("parent_id", String(40), ForeignKey("tokens.token_id"), index=True),
        required("created_at", UtcDateTime), Column("revoked_at", UtcDateTime),
        CheckConstraint("(scope = 'app') = (app_id IS NOT NULL)", name="scope_matches_app"))
    op.create_table(
        "unembedded", Column("app_id", String(100), ForeignKey("apps.app_id"), primary_key=True),
        Column("doc_id", BigInteger, primary_key=True, autoincrement=False))
    op.create_table(
        "user_settings", Column("app_id", String(100), ForeignKey("apps.app_id"), primary_key=True),
        Column("user_id", String(200), primary_key=True), Column("time_zone", String(64)))
    op.create_table(
        "vector_sets", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("model", String(200)),
        required("dimensions", Integer), required("state", String(10)), required("erasures", Integer),
        required("filled_to", BigInteger), Column("fill_until", BigInteger), required("fill_total", Integer),
        required("fill_done", Integer), required("created_at", UtcDateTime), Column("completed_at", UtcDateTime),
        UniqueConstraint("app_id", "model"), sqlite_autoincrement=True)
    op.create_index("ix_vector_sets_model_state_app_id", "vector_sets", ["model", "state", "app_id"])
    op.create_index("uq_vector_sets_serving", "vector_sets", ["app_id"], unique=True, **partial("state = 'serving'"))
    op.create_table(
        "webhooks", Column("webhook_id", String(40), primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True), required("url", String(2000)),
        required("secret", String(100)), required("kinds", JSON), required("created_at", UtcDateTime),
        Column("disabled_at", UtcDateTime), Column("disabled_why", String(300)), Column("tried_at", UtcDateTime),
        Column("outcome", String(20)), Column("status", Integer),
        required("failures", Integer, server_default=text("0")),
        Column("failing_since", UtcDateTime), Column("retry_at", UtcDateTime))
    op.create_table(
        "answers", Column("key", BigKey, primary_key=True), required("answer_id", String(40), unique=True),
        required("app_id", String(100), ForeignKey("apps.app_id")),
        required("conversation_key", BigKey, ForeignKey("conversations.key")),
        required("conversation_id", String(200)), required("answers_position", Integer), required("state", String(12)),
        Column("content", Text), required("model", String(200)), Column("message_id", String(200)),
        Column("reason", String(500)), required("created_at", UtcDateTime), Column("decided_at", UtcDateTime),
        Column("decided_by", String(100)), sqlite_autoincrement=True)
    op.create_index("ix_answers_app_id_state_key", "answers", ["app_id", "state", "key"])
    op.create_index("ix_answers_conversation_key_answers_position", "answers", ["conversation_key", "answers_position"])
    op.create_index(
        "uq_answers_standing", "answers", ["conversation_key", "answers_position"], unique=True,
        **partial("state IN ('pending','sent')"))
    op.create_table(
        "compositions", Column("key", BigKey, primary_key=True), required("composition_id", String(40), unique=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True),
        required("project_key", BigKey, cascading("projects.key")), required("name", String(100)),
        required("state", String(10)), Column("job_id", String(40), index=True), required("request", JSON),
        required("budget", Integer), required("total_tokens", Integer), required("total_messages", Integer),
        required("digests", JSON), required("used_in_sessions", JSON), required("asked_by", String(200)),
        Column("failure", String(500)), required("created_at", UtcDateTime), Column("finished_at", UtcDateTime),
        Column("last_used", UtcDateTime), required("uses", Integer), UniqueConstraint("project_key", "name"),
        sqlite_autoincrement=True)
    op.create_index("ix_compositions_working", "compositions", ["key"], **partial("state = 'working'"))
    op.create_table(
        "facts", Column("fact_id", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")),
        required("user_id", String(200), server_default=""), required("state", String(10)), Column("slot", Integer),
        Column("pin_slot", Integer), required("statement", Text), required("said_key", String(64)),
        required("category", String(12)), required("confidence", Float), required("mention_count", Integer),
        required("by_hand", Boolean), required("agent", String(200)), Column("updates_fact_id", BigInteger),
        required("version", Integer), required("first_seen", UtcDateTime), required("last_seen", UtcDateTime),
        required("said_at", UtcDateTime, server_default=_EPOCH), required("updated_at", UtcDateTime),
        Column("undo_until", UtcDateTime, index=True),
        Column("clear_id", String(40), ForeignKey("fact_clears.clear_id"), index=True),
        required("was_pinned", Boolean), Column("vector", LargeBinary), Column("vector_model", String(200)),
        CheckConstraint("pin_slot IS NULL OR slot IS NOT NULL", name="pinned_stands"),
        UniqueConstraint("app_id", "user_id", "slot"),
        CheckConstraint("confidence >= 0 AND confidence <= 1", name="confidence_in_range"),
        CheckConstraint("length(statement) > 0", name="statement_not_empty"),
        CheckConstraint("slot >= 1 AND slot <= 150", name="slot_within_cap"),
        CheckConstraint("(state = 'standing') = (slot IS NOT NULL)", name="standing_has_slot"),
        CheckConstraint("pin_slot >= 1 AND pin_slot <= 10", name="pin_within_cap"),
        UniqueConstraint("app_id", "user_id", "pin_slot"), sqlite_autoincrement=True)
    op.create_index("ix_facts_app_id_user_id_state", "facts", ["app_id", "user_id", "state"])
    op.create_index("ix_facts_category_state_last_seen", "facts", ["category", "state", "pin_slot", "last_seen"])
    op.create_index("uq_facts_said", "facts", ["app_id", "said_key"], unique=True, **partial("slot IS NOT NULL"))
    op.create_table(
        "jobs", Column("seq", BigKey, primary_key=True), required("job_id", String(40), unique=True),
        required("kind", String(40)), Column("app_id", String(100), ForeignKey("apps.app_id")),
        Column("conversation_key", BigKey, ForeignKey("conversations.key", ondelete="SET NULL"), index=True),
        Column("conversation_id", String(200)), required("epoch", Integer), Column("dedupe", String(300), unique=True),
        required("payload", JSON), required("priority", Integer),
        required("work_class", String(10), server_default="thought"),
        required("sequence", String(200), server_default=""), required("state", String(12)),
        required("attempts", Integer), required("max_attempts", Integer), Column("reason", Text),
        required("fence", Integer), Column("lease_owner", String(200)), Column("leased_until", UtcDateTime),
        required("created_at", UtcDateTime), required("due_at", UtcDateTime), Column("deferred_since", UtcDateTime),
        Column("deferral", String(20)), Column("started_at", UtcDateTime), Column("finished_at", UtcDateTime),
        Column("traceparent", String(55)), sqlite_autoincrement=True)
    op.create_index("ix_jobs_app_id_seq", "jobs", ["app_id", "seq"])
    op.create_index("ix_jobs_in_flight", "jobs", ["leased_until"], **partial("state IN ('queued','running')"))
    in_flight = partial("state IN ('queued','running')")
    op.create_index(
        "ix_jobs_tenant_queue_in_flight", "jobs", ["app_id", "work_class", "sequence", "state"], **in_flight)
    waiting = partial("state IN ('pending','deferred','retrying')")
    op.create_index(
        "ix_jobs_tenant_queue_due", "jobs", ["app_id", "work_class", "due_at", "seq", "deferral"], **waiting)
    op.create_index(
        "ix_jobs_tenant_queue_waiting", "jobs",
        ["app_id", "work_class", "priority", "seq", "due_at", "deferral", "sequence", "state"], **waiting)
    provider_away = partial("state = 'deferred' AND deferral = 'provider_away'")
    op.create_index("ix_jobs_provider_away", "jobs", ["seq"], **provider_away)
    op.create_index("ix_jobs_state_seq", "jobs", ["state", "seq", "kind"])
    op.create_index(
        "ix_jobs_undeferred", "jobs", ["work_class", "due_at", "seq"],
        **partial("state IN ('pending','retrying') AND work_class = 'thought'"))
    op.create_index("ix_jobs_waiting", "jobs", ["due_at", "seq"], **waiting)
    op.create_table(
        "memory_origins", Column("memory_id", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True),
        required("user_id", String(200), server_default=""),
        Column("conversation_key", BigKey, ForeignKey("conversations.key", ondelete="SET NULL")),
        Column("conversation_id", String(200)), required("epoch", Integer), required("agent", String(200)),
        required("created_at", UtcDateTime), UniqueConstraint("conversation_key", "epoch"), sqlite_autoincrement=True)
    op.create_table(
        "message_vectors", Column("key", BigKey, primary_key=True),
        required("set_key", BigKey, ForeignKey("vector_sets.key")), required("doc_id", BigInteger),
        required("part", Integer), required("vector", LargeBinary), UniqueConstraint("set_key", "doc_id", "part"),
        sqlite_autoincrement=True)
    op.create_table(
        "vector_blocks", Column("set_key", BigKey, ForeignKey("vector_sets.key"), primary_key=True),
        Column("last_key", BigInteger, primary_key=True, autoincrement=False), required("rows", LargeBinary))
    op.create_table(
        "vector_erasures", Column("set_key", BigKey, ForeignKey("vector_sets.key"), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False), required("conversation_key", BigInteger))
    op.create_index("uq_message_vectors_set_key_key", "message_vectors", ["set_key", "key"], unique=True)
    op.create_table(
        "messages", Column("key", BigKey, primary_key=True),
        required("conversation_key", BigKey, ForeignKey("conversations.key")),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("position", Integer),
        required("message_id", String(200)), required("role", String(20)), Column("name", String(200)),
        required("content", Text), Column("payload", JSON), Column("payload_chars", Integer),
        Column("call_position", Integer), Column("tokens", Integer), required("created_at", UtcDateTime),
        Column("utc_offset_minutes", Integer), UniqueConstraint("conversation_key", "message_id"),
        UniqueConstraint("conversation_key", "position"),
        sqlite_autoincrement=True)
    op.create_index("ix_messages_app_id_key", "messages", ["app_id", "key"])
    op.create_index(
        "ix_messages_offsets", "messages", ["conversation_key", "position"],
        **partial("utc_offset_minutes IS NOT NULL"))
    op.create_index(
        "ix_messages_results", "messages", ["conversation_key", "call_position"],
        **partial("call_position IS NOT NULL"))
    op.create_index("ix_messages_system", "messages", ["conversation_key"], **partial("role = 'system'"))
    op.create_table(
        "recorded_sessions", Column("key", BigKey, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")),
        required("project_key", BigKey, cascading("projects.key"), index=True), required("session_id", String(200)),
        Column("original_file", Text), required("size_bytes", BigInteger), required("sha256", String(64)),
        required("original_tokens", Integer), required("original_messages", Integer), required("counts", JSON),
        required("details", JSON), required("marker_problems", JSON), required("beginning", JSON),
        Column("first_timestamp", UtcDateTime), Column("last_timestamp", UtcDateTime, index=True),
        required("registered_at", UtcDateTime),
        required("synced_at", UtcDateTime), required("last_accessed", UtcDateTime),
        required("indexed_bytes", BigInteger), required("learnt_bytes", BigInteger),
        required("learnt_prompts", Integer), required("next_version", Integer),
        UniqueConstraint("app_id", "session_id"), sqlite_autoincrement=True)
    op.create_index(
        "ix_recorded_sessions_unindexed", "recorded_sessions", ["key"], **partial("indexed_bytes <> size_bytes"))
    op.create_table(
        "semantic_memories", Column("key", BigKey, primary_key=True), required("memory_id", String(40), unique=True),
        required("project_key", BigKey, cascading("projects.key")),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True), required("kind", String(12)),
        required("content", Text), required("normal", String(64)), required("is_standing", Boolean),
        required("confidence", Double),
        required("verdict", String(10)), Column("decided_by", String(200)), Column("decided_at", UtcDateTime),
        required("agent", String(200)), required("extracted_at", UtcDateTime),
        CheckConstraint("length(content) > 0", name="content_not_empty"),
        UniqueConstraint("project_key", "kind", "normal"), sqlite_autoincrement=True)
    op.create_table(
        "summaries", Column("key", BigKey, primary_key=True), required("summary_id", String(40), unique=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True),
        required("conversation_key", BigKey, cascading("conversations.key")), required("conversation_id", String(200)),
        required("content", Text), required("agent", String(200)), required("from_position", Integer),
        required("to_position", Integer), required("tokens", Integer), Column("vector", LargeBinary),
        Column("vector_model", String(200)), Column("job_id", String(40)), required("created_at", UtcDateTime),
        CheckConstraint("length(content) > 0", name="content_not_empty"), sqlite_autoincrement=True)
    op.create_index("ix_summaries_conversation_key_key", "summaries", ["conversation_key", "key"])
    op.create_table(
        "app_memories", Column("memory_id", BigKey, ForeignKey("memory_origins.memory_id"), primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id")),
        required("user_id", String(200), server_default=""), required("slot", Integer), required("content", Text),
        required("importance", Integer), required("tags", JSON), required("pinned", Boolean),
        required("agent", String(200)), required("version", Integer), required("created_at", UtcDateTime),
        required("updated_at", UtcDateTime), CheckConstraint("length(content) > 0", name="content_not_empty"),
        UniqueConstraint("app_id", "user_id", "slot"),
        CheckConstraint("slot >= 1 AND slot <= 10", name="slot_within_cap"),
        CheckConstraint("importance >= 0 AND importance <= 10", name="importance_in_range"))
    op.create_index("ix_app_memories_app_id_user_id_updated_at", "app_memories", ["app_id", "user_id", "updated_at"])
    op.create_table(
        "compressions", Column("key", BigKey, primary_key=True),
        required("session_key", BigKey, cascading("recorded_sessions.key")), required("number", Integer),
        required("state", String(10)), Column("job_id", String(40), index=True), required("settings", JSON),
        Column("source_number", Integer), required("source_sha256", String(64)), required("source_bytes", BigInteger),
        required("asked_by", String(200)), required("reason", String(300)), required("parts_done", Integer),
        required("parts_total", Integer), Column("file", String(120)), Column("agent", String(200)),
        required("input_tokens", Integer), required("output_tokens", Integer), required("output_messages", Integer),
        required("ratio", Double), required("keepit_stats", JSON), required("statistics", JSON),
        required("digests", JSON), required("created_at", UtcDateTime), Column("finished_at", UtcDateTime),
        Column("last_used", UtcDateTime), required("uses", Integer), required("indexed", Boolean),
        UniqueConstraint("session_key", "number"), sqlite_autoincrement=True)
    op.create_index("ix_compressions_unindexed", "compressions", ["key"], **partial("state = 'ready' AND NOT indexed"))
    op.create_index(
        "uq_compressions_working", "compressions", ["session_key"], unique=True, **partial("state = 'working'"))
    op.create_table(
        "fact_sources", Column("source_id", BigKey, primary_key=True),
        required("fact_id", BigKey, cascading("facts.fact_id"), index=True),
        Column("conversation_key", BigKey, ForeignKey("conversations.key"), index=True),
        Column("conversation_id", String(200)), required("message_ids", JSON), required("statement", Text),
        required("category", String(12)), required("agent", String(200)), required("mentions", Integer),
        required("first_seen", UtcDateTime), required("last_seen", UtcDateTime),
        required("said_at", UtcDateTime, server_default=_EPOCH), UniqueConstraint("fact_id", "conversation_key"),
        sqlite_autoincrement=True)
    op.create_table(
        "keepit_markers", Column("key", BigKey, primary_key=True),
        required("session_key", BigKey, cascading("recorded_sessions.key")), required("marker_id", String(40)),
        required("ordinal", Integer), required("message_uuid", String(200)), required("weight", Integer),
        Column("override_weight", Integer), Column("overridden_by", String(200)), Column("overridden_at", UtcDateTime),
        required("content", Text), required("context", Text), required("start", Integer), required("end", Integer),
        Column("said_at", UtcDateTime), UniqueConstraint("session_key", "marker_id"), sqlite_autoincrement=True)
    op.create_table(
        "memory_history", Column("change_id", BigKey, primary_key=True),
        required("memory_id", BigKey, ForeignKey("memory_origins.memory_id"), index=True),
        required("app_id", String(100), ForeignKey("apps.app_id")), required("kind", String(12)),
        required("actor", String(200)), required("reason", Text), Column("before", Text), Column("after", Text),
        required("source_keys", JSON), required("standing", JSON), Column("related_memory_id", BigInteger),
        Column("job_id", String(40)), required("at", UtcDateTime), sqlite_autoincrement=True)
    op.create_index("ix_memory_history_app_id_change_id", "memory_history", ["app_id", "change_id"])
    op.create_table(
        "passages", Column("message_key", BigKey, cascading("messages.key"), primary_key=True),
        Column("part", Integer, primary_key=True),
        required("app_id", String(100), ForeignKey("apps.app_id"), index=True),
        required("doc_id", BigInteger, index=True), required("kind", String(5)), Column("language", String(40)),
        required("start", Integer), required("length", Integer), required("tokens", Integer))
    op.create_table(
        "project_links", Column("key", BigKey, primary_key=True), required("link_id", String(40), unique=True),
        required("session_key", BigKey, cascading("recorded_sessions.key")),
        required("target_key", BigKey, cascading("projects.key"), index=True), required("reason", String(300)),
        required("linked_by", String(200)), required("linked_at", UtcDateTime),
        UniqueConstraint("session_key", "target_key"), sqlite_autoincrement=True)
    op.create_table(
        "semantic_sources", Column("memory_key", BigKey, cascading("semantic_memories.key"), primary_key=True),
        Column("session_key", BigKey, cascading("recorded_sessions.key"), primary_key=True, index=True),
        Column("message_uuid", String(200), primary_key=True), required("excerpt", Text))
    op.create_table(
        "session_files", Column("session_key", BigKey, cascading("recorded_sessions.key"), primary_key=True),
        Column("path", String(500), primary_key=True), required("touches", Integer), required("changed", Boolean))
    op.create_index("ix_session_files_path", "session_files", ["path"])
    op.create_table(
        "composition_components", Column("composition_key", BigKey, cascading("compositions.key"), primary_key=True),
        Column("position", Integer, primary_key=True),
        required("session_key", BigKey, ForeignKey("recorded_sessions.key"), index=True),
        Column("compression_key", BigKey, ForeignKey("compressions.key"), index=True), required("allocation", Integer),
        required("tokens", Integer), required("left_out", Integer), Column("recompress", JSON))
    op.create_table(
        "compression_parts", Column("compression_key", BigKey, cascading("compressions.key"), primary_key=True),
        Column("position", Integer, primary_key=True), required("content", JSON))
    op.create_table(
        "marker_fates", Column("compression_key", BigKey, cascading("compressions.key"), primary_key=True),
        Column("marker_key", BigKey, cascading("keepit_markers.key"), primary_key=True, index=True),
        required("survived", Boolean))
    op.create_table(
        "memory_sources", Column("memory_id", BigKey, cascading("app_memories.memory_id"), primary_key=True),
        Column("conversation_key", BigKey, ForeignKey("conversations.key"), primary_key=True, index=True),
        required("message_ids", JSON))
    op.create_table(
        "session_passages", Column("key", BigKey, primary_key=True),
        required("session_key", BigKey, cascading("recorded_sessions.key")),
        Column("compression_key", BigKey, cascading("compressions.key"), index=True),
        Column("message_uuid", String(200)), required("kind", String(20)), required("text", Text),
        Column("said_at", UtcDateTime), sqlite_autoincrement=True)
    op.create_index("ix_session_passages_session_key_key", "session_passages", ["session_key", "key"])
    op.create_table(
        "session_words", Column("word", BigInteger, primary_key=True),
        Column("passage_key", BigKey, cascading("session_passages.key"), primary_key=True), sqlite_with_rowid=False)
    op.create_index("ix_session_words_passage_key", "session_words", ["passage_key"])
# fmt: on
