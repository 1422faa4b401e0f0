"""What an app's memories promise, over each database: the cap, the merges, the history, one memory a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import insert, update
from sqlalchemy.exc import IntegrityError

from shared.apps.queries import get_app, lock_app
from shared.archive.document import export_app
from shared.archive.restore import import_archive
from shared.base.audit import Cause
from shared.base.errors import Configuration, LeaseLost, ModelOutput, Purged, Transient
from shared.base.subjects import Subject
from shared.erasure.erasing import erase_conversation
from shared.jobs.models import JobState
from shared.jobs.ownership import sweep
from shared.memories.compaction import NEW, Action, Decision
from shared.memories.models import Change, ChangeKind, Memory, Origin
from shared.memories.queries import changes_of_app
from shared.memories.writing import NewMemory, insert_memory, restore
from tests.support.house import House
from tests.support.settings import default_settings
from worker.agent.memory_rules import ExtractiveAgent


@pytest.fixture
def extractive(database_url: str) -> Iterator[House]:
    house = House(database_url, ExtractiveAgent())
    house.install()
    yield house
    house.database.dispose()


def fill(house: House, count: int = 10) -> None:
    for i in range(1, count + 1):
        house.converse("notes", f"c{i}", f"fact {i}")
    house.work_off()


def by_hand(house: House, content: str, importance: int) -> None:
    with house.database.write() as session:
        new = NewMemory(content=content, agent="by hand", epoch=0, importance=importance)
        insert_memory(session, Subject("notes"), new, Cause("admin", "hand", house.clock.advance(1)), 10)


@pytest.mark.both_databases
def test_the_database_itself_refuses_an_eleventh_memory(house: House) -> None:
    fill(house)
    assert len(house.memories()) == 10
    now = house.clock.now()
    for slot in (11, 5, 0):
        with pytest.raises(IntegrityError), house.database.write() as session:
            origin = Origin(app_id="notes", epoch=0, agent="test", created_at=now)
            session.add(origin)
            session.flush()
            row = {"memory_id": origin.memory_id, "app_id": "notes", "slot": slot, "content": "x", "agent": "test"}
            session.execute(
                insert(Memory).values(
                    **row, importance=5, tags=[], pinned=False, version=1, created_at=now, updated_at=now
                )
            )


@pytest.mark.both_databases
def test_merging_two_old_memories_gives_the_new_one_the_freed_place(house: House) -> None:
    fill(house)
    ids = [m.memory_id for m in reversed(house.memories())]
    house.scripted.decides = [Decision(Action.EDIT, ids[0], "alike", "fact 1 and fact 2", absorbed_id=ids[1])]
    house.converse("notes", "c11", "fact 11")
    house.work_off()
    contents = house.contents()
    assert len(contents) == 10 and contents[0] == "fact 11" and "fact 2" not in contents


BAD_DECISIONS = {
    "unknown id": Decision(Action.DELETE, 999_999, "why not"),
    "rewrites the new one": Decision(Action.EDIT, NEW, "why not", "text"),
    "empty text": Decision(Action.EDIT, 1, "why not", "  "),
    "too long": Decision(Action.EDIT, 1, "why not", "x" * 201),
    "absorbs an unknown": Decision(Action.EDIT, 1, "why not", "text", absorbed_id=777_777),
    "merges with itself": Decision(Action.EDIT, 1, "why not", "text", absorbed_id=1),
    "model failed": ModelOutput("no usable answer"),
    "model too slow": Transient("no answer in time"),
    "model missing": Configuration("no such model"),
}


def contents_since(house: House) -> set[str]:
    """Return the numbers of the facts that stand, whatever memory they stand in."""
    return set(re.findall(r"\d+", " ".join(house.contents())))


@pytest.mark.parametrize("decision", BAD_DECISIONS.values(), ids=BAD_DECISIONS.keys())
def test_where_the_agent_cannot_decide_the_rules_make_room_and_nothing_is_lost(
    house: House, decision: Decision | Exception
) -> None:
    fill(house)
    house.scripted.decides = [decision]
    house.converse("notes", "c11", "fact 11")
    assert house.work_off() == [JobState.DONE]
    assert len(house.contents()) == 10 and contents_since(house) == {str(i) for i in range(1, 12)}
    with house.database.read() as session:
        changes = changes_of_app(session, "notes", 5)
    merged = next(c for c in changes if c.kind == ChangeKind.MERGED)
    assert next(c for c in changes if c.kind == ChangeKind.CREATED).actor == "ollama:scripted", "the draft is its own"
    [job] = [job for job in house.jobs() if job.conversation_id == "c11"]
    assert merged.actor == "extractive"
    for reason in (merged.reason, job.reason or ""):
        assert reason.startswith("room made by the rules, as ollama:scripted ")


@pytest.mark.both_databases
def test_a_job_that_outlived_its_lease_cannot_write(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    [stale] = house.claims()
    house.clock.advance(61)
    with house.database.write() as session:
        assert sweep(session, house.clock.now(), house.settings) == {("create_memory", JobState.RETRYING): 1}
    with pytest.raises(LeaseLost):
        house.pipeline(stale)
    house.clock.advance(10)
    assert house.work_off() == [JobState.DONE] and house.contents() == ["fact 1"]


@pytest.mark.parametrize("moment", ["before it reads", "while the agent thinks"])
def test_work_asked_for_under_an_older_epoch_writes_nothing_even_if_its_job_still_runs(
    house: House, moment: str
) -> None:
    house.converse("notes", "c1", "canary")
    [claim] = house.claims()

    def raise_epoch() -> None:
        with house.database.write() as session:
            lock_app(session, "notes").purge_epoch += 1

    if moment == "while the agent thinks":
        house.scripted.while_thinking = raise_epoch
    else:
        raise_epoch()
    with pytest.raises(Purged):
        house.pipeline(claim)
    assert house.memories() == []
    assert bool(house.scripted.seen) is (moment == "while the agent thinks"), "purged words reach no model"


def test_memories_that_changed_twice_while_the_agent_thought_are_left_to_the_rules(house: House) -> None:
    by_hand(house, "Faints at the sight of needles", 10)
    fill(house, 9)
    asked = iter(range(100))

    def write_by_hand() -> None:
        by_hand(house, f"Saw heron {next(asked)}", 1)

    house.scripted.while_thinking = write_by_hand
    house.scripted.decides = [lambda present, _: Decision(Action.DELETE, present[-1].id, "little")] * 2
    house.converse("notes", "c11", "fact 11")
    assert house.work_off() == [JobState.DONE]
    assert next(asked) == 3, "for the draft, and for each of two decisions"
    assert len(house.contents()) == 10 and "11" in contents_since(house)
    assert any("Faints at the sight of needles" in text for text in house.contents())
    [job] = [job for job in house.jobs() if job.conversation_id == "c11"]
    assert job.reason == "room made by the rules, as ollama:scripted thought twice while the memories changed"
    assert (
        sum(
            house.counted("compactions_total", outcome=outcome, reason="snapshot_changed") or 0
            for outcome in ("deleted", "merged", "oldest_went")
        )
        == 1
    )


def test_without_a_model_too_what_is_vital_outlives_what_is_slight(extractive: House) -> None:
    by_hand(extractive, "No nuts", 10)
    for number in range(9):
        by_hand(extractive, f"Said there are no nuts for the squirrels of park {number}", 1)
    extractive.converse("notes", "c1", "I moved to Lyon and my sister Ada keeps bees there.")
    assert extractive.work_off() == [JobState.DONE]
    assert "No nuts" in extractive.contents() and len(extractive.contents()) == 10
    assert [job.reason for job in extractive.jobs()] == [None], "nothing failed"


def merge_canary(house: House) -> None:
    """Fill an app, and have what a further conversation says merged into its first memory."""
    fill(house)
    target = house.memories()[-1].memory_id
    house.scripted.decides = [Decision(Action.EDIT, target, "alike", "fact 1 with canary")]
    house.converse("notes", "c11", "canary")
    house.work_off()


@pytest.mark.both_databases
def test_erasing_a_conversation_takes_its_words_out_of_what_was_merged(house: House) -> None:
    merge_canary(house)
    receipt = house.erase("c11")
    assert set(receipt.left.values()) == {0}
    assert "fact 1" in house.contents() and not any("canary" in text for text in house.contents())
    with house.database.read() as session:
        texts = [t for c in changes_of_app(session, "notes", 100) for t in (c.before, c.after, c.reason) if t]
    assert not any("canary" in text for text in texts)


@pytest.mark.both_databases
def test_what_a_memory_took_in_stands_again_where_the_rest_of_it_is_erased(house: House) -> None:
    fill(house)
    first, second, *_ = [m.memory_id for m in reversed(house.memories())]
    house.scripted.decides = [Decision(Action.EDIT, first, "alike", "fact 1 and fact 2", absorbed_id=second)]
    house.converse("notes", "c11", "fact 11")
    house.work_off()
    assert "fact 2" not in house.contents()
    receipt = house.erase("c1")
    assert set(receipt.left.values()) == {0}
    assert sorted(house.contents()) == sorted(f"fact {number}" for number in range(2, 12))


def test_an_erasure_brings_no_secret_back_that_an_earlier_release_let_in(house: House) -> None:
    merge_canary(house)
    with house.database.write() as session:
        session.execute(update(Change).where(Change.before == "fact 1").values(before="The wifi password is hunter2"))
        erase_conversation(session, "notes", "c11", "admin", house.clock.now())
    assert sorted(house.contents()) == sorted(f"fact {number}" for number in range(2, 11))


def test_a_merge_can_be_taken_back(house: House) -> None:
    fill(house)
    target = house.memories()[-1].memory_id
    house.scripted.decides = [Decision(Action.EDIT, target, "alike", "both")]
    house.converse("notes", "c11", "fact 11")
    house.work_off()
    with house.database.write() as session:
        restore(session, "notes", target, Cause("admin", "restored", house.clock.now()), 10)
    assert "fact 1" in house.contents() and "both" not in house.contents()


@pytest.mark.both_databases
def test_a_conversation_that_was_here_before_an_import_still_gets_its_memory(house: House) -> None:
    house.converse("notes", "c1", "fact 1")
    house.work_off()
    with house.database.read() as session:
        archive = export_app(session, get_app(session, "notes"), house.clock.now())
    house.erase_app()
    house.converse("notes", "c1", "fact 2")
    with house.database.write() as session:
        import_archive(
            session, lock_app(session, "notes"), archive, default_settings(max_message_chars=1000), house.clock.now()
        )
    assert house.work_off() == [JobState.DONE]
    assert sorted(house.contents()) == ["fact 1", "fact 2"]
