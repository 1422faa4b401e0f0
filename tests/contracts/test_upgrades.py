"""The release before at work on the same database: it knows fewer columns and tables than this one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from shared.apps.queries import lock_app
from shared.conversations.lifecycle import NewMessage, Role, say
from shared.conversations.queries import get_conversation, lock_conversation
from shared.db.engine import Database
from shared.db.schema import current_revision, migrate, newest_revision
from shared.jobs.models import JobState
from shared.jobs.tenant_queues import mend
from shared.search import word_index
from shared.search.index import request_backfill
from shared.search.models import position_of
from shared.search.words import words_of
from shared.summaries.queries import NewSummary, insert_summary
from tests.support.house import House

pytestmark = pytest.mark.both_databases

AT = datetime(2026, 3, 1, 11, tzinfo=UTC)
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


def serve(url: str, installation: Installation) -> House:
    """Upgrade to this release, and run it on what is there."""
    migrate(url)
    assert current_revision(installation.database) == newest_revision()
    house = House(url)
    house.settings = house.settings.model_copy(update={"facts": True})
    house.clock.advance(1)
    with house.database.write() as session:
        mend(session, house.clock.now())
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
        say(session, conversation, [NewMessage(Role.USER, "Look:\n```\nx = 1\n```")], now)
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
