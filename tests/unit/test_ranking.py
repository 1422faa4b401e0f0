"""Which candidates come first, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.search.lexical import LEAST_ALIKE, REACH, coverage_of, spoken_words
from shared.search.models import doc_id_of
from shared.search.query import SearchQuestion, read_question
from shared.search.ranking import SIGNALS, WORDS_ALONE, Candidate, Recipe, WeightedRecipe, is_found, rank, scaled
from shared.search.words import words_of

NOW = datetime(2023, 10, 20, tzinfo=UTC)
MAY = datetime(2023, 5, 8, tzinfo=UTC)


def _candidate(said: str, position: int = 0, **known: object) -> Candidate:
    plain = Candidate(
        doc_id=doc_id_of(1, position) or 0,
        part=0,
        role="user",
        name=None,
        content=said,
        created_at=NOW - timedelta(days=200),
        dense=None,
        around=None,
        turn=0.0,
        window=0.0,
    )
    return plain._replace(**known)  # type: ignore[arg-type]


def _asked(text: str) -> SearchQuestion:
    return read_question(text, NOW)


def _order(question: str, candidates: Sequence[Candidate], recipe: Recipe = SIGNALS) -> list[str]:
    return [one.candidate.content for one in rank(_asked(question), candidates, recipe)]


class _Alike:
    """Holds two words for nearly the same."""

    def __init__(self, one: str, other: str, cosine: float = 1.0) -> None:
        self._pair = {one, other}
        self._cosine = cosine

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        return np.array(
            [[self._cosine * ({one, other} == self._pair) for other in others] for one in words], np.float32
        )


def test_by_identifiers_alone_the_message_that_has_the_one_asked_for_comes_first_with_score_1() -> None:
    candidates = [
        _candidate("It fails.", 20, dense=0.9, turn=3.0),
        _candidate("see parse_json(payload)", 40, dense=0.1),
    ]
    first = rank(_asked("Need help with parse_json errors"), candidates, WeightedRecipe(0, 0, 1))[0]
    assert (first.candidate.content, first.score) == ("see parse_json(payload)", 1)


@pytest.mark.parametrize("recipe", [SIGNALS, WeightedRecipe()], ids=["signals", "weighted"])
def test_of_nothing_nothing_is_ranked(recipe: Recipe) -> None:
    assert rank(_asked("anything"), [], recipe) == []


@pytest.mark.parametrize("recipe", [SIGNALS, WeightedRecipe()], ids=["signals", "weighted"])
def test_a_missing_score_counts_as_none(recipe: Recipe) -> None:
    candidates = [
        _candidate("a", turn=None, window=None, dense=0.9),
        _candidate("b", 20, turn=None, window=None, dense=0.2),
    ]
    assert _order("anything", candidates, recipe) == ["a", "b"]


def test_a_message_found_by_words_alone_can_come_first() -> None:
    candidates = [_candidate("Nothing to see", dense=0.4), _candidate("the lighthouse", 20, turn=5.0, window=5.0)]
    assert _order("lighthouse", candidates, WeightedRecipe(0.4, 0.5, 0.1))[0] == "the lighthouse"
    assert _order("lighthouse", candidates)[0] == "the lighthouse"


def test_the_weighted_sum_is_that_of_its_three_parts() -> None:
    candidates = [
        _candidate("the `lighthouse`", dense=0.5, turn=1.0),
        _candidate("nothing", 20, dense=0.3),
        _candidate("else", 40, dense=0.1),
    ]
    ranked = rank(_asked("`lighthouse`"), candidates, WeightedRecipe(0.6, 0.3, 0.1))
    assert [round(one.score, 6) for one in ranked] == [1.0, 0.3, 0.0]
    assert ranked[0].parts == pytest.approx({"dense": 0.6, "words": 0.3, "identifier": 0.1})


@pytest.mark.parametrize(
    ("values", "smaller_is_better", "expected"),
    [
        pytest.param([1.0, 3.0, 2.0], False, [0, 1, 0.5], id="larger is better"),
        pytest.param([-1.0, -3.0, -2.0], True, [0, 1, 0.5], id="as FTS5 has it"),
        pytest.param([None, 2.0, 1.0], False, [0, 1, 0], id="unknown is none"),
        pytest.param([2.0, 2.0], False, [1, 1], id="all the same"),
        pytest.param([None, None], False, [0, 0], id="all unknown"),
        pytest.param([], False, [], id="nothing"),
    ],
)
def test_values_are_brought_to_0_and_1(
    values: list[float | None], smaller_is_better: bool, expected: list[float]
) -> None:
    assert scaled(values, smaller_is_better=smaller_is_better) == expected


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        pytest.param("the sea?", {"dense": 0.8}, {"dense": 0.2}, id="likeness"),
        pytest.param("the sea?", {"around": 0.8}, {"around": 0.2}, id="likeness around"),
        pytest.param("the sea?", {"window": 3.0}, {"window": 1.0}, id="words around"),
        pytest.param("the sea?", {"content": "the sea"}, {"content": "the hill"}, id="a word"),
        pytest.param("the seas?", {"content": "At sea."}, {"content": "At home."}, id="another form of a word"),
        pytest.param("What did Mel say?", {"name": "Mel"}, {"name": "Jon"}, id="who is named"),
        pytest.param("And Mel?", {"name": "Mel", "content": "I"}, {"name": "Mel", "content": "You"}, id="of themself"),
        pytest.param("on 7 May 2023", {"created_at": MAY}, {"created_at": NOW}, id="the date asked about"),
        pytest.param("When was it?", {"content": "It was yesterday"}, {"content": "It was fun"}, id="a time for when"),
        pytest.param("fix `abc_d`", {"content": "abc_d()"}, {"content": "abcd"}, id="an identifier"),
        pytest.param("the hill?", {"content": "So it is."}, {"content": "Is it so?"}, id="statements before questions"),
    ],
)  # fmt: skip
def test_each_signal_lifts(question: str, better: dict[str, object], worse: dict[str, object]) -> None:
    first, second = _candidate("x", 20, **better), _candidate("x", 60, **worse)
    for candidates in ([first, second], [second, first]):
        ranked = rank(_asked(question), candidates)
        assert ranked[0].candidate == first and ranked[0].score > ranked[1].score


def test_words_that_mean_nearly_the_same_count_where_it_is_known() -> None:
    candidates = [_candidate("a picture of it"), _candidate("a lion of it", 20)]
    ranked = rank(_asked("which photo?"), candidates, likeness=_Alike("photo", "picture"))
    assert ranked[0].candidate.content == "a picture of it"
    assert ranked[0].parts["coverage"] > 0 and ranked[1].parts["coverage"] == 0


def test_a_time_counts_only_where_the_question_asks_for_one() -> None:
    candidates = [_candidate("It was yesterday"), _candidate("It was fun", 40)]
    assert all(one.parts["when"] == 0 for one in rank(_asked("Was it fun?"), candidates))


@pytest.mark.parametrize(("cosine", "counts"), [(0.1, 0), (LEAST_ALIKE, 0), (0.625, 0.5), (1.0, 1.0)])
def test_how_far_a_like_word_counts_grows_from_the_least_likeness_to_the_same_meaning(
    cosine: float, counts: float
) -> None:
    likeness = _Alike("photo", "picture", cosine)
    shares = coverage_of(
        "which photo?", [["a", "picture", "of", "it"], ["of", "it"]], {"photo": 1.0}, likeness
    ).shares()
    assert shares == pytest.approx([counts, 0], abs=1e-6)


def test_the_turn_after_the_same_question_is_lifted() -> None:
    candidates = [
        _candidate("Which game do you play?", 4),
        _candidate("Chess, mostly.", 5),
        _candidate("Chess, mostly.", 30),
    ]
    ranked = rank(_asked("Which game does he play?"), candidates)
    answers = {one.candidate.doc_id: one.parts["answers"] for one in ranked}
    assert answers[doc_id_of(1, 5)] > 0 == answers[doc_id_of(1, 30)]


def test_the_first_turn_of_a_conversation_has_none_before_it() -> None:
    last = _candidate("Which game do you play?")._replace(doc_id=doc_id_of(1, (1 << 20) - 1))
    first = _candidate("Chess")._replace(doc_id=doc_id_of(2, 0))
    ranked = rank(_asked("Which game does he play?"), [last, first])
    assert all(one.parts["answers"] == 0 and one.parts["nearby"] == one.parts["coverage"] * 2.5 for one in ranked)


def test_without_vectors_words_have_more_weight() -> None:
    candidates = [_candidate("a", window=2.0), _candidate("b", 20)]
    assert rank(_asked("sea"), candidates)[0].parts["window"] == WORDS_ALONE.window > SIGNALS.window


def test_of_equals_the_latest_comes_first() -> None:
    candidates = [
        _candidate("old"),
        _candidate("new", 20, created_at=NOW),
        _candidate("older", 40, created_at=NOW - 999 * timedelta(1)),
    ]
    assert _order("anything", candidates) == ["new", "old", "older"]


@pytest.mark.parametrize(
    ("question", "known", "expected"),
    [
        ("the sea", {"turn": 0.5}, True),
        ("the sea", {"dense": 0.6}, True),
        ("fix `abc_d`", {"content": "abc_d()"}, True),
        ("the sea", {"dense": 0.05}, False),
        ("the sea", {"turn": None}, False),
    ],
    ids=["a word", "likeness", "an identifier", "hardly alike", "nothing known"],
)
def test_a_candidate_counts_as_found_by(question: str, known: dict[str, object], expected: bool) -> None:
    assert is_found(_asked(question), _candidate("x", **known)) is expected


_cosines = st.none() | st.floats(-1, 1)
_scores = st.none() | st.floats(0, 50)


@given(
    st.text(),
    st.lists(
        st.builds(
            _candidate, st.text(), st.integers(0, 9), dense=_cosines, around=_cosines, turn=_scores, window=_scores
        )
    ),
    st.sampled_from([SIGNALS, WeightedRecipe()]),
)
def test_any_candidates_are_ranked_and_explained(text: str, candidates: list[Candidate], recipe: Recipe) -> None:
    ranked = rank(_asked(text), candidates, recipe)
    assert sorted(id(one.candidate) for one in ranked) == sorted(map(id, candidates))
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    most = 1 if recipe == WeightedRecipe() else sum(map(abs, asdict(SIGNALS).values())) + 0.4
    for one in ranked:
        assert one.score == pytest.approx(sum(one.parts.values())) and -0.11 <= one.score <= most + 1e-6


_SOME = st.sampled_from(["heron", "herons", "swan", "Photo", "of", "the", "Ärger", "2021", "i", ""])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.lists(_SOME, max_size=6)), min_size=1, max_size=12),
    st.lists(_SOME, min_size=1, max_size=4),
)
def test_what_is_said_nearby_is_the_most_that_any_within_reach_says_of_each_word(
    turns: list[tuple[int, list[str]]], asked: list[str]
) -> None:
    """Against the definition, turn by turn and word by word: the arrays reckon all of them at once."""
    doc_ids = [doc_id_of(1 + at // 5, at % 5) or 0 for at, _ in turns]
    texts = [" ".join(words) for _, words in turns]
    question, likeness = " ".join(asked), _Alike("photo", "swan", 0.7)
    worth = {word: 1.0 + len(word) for word in words_of(question)}
    alone = [coverage_of(question, [spoken_words(text)], worth, likeness) for text in texts]
    together = coverage_of(question, [spoken_words(text) for text in texts], worth, likeness)
    assert together.shares() == pytest.approx([one.shares()[0] for one in alone], abs=1e-6)
    expected = []
    for doc_id in doc_ids:
        near = [
            np.resize(one.says[:, 0], len(together.weights))
            for other, one in zip(doc_ids, alone, strict=True)
            if abs(other - doc_id) <= REACH and other >> 20 == doc_id >> 20
        ]
        expected.append(float(together.weights @ np.max(near, axis=0)))
    assert together.shares_nearby(np.array(doc_ids, np.int64)) == pytest.approx(expected, abs=1e-6)


@given(st.text(alphabet="iIweourW 12,.'’agoAGOyearſı\n", max_size=40))
def test_what_is_found_among_spoken_words_is_what_the_pattern_finds(text: str) -> None:
    asks = replace(_asked("When did Ann go?"), names=("ann",))
    [ranked] = rank(asks, [_candidate(text, name="Ann")])
    # Of the words there are, those these letters spell: a long s is an s.
    says_when = re.search(r"\b(?:ago|year|\d{4})\b", text, re.IGNORECASE) is not None
    says_i = re.search(r"\b(?:i|we|us|ours?)\b", text, re.IGNORECASE) is not None
    assert ranked.parts["when"] == pytest.approx(WORDS_ALONE.when * says_when)
    assert ranked.parts["author"] == pytest.approx(WORDS_ALONE.author * (1 if says_i else 0.5))
