"""Facts after what happens to them in odd orders: edits, deletions, clears, erasures, late messages, upgrades."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
import sqlalchemy as sa

from shared.base.choices import Category, FactState
from shared.base.subjects import Subject
from shared.facts import editing, queries
from shared.facts.mentions import FoundStatement, StatementOrigin, group_of, learn, refold
from shared.telemetry.metrics import MergedBy
from tests.contracts.test_migrations import AT, DAY, Installation, serve, upgrade
from tests.support.house import House
from tests.support.notebook import AGENT, SAME, Notebook, found

pytestmark = pytest.mark.both_databases


@pytest.fixture
def book(house: House) -> Notebook:
    return Notebook(house)


def reword(book: Notebook, fact_id: int, words: str) -> None:
    with book.locked() as session:
        editing.reword(session, queries.get_standing(session, "notes", fact_id), words, book.hand())


def say(book: Notebook, conversation_id: str, text: str, updates: int | None = None) -> tuple[int, ...]:
    book.house.clock.advance(60)
    return book.learn(conversation_id, found(text, updates=updates)).learned


def test_a_fact_by_hand_keeps_its_words_and_category_where_an_older_message_is_read_later(book: Notebook) -> None:
    said = book.house.clock.now()
    key = book.key("c1")
    book.house.clock.advance(1800)
    with book.locked() as session:
        subject, words = Subject("notes"), "Lives in Lyon, by the river!"
        fact_id = editing.write(session, subject, words, book.hand(), Category.PROJECT)[0].fact_id
    book.house.clock.advance(1800)
    with book.locked() as session:
        late = FoundStatement("user lives in lyon, by the river", Category.IDENTITY, ("m1",), said_at=said)
        learn(session, "notes", StatementOrigin(key, "c1", "", said, AGENT), [late], book.cause(), SAME)
    fact = book.fact(fact_id)
    assert (fact.statement, fact.category, fact.by_hand) == ("Lives in Lyon, by the river!", "project", True)
    assert (fact.agent, fact.confidence) == ("admin", 0.85)


def test_a_conversation_is_erased_although_one_fact_takes_the_words_another_gives_up(book: Notebook) -> None:
    for conversation in ("c1", "c2"):
        say(book, conversation, "Plays chess")
    reword(book, 1, "Plays chess and go")
    book.house.clock.advance(60)
    book.learn("c1", found("Likes games", "m5"))
    say(book, "c3", "Likes games")
    reword(book, 2, "Plays chess")
    book.erase("c1")
    assert book.statements() == ["Likes games", "Plays chess"]


def test_an_edit_of_what_stands_brings_nothing_back_that_it_replaced(book: Notebook) -> None:
    say(book, "c1", "Lives by the sea")
    reword(book, 1, "Lives in Oslo")
    say(book, "c2", "Lives in Madrid")
    book.house.clock.advance(60)
    reword(book, 2, "Lives in Madrid, near the park")
    say(book, "c3", "Lives in Madrid, near the park")
    assert book.statements() == ["Lives in Madrid, near the park"]


def test_an_edited_fact_that_is_edited_again_stays_beside_what_it_does_not_contradict(book: Notebook) -> None:
    say(book, "c1", "Lives in Madrid")
    reword(book, 1, "Likes Madrid")
    say(book, "c2", "Lives in Rome")
    book.house.clock.advance(60)
    reword(book, 1, "Likes Madrid a lot")
    say(book, "c3", "Lives in Rome")
    assert book.statements() == ["Likes Madrid a lot", "Lives in Rome"]


def test_what_was_said_before_an_edit_and_is_read_after_it_is_judged_by_the_new_words(book: Notebook) -> None:
    say(book, "c1", "Lives by the sea")
    key, said = book.key("c2"), book.house.clock.now() + timedelta(seconds=5)
    book.house.clock.advance(60)
    reword(book, 1, "Lives in Oslo")
    book.house.clock.advance(60)
    with book.locked() as session:
        read = FoundStatement("Lives in Madrid", Category.IDENTITY, ("m1",), said_at=said)
        learn(session, "notes", StatementOrigin(key, "c2", "", said, AGENT), [read], book.cause(), SAME)
    assert book.statements() == ["Lives in Madrid"]


def test_taking_back_a_deletion_lets_nothing_stand_that_had_been_replaced(book: Notebook) -> None:
    (parrot,) = say(book, "c1", "Has a parrot")
    say(book, "c2", "Gave the bird away", parrot)
    (again,) = say(book, "c3", "Has a parrot")
    (flown,) = say(book, "c4", "The parrot flew off", again)
    book.delete(flown, 600)
    say(book, "c5", "Has a parrot")
    book.undo(flown)
    assert book.statements() == ["Has a parrot"]


def test_what_lay_beneath_a_deleted_fact_does_not_stand_when_a_clear_is_taken_back(book: Notebook) -> None:
    say(book, "c1", "Lives in Oslo")
    (rome,) = say(book, "c2", "Lives in Rome")
    book.delete(rome, 6000)
    say(book, "c3", "Lives in Bonn")
    book.clear(600)
    book.erase("c2")
    book.undo_clear()
    assert book.statements() == ["Lives in Bonn"]


def test_a_pin_comes_back_with_a_clear_that_is_taken_back_after_an_erasure(book: Notebook) -> None:
    (madrid,) = say(book, "c1", "Lives in Madrid")
    book.pin(madrid)
    say(book, "c2", "Lives in Berlin")
    book.clear(600)
    book.erase("c2")
    book.undo_clear()
    assert [(fact.statement, fact.pin_slot) for fact in book.facts()] == [("Lives in Madrid", 1)]


def test_messages_that_are_read_again_may_still_be_seen_to_contradict_a_fact(book: Notebook) -> None:
    (parrot,) = say(book, "c1", "Has a parrot")
    say(book, "c2", "Gave the bird away")
    assert say(book, "c2", "Gave the bird away", parrot) == ()
    assert book.statements() == ["Gave the bird away"]
    assert book.fact_saying("Gave").mention_count == 1


def test_a_repeat_in_the_batch_that_made_the_fact_is_counted(book: Notebook) -> None:
    learned = book.learn("c1", found("Has a parrot", "m1"), found("Has a parrot", "m2"))
    assert learned.merged == {MergedBy.TEXT: 1}


def test_what_stands_again_is_changed_now(book: Notebook) -> None:
    (madrid,) = say(book, "c1", "Lives in Madrid")
    say(book, "c2", "Lives in Berlin")
    before = book.fact(madrid).version
    book.house.clock.advance(60)
    book.erase("c2")
    assert (book.fact(madrid).version, book.fact(madrid).updated_at) == (before + 1, book.house.clock.now())


@contextmanager
def upgraded(old: Installation, url: str, fact_id: int) -> Iterator[Notebook]:
    """Upgrade what the release before wrote, and fold the group of a fact, as whatever is heard of it would."""
    book = Notebook(serve(url, old))
    with book.locked() as session:
        scope = queries.fold_scopes(session, Subject("notes"))[0]
        refold(session, scope, group_of(session, scope, [fact_id]), book.hand())
    try:
        yield book
    finally:
        book.house.database.dispose()
        old.database.dispose()


def old_installation(url: str) -> Installation:
    upgrade(url, "+1")
    old = Installation(url)
    old.app("notes")
    for key in (1, 2, 3):
        old.conversation("notes", key)
    return old


REPLACED = {"state": "replaced", "slot": None}
CHANGE = {"app_id": "notes", "user_id": "", "actor": "rule", "reason": "", "source_keys": [], "at": AT}


def test_what_lies_beneath_a_fact_stays_there_though_its_replacer_was_erased_before_the_upgrade(
    empty_database_url: str,
) -> None:
    old = old_installation(empty_database_url)
    old.fact(1, "Has a parrot", AT, **REPLACED)
    old.source(1, 1, "Has a parrot", AT, "unknown-1")
    old.fact(3, "The bird lives elsewhere", AT + DAY * 2, updates_fact_id=1)
    old.source(3, 3, "The bird lives elsewhere", AT + DAY * 2, "unknown-3")
    # Fact 2, which replaced fact 1, was erased with its conversation; the chain was closed over it.
    old.insert("fact_history", fact_id=1, kind="replaced", related_fact_id=2, **CHANGE)
    with upgraded(old, empty_database_url, 3) as book:
        assert book.fact(3).updates_fact_id == 1
        book.clear(600)
        book.undo_clear()
        assert book.statements() == ["The bird lives elsewhere"]


def test_what_a_model_named_is_not_lost_where_a_fact_replaced_its_own_words_too(empty_database_url: str) -> None:
    old = old_installation(empty_database_url)
    old.fact(1, "Plays chess", AT + DAY, updates_fact_id=3, **REPLACED)
    old.source(1, 1, "Plays chess", AT + DAY, "unknown-1")
    old.fact(2, "Gave chess up for go", AT + DAY * 2, updates_fact_id=1)
    old.source(2, 2, "Gave chess up for go", AT + DAY * 2, "unknown-2")
    old.fact(3, "Gave chess up for go", AT, **REPLACED)
    old.source(3, 3, "Gave chess up for go", AT, "unknown-3")
    old.insert("fact_history", fact_id=1, kind="replaced", related_fact_id=2, **CHANGE)
    old.insert("fact_history", fact_id=3, kind="replaced", related_fact_id=2, **CHANGE)
    with upgraded(old, empty_database_url, 2) as book:
        assert book.fact(2).updates_fact_id == 1
        book.clear(600)
        book.undo_clear()
        assert book.statements() == ["Gave chess up for go"]


def test_of_two_of_one_instant_the_later_read_stands_after_the_upgrade(empty_database_url: str) -> None:
    old = old_installation(empty_database_url)
    old.fact(1, "Lives in Oslo", AT, **REPLACED)
    old.source(1, 1, "Lives in Oslo", AT, "c1-m0")
    old.fact(2, "Lives in Rome", AT, updates_fact_id=1)
    old.source(2, 1, "Lives in Rome", AT, "c1-m2")
    old.insert("fact_history", fact_id=1, kind="replaced", related_fact_id=2, **CHANGE)
    with old.database.write() as session:
        # A row that is written anew lies behind the others on PostgreSQL.
        session.execute(sa.text("UPDATE facts SET version = 2 WHERE fact_id = 1"))
    with upgraded(old, empty_database_url, 2) as book:
        assert book.statements() == ["Lives in Rome"]
        assert book.in_state(FactState.REPLACED) == ["Lives in Oslo"]
