"""Vectors as they are stored, what is kept of them in memory, and which model's set is to serve."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.contracts.jobs import JobKind
from shared.jobs.models import Job, JobState
from shared.llm.embedding import normalised
from shared.search.index import may_enqueue
from shared.search.models import LAST_CONVERSATION, LAST_POSITION, SetState, doc_id_of
from shared.search.vectors import (
    VectorSetChange,
    as_words,
    likeness_of,
    nearest,
    pack,
    set_change_for,
    signs,
    signs_of_rows,
    unpack,
    unpack_all,
)
from shared.search.view import SearchScope
from shared.search.word_index import HASH_BYTES, WordKey

DIMENSIONS = [3, 8, 63, 64, 65, 384, 512]
AT = datetime(2026, 3, 1, tzinfo=UTC)


def some_rows(count: int, dimensions: int, seed: int = 7) -> NDArray[np.float32]:
    """Return unit vectors that look like an embedder's."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return normalised(drawn)


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_a_stored_vector_takes_a_byte_a_dimension_and_points_where_it_did(dimensions: int) -> None:
    row = some_rows(1, dimensions)[0]
    stored = pack(row)
    assert len(stored) == 4 + dimensions
    back = unpack(stored)
    assert np.abs(back - row).max() <= np.abs(row).max() / 127
    assert float(back @ row) / float(np.linalg.norm(back)) > 0.999


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_whatever_a_vector_holds_no_dimension_is_off_by_more_than_a_step(values: list[float]) -> None:
    row = np.array(values, np.float32)
    step = float(np.abs(row).max()) / 127
    assert np.abs(unpack(pack(row)) - row).max() <= 0.51 * step + 1e-30


def test_a_vector_of_zeros_stays_one_and_is_like_nothing() -> None:
    stored = pack(np.zeros(5, np.float32))
    assert unpack(stored).tolist() == [0.0] * 5
    assert likeness_of([stored], np.ones(5, np.float32)).tolist() == [0.0]


def test_the_likeness_of_stored_vectors_is_their_cosine() -> None:
    rows = some_rows(50, 384)
    stored = [pack(row) for row in rows]
    assert np.allclose(likeness_of(stored, rows[0]), rows @ rows[0], atol=0.01)
    assert np.array_equal(unpack_all(stored)[3], unpack(stored[3]))
    assert likeness_of([], rows[0]).shape == (0,)


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_the_signs_of_stored_vectors_are_those_of_the_vectors(dimensions: int) -> None:
    rows = some_rows(20, dimensions)
    rows[np.abs(rows) < 0.02 * np.abs(rows).max()] = 0.0  # What rounds to nothing has no sign.
    reduced = signs_of_rows([(nth, nth, 0, pack(row)) for nth, row in enumerate(rows)], dimensions)
    words = as_words(reduced["signs"])
    assert words.shape == (-(-dimensions // 64), 20)
    assert np.array_equal(words, as_words(signs(rows)))
    bits = np.unpackbits(words.T.copy().view(np.uint8), axis=1)[:, :dimensions]
    assert np.array_equal(bits.astype(bool), rows > 0)


@pytest.mark.parametrize("total", [0, 7, 300, 40_000])
def test_the_nearest_are_those_that_differ_in_the_fewest_signs(total: int) -> None:
    distances = np.random.default_rng(3).binomial(384, 0.5, total).astype(np.uint16)
    found = nearest(distances, 40)
    assert len(set(found.tolist())) == min(40, total)
    assert sorted(distances[found]) == sorted(distances)[:40]


CONVERSATIONS = st.lists(st.integers(1, 6) | st.just(LAST_CONVERSATION), unique=True, max_size=5).map(sorted)


@given(
    st.lists(st.tuples(st.integers(1, 6) | st.just(LAST_CONVERSATION), st.integers(0, 3) | st.just(LAST_POSITION))),
    st.none() | st.integers(1, 6) | st.just(LAST_CONVERSATION),
    st.none() | st.integers(1, 6),
    st.none() | CONVERSATIONS,
)
@settings(max_examples=200, deadline=None)
def test_the_rows_of_a_scope_are_those_it_holds(
    said: list[tuple[int, int]], within: int | None, beyond: int | None, conversations: list[int] | None
) -> None:
    doc_ids = np.array(sorted(doc_id_of(*one) or 0 for one in said), np.int64)
    scope = SearchScope(within, beyond, None if conversations is None else np.array(conversations, np.int64))
    rows = scope.rows_of(doc_ids)
    assert (np.arange(len(doc_ids)) if rows is None else rows).tolist() == np.flatnonzero(scope.holds(doc_ids)).tolist()


WORDS = st.lists(st.text(min_size=1, max_size=12), max_size=30, unique=True)


@given(WORDS, st.binary(min_size=16, max_size=16))
@settings(max_examples=100, deadline=None)
def test_hashes_are_one_a_word_and_the_same_each_time(words: list[str], salt: bytes) -> None:
    hashes = WordKey(1, salt).hashes_of(words)
    assert len(hashes) == HASH_BYTES * len(words)
    assert WordKey(1, salt).hashes_of(words) == hashes
    assert b"".join(WordKey(1, salt).hashes_of([word]) for word in words) == hashes


def test_the_same_word_has_another_hash_under_another_salt() -> None:
    words = [f"word{n}" for n in range(200)]
    first, other_salt = (WordKey(1, salt * 16).hashes_of(words) for salt in (b"a", b"b"))
    hashes, others = (set(one.hex(" ", HASH_BYTES).split()) for one in (first, other_salt))
    assert len(hashes) == 200
    assert not hashes & others


SERVING, FILLING, RETIRED = SetState.SERVING, SetState.FILLING, SetState.RETIRED
CASES = [
    ("the first model serves at once", "a", {}, VectorSetChange(serve=True)),
    ("the model in force serves", "a", {"a": SERVING}, VectorSetChange()),
    ("another is filled beside it", "b", {"a": SERVING}, VectorSetChange(fill=True)),
    ("the fill goes on", "b", {"a": SERVING, "b": FILLING}, VectorSetChange()),
    (
        "a third gives the second up",
        "c",
        {"a": SERVING, "b": FILLING},
        VectorSetChange(fill=True, retire=frozenset("b")),
    ),
    ("going back gives the fill up", "a", {"a": SERVING, "b": FILLING}, VectorSetChange(retire=frozenset("b"))),
    ("what was retired is filled again", "b", {"a": SERVING, "b": RETIRED}, VectorSetChange(fill=True)),
    ("what is retired is left to go", "a", {"a": SERVING, "b": RETIRED}, VectorSetChange()),
]


@pytest.mark.parametrize(("model", "states", "change"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_which_set_is_made_or_given_up(model: str, states: dict[str, SetState], change: VectorSetChange) -> None:
    assert set_change_for(model, states) == change


def ended(state: JobState, attempts: int = 5, ago: float = 0) -> Job:
    at = AT - timedelta(seconds=ago)
    finished = None if state is JobState.RUNNING else at
    return Job(kind=JobKind.EMBED_MESSAGES, state=state, attempts=attempts, finished_at=finished)


ASKING = [
    ("nothing was asked for yet", None, True),
    ("one is under way", ended(JobState.RUNNING), False),
    ("one is done", ended(JobState.DONE), True),
    ("one was cancelled", ended(JobState.CANCELLED), True),
    ("one has just failed for good", ended(JobState.DEAD, ago=1), False),
    ("one failed for good and rests", ended(JobState.DEAD, ago=299), False),
    ("one failed for good and has rested", ended(JobState.DEAD, ago=300), True),
    ("one failed for good after one attempt", ended(JobState.DEAD, 1, ago=60), True),
    ("one found nothing", ended(JobState.NOTHING, ago=59), False),
    ("one found nothing a while ago", ended(JobState.NOTHING, ago=60), True),
    ("one failed before the clock was set back", ended(JobState.DEAD, ago=-3600), True),
]


@pytest.mark.parametrize(("last", "may"), [case[1:] for case in ASKING], ids=[case[0] for case in ASKING])
def test_when_another_job_may_be_asked_for(last: Job | None, may: bool) -> None:
    assert may_enqueue(last, AT) is may
