"""What is written while something is erased: it is waited for and goes, or comes afterwards and is not counted as left.

Nothing stands that was there before, and nothing that was being written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from loop.api.writes import IdempotentRequest, WriteResult, carry_out
from shared.apps.models import Erasure, IdempotencyKey
from shared.apps.queries import hold_off_erasure, lock_app, lock_for_erasure
from shared.base.audit import Cause
from shared.base.subjects import Subject
from shared.conversations.answers import AnswerDraft, give
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, end, say, start
from shared.conversations.models import Conversation
from shared.conversations.queries import lock_conversation
from shared.db.base import Base
from shared.erasure.erasing import erase_app, erase_conversation, erase_user
from shared.events.models import Event
from shared.facts.categories import Category
from shared.facts.writing import FoundStatement, StatementOrigin, learn
from shared.jobs import ownership
from shared.jobs.models import JobState
from shared.memories.writing import NewMemory, place
from shared.profiles import consent
from shared.profiles import queries as gate
from shared.profiles.models import AuditKind, Content, Profile
from shared.profiles.queries import write_audit
from shared.summaries.queries import NewSummary, insert_summary
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
    say(session, lock_conversation(session, APP, NAME), [NewMessage(Role.USER, CANARY)], house.clock.now())


def stop(house: House, session: Session) -> None:
    end(session, locked(session), 0, CANARY, house.clock.now(), fact_settings=house.settings)


def draft(house: House, session: Session) -> None:
    give(session, locked(session), AnswerDraft(CANARY, 0, "ollama:m"), True, house.clock.now())


def remember(house: House, session: Session) -> None:
    new = NewMemory(
        content=CANARY, agent="ollama:m", epoch=0, conversation_key=locked(session).key, conversation_id=NAME
    )
    place(session, SUBJECT, new, Cause("ollama:m", CANARY, house.clock.now()), 10)


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
        say(session, conversation, [NewMessage(Role.USER, "hello", "m0")], house.clock.now())


def erased(house: House, erase: Erase) -> Erasure:
    with house.database.write() as session:
        return erase(session, house)


def holding_canary(house: House) -> list[str]:
    """Return the tables that hold the word."""
    with house.database.read() as session:
        return [
            table.name
            for table in Base.metadata.sorted_tables
            if any(CANARY in str(tuple(row)) for row in session.execute(select(table)))
        ]


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
    assert holding_canary(house) == []


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
            answered(house, "after", lambda s: say(s, lock_conversation(s, APP, "c2"), said, house.clock.now()))
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
    assert holding_canary(house) == []
