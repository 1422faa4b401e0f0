"""The words a text is found by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search import words
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
        pytest.param("shared.llm.tokens", "import shared.llm.tokens", id="a dotted name"),
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


def test_a_text_without_words_has_none() -> None:
    assert words_of("?! … 😀 -- ''") == ()
    assert query_words("") == ()


def test_a_single_letter_is_no_word() -> None:
    assert words_of("a b c") == ()


def test_each_word_is_there_once() -> None:
    assert words_of("run runs running") == ("run",)


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


def test_whole_sentences_without_spaces_are_not_kept_in_memory() -> None:
    known = vars(words._forms)["__wrapped__"]
    held = known.cache_info().currsize
    assert len(words_of("昨日東京タワーに行って写真を撮った" * 5)) > 5
    assert known.cache_info().currsize == held
