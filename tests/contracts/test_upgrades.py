"""Upgrading an installation that holds something: each revision from the one before it, and both releases at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from loop.steps.due_jobs import AskForFacts
from shared.apps.models import AnsweredBy
from shared.apps.queries import get_app, lock_app
from shared.conversations.lifecycle import NewMessage, Role, say
from shared.conversations.queries import get_conversation, lock_conversation
from shared.db.engine import Database
from shared.db.schema import current_revision, migrate, newest_revision
from shared.erasure.erasing import erase_app
from shared.facts import queries
from shared.facts.models import said_key
from shared.outbox.lanes import mend
from shared.outbox.models import JobState
from shared.search import word_index
from shared.search.index import index_status, request_backfill
from shared.search.models import position_of
from shared.search.words import words_of
from shared.summaries.queries import NewSummary, insert_summary
from tests.support.house import House
from tests.support.recordings import Shelf

AT = datetime(2026, 3, 1, 11, tzinfo=UTC)
SAID = ("Lives in Lyon", "Nice.", "Plays the oboe", "Lovely.", "Builds kites", "I see.")
REVISIONS = ("0001", "0002", "0003", "0004", "0005")


class Installation:
    """A database at some revision, written to as the release of that revision writes."""

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


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_was_there_is_there_and_served_after_an_upgrade(empty_database_url: str, revision: str) -> None:
    migrate(empty_database_url, revision)
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    old.conversation("notes", 2, ended_at=AT)
    old.job("notes", 2)
    if revision < "0003":
        old.insert("job_turns", app_id="notes", served_at=AT)
    house = serve(empty_database_url, old)
    assert house.work_off() == [JobState.DONE]
    assert [memory.content for memory in house.memories()] == [SAID[0]]
    with house.database.read() as session:
        assert get_app(session, "notes").answered_by == AnsweredBy.APP, "it answers by itself, as before"
        assert get_conversation(session, "notes", "c1").unanswered_since is None
    house.database.dispose()
    old.database.dispose()


@pytest.mark.parametrize("revision", REVISIONS)
def test_conversations_from_before_facts_are_read_when_something_is_said_and_not_before(
    empty_database_url: str, revision: str
) -> None:
    migrate(empty_database_url, revision)
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    old.conversation("notes", 2, ended_at=AT)
    house = serve(empty_database_url, old)
    step = AskForFacts(house.database, house.clock, 5)
    house.clock.advance(timedelta(days=1).total_seconds())
    assert not step.run(), "an upgrade by itself asks for nothing"
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        say(
            session,
            conversation,
            [NewMessage(Role.USER, "Speaks Welsh")],
            house.clock.now(),
            fact_settings=house.settings,
        )
    house.clock.advance(5)
    assert step.run()
    house.work_off()
    assert sorted(fact.statement for fact in house.facts()) == [*sorted((*SAID[::2], "Speaks Welsh"))]
    house.database.dispose()
    old.database.dispose()


@pytest.mark.parametrize("revision", REVISIONS)
def test_messages_from_before_the_indexes_are_found_once_they_are_filled_in(
    empty_database_url: str, revision: str
) -> None:
    migrate(empty_database_url, revision)
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    house = serve(empty_database_url, old)
    assert not house.ask_for_vectors(), "an upgrade by itself asks for nothing"
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        say(session, conversation, [NewMessage(Role.USER, "Kites over Lyon")], house.clock.now())
    assert places_of(house, "lyon") == [6], "what is said from now on is indexed"
    with house.database.write() as session:
        request_backfill(session, "notes", lock_app(session, "notes").purge_epoch, house.clock.now())
    house.work_off()
    house.embed()
    assert places_of(house, "lyon") == [0, 6]
    with house.database.read() as session:
        status = index_status(session, "notes")
    assert (status.messages, status.words, status.unembedded) == (7, 7, 0)
    assert [one.vectors for one in status.sets] == [7]
    house.database.dispose()
    old.database.dispose()


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
    old.job("notes", 2, track="thought")
    house = serve(empty_database_url, old)
    assert house.work_off() == [JobState.DONE]
    with house.database.read() as session:
        assert get_conversation(session, "notes", "c1").facts_seen == 0
    house.database.dispose()
    old.database.dispose()


def test_an_app_from_before_registers_sessions_after_an_upgrade_and_is_erased_with_them(
    empty_database_url: str, tmp_path: Path
) -> None:
    migrate(empty_database_url, "0004")
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    house = serve(empty_database_url, old)
    shelf = Shelf(house, tmp_path)
    shelf.add(shelf.transcript("one").human("##keepit1.00## Never push to main."))
    with house.database.write() as session:
        receipt = erase_app(session, "notes", "admin", house.clock.now())
    assert (receipt.erased["recordedSessions"], receipt.left["recordedSessions"]) == (1, 0)
    house.database.dispose()
    old.database.dispose()


def test_results_of_tools_from_before_payloads_stay_with_the_answer_before_them(empty_database_url: str) -> None:
    migrate(empty_database_url, "0005")
    old = Installation(empty_database_url)
    old.app("notes")
    old.conversation("notes", 1)
    with old.database.write() as session:
        session.execute(sa.text("UPDATE messages SET role = 'tool' WHERE position IN (0, 2, 5)"))
    house = serve(empty_database_url, old)
    with house.database.read() as session:
        places = session.execute(sa.text("SELECT call_position FROM messages ORDER BY position")).scalars()
        assert list(places) == [None, None, 1, None, None, 3]
    house.database.dispose()
    old.database.dispose()


def test_facts_from_before_subjects_belong_to_their_users_and_so_does_the_history_of_those_that_are_gone(
    empty_database_url: str,
) -> None:
    migrate(empty_database_url, "0005")
    old = Installation(empty_database_url)
    old.app("notes")
    for key, user in ((1, "ann"), (2, None)):
        old.conversation("notes", key)
        with old.database.engine.begin() as connection:
            named = sa.text("UPDATE conversations SET user_id = :user WHERE key = :key")
            connection.execute(named, {"user": user, "key": key})
    old.insert(
        "facts", fact_id=1, app_id="notes", user_id="ann", state="standing", slot=1, statement="Likes jazz",
        said_key=said_key("ann", "Likes jazz"), category="preference", confidence=0.75, mention_count=1, by_hand=False,
        agent="extractive", version=1, first_seen=AT, last_seen=AT, updated_at=AT, was_pinned=False,
    )  # fmt: skip
    # Fact 2 was evicted: only its history tells whose it was. Fact 3 named nobody.
    for change_id, fact_id, keys in ((1, 1, [1]), (2, 2, [1]), (3, 2, []), (4, 3, [2])):
        old.insert(
            "fact_history", change_id=change_id, fact_id=fact_id, app_id="notes", kind="learned", actor="extractive",
            reason="said", after="Likes jazz", source_keys=keys, at=AT,
        )  # fmt: skip
    house = serve(empty_database_url, old)
    [fact] = house.facts()
    assert (fact.user_id, fact.said_at) == ("ann", AT)
    with house.database.read() as session:
        assert [one.user_id for one in queries.changes_of_app(session, "notes", 9)][::-1] == ["ann", "ann", "ann", ""]
        assert [one.change_id for one in queries.changes_of_app(session, "notes", 9, user_id="ann")] == [3, 2, 1]
    house.database.dispose()
    old.database.dispose()
