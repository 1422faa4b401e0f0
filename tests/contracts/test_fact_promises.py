"""What an app's facts promise, over each database: what merges, what is replaced, what goes, and that it is told."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import numpy as np
import pytest

from shared.apps.queries import get_app, lock_app
from shared.archive.document import Archive
from shared.archive.export import export_app
from shared.archive.restore import Imported, import_archive
from shared.base.choices import FactState
from shared.base.errors import Conflict
from shared.base.subjects import Subject
from shared.facts import queries
from shared.facts.categories import Category
from shared.facts.editing import FactEdit, edit
from shared.facts.models import FactChangeKind
from shared.facts.writing import FoundStatement, StatementOrigin, learn, save_vectors
from shared.llm.embedding import to_bytes
from shared.telemetry.metrics import MergedBy
from tests.support.house import House
from tests.support.notebook import AGENT, SAME, Notebook, found
from tests.support.settings import default_settings


@pytest.fixture
def book(house: House) -> Notebook:
    return Notebook(house)


def test_a_statement_becomes_a_fact_that_knows_where_it_was_said(book: Notebook) -> None:
    learned = book.learn("c1", found("User lives in Copenhagen", "m1", "m2"))
    (fact,) = book.facts()
    assert learned.learned == (fact.fact_id,)
    assert (fact.statement, fact.confidence, fact.mention_count) == ("User lives in Copenhagen", 0.75, 1)
    with book.house.database.read() as session:
        (source,) = queries.sources_of(session, fact.fact_id)
    assert (source.conversation_id, source.message_ids, source.agent) == ("c1", ["m1", "m2"], AGENT)
    assert book.kinds(fact.fact_id) == [FactChangeKind.LEARNED]


def test_the_same_said_again_elsewhere_makes_a_fact_more_certain(book: Notebook) -> None:
    book.learn("c1", found("User lives in Copenhagen."))
    book.house.clock.advance(60)
    again = book.learn("c2", found("the user lives in copenhagen"))
    (fact,) = book.facts()
    assert again.merged == Counter({MergedBy.TEXT: 1})
    assert (fact.confidence, fact.mention_count, fact.last_seen) == (0.9, 2, book.house.clock.now())
    with book.house.database.read() as session:
        assert [one.conversation_id for one in queries.sources_of(session, fact.fact_id)] == ["c1", "c2"]


def test_confidence_never_passes_one(book: Notebook) -> None:
    for i in range(5):
        book.learn(f"c{i}", found("User likes jazz"))
    assert [(fact.confidence, fact.mention_count) for fact in book.facts()] == [(1.0, 5)]


@pytest.mark.parametrize("again", ["by hand", "in a conversation"])
def test_a_fact_written_by_hand_starts_lower_and_gains_more_when_it_is_said_again(book: Notebook, again: str) -> None:
    book.write("User likes jazz")
    assert [fact.confidence for fact in book.facts()] == [0.6]
    if again == "by hand":
        book.write("The user likes jazz.")
    else:
        book.learn("c1", found("User likes jazz"))
    assert [(fact.confidence, fact.by_hand) for fact in book.facts()] == [(0.85, True)]


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


def test_messages_that_were_heard_before_change_nothing(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz", "m1", "m2"))
    before = [(fact.confidence, fact.version) for fact in book.facts()]
    again = book.learn("c1", found("User likes jazz", "m2"))
    assert (again.learned, again.merged) == ((), Counter())
    assert [(fact.confidence, fact.version) for fact in book.facts()] == before


def test_a_contradiction_replaces_the_very_fact_it_names(book: Notebook) -> None:
    book.learn("c1", found("User has a dog"), found("User lives in Copenhagen"), found("User plays chess"))
    home = next(fact for fact in book.facts() if "Copenhagen" in fact.statement)
    book.house.clock.advance(60)
    learned = book.learn("c2", found("User moved to London", "m9", updates=home.fact_id))
    assert book.statements() == ["User has a dog", "User moved to London", "User plays chess"]
    ((old, new),) = learned.replaced
    assert old == home.fact_id
    with book.house.database.read() as session:
        assert queries.get_fact(session, "notes", old).state == FactState.REPLACED
        assert queries.get_fact(session, "notes", new).updates_fact_id == old
    assert book.kinds(old) == [FactChangeKind.LEARNED, FactChangeKind.REPLACED]


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
        edit(session, queries.get_standing(session, "notes", fact_id), FactEdit("User likes soul"), book.hand())
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


def test_a_fact_that_comes_back_is_a_new_contradiction(book: Notebook) -> None:
    for i, city in enumerate(("Copenhagen", "London", "Copenhagen")):
        book.learn("c1", found(f"User lives in {city}", f"m{i}"))
    (fact,) = book.facts()
    assert (fact.statement, fact.confidence) == ("User lives in Copenhagen", 0.75)
    assert book.in_state(FactState.REPLACED) == ["User lives in Copenhagen", "User lives in London"]
    book.learn("c1", found("User lives in London", "m1"))
    assert book.statements() == ["User lives in Copenhagen"], "that was heard before, and corrected since"


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


def test_archived_facts_for_which_there_is_no_place_are_refused_whole(book: Notebook) -> None:
    book.learn("c1", *(found(f"User owns item {i}", f"m{i}") for i in range(80)))
    book.house.install("copy")
    copy = Notebook(book.house, "copy")
    copy.learn("c9", *(found(f"User sold item {i}", f"m{i}") for i in range(80)))
    with pytest.raises(Conflict) as refused:
        carry(book, "copy")
    assert (refused.value.code, refused.value.details) == ("no_room", {"arriving": 80, "free": 70})
    assert len(copy.facts()) == 80


def test_more_than_120_facts_are_brought_back_to_120(book: Notebook) -> None:
    book.learn("c1", *(found(f"User owns item {i}", f"m{i}") for i in range(110)))
    book.house.clock.advance(timedelta(days=3).total_seconds())
    learned = book.learn("c2", *(found(f"User sold item {i}", f"m{i}") for i in range(45)))
    assert len(book.facts()) == 120
    assert len(learned.evicted) == 35
    assert book.kinds(learned.evicted[0])[-1] == FactChangeKind.EVICTED
    assert not set(learned.evicted) & set(learned.learned), "the old went, not the new"


def test_two_employers_of_one_breath_are_not_a_contradiction_and_a_later_one_is(book: Notebook) -> None:
    book.learn("c1", found("User works at Acme"))
    book.learn("c2", found("User works at Lego", "m7"), found("User works at Novo", "m7"))
    assert book.statements() == ["User works at Lego", "User works at Novo"]
    book.learn("c2", found("User works at Maersk", "m8"))
    assert book.statements() == ["User works at Maersk"]
    assert book.in_state(FactState.REPLACED) == ["User works at Acme", "User works at Lego", "User works at Novo"]


def test_a_change_of_mind_within_a_message_is_a_contradiction(book: Notebook) -> None:
    book.learn("c1", found("User likes jazz", "m7"), found("User does not like jazz", "m7"))
    assert book.statements() == ["User does not like jazz"]
