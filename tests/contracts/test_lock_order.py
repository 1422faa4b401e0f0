"""Writers that meet on PostgreSQL wait for each other; none is thrown out because each holds what the other wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from shared.apps.queries import install, lock_app, uninstall
from shared.contracts.jobs import JobKind, WorkClass
from shared.conversations.answers import hide_all, show_all
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, snooze, start
from shared.conversations.queries import lock_conversation, messages_of
from shared.erasure.erasing import erase_app, erase_conversation, purge_memories
from shared.jobs import dispatch, tenant_queues
from shared.jobs.models import TenantQueue
from shared.jobs.queries import lock_job
from shared.search import word_index
from shared.search.index import recreate_word_index
from tests.support import meeting
from tests.support.house import House

pytestmark = pytest.mark.postgres


@pytest.fixture
def house(postgres_url: str) -> Iterator[House]:
    house = House(postgres_url)
    house.install()
    yield house
    house.database.dispose()


def meet(
    house: House,
    first: Callable[[Session], object],
    second: Callable[[Session], object],
    then: Callable[[Session], object],
) -> None:
    """Have the second writer wait for what the first holds, and only then let the first go on."""

    def run_second() -> None:
        with house.database.write() as session:
            second(session)

    meeting.meet(house.database, first, run_second, then)


@pytest.mark.parametrize("erase", ["app", "conversation"])
def test_erasing_waits_for_a_message_that_is_being_said(house: House, erase: str) -> None:
    now = house.clock.now()
    with house.database.write() as session:
        key = start(session, "notes", NewConversation("c1"), now).key

    def speak(session: Session) -> None:
        append_messages(session, lock_conversation(session, "notes", "c1"), [NewMessage(Role.USER, "hello")], now)

    def forget(session: Session) -> None:
        if erase == "app":
            erase_app(session, "notes", "admin", now)
        else:
            erase_conversation(session, "notes", "c1", "admin", now)

    meet(house, lambda session: lock_conversation(session, "notes", "c1"), forget, speak)
    with house.database.read() as session:
        assert messages_of(session, key) == []


def test_an_app_that_comes_back_waits_for_a_conversation_that_is_being_snoozed(house: House) -> None:
    now = house.clock.now()
    with house.database.write() as session:
        start(session, "notes", NewConversation("c1"), now)
        append_messages(
            session, lock_conversation(session, "notes", "c1"), [NewMessage(Role.USER, "hello")], now, by_loop=True
        )
    with house.database.write() as session:
        uninstall(session, "notes", now)
        hide_all(session, "notes")
    meet(
        house,
        lambda session: install(session, "notes", "Notes", {}, now),
        lambda session: snooze(session, lock_conversation(session, "notes", "c1"), 5, now),
        lambda session: show_all(session, "notes"),
    )
    with house.database.read() as session:
        assert lock_conversation(session, "notes", "c1").snoozed_until is not None


def test_a_purge_waits_for_the_relay_that_has_the_apps_job(house: House) -> None:
    house.converse("notes", "c1", "hello")
    now = house.clock.now()

    def purge(session: Session) -> None:
        purge_memories(session, "notes", "admin", now)

    meet(
        house,
        lambda session: session.execute(sa.text("SELECT 1 FROM jobs FOR UPDATE")),
        purge,
        lambda session: dispatch.take_due(session, now, 5, 60),
    )
    assert [job.state for job in house.jobs()] == ["cancelled"]


def test_a_job_in_other_hands_is_waited_for_and_not_passed_over(house: House) -> None:
    for i in range(3):
        house.converse("notes", f"c{i}", "text")
    first = house.jobs()[-1]
    with house.database.write() as holder:
        lock_job(holder, first.job_id)
        assert list(house.claims()) == []
    [claim] = house.claims()
    assert claim.job_id == first.job_id


def test_a_rebuild_waits_for_an_app_that_is_being_erased(house: House) -> None:
    house.converse("notes", "c1", "hello")
    now = house.clock.now()
    meet(
        house,
        # As erasing does: the app, its jobs and their tenant queue, and the word index only then.
        lambda session: (
            lock_app(session, "notes"),
            session.execute(sa.text("SELECT 1 FROM tenant_queues FOR UPDATE")),
        ),
        lambda session: recreate_word_index(session, now),
        lambda session: erase_app(session, "notes", "admin", now),
    )
    with house.database.read() as session:
        assert word_index.is_present(session) and word_index.count_of_app(session, "notes") == 0


def test_a_rebuild_waits_for_who_speaks_first_in_an_app_without_an_index(house: House) -> None:
    house.converse("notes", "c1", "hello")
    now = house.clock.now()
    with house.database.write() as session:
        session.execute(sa.text("DELETE FROM app_indexes"))
        start(session, "notes", NewConversation("c2"), now)
    meet(
        house,
        lambda session: word_index.ensure_key(session, "notes"),
        lambda session: recreate_word_index(session, now),
        lambda session: append_messages(
            session, lock_conversation(session, "notes", "c2"), [NewMessage(Role.USER, "hello again")], now
        ),
    )
    assert [job.state for job in house.jobs(kind=JobKind.INDEX_MESSAGES)] == ["pending"]


def test_following_a_clock_that_was_set_back_waits_for_whoever_schedules_several_apps(house: House) -> None:
    now, later = house.clock.now(), house.clock.now() + timedelta(days=30)
    with house.database.write() as session:
        install(session, "others", "Others", {}, now)
        for app_id, due in (("notes", later), ("others", now)):
            dispatch.enqueue(session, dispatch.NewJob(JobKind.CREATE_MEMORY, app_id, app_id, due_at=due), now)
        session.flush()
        held = session.get_one(TenantQueue, ("others", WorkClass.THOUGHT))
        held.held_until, held.held_why = later, "budget"

    def schedule(app_id: str) -> Callable[[Session], object]:
        return lambda session: tenant_queues.refresh(session, app_id, WorkClass.THOUGHT, now)

    meet(
        house, schedule("notes"), lambda session: dispatch.rebase_after_clock_change(session, now, timedelta(days=1)),
        schedule("others"),
    )  # fmt: skip
    with house.database.read() as session:
        assert not dispatch.is_behind_clock(session, now, timedelta(days=1))
