"""What is written while something is erased: it is waited for and goes, or comes afterwards and is not counted as left.

Nothing stands that was there before, and nothing that was being written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from loop.api.writes import IdempotentRequest, WriteResult, carry_out
from shared.apps.models import Erasure, IdempotencyKey
from shared.apps.queries import hold_off_erasure, lock_app, lock_for_erasure
from shared.base.audit import Cause
from shared.base.choices import Category
from shared.base.subjects import Subject
from shared.conversations.answers import AnswerDraft, give
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, start
from shared.conversations.models import Conversation
from shared.conversations.queries import lock_conversation
from shared.db.base import models_metadata
from shared.erasure.erasing import erase_app, erase_conversation, erase_memory, erase_user
from shared.erasure.stores import HOLDS_NO_WORDS, STORES
from shared.events.models import Event
from shared.facts.mentions import FoundStatement, StatementOrigin, learn
from shared.jobs import ownership
from shared.jobs.models import JobState
from shared.memories.compaction import NEW, Action, Decision, Eviction
from shared.memories.queries import changes_of_app
from shared.memories.writing import NewMemory, insert_memory
from shared.profiles import consent, gate
from shared.profiles.gate import write_audit
from shared.profiles.models import AuditKind, Content, Profile
from shared.summaries.queries import NewSummary, insert_summary
from shared.telemetry.metrics import CompactionOutcome
from tests.support.canaries import tables_holding
from tests.support.house import House
from tests.support.meeting import meet, wait_for_waiting
from worker.pipelines.attempt import record_end

pytestmark = pytest.mark.both_databases

APP, USER, NAME, CANARY = "notes", "ann", "c1", "zyzzogeton"
SUBJECT = Subject(APP, USER)
Write = Callable[[House, Session], object]


class Answered(BaseModel):
    """An answer of the interface that holds what was said."""

    text: str = CANARY


def locked(session: Session) -> Conversation:
    """Return the user's conversation, locked with its app, as jobs have it."""
    lock_app(session, APP)
    return lock_conversation(session, APP, NAME)


def open_another(house: House, session: Session) -> None:
    hold_off_erasure(session, APP, USER)
    start(session, APP, NewConversation("c2", USER, details={"about": CANARY}), house.clock.now())


def speak(house: House, session: Session) -> None:
    append_messages(session, lock_conversation(session, APP, NAME), [NewMessage(Role.USER, CANARY)], house.clock.now())


def stop(house: House, session: Session) -> None:
    end(session, locked(session), 0, CANARY, house.clock.now(), fact_settings=house.settings)


def draft(house: House, session: Session) -> None:
    give(session, locked(session), AnswerDraft(CANARY, 0, "ollama:m"), True, house.clock.now())


def remember(house: House, session: Session) -> None:
    new = NewMemory(
        content=CANARY, agent="ollama:m", epoch=0, conversation_key=locked(session).key, conversation_id=NAME
    )
    insert_memory(session, SUBJECT, new, Cause("ollama:m", CANARY, house.clock.now()), 10)


def learn_fact(house: House, session: Session) -> None:
    heard = StatementOrigin(locked(session).key, NAME, USER, house.clock.now(), "ollama:m")
    found = [FoundStatement(CANARY, Category.IDENTITY, ("m0",))]
    learn(session, APP, heard, found, Cause("ollama:m", CANARY, house.clock.now()), 0.8)


def summarise(house: House, session: Session) -> None:
    insert_summary(session, locked(session), NewSummary(CANARY, "ollama:m", 0, 0), house.clock.now())


def write_profile(house: House, session: Session) -> None:
    lock_app(session, APP)
    consent.grant(session, APP, USER, "admin", house.clock.now())
    consent.write(session, APP, USER, Content(freeform_notes=CANARY), "admin", house.clock.now())


def audit_use(house: House, session: Session) -> None:
    hold_off_erasure(session, APP, USER)
    write_audit(session, APP, USER, AuditKind.WITHHELD, CANARY, house.clock.now())


ANYWHERE = (speak, stop, draft, remember, learn_fact, summarise)
OF_USER = (*ANYWHERE, open_another, write_profile, audit_use)


def of_app(session: Session, house: House) -> Erasure:
    return erase_app(session, APP, "admin", house.clock.now())


def of_user(session: Session, house: House) -> Erasure:
    return erase_user(session, SUBJECT, "admin", house.clock.now())


def of_conversation(session: Session, house: House) -> Erasure:
    return erase_conversation(session, APP, NAME, "admin", house.clock.now())


Erase = Callable[[Session, House], Erasure]
MEETINGS = [
    pytest.param(write, erase, id=f"{write.__name__} {erase.__name__}")
    for erase, writes in ((of_app, OF_USER), (of_user, OF_USER), (of_conversation, ANYWHERE))
    for write in writes
]


def prepare(house: House) -> None:
    """Have the user say something."""
    with house.database.write() as session:
        conversation = start(session, APP, NewConversation(NAME, USER), house.clock.now())
        append_messages(session, conversation, [NewMessage(Role.USER, "hello", "m0")], house.clock.now())


def erased(house: House, erase: Erase) -> Erasure:
    with house.database.write() as session:
        return erase(session, house)


def answered(house: House, key: str, work: Callable[[Session], object]) -> None:
    """Carry a write out under a key, with an answer that holds the word."""

    def write(session: Session) -> WriteResult:
        work(session)
        return WriteResult(Answered(), about=APP)

    carry_out(house.database, IdempotentRequest("admin", key, "a request"), write, house.clock.now())


def what_is_left(receipt: Erasure) -> dict[str, int]:
    return {store: count for store, count in receipt.left.items() if count}


@pytest.mark.parametrize(("write", "erase"), MEETINGS)
def test_what_is_being_written_goes_too(house: House, write: Write, erase: Erase) -> None:
    prepare(house)
    with ThreadPoolExecutor(1) as pool:
        erasing: list[Future[Erasure]] = []

        def work(session: Session) -> None:
            write(house, session)
            session.flush()
            erasing.append(pool.submit(erased, house, erase))
            wait_for_waiting(house.database, *erasing)

        answered(house, "k1", work)
        receipt = erasing[0].result(60)
    assert what_is_left(receipt) == {}
    assert tables_holding(house.database, CANARY) == []


@pytest.mark.parametrize("erase", [of_app, of_user, of_conversation])
def test_the_event_of_a_job_that_is_ending_goes_too(house: House, erase: Erase) -> None:
    prepare(house)
    with house.database.write() as session:
        stop(house, session)
    [claim] = house.claims()

    def give_up(session: Session) -> None:
        ownership.give_up(session, claim, "no usable answer", house.clock.now())
        record_end(session, claim, JobState.DEAD, house.clock.now())

    receipt = meet(house.database, give_up, lambda: erased(house, erase))
    assert what_is_left(receipt) == {}
    with house.database.read() as session:
        assert session.scalars(select(Event).where(Event.conversation_id == NAME)).all() == []
    assert [job.state for job in house.jobs()] == ["dead"], "it had ended before"


def test_a_context_notes_no_use_while_its_user_is_erased(house: House) -> None:
    def use() -> bool:
        return gate.ask_for(house.database, APP, USER, "admin", house.clock.now(), house.metrics).consent

    with ThreadPoolExecutor(1) as pool:
        with house.database.write() as session:
            receipt = of_user(session, house)
            using = pool.submit(use)
            wait_for_waiting(house.database, using)
            assert not using.done()
        assert using.result(60) is False
    assert what_is_left(receipt) == {}


@pytest.fixture
def postgres_house(postgres_url: str) -> Iterator[House]:
    house = House(postgres_url)
    house.install()
    yield house
    house.database.dispose()


@pytest.mark.postgres
def test_while_one_user_is_erased_others_are_not_held_up(postgres_house: House) -> None:
    house = postgres_house
    with house.database.write() as session:
        lock_for_erasure(session, APP, USER)
        with house.database.write() as other:
            hold_off_erasure(other, APP, "bob")
            start(other, APP, NewConversation("c2", "bob"), house.clock.now())


@pytest.mark.postgres
def test_what_others_are_answered_meanwhile_is_not_counted_as_left(postgres_house: House) -> None:
    house = postgres_house
    prepare(house)
    with house.database.write() as session:
        write_profile(house, session)
        start(session, APP, NewConversation("c2", "bob"), house.clock.now())
    answered(house, "before", lambda _: None)
    with ThreadPoolExecutor(1) as pool:
        with house.database.write() as session:
            # It gets no further than the profiles until the other has been answered; the answers it empties before.
            session.scalars(select(Profile).with_for_update()).all()
            erasing = pool.submit(erased, house, of_user)
            wait_for_waiting(house.database, erasing)
            said = [NewMessage(Role.USER, "hello")]
            answered(
                house, "after", lambda s: append_messages(s, lock_conversation(s, APP, "c2"), said, house.clock.now())
            )
        receipt = erasing.result(60)
    assert (receipt.erased["idempotencyKeys"], what_is_left(receipt)) == (1, {})
    with house.database.read() as session:
        assert dict(session.execute(select(IdempotencyKey.key, IdempotencyKey.app_id)).all()) == {
            "before": None, "after": APP,
        }  # fmt: skip


def test_a_better_answer_that_comes_after_the_erasure_is_not_remembered(house: House) -> None:
    def work(_: Session) -> WriteResult:
        return WriteResult(Answered(text="at first"), about=APP, then=erase)

    def erase() -> Answered:
        erased(house, of_app)
        return Answered()

    answer = carry_out(house.database, IdempotentRequest("admin", "k1", "a request"), work, house.clock.now())
    assert CANARY in bytes(answer.body).decode()
    assert tables_holding(house.database, CANARY) == []


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
        insert_memory(session, Subject("notes"), new, Cause("ollama:m", "it ended", house.clock.now()), 10, eviction)
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
    assert tables_holding(house.database, CANARY) == []


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
    assert [name for name in tables_holding(house.database, CANARY) if name != "messages"] == []
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
