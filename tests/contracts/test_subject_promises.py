"""Whose memory it is, over each database: every cap, order, compaction, purge and erasure is of one user of an app."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from shared.apps.queries import get_app, lock_app
from shared.archive.document import export_app
from shared.base.audit import Cause
from shared.base.choices import Category
from shared.base.errors import Conflict, LeaseLost
from shared.base.subjects import NOBODY, Subject, subject_of
from shared.conversations.queries import get_conversation
from shared.erasure.erasing import erase_app, erase_conversation, erase_user, purge_memories
from shared.erasure.queries import list_users
from shared.facts.editing import write
from shared.jobs import ownership
from shared.jobs.control import replay
from shared.jobs.models import Job, JobState
from shared.memories.compaction import Action, Decision, least_goes
from shared.memories.models import ChangeKind, Memory, MemorySource, Origin
from shared.memories.queries import history_of, standing
from shared.memories.writing import InsertedMemory, NewMemory, insert_memory, restore
from shared.profiles.consent import grant
from tests.support.canaries import tables_holding
from tests.support.house import House

ANN, BOB = Subject("notes", "ann"), Subject("notes", "bob")
CANARY = "zyzzogeton"


def remembered(house: House, subject: Subject) -> list[str]:
    with house.database.read() as session:
        return [memory.content for memory in standing(session, subject)]


def write_by_hand(house: House, subject: Subject, content: str, importance: int = 5) -> InsertedMemory:
    now = house.clock.advance(1)
    with house.database.write() as session:
        lock_app(session, subject.app_id)
        new = NewMemory(content=content, agent="by hand", epoch=0, importance=importance)
        return insert_memory(session, subject, new, Cause("admin", "written by hand", now), 10, rule=least_goes)


def test_room_for_a_users_memory_is_made_among_that_users_memories(house: House) -> None:
    for i in range(1, 11):
        house.converse("notes", f"a{i}", f"ann's {i}", user_id="ann")
        house.converse("notes", f"b{i}", f"bob's {i}", user_id="bob")
    house.work_off()
    shown: list[list[str]] = []

    def decide(existing: object, new: object) -> Decision:
        shown.append([one.content for one in existing])  # type: ignore[attr-defined]
        return Decision(Action.DELETE, existing[3].id, "least")  # type: ignore[index]

    house.scripted.decides = [decide]
    house.converse("notes", "b11", "bob's 11", user_id="bob")
    house.work_off()
    assert shown == [[f"bob's {i}" for i in range(1, 11)]]
    assert house.scripted.seen[-1].known == tuple(f"bob's {i}" for i in range(1, 11))
    assert len(remembered(house, ANN)) == 10 and "bob's 4" not in remembered(house, BOB)


def test_a_memory_is_dated_by_its_conversation_and_kept_in_that_order(house: House) -> None:
    march = datetime(2025, 3, 1, 9, tzinfo=UTC)
    days = [march + timedelta(days=30 * i) for i in (2, 0, 1)]
    for i, day in enumerate(days):
        house.converse("notes", f"c{i}", f"rowed on {day:%d %B}", user_id="ann", said_at=day)
    house.work_off()
    with house.database.read() as session:
        found = [(memory.created_at, memory.updated_at) for memory in standing(session, ANN)]
    assert found == [(day, day) for day in sorted(days, reverse=True)]


def test_a_message_from_the_future_does_not_date_a_memory_there(house: House) -> None:
    house.converse("notes", "c1", "back from 2999", user_id="ann", said_at=datetime(2999, 1, 1, tzinfo=UTC))
    house.work_off()
    with house.database.read() as session:
        assert [memory.created_at for memory in standing(session, ANN)] == [house.clock.now()]


def test_what_takes_in_something_new_counts_as_new_and_goes_last(house: House) -> None:
    for i in range(1, 11):
        house.converse("notes", f"c{i}", f"fact {i}", user_id="ann")
    house.work_off()
    with house.database.read() as session:
        oldest = standing(session, ANN)[-1].memory_id
    house.scripted.decides = [Decision(Action.EDIT, oldest, "alike", "fact 1 and 11")]
    house.converse("notes", "c11", "fact 11", user_id="ann")
    house.work_off()
    assert remembered(house, ANN)[0] == "fact 1 and 11"
    write_by_hand(house, ANN, "new")
    assert remembered(house, ANN) == ["new", "fact 1 and 11", *(f"fact {i}" for i in range(10, 2, -1))]


def test_what_is_restored_at_the_cap_makes_room_as_what_is_written_does(house: House) -> None:
    for i in range(1, 11):
        write_by_hand(house, ANN, f"fact {i}", importance=2 if i == 6 else 5)
    gone = write_by_hand(house, ANN, "fact 11").evictions[0].removed_id
    write_by_hand(house, BOB, "bob's")
    now = house.clock.advance(1)
    with house.database.write() as session:
        lock_app(session, "notes")
        placed = restore(session, "notes", gone, Cause("admin", "restored by hand", now), 10)
    assert [eviction.outcome for eviction in placed.evictions] == ["least_went"]
    assert remembered(house, ANN)[0] == "fact 6" and len(remembered(house, ANN)) == 10
    assert remembered(house, BOB) == ["bob's"]
    with house.database.read() as session:
        assert history_of(session, gone)[-1].kind == ChangeKind.RESTORED


def everything_of(house: House, user_id: str | None, text: str) -> None:
    """Have an app remember a text of a user in every way there is."""
    house.converse("notes", f"{user_id}-1", f"I keep a {text}", f"A {text}?", user_id=user_id)
    house.work_off()
    house.embed()
    now = house.clock.now()
    with house.database.write() as session:
        lock_app(session, "notes")
        cause = Cause("admin", f"it is about {text}", now)
        insert_memory(
            session,
            Subject("notes", user_id or NOBODY),
            NewMemory(content=f"By hand: {text}", agent="by hand", epoch=0),
            cause,
            10,
        )
        write(session, subject_of("notes", user_id), f"Owns a {text}", cause, Category.PROJECT, pinned=True)
        grant(session, "notes", user_id or NOBODY, "admin", now)


def test_one_user_is_erased_from_every_table_and_the_others_stay(house: House) -> None:
    everything_of(house, "ann", CANARY)
    everything_of(house, "bob", "quillwort")
    everything_of(house, None, "spleenwort")
    kept = {subject: remembered(house, subject) for subject in (BOB, Subject("notes"))}
    with house.database.write() as session:
        receipt = erase_user(session, ANN, "admin", house.clock.now())
    assert (receipt.scope, receipt.user_id) == ("user", "ann")
    assert {store: count for store, count in receipt.left.items() if count} == {}
    assert all(receipt.erased[store] for store in ("memories", "facts", "messages", "conversations", "consents"))
    assert tables_holding(house.database, CANARY) == []
    assert {subject: remembered(house, subject) for subject in kept} == kept
    assert "quillwort" in str([fact.statement for fact in house.facts()])
    with house.database.read() as session:
        users = {one.user_id: (one.conversations, one.memories) for one in list_users(session, "notes", 10)}
    assert users == {"": (1, 2), "bob": (1, 2)}


@pytest.mark.parametrize("scope", ["user", "conversations", "app"])
def test_no_job_names_a_user_who_is_erased_however_it_ended(house: House, scope: str) -> None:
    user_id = f"{CANARY}@example.com"
    for number in range(4):
        house.converse("notes", f"c{number}", "I keep bees", user_id=user_id)
        if number == 0:
            house.work_off()
    [running] = house.claims()
    with house.database.write() as session:
        dead = update(Job).where(Job.conversation_id == "c2").values(state=JobState.DEAD)
        session.execute(dead)
    house.converse("notes", "bob-1", "I keep bees", user_id="bob")
    assert {job.state for job in house.jobs() if job.sequence == user_id} == {"done", "running", "dead", "pending"}
    with house.database.write() as session:
        now = house.clock.now()
        if scope == "user":
            erase_user(session, Subject("notes", user_id), "admin", now)
        elif scope == "app":
            erase_app(session, "notes", "admin", now)
        else:
            for number in range(4):
                erase_conversation(session, "notes", f"c{number}", "admin", now)
    left = tables_holding(house.database, CANARY)
    assert left == [] if scope == "app" else "jobs" not in left
    assert {job.sequence for job in house.jobs()} == ({""} if scope == "app" else {"", "bob"})
    with pytest.raises(LeaseLost), house.database.write() as session:
        ownership.finish(session, running, JobState.DONE, house.clock.now())


@pytest.mark.parametrize("scope", ["erase", "purge"])
def test_what_is_thought_about_a_user_who_is_erased_or_purged_is_not_written(house: House, scope: str) -> None:
    house.converse("notes", "ann-1", f"I keep a {CANARY}", user_id="ann")
    house.converse("notes", "bob-1", "I keep bees", user_id="bob")
    [claim] = house.claims(1)
    assert claim.conversation_id == "ann-1"

    def forget() -> None:
        house.scripted.while_thinking = lambda: None
        with house.database.write() as session:
            if scope == "erase":
                erase_user(session, ANN, "admin", house.clock.now())
            else:
                purge_memories(session, "notes", "admin", house.clock.now(), "ann")

    house.scripted.while_thinking = forget
    with pytest.raises(LeaseLost):
        house.pipeline_of(claim.kind)(claim)
    house.work_off()
    assert (remembered(house, ANN), remembered(house, BOB)) == ([], ["I keep bees"])


def test_what_died_before_a_users_memories_were_purged_is_not_replayed(house: House) -> None:
    jobs = {user: house.converse("notes", f"{user}-1", "I keep bees", user_id=user)[0] for user in ("ann", "bob")}
    with house.database.write() as session:
        session.execute(update(Job).values(state=JobState.DEAD))
    house.purge(user_id="ann")
    with house.database.write() as session:
        epoch = get_app(session, "notes").purge_epoch
        with pytest.raises(Conflict, match="purged"):
            replay(session, jobs["ann"].job_id, epoch, house.clock.now())
        assert replay(session, jobs["bob"].job_id, epoch, house.clock.now()).state == JobState.PENDING


def test_an_export_of_one_user_holds_nothing_of_another(house: House) -> None:
    everything_of(house, "ann", "quillwort")
    everything_of(house, "bob", CANARY)
    with house.database.read() as session:
        archive = export_app(session, get_app(session, "notes"), house.clock.now(), "ann").model_dump_json()
    assert CANARY not in archive and "bob" not in archive and archive.count("quillwort") >= 4


def test_erasing_a_user_takes_what_holds_words_of_several_users_and_belongs_to_nobody(house: House) -> None:
    for user in ("ann", "bob", None):
        house.converse("notes", f"of-{user}", f"words of {user}", user_id=user)
    house.work_off()
    with house.database.write() as session:
        [both] = standing(session, BOB)
        for table in (Memory, Origin):
            whose = {"user_id": NOBODY} | ({"slot": 2} if table is Memory else {})
            session.execute(update(table).where(table.memory_id == both.memory_id).values(whose))
        key = get_conversation(session, "notes", "of-ann").key
        session.add(MemorySource(memory_id=both.memory_id, conversation_key=key, message_ids=[]))
    assert remembered(house, ANN) == ["words of ann"]
    assert sorted(remembered(house, Subject("notes"))) == ["words of None", "words of bob"]
    with house.database.write() as session:
        receipt = erase_user(session, ANN, "admin", house.clock.now())
    assert not any(receipt.left.values())
    assert remembered(house, Subject("notes")) == ["words of None"], "what held her words too went"
    assert remembered(house, ANN) == []
