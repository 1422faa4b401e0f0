"""What the indexes promise of words and passages, over both databases: they hold what was said, and nothing else."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from shared.apps.queries import lock_app
from shared.archive.document import export_app
from shared.archive.restore import import_archive
from shared.conversations.answers import AnswerDraft, give
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import lock_conversation
from shared.erasure.erasing import erase_app, erase_conversation
from shared.jobs.models import Job, JobState
from shared.search import postgres_words, search_queries, word_index
from shared.search.index import (
    BackfillStep,
    FillProgress,
    IndexStatus,
    backfill_batch,
    index_status,
    recreate_word_index,
    request_backfill,
)
from shared.search.models import LAST_POSITION, AppIndex, MessageVector, Passage, Unembedded, doc_id_of
from shared.search.passages import passages_of
from shared.search.word_index import MOST_WORDS
from shared.search.words import words_of
from tests.support.house import House
from tests.support.settings import default_settings

pytestmark = pytest.mark.both_databases

CODE = "Look at this:\n\n```python\ndef hop(kites):\n    return kites * 2\n```\n\n" + "It hops over the gate. " * 60
SETTINGS = default_settings()
COMMON = 10_000
anew = count()


def tell(house: House, app_id: str, conversation_id: str, *said: str, role: Role = Role.USER) -> None:
    """Say something in a conversation, which is opened if it is not."""
    now = house.clock.now()
    with house.database.write() as session:
        known = session.scalar(
            sa.text("SELECT 1 FROM conversations WHERE app_id = :a AND conversation_id = :c"),
            {"a": app_id, "c": conversation_id},
        )
        if known is None:
            start(session, app_id, NewConversation(conversation_id), now)
        conversation = lock_conversation(session, app_id, conversation_id)
        append_messages(session, conversation, [NewMessage(role, text) for text in said], now)


def messages(house: House, app_id: str) -> list[Message]:
    with house.database.read() as session:
        return list(session.scalars(select(Message).where(Message.app_id == app_id).order_by(Message.key)))


def found(house: House, app_id: str, text: str, at_most: int = COMMON) -> dict[str, list[int] | None]:
    with house.database.read() as session:
        kept = word_index.postings(session, app_id, words_of(text), at_most)
    return {word: None if doc_ids is None else doc_ids.tolist() for word, doc_ids in kept.items()}


def status(house: House, app_id: str = "notes") -> IndexStatus:
    with house.database.read() as session:
        return index_status(session, app_id)


def lose_words(house: House) -> None:
    with house.database.write() as session:
        session.execute(sa.text("DROP TABLE message_words"))


def fill(house: House, app_id: str = "notes") -> Job:
    with house.database.write() as session:
        epoch = lock_app(session, app_id).purge_epoch
        return request_backfill(session, app_id, epoch, house.clock.now())


def check_whole(house: House, app_id: str) -> None:
    """Assert that words, passages and what waits for vectors are those of the messages that stand, no more, no less."""
    said = [one for one in messages(house, app_id) if one.role in ("user", "assistant") and one.content.strip()]
    placed = {doc_id_of(one.conversation_key, one.position) or 0: one for one in said}
    expected: dict[str, set[int]] = {}
    for doc_id, one in placed.items():
        for word in words_of(one.content):
            expected.setdefault(word, set()).add(doc_id)
    with house.database.read() as session:
        kept = word_index.postings(session, app_id, list(expected), COMMON)
        assert {word: set(kept[word].tolist()) for word in expected} == expected  # type: ignore[union-attr]
        assert word_index.count_of_app(session, app_id) == len(said)
        parts = session.execute(
            select(Passage.doc_id, Passage.part, Passage.start, Passage.length).where(Passage.app_id == app_id)
        )
        wanted = {
            (p, n, s.start, s.length) for p, one in placed.items() for n, s in enumerate(passages_of(one.content), 1)
        }
        assert {tuple(row) for row in parts} == wanted
        waiting = set(session.scalars(select(Unembedded.doc_id).where(Unembedded.app_id == app_id)))
        vectors = set(session.scalars(select(MessageVector.doc_id).where(MessageVector.doc_id.in_(placed))))
    assert waiting | vectors == set(placed)


def test_of_a_text_of_countless_words_the_first_are_found_and_all_of_them_erased(house: House) -> None:
    text = "".join(map(chr, Random(7).choices(range(0x4E00, 0x9FA0), k=2 * MOST_WORDS)))
    tell(house, "notes", "c1", text)
    words = words_of(text)
    first, last, beyond = words[0], words[MOST_WORDS - 1], words[MOST_WORDS]
    doc_ids = found(house, "notes", " ".join((first, last, beyond)))
    assert [len(doc_ids[word]) for word in (first, last, beyond)] == [1, 1, 0]
    house.erase()
    assert found(house, "notes", " ".join((first, last))) == {first: [], last: []}


def test_what_lies_too_far_into_a_conversation_is_kept_without_an_index_and_not_counted(house: House) -> None:
    tell(house, "notes", "c1", "a heron")
    with house.database.write() as session:
        session.execute(sa.update(Conversation).values(message_count=LAST_POSITION))
    tell(house, "notes", "c1", "a swan", "an oboe", "a tuba")
    with house.database.read() as session:
        assert (len(messages(house, "notes")), index_status(session, "notes").words) == (4, 2)
    assert [len(doc_ids) for doc_ids in found(house, "notes", "swan oboe").values()] == [1, 0]


def test_an_answer_of_the_loop_is_indexed_as_what_is_said(house: House) -> None:
    tell(house, "notes", "c1", "What does Anna play?")
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        give(session, conversation, AnswerDraft("She plays the tuba.", 0, "ollama:x"), False, house.clock.now())
    (doc_ids,) = found(house, "notes", "tuba").values()
    assert doc_ids is not None
    assert len(doc_ids) == 1
    check_whole(house, "notes")


def test_a_message_sent_twice_is_indexed_once(house: House) -> None:
    tell(house, "notes", "c1", "first")
    for _ in range(2):
        with house.database.write() as session:
            conversation = lock_conversation(session, "notes", "c1")
            twice = [NewMessage(Role.USER, "a heron", "m1"), NewMessage(Role.USER, "a heron", "m1")]
            append_messages(session, conversation, twice, house.clock.now())
    check_whole(house, "notes")
    assert len(messages(house, "notes")) == 2


def test_nothing_that_was_said_can_be_read_in_the_word_index(house: House) -> None:
    tell(house, "notes", "c1", "Quokkaville is where Zebedee lives")
    others = ("message_words_data", "message_words_docsize")
    tables = others if house.database.is_sqlite else ("message_words", "message_words_blocks")
    with house.database.read() as session:
        rows = [row for table in tables for row in session.execute(sa.text(f"SELECT * FROM {table}"))]
    held = b"".join(value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row)
    assert rows
    assert not [word for word in ("quokkavil", "zebede", "live") if word.encode() in held.lower()]


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["say", "say", "say", "erase", "import", "rebuild", "fill", "embed"]), st.integers(0, 3)),
    min_size=3,
    max_size=10,
)


@pytest.fixture(params=["as they are", "tiny"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep words in blocks as they are, and in such that a few messages fill them."""
    if request.param == "tiny":
        for name, value in {"MERGED_FROM": 60, "_LOOKED_EVERY": 1, "BLOCK": 3, "_DIVIDED_FROM": 1}.items():
            monkeypatch.setattr(postgres_words, name, value)


SPOKEN = ["a heron by the gate", "the swan and the heron", CODE, "", "Kites, kites and an oboe!", "naïve ÄRGER"]


@given(actions=ACTIONS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("blocks")
def test_the_indexes_hold_what_stands_after_whatever_happened(house: House, actions: list[tuple[str, int]]) -> None:
    app_id = f"app{next(anew)}"
    house.install(app_id)
    for step, (action, number) in enumerate(actions):
        carry_out(house, app_id, action, number, step)
    house.clock.advance(1)
    house.work_off()
    check_whole(house, app_id)
    house.erase_app(app_id)


def carry_out(house: House, app_id: str, action: str, number: int, step: int) -> None:
    if action == "say":
        tell(house, app_id, f"c{number}", SPOKEN[(number + step) % len(SPOKEN)], SPOKEN[step % len(SPOKEN)])
    elif action == "fill":
        fill(house, app_id)
    elif action == "embed":
        house.embed()
    elif action == "import":
        move_in(house, app_id, f"c{number}", step)
    else:
        with house.database.write() as session:
            known = {c for (c,) in session.execute(sa.text("SELECT conversation_id FROM conversations"))}
            if action == "rebuild":
                recreate_word_index(session, house.clock.now())
            elif f"c{number}" in known and (number, app_id) in conversations(house, app_id):
                erase_conversation(session, app_id, f"c{number}", "test", house.clock.now())


def conversations(house: House, app_id: str) -> set[tuple[int, str]]:
    with house.database.read() as session:
        mine = sa.text("SELECT conversation_id FROM conversations WHERE app_id = :a")
        named = [c for (c,) in session.execute(mine, {"a": app_id})]
    return {(int(c[1:]), app_id) for c in named if c[1:].isdigit()}


def move_in(house: House, app_id: str, conversation_id: str, step: int) -> None:
    """Import an archive of another app that has a conversation of that id."""
    other = f"other{next(anew)}"
    house.install(other)
    tell(house, other, conversation_id, "brought a heron", CODE)
    with house.database.write() as session:
        archive = export_app(session, lock_app(session, other), house.clock.now())
        import_archive(session, lock_app(session, app_id), archive, SETTINGS, house.clock.now())
        erase_app(session, other, "test", house.clock.now())


def test_erasing_a_conversation_takes_its_part_of_every_index_and_no_more(house: House) -> None:
    tell(house, "notes", "c1", "a heron", CODE)
    tell(house, "notes", "c2", "a heron", CODE)
    house.embed()
    receipt = house.erase()
    passages = len(passages_of(CODE))
    expected = {"words": 2, "passages": passages, "vectors": 2 + passages}
    assert {name: receipt.erased[name] for name in expected} == expected
    assert {name: receipt.left[name] for name in expected} == dict.fromkeys(expected, 0)
    check_whole(house, "notes")
    (doc_ids,) = found(house, "notes", "heron").values()
    assert len(doc_ids or ()) == 1


def test_a_conversation_of_many_messages_is_taken_out_whole(house: House) -> None:
    tell(house, "notes", "c0", "a swan and a heron")
    tell(house, "notes", "c1", *[f"heron number {n}" for n in range(3_000)])
    tell(house, "notes", "c1", *[f"heron number {n}" for n in range(1_100)])
    assert len(found(house, "notes", "heron", 5_000)["heron"] or ()) == 4_101
    assert found(house, "notes", "heron", at_most=4_000) == {"heron": None}
    receipt = house.erase()
    assert (receipt.erased["words"], receipt.left["words"]) == (4_100, 0)
    assert [len(doc_ids or ()) for doc_ids in found(house, "notes", "heron swan 100").values()] == [1, 1, 0]


def test_erasing_an_app_leaves_no_key_to_its_words_and_nothing_of_the_rest(house: House) -> None:
    house.install("other")
    for app_id in ("notes", "other"):
        tell(house, app_id, "c1", "a heron", CODE)
    house.embed()
    receipt = house.erase_app()
    assert (receipt.erased["words"], receipt.erased["vectors"]) == (2, 2 + len(passages_of(CODE)))
    assert {receipt.left[name] for name in ("words", "passages", "vectors")} == {0}
    with house.database.read() as session:
        assert [one.app_id for one in session.scalars(select(AppIndex))] == ["other"]
    assert found(house, "notes", "heron") == {}
    check_whole(house, "other")
    tell(house, "notes", "c1", "a heron again")
    check_whole(house, "notes")


def test_without_a_word_index_erasing_still_erases(house: House) -> None:
    tell(house, "notes", "c1", "a heron")
    tell(house, "notes", "c2", "a heron")
    lose_words(house)
    with house.database.write() as session:
        receipts = [
            erase_conversation(session, "notes", "c1", "test", house.clock.now()),
            erase_app(session, "notes", "test", house.clock.now()),
        ]
    assert {receipt.left["words"] for receipt in receipts} == {0}
    house.database.scrub()


def test_a_back_fill_without_a_word_index_counts_what_it_could_not_add(house: House) -> None:
    tell(house, "notes", "c1", "a heron", "a swan")
    lose_words(house)
    fill(house)
    assert house.work_off() == [JobState.DONE]
    assert house.counted("index_failures_total") == 2


def as_before_indexes(house: House, app_id: str = "notes") -> None:
    """Leave messages as a release without indexes wrote them."""
    with house.database.write() as session:
        word_index.recreate(session)
        for table in (Passage, Unembedded, AppIndex):
            session.execute(sa.delete(table))


def test_a_back_fill_brings_in_what_was_said_before_and_again_adds_nothing(house: House) -> None:
    tell(house, "notes", "c1", "a heron", CODE)
    as_before_indexes(house)
    fill(house)
    assert house.work_off() == [JobState.DONE]
    check_whole(house, "notes")
    house.embed()
    before, counted = status(house), house.counted("messages_filled_in_total", index="words")
    assert (before.words, before.fill, counted) == (2, None, 2)
    fill(house)
    assert house.work_off() == [JobState.DONE]
    again = status(house)
    assert (again.words, again.sets, again.unembedded) == (before.words, before.sets, 0)
    assert house.counted("messages_filled_in_total", index="words") == 2


def step(house: House, limit: int) -> BackfillStep | None:
    with house.database.write() as session:
        lock_app(session, "notes")
        return backfill_batch(session, "notes", house.clock.now(), limit)


def test_an_interrupted_back_fill_goes_on_where_it_was_and_shows_how_far_it_has_come(house: House) -> None:
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(7)])
    as_before_indexes(house)
    assert step(house, 3) is None, "nobody asked"
    fill(house)
    assert step(house, 3) == BackfillStep(3, 3, 0, False)
    assert status(house).fill == FillProgress(3, 7)
    with pytest.raises(ZeroDivisionError), house.database.write() as session:
        lock_app(session, "notes")
        backfill_batch(session, "notes", house.clock.now(), 3)
        raise ZeroDivisionError
    assert status(house).fill == FillProgress(3, 7), "what was not committed does not count"
    assert step(house, 3) == BackfillStep(3, 3, 0, False)
    assert step(house, 3) == BackfillStep(1, 1, 0, True)
    check_whole(house, "notes")


def test_asking_for_a_back_fill_while_one_is_under_way_takes_in_what_was_said_since(house: House) -> None:
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(4)])
    as_before_indexes(house)
    first = fill(house)
    step(house, 3)
    tell(house, "notes", "c1", "heron 5")
    assert fill(house).job_id == first.job_id
    assert status(house).fill == FillProgress(3, 5)
    assert house.work_off() == [JobState.DONE]
    check_whole(house, "notes")


def test_what_is_erased_during_a_back_fill_is_not_brought_back(house: House) -> None:
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(4)])
    tell(house, "notes", "c2", "swan")
    as_before_indexes(house)
    fill(house)
    step(house, 2)
    receipt = house.erase()
    assert (receipt.erased["words"], receipt.left["words"]) == (2, 0)
    house.work_off()
    check_whole(house, "notes")


def test_a_job_for_a_back_fill_that_is_over_says_that_there_was_nothing_to_do(house: House) -> None:
    tell(house, "notes", "c1", "heron")
    fill(house)
    step(house, 10)
    assert house.work_off() == [JobState.NOTHING]


def test_messages_that_were_counted_are_not_counted_again_until_it_is_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, now = search_queries.MessageCounts(), [1_000.0]
    monkeypatch.setattr("shared.search.search_queries.monotonic", lambda: now[0])
    looked: list[int] = []

    def shown() -> int:
        known = counts.of("notes")
        with house.database.read() as session:
            found = search_queries.look_at(session, "notes", known.newest)
        looked.append(found.more)
        return counts.note("notes", known, found)

    tell(house, "notes", "c1", *["a heron"] * 5)
    assert [shown(), shown()] == [5, 5]
    tell(house, "notes", "c2", "a swan", "a kite")
    assert shown() == 7
    house.erase("c2")
    now[0] += 301
    assert shown() == 5
    assert looked == [5, 0, 2, 5]
