"""What becomes of facts that are deleted or cleared, or whose conversation or app is erased, over each database."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from shared.apps.models import Erasure
from shared.choices import FactState
from shared.conversations.queries import get_conversation
from shared.erasure.erasing import erase_app, finish_fact_deletes, purge_memories
from shared.errors import Conflict
from shared.facts import queries
from shared.facts.categories import Category
from shared.facts.models import FactChangeKind
from shared.facts.writing import FoundStatement
from shared.llm.embedding import to_bytes
from tests.support.house import House
from tests.support.notebook import Notebook, found

pytestmark = pytest.mark.both_databases


@pytest.fixture
def book(house: House) -> Notebook:
    return Notebook(house)


def pass_time(book: Notebook, seconds: float) -> None:
    book.house.clock.advance(seconds)


def moved(book: Notebook) -> tuple[int, int]:
    """Learn of Copenhagen in c1 and of London in c2; return both facts."""
    (old,) = book.learn("c1", found("User lives in Copenhagen")).learned
    pass_time(book, 60)
    (new,) = book.learn("c2", found("User lives in London")).learned
    return old, new


def finish(book: Notebook) -> Erasure | None:
    with book.house.database.write() as session:
        return finish_fact_deletes(session, "notes", book.house.clock.now())


def texts_left(book: Notebook, fact_id: int) -> set[str | None]:
    return {text for change in book.history(fact_id) for text in (change.before, change.after)}


def test_old_words_that_are_read_late_lie_beneath_what_was_said_since(book: Notebook) -> None:
    (new,) = book.learn("c2", found("User lives in London")).learned
    pass_time(book, -60)
    late = book.learn("c1", found("User lives in Copenhagen"))
    pass_time(book, 60)
    assert (book.statements(), book.in_state(FactState.REPLACED)) == (
        ["User lives in London"],
        ["User lives in Copenhagen"],
    )
    assert late.replaced == ((late.learned[0], new),)
    book.erase("c2")
    assert book.statements() == ["User lives in Copenhagen"]


def test_a_secret_that_an_earlier_release_let_in_does_not_stand_again(book: Notebook) -> None:
    (old,) = book.learn("c1", found("The wifi password is hunter2")).learned
    pass_time(book, 60)
    book.learn("c2", found("The wifi has no password any more", updates=old))
    book.erase("c2")
    assert (book.statements(), book.in_state(FactState.REPLACED)) == ([], [])


def test_a_deleted_fact_comes_back_with_its_id_and_its_pin(book: Notebook) -> None:
    fact_id = book.write("User likes jazz", pinned=True).fact_id
    book.delete(fact_id)
    assert book.statements() == []
    pass_time(book, 59)
    book.undo(fact_id)
    (fact,) = book.facts()
    assert (fact.fact_id, fact.pin_slot is not None, fact.undo_until) == (fact_id, True, None)
    assert book.kinds(fact_id)[-2:] == [FactChangeKind.DELETED, FactChangeKind.UNDONE]


def test_what_was_not_pinned_comes_back_without_a_pin(book: Notebook) -> None:
    fact_id = book.write("User likes jazz").fact_id
    book.delete(fact_id)
    book.undo(fact_id)
    assert [fact.pin_slot for fact in book.facts()] == [None]


def test_a_delete_whose_time_is_over_says_so_before_and_after_it_is_final(book: Notebook) -> None:
    fact_id = book.write("User likes jazz").fact_id
    book.delete(fact_id)
    pass_time(book, 60)
    for _ in range(2):
        with pytest.raises(Conflict, match="can no longer be brought back"):
            book.undo(fact_id)
        finish(book)
    assert texts_left(book, fact_id) == {None}
    assert book.kinds(fact_id) == [FactChangeKind.WRITTEN, FactChangeKind.DELETED]


def test_a_delete_is_not_taken_back_when_the_same_stands_again(book: Notebook) -> None:
    fact_id = book.write("User likes jazz").fact_id
    book.delete(fact_id)
    again = book.write("The user likes jazz.").fact_id
    with pytest.raises(Conflict) as refused:
        book.undo(fact_id)
    assert (refused.value.code, refused.value.details) == ("already_known", {"factId": again})


def test_what_a_deleted_fact_had_replaced_goes_with_it(book: Notebook) -> None:
    old, new = moved(book)
    book.delete(new)
    assert (book.statements(), book.in_state(FactState.REPLACED)) == ([], ["User lives in Copenhagen"])
    pass_time(book, 61)
    receipt = finish(book)
    assert receipt is not None
    assert (receipt.scope, receipt.erased["facts"], set(receipt.left.values())) == ("fact", 2, {0})
    assert book.in_state(FactState.REPLACED) == []
    assert texts_left(book, old) | texts_left(book, new) == {None}


def test_a_fact_that_was_deleted_is_not_learned_again_from_the_very_same_messages(book: Notebook) -> None:
    (fact_id,) = book.learn("c1", found("User likes jazz", "m1")).learned
    book.delete(fact_id)
    assert book.learn("c1", found("User likes jazz", "m1")).learned == ()
    assert len(book.learn("c1", found("User likes jazz", "m7")).learned) == 1


def test_clearing_is_taken_back_whole(book: Notebook) -> None:
    old, new = moved(book)
    hand = book.write("User likes jazz", pinned=True).fact_id
    book.clear()
    assert (book.statements(), book.in_state(FactState.REPLACED)) == ([], [])
    pass_time(book, 7.9)
    assert book.undo_clear() == 2
    assert {fact.fact_id: fact.pin_slot is not None for fact in book.facts()} == {new: False, hand: True}
    assert book.fact(old).state == FactState.REPLACED
    assert book.settle() is None


def test_a_clear_is_not_taken_back_once_its_time_is_over_though_it_is_not_yet_final(book: Notebook) -> None:
    book.write("User likes jazz")
    book.clear(seconds=8)
    pass_time(book, 8)
    with pytest.raises(Conflict) as refused:
        book.undo_clear()
    assert refused.value.code == "undo_over"
    assert book.settle() is not None


def test_nothing_is_written_while_a_clear_can_be_taken_back(book: Notebook) -> None:
    book.write("User likes jazz")
    book.clear()
    for attempt in (
        lambda: book.write("User plays chess"),
        lambda: book.learn("c1", found("User plays chess")),
    ):
        with pytest.raises(Conflict) as refused:
            attempt()
        assert refused.value.code == "clear_open"


def test_a_clear_becomes_an_erasure_with_a_receipt(book: Notebook) -> None:
    old, new = moved(book)
    pending = book.write("User has a secret").fact_id
    book.delete(pending)
    book.clear()
    assert book.settle() is None, "it can still be taken back"
    pass_time(book, 8)
    receipt = book.settle()
    assert receipt is not None
    assert (receipt.scope, receipt.actor, receipt.erased["facts"], receipt.erased["factSources"]) == (
        "facts", "admin", 3, 3,
    )  # fmt: skip
    assert set(receipt.left.values()) == {0} and {"facts", "factSources", "factHistory"} <= set(receipt.left)
    assert {text for one in (old, new, pending) for text in texts_left(book, one)} == {None}
    with pytest.raises(Conflict, match="time is over"):
        book.undo_clear()


def test_a_second_clear_makes_the_first_one_final(book: Notebook) -> None:
    book.write("User likes jazz")
    book.clear()
    receipt = book.clear()
    assert receipt is not None and receipt.erased["facts"] == 1
    assert book.undo_clear() == 0


def test_what_was_said_before_a_clear_is_not_read_again_and_what_was_said_after_is(book: Notebook) -> None:
    book.say("c1", "I like jazz", "I like chess")
    book.clear()
    book.say("c1", "I like tea")
    book.say("c2", "I like golf")
    pass_time(book, 9)
    book.settle()
    with book.house.database.read() as session:
        seen = {one: get_conversation(session, "notes", one).facts_seen for one in ("c1", "c2")}
    assert seen == {"c1": 2, "c2": 0}


def test_a_clear_does_not_have_a_conversation_read_again_that_came_seen_meanwhile(book: Notebook) -> None:
    book.write("User likes jazz")
    book.clear()
    book.say("c9", "I live in Oslo.", "I have a dog.")
    with book.house.database.write() as session:
        get_conversation(session, "notes", "c9").facts_seen = 2  # As an archive brings it.
    pass_time(book, 8)
    assert book.settle() is not None
    with book.house.database.read() as session:
        assert get_conversation(session, "notes", "c9").facts_seen == 2


def test_erasing_a_conversation_takes_back_only_its_own_mentions(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz", "m1"))
    book.learn("c1", found("User likes jazz", "m2"))
    book.learn("c2", found("User likes jazz", "m3"))
    assert [(fact.mention_count, fact.confidence) for fact in book.facts()] == [(3, 1.0)]
    book.erase("c2")
    assert [(fact.mention_count, fact.confidence) for fact in book.facts()] == [(2, 0.9)]


def test_erasing_a_conversation_leaves_the_history_of_what_another_said(book: Notebook) -> None:
    (gone,) = book.learn("c1", found("User likes jazz")).learned
    (other,) = book.learn("c2", found("User plays chess")).learned
    book.erase("c1")
    assert (texts_left(book, gone), texts_left(book, other)) == ({None}, {None, "User plays chess"})


def test_what_only_a_hand_still_says_is_as_sure_as_a_hand_makes_it(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"))
    pass_time(book, 60)
    book.write("User likes jazz")
    assert [(fact.by_hand, fact.confidence) for fact in book.facts()] == [(False, 0.9)]
    book.erase("c1")
    assert [(fact.by_hand, fact.confidence) for fact in book.facts()] == [(True, 0.6)]


def test_erasing_a_conversation_leaves_what_another_said_too(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz."))
    pass_time(book, 60)
    book.learn("c2", found("the user likes jazz"))
    first = book.facts()[0]
    receipt = book.erase("c1")
    (fact,) = book.facts()
    assert (fact.fact_id, fact.statement) == (first.fact_id, "the user likes jazz")
    assert (fact.confidence, fact.mention_count, fact.first_seen) == (0.75, 1, first.last_seen)
    assert (receipt.erased["facts"], receipt.erased["factSources"]) == (0, 1)
    assert set(receipt.left.values()) == {0}
    assert "User likes jazz." not in texts_left(book, fact.fact_id)
    assert book.kinds(fact.fact_id)[-1] == FactChangeKind.RESTORED


def test_erasing_the_conversation_of_a_contradiction_brings_back_what_it_replaced(book: Notebook) -> None:
    old, new = moved(book)
    book.pin(new)
    book.erase("c2")
    (fact,) = book.facts()
    assert (fact.fact_id, fact.statement, fact.pin_slot is not None) == (old, "User lives in Copenhagen", True)
    assert book.kinds(old)[-1] == FactChangeKind.RESTORED
    assert book.kinds(new)[-1] == FactChangeKind.ERASED and texts_left(book, new) == {None}


def test_erasing_the_conversation_of_a_replaced_fact_leaves_the_one_in_its_place(book: Notebook) -> None:
    old, new = moved(book)
    pass_time(book, 60)
    (latest,) = book.learn("c3", found("User lives in Oslo")).learned
    book.erase("c2")
    assert book.statements() == ["User lives in Oslo"]
    assert book.fact(latest).updates_fact_id == old
    book.erase("c3")
    assert book.statements() == ["User lives in Copenhagen"]
    assert texts_left(book, new) == {None}


def test_a_deleted_fact_whose_conversation_is_erased_cannot_be_brought_back(book: Notebook) -> None:
    (fact_id,) = book.learn("c1", found("User likes jazz")).learned
    book.delete(fact_id)
    book.erase("c1")
    with pytest.raises(Conflict):
        book.undo(fact_id)
    assert texts_left(book, fact_id) == {None}


def test_a_cleared_fact_whose_conversation_is_erased_does_not_come_back_with_the_rest(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"))
    book.learn("c2", found("User plays chess"))
    book.clear()
    book.erase("c1")
    book.undo_clear()
    assert book.statements() == ["User plays chess"]


def test_cleared_facts_that_an_erasure_made_alike_come_back_as_one(book: Notebook) -> None:
    close = to_bytes(np.array([1.0, 0.0], dtype=np.float32))
    said = ("User likes jazz", "User enjoys jazz")
    (first,), _ = (
        book.learn(f"c{i}", FoundStatement(text, Category.PREFERENCE, ("m1",), vector=close, vector_model="m")).learned
        for i, text in enumerate(said)
    )
    written = book.write("User enjoys jazz", pinned=True).fact_id
    book.clear()
    book.erase("c0")
    book.undo_clear()
    (fact,) = book.facts()
    assert (fact.fact_id, fact.statement, fact.pin_slot) == (first, "User enjoys jazz", 1)
    assert (fact.updates_fact_id, book.in_state(FactState.REPLACED)) == (written, ["User enjoys jazz"])


def test_erasing_an_app_leaves_nothing_of_its_facts_or_clears(book: Notebook) -> None:
    moved(book)
    book.clear()
    with book.house.database.write() as session:
        receipt = erase_app(session, "notes", "admin", book.house.clock.now())
    assert (receipt.erased["facts"], receipt.erased["factSources"]) == (2, 2)
    assert set(receipt.left.values()) == {0} and receipt.left["factHistory"] == 0
    with book.house.database.read() as session:
        assert queries.open_clear(session, "notes") is None


def test_a_purge_of_memories_leaves_facts_alone(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"))
    with book.house.database.write() as session:
        purge_memories(session, "notes", "admin", book.house.clock.now())
    assert book.statements() == ["User likes jazz"]


def test_an_old_fact_expires_only_after_its_time_and_never_while_pinned(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"), found("User plays chess", "m2"))
    book.pin(book.fact_saying("chess").fact_id)
    book.house.clock.advance(timedelta(days=365).total_seconds())
    with book.house.database.read() as session:
        assert list(queries.apps_with_expired(session, book.house.clock.now(), 10)) == []
        later = book.house.clock.now() + timedelta(milliseconds=1)
        assert [fact.statement for fact in queries.expired(session, "notes", later)] == ["User likes jazz"]
