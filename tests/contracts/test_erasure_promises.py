"""What agents said of a text goes with it: the tags a merge joined, and reasons that may quote what they were shown."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa
from sqlalchemy import select

from shared.base.audit import Cause
from shared.base.subjects import Subject
from shared.db.base import Base, models_metadata
from shared.erasure.erasing import erase_conversation, erase_memory
from shared.erasure.stores import HOLDS_NO_WORDS, STORES
from shared.memories.compaction import NEW, Action, Decision, Eviction
from shared.memories.queries import changes_of_app
from shared.memories.writing import NewMemory, place
from shared.telemetry.metrics import CompactionOutcome
from tests.support.house import House

pytestmark = pytest.mark.both_databases

CANARY = "zyzzogeton"


def tables_with_canary(house: House) -> list[str]:
    with house.database.read() as session:
        return [
            table.name
            for table in Base.metadata.sorted_tables
            if any(CANARY in str(tuple(row)) for row in session.execute(select(table)))
        ]


def merge_with_tags(house: House, conversation_id: str) -> int:
    """Merge a tagged memory of a conversation into the oldest one; return the oldest one's id."""
    [job] = house.converse("notes", conversation_id, CANARY)
    target = house.memories()[-1].memory_id
    eviction = Eviction(CompactionOutcome.MERGED, NEW, f"both are about {CANARY}", target, f"fact 1, {CANARY}")
    new = NewMemory(
        content=CANARY,
        agent="ollama:m",
        epoch=0,
        importance=9,
        tags=[CANARY],
        conversation_key=job.conversation_key,
        conversation_id=conversation_id,
    )
    with house.database.write() as session:
        place(session, Subject("notes"), new, Cause("ollama:m", "it ended", house.clock.now()), 10, eviction)
    return target


def test_erasing_a_conversation_takes_its_tags_out_of_what_was_merged(house: House) -> None:
    for i in range(1, 11):
        house.converse("notes", f"c{i}", f"fact {i}")
        house.work_off()
    before = [(m.content, m.tags, m.importance) for m in house.memories()]
    merge_with_tags(house, "c11")
    assert CANARY in house.memories()[0].tags
    with house.database.write() as session:
        erase_conversation(session, "notes", "c11", "admin", house.clock.now())
    assert [(m.content, m.tags, m.importance) for m in house.memories()] == before
    assert tables_with_canary(house) == []


@pytest.mark.parametrize("what", ["conversation", "memory"])
def test_an_agents_reason_that_quotes_what_is_erased_goes_too(house: House, what: str) -> None:
    house.converse("notes", "c0", f"I keep a {CANARY}")
    house.work_off()
    for i in range(1, 10):
        house.converse("notes", f"c{i}", f"fact {i}")
        house.work_off()
    quoted = house.memories()[-1]
    other = house.memories()[-2].memory_id
    house.scripted.decides = [Decision(Action.DELETE, other, f"less useful than: {quoted.content}")]
    house.converse("notes", "c10", "fact 10")
    house.work_off()
    now = house.clock.now()
    with house.database.write() as session:
        if what == "conversation":
            erase_conversation(session, "notes", "c0", "admin", now)
        else:
            erase_conversation(session, "notes", "c10", "admin", now)
            erase_memory(session, session.merge(quoted), Cause("admin", "erased by hand", now))
    assert [name for name in tables_with_canary(house) if name != "messages"] == []
    with house.database.read() as session:
        gone = next(c for c in changes_of_app(session, "notes", 100) if c.memory_id == other and c.kind == "removed")
    assert (gone.before, gone.reason) == ("fact 1", "erased")


HOLDS_TEXT = (sa.String, sa.JSON, sa.LargeBinary)


def unclaimed(metadata: sa.MetaData) -> set[str]:
    """Return the tables with a column that could hold words, or be reckoned from words, which nobody answers for."""
    claimed = {table for store in STORES for table in store.tables} | HOLDS_NO_WORDS.keys()
    holding = {
        table.name for table in metadata.sorted_tables if any(isinstance(c.type, HOLDS_TEXT) for c in table.columns)
    }
    return holding - claimed


def test_every_table_with_text_is_a_stores_or_said_to_hold_no_words() -> None:
    assert unclaimed(models_metadata()) == set()


@pytest.mark.parametrize("kind", [sa.Text, sa.String(20), sa.JSON, sa.LargeBinary], ids=str)
def test_a_new_table_with_text_is_noticed(kind: sa.types.TypeEngine[object]) -> None:
    metadata = sa.MetaData()
    sa.Table("diaries", metadata, sa.Column("key", sa.Integer, primary_key=True), sa.Column("said", kind))
    sa.Table("figures", metadata, sa.Column("key", sa.Integer, primary_key=True), sa.Column("at", sa.DateTime))
    assert unclaimed(metadata) == {"diaries"}


def test_a_table_is_claimed_once_and_exists() -> None:
    claims = Counter([*(table for store in STORES for table in store.tables), *HOLDS_NO_WORDS])
    assert max(claims.values()) == 1
    assert claims.keys() - models_metadata().tables.keys() == set()
