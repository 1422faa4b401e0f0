"""What an app's facts promise: what merges and is replaced, and what an erasure of them or of their chats leaves."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import numpy as np
import pytest

from shared.apps.models import Erasure
from shared.apps.queries import get_app, lock_app
from shared.archive.document import Archive, export_app
from shared.archive.restore import Imported, import_archive
from shared.base.choices import Category, FactState
from shared.base.errors import Conflict
from shared.base.subjects import Subject
from shared.conversations.queries import get_conversation
from shared.erasure.erasing import finish_fact_deletes, purge_memories
from shared.facts import queries
from shared.facts.editing import reword
from shared.facts.mentions import FoundStatement, StatementOrigin, learn, save_vectors
from shared.facts.models import FactChangeKind
from shared.llm.embedding import to_bytes
from shared.telemetry.metrics import MergedBy
from tests.support.house import House
from tests.support.notebook import AGENT, SAME, Notebook, found
from tests.support.settings import default_settings

pytestmark = pytest.mark.both_databases


@pytest.fixture
def book(house: House) -> Notebook:
    return Notebook(house)


def test_facts_of_one_kind_stand_in_order_of_certainty_and_then_of_how_lately_they_were_heard(book: Notebook) -> None:
    for i in range(2):
        book.learn(f"c{i}", found("User likes jazz", f"m{i}"))
    book.house.clock.advance(60)
    book.learn("c3", found("User plays chess", "m5"))
    book.house.clock.advance(60)
    book.learn("c4", found("User has a dog", "m6"))
    assert [fact.statement for fact in book.facts()] == ["User likes jazz", "User has a dog", "User plays chess"]


def test_what_was_said_before_and_is_read_after_makes_a_fact_older_and_not_less_lately_heard(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"))
    now, day = book.house.clock.now(), timedelta(days=1)
    heard = StatementOrigin(book.key("c2"), "c2", "", now - day, AGENT)
    with book.locked() as session:
        learn(session, "notes", heard, [found("User likes jazz", "m2")], book.cause(), SAME)
    assert [(fact.first_seen, fact.last_seen) for fact in book.facts()] == [(now - day, now)]


def test_a_vector_is_kept_only_for_the_words_it_was_made_of(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"), found("User plays chess", "m2"))
    first, second = sorted(book.facts(), key=lambda fact: fact.fact_id)
    vector = to_bytes(np.array([1.0, 0.0], dtype=np.float32))
    with book.house.database.write() as session:
        said = {first.fact_id: first.statement, second.fact_id: "other words"}
        save_vectors(session, {first.fact_id: vector, second.fact_id: vector}, said, "m")
    assert {fact.fact_id: fact.vector for fact in book.facts()} == {first.fact_id: vector, second.fact_id: None}
    with book.house.database.read() as session:
        assert [fact.fact_id for fact in queries.without_vector(session, Subject("notes"), "m", 10)] == [second.fact_id]


def test_a_fact_that_was_reworded_loses_the_vector_of_its_old_words_and_keeps_the_new_ones(book: Notebook) -> None:
    fact_id = book.write("User likes jazz").fact_id
    book.learn("c1", found("User likes jazz", "m1"))
    with book.locked() as session:
        vector = to_bytes(np.array([1.0, 0.0], dtype=np.float32))
        save_vectors(session, {fact_id: vector}, {fact_id: "User likes jazz"}, "m")
    with book.locked() as session:
        reword(session, queries.get_standing(session, "notes", fact_id), "User likes soul", book.hand())
    assert (book.fact(fact_id).vector, book.fact(fact_id).vector_model) == (None, None)
    book.erase("c1")
    assert book.statements() == ["User likes soul"]


def test_facts_of_two_users_neither_merge_nor_contradict_each_other(book: Notebook) -> None:
    (anna,) = book.learn("c1", found("User lives in Copenhagen"), user_id="anna").learned
    book.learn("c2", found("User lives in London"), user_id="bob")
    book.learn("c3", found("User lives in Copenhagen"), user_id="bob")
    book.learn("c4", found("User lives in Oslo", updates=anna))
    standing = {(fact.user_id, fact.statement, fact.mention_count) for fact in book.facts()}
    assert standing == {
        ("anna", "User lives in Copenhagen", 1),
        ("bob", "User lives in Copenhagen", 1),
        ("", "User lives in Oslo", 1),
    }
    with book.house.database.read() as session:
        assert [fact.user_id for fact in queries.standing(session, Subject("notes", "anna"))] == ["anna"]
        assert [fact.user_id for fact in queries.standing(session, Subject("notes"))] == [""]


def test_the_same_meaning_in_other_words_is_heard_again_in_its_own_words(book: Notebook) -> None:
    vector = to_bytes(np.array([1.0, 0.0], dtype=np.float32))
    for conversation, words in (("c1", "User likes jazz"), ("c2", "The user really enjoys jazz")):
        said = FoundStatement(words, Category.PREFERENCE, ("m1",), None, vector, "m")
        merged = book.learn(conversation, said).merged
    assert merged == Counter({MergedBy.EMBEDDING: 1})
    (fact,) = book.facts()
    with book.house.database.read() as session:
        told = [one.statement for one in queries.sources_of(session, fact.fact_id)]
    assert (fact.statement, told) == ("User likes jazz", ["User likes jazz", "The user really enjoys jazz"])


def carry(book: Notebook, app_id: str) -> Imported:
    """Take the app out and put it into another."""
    now = book.house.clock.now()
    with book.house.database.write() as session:
        taken = export_app(session, get_app(session, book.app_id), now)
        assert Archive.model_validate_json(taken.model_dump_json(by_alias=True)) == taken
        return import_archive(
            session, lock_app(session, app_id), taken, default_settings(max_message_chars=10_000), now
        )


def test_facts_go_with_their_app_into_another_and_arrive_once(book: Notebook) -> None:
    book.learn("c1", found("User lives in Copenhagen"), found("User likes jazz", "m2"), user_id="u1")
    book.house.clock.advance(60)
    book.learn("c2", found("User lives in London"), user_id="u1")
    book.write("User plays chess", pinned=True)
    book.delete(book.write("User has a secret").fact_id)
    book.house.install("copy")
    copy = Notebook(book.house, "copy")
    done = carry(book, "copy")
    assert (done.facts, done.facts_skipped) == (4, 0)
    looks = [(one.statement, one.user_id, one.confidence, one.pin_slot, one.last_seen) for one in copy.facts()]
    assert looks == [(one.statement, one.user_id, one.confidence, one.pin_slot, one.last_seen) for one in book.facts()]
    london = copy.fact_saying("London")
    assert copy.fact(london.updates_fact_id or 0).statement == "User lives in Copenhagen"
    assert copy.kinds(london.updates_fact_id or 0) == ["learned", "replaced", "learned"]
    assert (carry(book, "copy").facts, copy.statements()) == (0, book.statements())
    copy.erase("c2")
    assert "User lives in Copenhagen" in copy.statements()
    assert "User lives in London" in book.statements()


def test_a_change_of_mind_within_a_message_is_a_contradiction(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz", "m7"), found("User does not like jazz", "m7"))
    assert book.statements() == ["User does not like jazz"]


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


def test_a_secret_that_an_earlier_release_let_in_does_not_stand_again(book: Notebook) -> None:
    (old,) = book.learn("c1", found("The wifi password is hunter2")).learned
    pass_time(book, 60)
    book.learn("c2", found("The wifi has no password any more", updates=old))
    book.erase("c2")
    assert (book.statements(), book.in_state(FactState.REPLACED)) == ([], [])


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


def test_erasing_a_conversation_leaves_the_history_of_what_another_said(book: Notebook) -> None:
    (gone,) = book.learn("c1", found("User likes jazz")).learned
    (other,) = book.learn("c2", found("User plays chess")).learned
    book.erase("c1")
    assert (texts_left(book, gone), texts_left(book, other)) == ({None}, {None, "User plays chess"})


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
    for i, text in enumerate(said):
        book.learn(f"c{i}", FoundStatement(text, Category.PREFERENCE, ("m1",), vector=close, vector_model="m"))
    book.write("User enjoys jazz", pinned=True)
    assert len(book.facts()) == 2, "what a hand writes is compared by its words alone"
    book.clear()
    book.erase("c0")
    book.undo_clear()
    (fact,) = book.facts()
    assert (fact.statement, fact.mention_count, fact.pin_slot) == ("User enjoys jazz", 2, 1)
    assert (fact.updates_fact_id, book.in_state(FactState.REPLACED)) == (None, [])


def test_a_purge_of_memories_leaves_facts_alone(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz"))
    with book.house.database.write() as session:
        purge_memories(session, "notes", "admin", book.house.clock.now())
    assert book.statements() == ["User likes jazz"]
