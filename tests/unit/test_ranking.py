"""Pure rules of a search: the words a text is found by, what they score, and which candidates come first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.search.lexical import LEAST_ALIKE, REACH, Coverage, Posting, WordLikeness, coverage_of, rarity, word_table
from shared.search.models import doc_id_of
from shared.search.query import SearchQuestion, read_question
from shared.search.ranking import SIGNALS, WORDS_ALONE, Candidate, Recipe, WeightedRecipe, is_found, rank
from shared.search.spoken import SpokenWords
from shared.search.words import LONGEST, query_words, words_of


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param("running", "She runs every day", id="another form of the word"),
        pytest.param("CAFE", "We met in a café", id="without its accent"),
        pytest.param("cafe\u0301", "We met in a café", id="an accent written on its own"),
        pytest.param("Caroline", "That is Caroline's", id="a possessive"),
        pytest.param("Caroline", "That is Caroline’s", id="a typographic possessive"),
        pytest.param("obrien", "Mr O'Brien called", id="an apostrophe within"),
        pytest.param("parse_json", "call parse_json(payload)", id="an identifier as a whole"),
        pytest.param("json", "call parse_json(payload)", id="a part of snake case"),
        pytest.param("patient", "see fetchPatientData", id="a part of camel case"),
        pytest.param("server", "an HTTPServer fell over", id="a part after capitals"),
        pytest.param("shared.llm.calls", "import shared.llm.calls", id="a dotted name"),
        pytest.param("tokens.py", "look into tokens.py", id="a file"),
        pytest.param("10000", "it cost 10,000 euros", id="a number with separators"),
        pytest.param("7", "it was 7 of them", id="a single digit"),
        pytest.param("東京", "昨日東京タワーに行った", id="a word in a script without spaces"),
        pytest.param("हिन्दी", "मैं हिन्दी बोलता हूँ", id="letters with signs on them"),
        pytest.param("ＡＢＣ", "the abc of it", id="full-width letters"),
    ],
)
def test_a_question_finds_what_says_the_same_otherwise(asked: str, said: str) -> None:
    assert set(query_words(asked)) & set(words_of(said))


@pytest.mark.parametrize(
    "decoration",
    ['"{}"', "-{}", "{}*", "{}:", "_{}_", "({})", "{} OR", "NOT (({}", "😀{}😀", "^{}", "{};--", "{}\x00", "a {} b"],
)
def test_signs_that_a_search_language_knows_change_nothing(decoration: str) -> None:
    assert query_words(decoration.format("lighthouse")) == query_words("lighthouse")


def test_a_word_of_two_letters_is_looked_for() -> None:
    assert query_words("my TV") == ("tv",)


def test_words_that_say_nothing_are_looked_for_only_where_there_is_nothing_else() -> None:
    assert query_words("What did you say about the lighthouse?") == ("lighthous",)
    assert set(query_words("who is it")) == {"who", "is", "it"}


@pytest.mark.parametrize(
    ("text", "words"),
    [("?! … 😀 -- ''", ()), ("", ()), ("a b c", ()), ("run runs running", ("run",))],
    ids=["signs", "nothing", "single letters", "one word in three forms"],
)
def test_a_text_has_its_words_once(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words and (words or query_words(text) == ())


def test_a_very_long_word_is_cut_the_same_way_in_text_and_question() -> None:
    blob = "0123456789abcdef" * 1000
    assert all(len(word) <= LONGEST for word in words_of(blob))
    assert set(query_words(blob)) <= set(words_of(f"it was {blob} indeed"))


@given(st.text())
def test_any_text_finds_itself(text: str) -> None:
    assert set(query_words(text)) <= set(words_of(text))


@given(st.text())
def test_words_can_be_stored(text: str) -> None:
    for word in words_of(text):
        assert word and len(word) <= LONGEST and not set(word) & set(" \n\t\"'")
        word.encode()


def test_stemming_in_several_threads_at_once_gives_the_same_words() -> None:
    texts = [
        f"{stem}{ending}{number}x inspirations"
        for number in range(40)
        for stem in ("relat", "hop")
        for ending in ("ing", "ed")
    ]
    alone = [words_of(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(words_of, texts)) == alone


def _at(*turns: tuple[int, int]) -> np.ndarray:
    return np.array(sorted(doc_id_of(*turn) or 0 for turn in turns), np.int64)


def test_a_place_with_more_and_rarer_words_scores_higher() -> None:
    table = word_table([Posting("rare", _at((1, 5))), Posting("usual", _at((1, 5), (2, 5), (3, 5)))], 100)
    turn = dict(zip(table.doc_ids.tolist(), table.turn.tolist(), strict=True))
    assert turn[doc_id_of(1, 5)] > turn[doc_id_of(2, 5)] > 0


def test_what_follows_a_word_soon_is_scored_by_it_and_what_comes_late_is_not() -> None:
    table = word_table([Posting("word", _at((1, 5)))], 100)
    window = table.scores(_at(*((1, at) for at in range(12)))).window.tolist()
    assert window[5] == max(window)
    assert window[6] > window[4] > 0, "an answer follows what it answers"
    assert window[9] > 0 and window[10] == 0 and window[0] == 0


def test_a_word_said_again_adds_less() -> None:
    once, twice, thrice = (
        float(
            word_table([Posting("word", _at(*((1, 5 + step) for step in range(n))))], 100).scores(_at((1, 5))).window[0]
        )
        for n in (1, 2, 3)
    )
    assert twice - once > 0 and (thrice - twice) < (twice - once)


def test_a_window_ends_with_its_conversation() -> None:
    last = (1 << 20) - 1
    table = word_table([Posting("word", _at((1, last)))], 100)
    assert table.scores(_at((2, 0))).window.tolist() == [0]
    assert [doc_id >> 20 for doc_id in table.best(5).tolist()] == [1] * len(table.best(5))


def test_words_that_were_not_looked_up_or_stand_nowhere_say_nothing() -> None:
    table = word_table([Posting("common", None), Posting("absent", _at())], 100)
    assert table.best(5).tolist() == []
    assert table.scores(_at((1, 0))).turn.tolist() == [0]


def test_the_best_come_with_what_lies_beside_them() -> None:
    table = word_table([Posting("word", _at((1, 5)))], 100)
    assert set(table.best(1).tolist()) == set(_at(*((1, at) for at in range(3, 8))).tolist())


@pytest.mark.parametrize(("standing_in", "messages"), [(0, 0), (0, 10), (10, 10), (20, 10)])
def test_rarity_is_never_negative(standing_in: int, messages: int) -> None:
    assert rarity(standing_in, messages) >= 0


@given(st.lists(st.sets(st.tuples(st.integers(1, 3), st.integers(0, 12)), min_size=1), min_size=1, max_size=4))
def test_scores_of_chosen_places_are_those_of_all(postings: list[set[tuple[int, int]]]) -> None:
    table = word_table([Posting(str(nth), _at(*turns)) for nth, turns in enumerate(postings)], 50)
    scores = table.scores(table.doc_ids)
    assert np.allclose(scores.turn, table.turn) and np.allclose(scores.window, table.window, atol=1e-4)


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


def _covering(question: str, texts: Sequence[str], worth: Mapping[str, float], likeness: WordLikeness) -> Coverage:
    spoken = SpokenWords()
    return coverage_of(question, [spoken.read(text) for text in texts], spoken, worth, likeness)


class _Alike:
    """Holds two words for nearly the same."""

    def __init__(self, one: str, other: str, cosine: float = 1.0) -> None:
        self._pair = {one, other}
        self._cosine = cosine

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        return np.array(
            [[self._cosine * ({one, other} == self._pair) for other in others] for one in words], np.float32
        )


@pytest.mark.parametrize("recipe", [SIGNALS, WeightedRecipe()], ids=["signals", "weighted"])
def test_a_missing_score_counts_as_none(recipe: Recipe) -> None:
    candidates = [
        _candidate("a", turn=None, window=None, dense=0.9),
        _candidate("b", 20, turn=None, window=None, dense=0.2),
    ]
    assert _order("anything", candidates, recipe) == ["a", "b"]


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


def test_a_time_counts_only_where_the_question_asks_for_one() -> None:
    candidates = [_candidate("It was yesterday"), _candidate("It was fun", 40)]
    assert all(one.parts["when"] == 0 for one in rank(_asked("Was it fun?"), candidates))


@pytest.mark.parametrize(("cosine", "counts"), [(0.1, 0), (LEAST_ALIKE, 0), (0.625, 0.5), (1.0, 1.0)])
def test_how_far_a_like_word_counts_grows_from_the_least_likeness_to_the_same_meaning(
    cosine: float, counts: float
) -> None:
    likeness = _Alike("photo", "picture", cosine)
    shares = _covering("which photo?", ["a picture of it", "of it"], {"photo": 1.0}, likeness).shares()
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
    alone = [_covering(question, [text], worth, likeness) for text in texts]
    together = _covering(question, texts, worth, likeness)
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
