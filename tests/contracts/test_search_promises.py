"""What a search promises: it finds by words and by meaning within its app, and says what it had to do without."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from shared.base.errors import Configuration, Conflict, NotFound, Transient
from shared.base.settings import Tuning
from shared.conversations.lifecycle import NewMessage, Role
from shared.conversations.queries import get_conversation
from shared.llm.calls import Meter
from shared.llm.embedding import Vectors
from shared.search.index_queries import vectors_by_key
from shared.search.models import HitKind, doc_id_of
from shared.search.search_queries import MOST_CHARS, keys_of, messages_at, names_at, passages_at
from shared.search.view import MessageFilters, SearchRequest
from tests.support.house import House
from tests.support.meters import Calls
from tests.support.searching import Library

CODE = "Here is the function you asked for.\n\n```python\ndef total_price(rows):\n    return sum(rows)\n```\n\n" + (
    "It adds the prices of all rows, and nothing else. " * 60
)


@pytest.fixture
def library(house: House) -> Library:
    library = Library(house, pets=("dog", "puppy", "hound"), boats=("boat", "sail", "yacht"))
    library.tell("pets", "We bought a dog last week.", "How lovely.", "It barks at night.", "Give it time.")
    library.tell("boats", "The yacht needs paint.", "Which colour?", "Blue, like the old one.", "I will note blue.")
    return library


@pytest.mark.both_databases
def test_what_only_words_bring_can_come_first(library: Library) -> None:
    library.tell("words", "The parcel number is ZX-4471.", "Thanks.")
    library.tell("noise", *[f"The dog and the yacht are fine, day {n}." for n in range(30)])
    assert library.ids("Which parcel was ZX-4471, the one for the dog?")[0] == "words-0"


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "text", ['"', "-", "paint*", "a:b", "_", "is", "😀", "NOT (paint", "' OR 1=1 --", "\x01", "de"]
)
def test_a_question_of_signs_neither_fails_nor_changes_its_meaning(library: Library, text: str) -> None:
    found = [hit.message_id for hit in library.find(text).hits if hit.by_words]
    assert found == (["boats-0"] if "paint" in text else [])


def test_a_conversation_with_three_results_is_looked_in_alone(library: Library) -> None:
    library.tell("mine", *[f"Paint the fence, part {n}." for n in range(3)])
    found = library.find("paint", conversation_id="mine")
    assert ({hit.conversation_id for hit in found.hits}, found.widened) == ({"mine"}, False)


@pytest.mark.parametrize("error", [Transient("away"), Configuration("no such model")], ids=["away", "not installed"])
def test_while_the_embedder_is_away_words_serve_and_that_is_said(library: Library, error: Exception) -> None:
    library.house.embed()
    library.embedder.fails = [error]
    found = library.finder.find("notes", SearchRequest("paint"))
    assert (found.hits[0].message_id, found.degraded) == ("boats-0", ("embedding",))
    assert library.house.counted("searches_degraded_total", part="embedding") == 1


def test_a_question_asked_again_is_neither_embedded_nor_paid_again(library: Library) -> None:
    first = library.find("puppy")
    library.recorder.take()
    again = library.finder.find("notes", SearchRequest("puppy"))
    assert [hit.message_id for hit in again.hits] == [hit.message_id for hit in first.hits]
    assert library.embedder.seen.count("puppy") == 1
    assert library.recorder.take()[1] == {}


def test_a_question_that_could_not_be_embedded_is_tried_anew(library: Library) -> None:
    library.house.embed()
    library.embedder.fails = [Transient("away")]
    degraded = [library.finder.find("notes", SearchRequest("puppy")).degraded for _ in range(2)]
    assert degraded == [("embedding",), ()]


def test_what_one_app_asked_is_not_remembered_for_another_nor_kept_in_words(library: Library) -> None:
    library.house.install("other")
    library.tell("dogs", "A hound followed us.", "Did it?", app_id="other")
    library.house.embed()
    library.find("puppy")
    library.finder.find("other", SearchRequest("puppy"))
    assert library.embedder.seen.count("puppy") == 2
    assert "puppy" not in str(library.finder.embedders._vectors)


def test_the_same_question_asked_by_many_at_once_is_embedded_once(library: Library) -> None:
    library.house.embed()
    everyone = threading.Barrier(8)

    def ask(_: int) -> tuple[str, ...]:
        everyone.wait()
        return tuple(hit.message_id for hit in library.finder.find("notes", SearchRequest("puppy")).hits)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(ask, range(8)))) == 1
    assert library.embedder.seen.count("puppy") == 1


def test_no_more_questions_are_remembered_than_fit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.search.query.MOST_QUERIES", 2)
    library.house.embed()
    for text in ("puppy", "sail", "puppy", "hound", "puppy", "sail"):
        library.finder.find("notes", SearchRequest(text))
    assert [library.embedder.seen.count(text) for text in ("puppy", "sail", "hound")] == [1, 2, 1]


def test_without_words_only_vectors_are_asked(library: Library) -> None:
    library.finder = library.make_finder(Tuning(hybrid=False, chunking=False))
    found = library.find("The yacht needs paint")
    assert all(hit.ranked.candidate.turn is None for hit in found.hits)
    assert found.hits[0].message_id == "boats-0"


def test_names_of_speakers_are_left_out_of_what_is_embedded(library: Library) -> None:
    library.tell("named", NewMessage(Role.USER, "I paint on Sundays.", "n-0", name="Ann"))
    library.house.embed()
    library.embedder.seen.clear()
    library.finder.find("notes", SearchRequest("When does Ann paint?"))
    assert library.embedder.seen == ["When does paint?"]


def test_where_nobody_is_named_words_are_looked_up_while_the_question_is_embedded(library: Library) -> None:
    """Each waits for the other: the transaction for the embedding to begin, and that for the transaction to end."""
    begun, over = threading.Event(), threading.Event()

    @contextmanager
    def reading() -> Iterator[Session]:
        with library.house.database.read() as session:
            yield session
            assert begun.wait(10)
        over.set()

    embed = library.embedder.embed

    def embed_late(texts: Sequence[str], meter: Meter) -> Vectors:
        begun.set()
        assert over.wait(10)
        return embed(texts, meter)

    library.house.embed()
    library.finder.transactions = SimpleNamespace(read=reading)
    library.embedder.embed = embed_late
    assert library.finder.find("notes", SearchRequest("What about the Yacht?")).degraded == ()


def test_a_question_is_embedded_from_the_beginning_on_as_the_last_one_of_its_app_was(library: Library) -> None:
    begun = threading.Event()
    embed = library.embedder.embed

    def embed_now(texts: Sequence[str], meter: Meter) -> Vectors:
        begun.set()
        return embed(texts, meter)

    @contextmanager
    def reading() -> Iterator[Session]:
        assert begun.wait(10), "nothing is read before"
        with library.house.database.read() as session:
            yield session

    library.find("What about the yacht?")
    library.embedder.embed = embed_now
    library.finder.transactions = SimpleNamespace(read=reading)
    assert library.finder.find("notes", SearchRequest("Which dog?")).vector is not None
    assert library.embedder.seen[-2:] == ["What about the yacht?", "Which dog?"], "each once"


def test_what_was_begun_of_a_question_is_not_used_where_names_are_left_out_by_now(library: Library) -> None:
    library.find("What about the yacht?")
    library.tell("named", NewMessage(Role.USER, "I paint on Sundays.", "n-0", name="Ann"))
    library.house.embed()
    library.embedder.seen.clear()
    found = library.finder.find("notes", SearchRequest("When does Ann paint?"))
    assert sorted(library.embedder.seen) == ["When does Ann paint?", "When does paint?"]
    [expected] = library.embedder.embed(["When does paint?"], Calls())
    assert found.vector is not None and found.vector.tolist() == expected.tolist()
    library.embedder.seen.clear()
    library.finder.find("notes", SearchRequest("When did Ann paint?"))
    assert library.embedder.seen == ["When did paint?"], "that it is so is known from then on"


def test_a_message_longer_than_what_is_read_to_rank_it_is_handed_out_whole(library: Library) -> None:
    said = "The parcel number is ZX-4471. " + "Nothing else of note happened on that day. " * 300
    library.tell("long", said)
    library.finder = library.make_finder(Tuning(chunking=False))
    best = library.find("parcel ZX-4471").hits[0]
    assert (best.message_id, best.content) == ("long-0", said)
    assert len(best.ranked.candidate.content) == MOST_CHARS < len(said)


def test_a_conversation_that_is_shown_whole_is_left_out(library: Library) -> None:
    library.tell("mine", *[f"Paint the fence, part {n}." for n in range(3)])
    found = library.find("paint", conversation_id="mine", exclude_conversation=True)
    assert {hit.conversation_id for hit in found.hits} == {"boats"}


@pytest.mark.both_databases
def test_a_long_question_is_looked_for_by_its_rarest_words(library: Library) -> None:
    library.tell("rare", "Zanzibar.")
    crowd = ("alpha bravo charlie delta foxtrot hotel india juliet kilo lima november oscar papa quebec",) * 2
    library.tell("crowd", *crowd)
    found = library.finder.find("notes", SearchRequest(f"{crowd[0]} zanzibar"))
    [best] = [hit for hit in found.hits if hit.message_id == "rare-0"]
    assert best.by_words
    two = {hit.message_id for hit in library.find("yacht barks").hits if hit.by_words}
    assert two == {"boats-0", "pets-2"}


def test_what_is_more_alike_elsewhere_does_not_keep_a_conversation_from_being_looked_in(library: Library) -> None:
    library.tell("crowd", *[f"The dog has slept for {n} hours." for n in range(60)])
    library.tell("mine", "A hound on a yacht.")
    assert library.find("puppy", conversation_id="mine").hits[0].message_id == "mine-0"


@pytest.mark.both_databases
def test_code_is_found_although_much_prose_says_more_of_what_is_asked(library: Library) -> None:
    library.tell("code", "Please.", "Use it here:\n\n```python\npaint()\n```\n")
    library.tell("crowd", *[f"Paint the fence, number {n}." for n in range(120)])
    code = MessageFilters(kinds=frozenset({HitKind.CODE}))
    assert library.ids("paint the fence", filters=code) == ["code-1"]
    library.finder = library.make_finder(Tuning(chunking=False))
    assert library.ids("paint the fence", filters=code) == []
    assert library.ids("paint the fence", filters=MessageFilters(kinds=frozenset({HitKind.MESSAGE})))


@pytest.mark.both_databases
def test_a_filter_is_not_content_with_the_first_that_passes(library: Library) -> None:
    zoe = [NewMessage(Role.USER, said, f"z-{n}", name="Zoe") for n, said in enumerate(("A blue car horn.", "Blue."))]
    library.tell("crowd", zoe[0], *[f"A blue car, number {n}." for n in range(400)], zoe[1])
    assert set(library.ids("blue car horn", filters=MessageFilters(names=frozenset({"Zoe"})))) == {"z-0", "z-1"}


def test_a_passage_is_as_like_the_question_as_what_it_says_itself(library: Library) -> None:
    library.tell("long", f"The hound sleeps. {'Nobody minds it. ' * 130}\n\nThe yacht is dry. {'It is fine. ' * 180}")
    hits = [hit for hit in library.find("puppy").hits if hit.message_id == "long-0"]
    assert len(hits) == 2 and hits[0].content.startswith("The hound")
    assert (hits[0].ranked.candidate.dense or 0) > 0.9 > 0.5 > (hits[1].ranked.candidate.dense or 0)


def test_few_passages_of_one_message_are_results(library: Library) -> None:
    library.tell("code", "Please write it.", "\n\n".join(f"{n}. Paint. " + "It dries slowly. " * 120 for n in range(6)))
    assert library.ids("paint", limit=20).count("code-1") == 2


@pytest.mark.both_databases
def test_a_search_is_narrowed_to_a_time(library: Library) -> None:
    library.tell("late", "A blue car.")
    late = library.house.clock.now()
    ids = [library.ids("blue", filters=one) for one in (MessageFilters(since=late), MessageFilters(until=late))]
    assert ids[0] == ["late-0"]
    assert "late-0" not in ids[1] and ids[1]
    assert library.ids("blue", filters=MessageFilters(since=late + timedelta(seconds=1))) == []


@pytest.mark.both_databases
def test_a_search_may_look_at_more_vectors_than_a_statement_takes(library: Library) -> None:
    with library.house.database.read() as session:
        assert vectors_by_key(session, 1, range(70_000)) == {}


@pytest.mark.both_databases
def test_passages_of_the_wanted_kind_are_not_hidden_by_the_others_of_their_message(library: Library) -> None:
    prose = "The paint dries slowly in this weather. " * 60
    library.tell("log", NewMessage(Role.USER, f"{prose * 20}\n```\nx = 1\n```", "log-0"))
    found = library.find("paint", filters=MessageFilters(kinds=frozenset({HitKind.CODE}))).hits
    assert [(hit.message_id, hit.content) for hit in found] == [("log-0", "```\nx = 1\n```")]


APPS = ("notes", "email")
_WORDS = ("paint", "yacht", "dog", "blue", "total_price", "parseJson", "Ann", "2023", "the", "é", "我们")
_SAID = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)
_IDS = ("c0", "c1", "c2", "unknown")
_FILTERS = st.builds(
    MessageFilters,
    roles=st.frozensets(st.sampled_from(("user", "assistant")), max_size=2),
    names=st.frozensets(st.sampled_from(("Ann", "Ben")), max_size=1),
    conversation_ids=st.frozensets(st.sampled_from(_IDS), max_size=2),
    kinds=st.frozensets(st.sampled_from(HitKind), max_size=2),
)


@pytest.mark.both_databases
@given(
    told=st.lists(st.tuples(st.sampled_from(APPS), st.sampled_from(_IDS[:3]), _SAID), min_size=1, max_size=12),
    text=_SAID,
    filters=_FILTERS,
    conversation_id=st.none() | st.sampled_from(_IDS),
    user_id=st.none() | st.sampled_from(("ann", "ben")),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_search_of_an_app_brings_a_message_of_another(
    house: House,
    told: list[tuple[str, str, str]],
    text: str,
    filters: MessageFilters,
    conversation_id: str | None,
    user_id: str | None,
) -> None:
    library = Library(house, pets=("dog",), boats=("yacht",))
    apps = [_fresh(house, name) for name in APPS]
    for name, conversation, said in told:
        library.tell(conversation, f"{name}: {said}", app_id=apps[APPS.index(name)])
    house.embed()
    for name, app_id in zip(APPS, apps, strict=True):
        wanted = SearchRequest(text, 20, conversation_id, user_id=user_id, filters=filters)
        try:
            hits = library.finder.find(app_id, wanted).hits
        except NotFound:
            assert conversation_id not in {one[1] for one in told if one[0] == name}
            continue
        except Conflict:
            assert conversation_id is not None and user_id is not None, "these conversations name nobody"
            continue
        assert all(hit.content.startswith(f"{name}: ") for hit in hits)


def _fresh(house: House, name: str) -> str:
    """Install an app of its own for each example; what former ones said stays beside it."""
    app_id = f"{name}-{house.clock.advance(1).timestamp():.0f}"
    house.install(app_id)
    return app_id


@pytest.mark.both_databases
def test_whatever_places_an_index_names_only_messages_of_the_app_are_read(house: House) -> None:
    library = Library(house)
    house.install("email")
    said = NewMessage(Role.USER, "Before.\n\n```\ncode()\n```\n\nAfter.", "m-0", name="Ann")
    library.tell("c0", said, app_id="email")
    with house.database.read() as session:
        key = get_conversation(session, "email", "c0").key
        doc_id = doc_id_of(key, 0)
        assert doc_id is not None
        assert (
            list(messages_at(session, "email", [doc_id])) == list(passages_at(session, "email", [doc_id])) == [doc_id]
        )
        assert names_at(session, "email", [doc_id]) == {"Ann"}
        assert messages_at(session, "notes", [doc_id]) == passages_at(session, "notes", [doc_id]) == {}
        assert names_at(session, "notes", [doc_id]) == set()
        assert list(keys_of(session, "email", ["c0"])) == [key]
        assert list(keys_of(session, "notes", ["c0"])) == []
