"""What is kept of the texts that a search reads: numbers under a digest, within bounds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search import spoken
from shared.search.spoken import SpokenWords, spoken_words

SECRET = "Prunella keeps the ledger under the seventh beehive"


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(spoken, "_kept", spoken._KeptWords())
    yield


def _kept_texts() -> int:
    return len(spoken._kept.texts)


def test_a_text_is_read_once_and_what_is_kept_of_it_is_no_text_and_no_order() -> None:
    first, again = SpokenWords().read(SECRET), SpokenWords().read(SECRET)
    assert again is first and _kept_texts() == 1
    [(digest, kept)] = spoken._kept.texts.items()
    assert isinstance(digest, int) and not any(isinstance(part, str) for part in kept)
    words = SECRET.split()
    turned = SpokenWords().read(" ".join([words[-1], *words[:-1]]))
    assert turned.numbers == first.numbers and turned.gist != first.gist


def test_a_long_word_has_a_number_for_one_search_and_nothing_is_kept_of_its_text() -> None:
    text = f"my key is {'k' * 60} now"
    reading = SpokenWords()
    columns = reading.columns_of([reading.read(text), reading.read("my key")])
    assert set(columns.words) == set(spoken_words(text)) and columns.lengths.tolist() == [5, 2]
    assert _kept_texts() == 1 and not any("kk" in word for word in spoken._kept.words)


def test_when_there_are_too_many_words_the_next_search_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoken, "MOST_WORDS", 8)
    before, texts = SpokenWords(), ["one two three", "four five six", "seven eight nine ten"]
    read = [before.read(text) for text in texts]
    assert _kept_texts() == 2, "the third has words beyond the bound"
    after = SpokenWords()
    assert _kept_texts() == 0
    for reading, found in ((before, read), (after, [after.read(text) for text in texts])):
        columns = reading.columns_of(found)
        assert [columns.words[one] for one in columns.spoken.tolist()].count("nine") == 1
        assert set(columns.words) == set(" ".join(texts).split())


def test_texts_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoken, "_MOST_TEXTS", 10)
    for number in range(35):
        SpokenWords().read(f"heron {number}")
    assert 0 < _kept_texts() <= 10


@given(st.lists(st.text(max_size=60), max_size=8))
def test_the_columns_of_texts_are_the_words_each_says(texts: list[str]) -> None:
    reading = SpokenWords()
    columns = reading.columns_of([reading.read(text) for text in texts])
    assert len(set(columns.words)) == len(columns.words)
    at = 0
    for text, length in zip(texts, columns.lengths.tolist(), strict=True):
        said = [columns.words[one] for one in columns.spoken[at : at + length].tolist()]
        assert sorted(said) == sorted(set(spoken_words(text)))
        at += length
