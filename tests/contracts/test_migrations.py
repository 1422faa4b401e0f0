"""The migrations lead to what the models say, alembic's own command agrees, and a foreign revision is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

from shared.apps.queries import digest_of, lock_app, log_in, token_digest_of
from shared.base.errors import Configuration, Transient
from shared.conversations.lifecycle import NewMessage, Role, append_messages
from shared.conversations.queries import get_conversation, lock_conversation
from shared.db.base import models_metadata
from shared.db.engine import Database
from shared.db.schema import current_revision, is_of_models, migrate, newest_revision
from shared.facts import queries
from shared.facts.models import said_key
from shared.jobs.models import JobState
from shared.jobs.tenant_queues import reconcile
from shared.search import word_index
from shared.search.index import request_backfill
from shared.search.models import position_of
from shared.search.words import words_of
from shared.summaries.queries import NewSummary, insert_summary
from tests.support.house import House

pytestmark = pytest.mark.both_databases

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_migrated_database_is_what_the_models_say(empty_database_url: str) -> None:
    migrate(empty_database_url)
    database = Database(empty_database_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": is_of_models})
        assert compare_metadata(context, models_metadata()) == []
    database.dispose()


def test_alembics_own_command_in_a_checkout_finds_what_the_models_have_and_the_database_lacks(
    empty_database_url: str,
) -> None:
    migrate(empty_database_url)
    database = Database(empty_database_url)
    with database.engine.begin() as connection:
        connection.execute(sa.text("DROP INDEX uq_facts_said"))
    database.dispose()
    check = [sys.executable, "-m", "alembic", "check"]
    env = os.environ | {"DATABASE_URL": empty_database_url}
    done = subprocess.run(check, cwd=CHECKOUT, env=env, capture_output=True, text=True, timeout=60)
    assert re.findall(r"'(add_\w+|remove_\w+)'.*?'(\w+)'", done.stderr + done.stdout) == [
        ("add_index", "uq_facts_said")
    ]


def upgrade(url: str, revision: str) -> None:
    """Upgrade to a revision of former times."""
    config, database = Config(), Database(url)
    config.set_main_option("script_location", str(CHECKOUT / "shared/db/migrations"))
    with database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    database.dispose()


def test_every_table_is_a_model_in_a_module_that_the_migrations_read() -> None:
    declared = {
        path
        for path in (CHECKOUT / "shared").rglob("*.py")
        if any(line.strip().startswith("__tablename__ = ") for line in path.read_text("utf-8").splitlines())
    }
    assert declared == set((CHECKOUT / "shared").glob("*/models.py"))


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("0006", r"revision 0006, from before the first release.*`afterthought export`.*`afterthought import`"),
        ("initial", r"revision initial, from before the first release.*`afterthought export`"),
        ("initial_0123456789ab", r"revision initial_0123456789ab, from before the first release"),
        ("a_later_one", r"not one this release can use: .*a_later_one.*newer"),
    ],
    ids=["from before the initial revision", "the initial one unnamed", "another state of it", "of a newer release"],
)
def test_a_database_at_another_revision_is_refused_and_left_alone(
    empty_database_url: str, revision: str, message: str
) -> None:
    migrate(empty_database_url)
    database = Database(empty_database_url)
    with database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with pytest.raises(Configuration, match=message):
        migrate(empty_database_url)
    assert current_revision(database) == revision
    database.dispose()


def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    assert current_revision(database) is None
    for _ in range(2):
        migrate(empty_database_url)
        assert current_revision(database) == newest_revision()
    database.dispose()


@pytest.mark.parametrize("processes", [3])
def test_several_processes_may_migrate_at_once(empty_database_url: str, processes: int) -> None:
    code = "import sys; from shared.db.schema import migrate; migrate(sys.argv[1])"
    migrating = [
        subprocess.Popen([sys.executable, "-c", code, empty_database_url], cwd=CHECKOUT) for _ in range(processes)
    ]
    assert [process.wait(60) for process in migrating] == [0] * processes


def test_a_database_that_does_not_answer_is_said_without_its_password() -> None:
    with pytest.raises(Transient, match=r"DATABASE_URL: the database did not answer") as raised:
        migrate("postgresql+psycopg://somebody:canary@127.0.0.1:1/nothing")
    assert "canary" not in raised.value.message


AT = datetime(2026, 3, 1, 11, tzinfo=UTC)
DAY = timedelta(days=1)
SAID = ("Lives in Lyon", "Nice.", "Plays the oboe", "Lovely.", "Builds kites", "I see.")


class Installation:
    """A database written to as the release before writes."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)

    def insert(self, table: str, **values: Any) -> None:
        found = sa.Table(table, sa.MetaData(), autoload_with=self.database.engine)
        times = {name: value.replace(tzinfo=None) for name, value in values.items() if isinstance(value, datetime)}
        values = values | times if self.database.is_sqlite else values
        with self.database.engine.begin() as connection:
            connection.execute(found.insert().values(values))

    def app(self, app_id: str) -> None:
        self.insert("apps", app_id=app_id, name=app_id, config={}, purge_epoch=0, created_at=AT, updated_at=AT)

    def conversation(self, app_id: str, key: int, ended_at: datetime | None = None) -> None:
        self.insert(
            "conversations",
            key=key,
            app_id=app_id,
            conversation_id=f"c{key}",
            metadata={},
            message_count=len(SAID),
            created_at=AT,
            updated_at=AT,
            ended_at=ended_at,
        )
        for position, content in enumerate(SAID):
            self.insert(
                "messages",
                key=100 * key + position,
                conversation_key=key,
                app_id=app_id,
                position=position,
                message_id=f"c{key}-m{position}",
                role=("user", "assistant")[position % 2],
                content=content,
                created_at=AT,
            )

    def fact(self, fact_id: int, statement: str, said_at: datetime, **more: Any) -> None:
        values = {
            "app_id": "notes", "user_id": "", "state": "standing", "slot": fact_id, "confidence": 0.75,
            "mention_count": 1, "by_hand": False, "agent": "extractive", "version": 1, "category": "identity",
            "statement": statement, "said_key": said_key("", statement), "was_pinned": False,
        }  # fmt: skip
        times = {"first_seen": AT, "last_seen": AT, "updated_at": AT, "said_at": said_at}
        self.insert("facts", fact_id=fact_id, **values | times | more)

    def source(self, fact_id: int, key: int | None, statement: str, said_at: datetime, *message_ids: str) -> None:
        self.insert(
            "fact_sources",
            fact_id=fact_id,
            conversation_key=key,
            conversation_id=None if key is None else f"c{key}",
            message_ids=list(message_ids),
            statement=statement,
            category="identity",
            agent="extractive",
            mentions=max(1, len(message_ids)),
            first_seen=AT,
            last_seen=AT + DAY,
            said_at=said_at,
        )

    def job(self, app_id: str, key: int, **more: Any) -> None:
        self.insert(
            "jobs",
            job_id=f"job_{key}",
            kind="create_memory",
            app_id=app_id,
            conversation_key=key,
            conversation_id=f"c{key}",
            epoch=0,
            dedupe=f"create_memory:{key}:0",
            payload={},
            priority=7,
            state="pending",
            attempts=0,
            max_attempts=5,
            fence=0,
            created_at=AT,
            due_at=AT,
            **more,
        )


def test_what_counted_the_mentions_of_a_conversation_becomes_one_row_a_mention(empty_database_url: str) -> None:
    upgrade(empty_database_url, "+1")
    old = Installation(empty_database_url)
    old.app("notes")
    for key in (1, 2):
        old.conversation("notes", key)
    # Said twice in one talk, then replaced by another on the word of an agent; and one that a hand reworded.
    more = {"state": "replaced", "slot": None, "mention_count": 2, "confidence": 0.9}
    old.fact(1, "Has a parrot", AT, **more)
    old.source(1, 1, "Has a parrot", AT, "c1-m0", "c1-m2")
    old.fact(2, "Gave the bird away", AT + DAY, updates_fact_id=1)
    old.source(2, 2, "Gave the bird away", AT + DAY, "c2-m0")
    change = {"app_id": "notes", "user_id": "", "actor": "rule", "reason": "", "source_keys": [], "at": AT}
    old.insert("fact_history", fact_id=1, kind="replaced", related_fact_id=2, **change)
    old.fact(3, "Plays the oboe well", AT)
    old.source(3, 1, "Plays the oboe", AT, "c1-m2")
    house = serve(empty_database_url, old)
    with house.database.read() as session:
        [parrot] = queries.sources_of(session, 1)
        assert (parrot.message_ids, parrot.mentions, parrot.said_at) == (["c1-m0", "c1-m2"], 2, AT)
        assert [len(one.message_ids) for one in queries.mentions_of(session, [1])] == [1, 1]
        [oboe] = queries.sources_of(session, 3)
        assert oboe.statement == "Plays the oboe"
    house.erase("c2", "notes")
    with house.database.read() as session:
        found = {
            one.statement: (one.fact_id, one.mention_count)
            for one in queries.list_facts(session, "notes", queries.FactFilter(), 10, 0)
        }
    assert found == {"Has a parrot": (1, 2), "Plays the oboe well": (3, 1)}
    house.database.dispose()
    old.database.dispose()


def serve(url: str, installation: Installation) -> House:
    """Upgrade to this release, and run it on what is there."""
    migrate(url)
    assert current_revision(installation.database) == newest_revision()
    house = House(url)
    house.settings = house.settings.model_copy(update={"facts": True})
    house.clock.advance(1)
    with house.database.write() as session:
        reconcile(session, house.clock.now())
    return house


def test_what_the_release_before_writes_beside_this_one_is_filled_in_too(empty_database_url: str) -> None:
    migrate(empty_database_url)
    old = Installation(empty_database_url)
    old.app("notes")
    house = serve(empty_database_url, old)
    old.conversation("notes", 1)
    assert places_of(house, "lyon") == []
    with house.database.write() as session:
        request_backfill(session, "notes", lock_app(session, "notes").purge_epoch, house.clock.now())
    house.work_off()
    assert places_of(house, "lyon") == [0]
    house.database.dispose()
    old.database.dispose()


def test_the_release_before_erases_what_it_knows_although_more_is_derived_of_it(empty_database_url: str) -> None:
    migrate(empty_database_url)
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    house = serve(empty_database_url, old)
    now = house.clock.now()
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        append_messages(session, conversation, [NewMessage(Role.USER, "Look:\n```\nx = 1\n```")], now)
        insert_summary(session, conversation, NewSummary("- x is 1", "extractive", 0, 6), now)
    with old.database.write() as session:
        session.execute(sa.text("DELETE FROM messages"))
        session.execute(sa.text("DELETE FROM conversations"))
    with house.database.read() as session:
        left = [session.scalar(sa.text(f"SELECT count(*) FROM {name}")) for name in ("passages", "summaries")]
    assert left == [0, 0]
    house.database.dispose()
    old.database.dispose()


def places_of(house: House, text: str) -> list[int]:
    """Return the positions in conversation 1 of the messages that have a word."""
    with house.database.read() as session:
        found = word_index.postings(session, "notes", words_of(text), 100)
    return [position_of(place) for places in found.values() for place in ([] if places is None else places.tolist())]


def test_the_release_before_goes_on_writing_beside_this_one(empty_database_url: str) -> None:
    migrate(empty_database_url)
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    old.conversation("notes", 2, ended_at=AT)
    old.job("notes", 2, work_class="thought")
    house = serve(empty_database_url, old)
    assert house.work_off() == [JobState.DONE]
    with house.database.read() as session:
        assert get_conversation(session, "notes", "c1").facts_seen == 0
    house.database.dispose()
    old.database.dispose()


def test_who_has_a_token_from_before_logs_in_with_it(empty_database_url: str) -> None:
    upgrade(empty_database_url, "fact_mentions")
    old = Installation(empty_database_url)
    old.app("notes")
    token = {"token_id": "tok_1", "app_id": "notes", "scope": "app", "label": "", "grants": [], "created_at": AT}
    old.insert("tokens", digest=digest_of("of-before"), **token)
    house = serve(empty_database_url, old)
    now = house.clock.now()
    with house.database.write() as session:
        _, secret = log_in(session, digest_of("of-before"), now)
    with house.database.read() as session:
        assert token_digest_of(session, digest_of(secret), now) == digest_of("of-before")
    house.database.dispose()
    old.database.dispose()
