"""How alike words are by the built-in model's table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from shared.llm import minilm
from shared.llm.minilm import WordVectors, is_installed

pytestmark = pytest.mark.skipif(not is_installed(), reason="the built-in embedding model is not installed")


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    return WordVectors()


@pytest.mark.parametrize(
    ("word", "alike", "unlike"),
    [("photo", "picture", "tree"), ("buy", "purchase", "sing"), ("sad", "unhappy", "seven")],
)
def test_words_of_like_meaning_are_more_alike(vectors: WordVectors, word: str, alike: str, unlike: str) -> None:
    near, far = vectors.likeness([word], [alike, unlike])[0]
    assert near > 0.25 > far


def test_a_word_is_like_itself_and_any_word_has_a_place(vectors: WordVectors) -> None:
    words = ["lighthouse", "zzqxv", "", "\ud800", "東京", "x" * 500]
    likeness = vectors.likeness(words, words)
    assert likeness.shape == (6, 6) and np.isfinite(likeness).all()
    assert likeness[0, 0] == pytest.approx(1, abs=1e-5)


def test_of_no_words_there_is_no_likeness(vectors: WordVectors) -> None:
    assert vectors.likeness([], ["sea"]).shape == (0, 1)


def test_words_that_were_forgotten_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "MOST_WORDS", 3)
    small = WordVectors()
    first = small.likeness(["sea"], ["ocean"])
    for word in ("hill", "tree", "song", "lamp"):
        small.likeness([word], ["sea"])
    assert small.likeness(["sea"], ["ocean"]) == pytest.approx(first)


def test_several_threads_see_the_same(vectors: WordVectors) -> None:
    asked = [[f"{stem}{nth}" for stem in ("sea", "hill", "tree")] for nth in range(60)]
    alone = [WordVectors().likeness(asked[0], asked[0])]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda words: vectors.likeness(words, words), asked))
    assert found[0] == pytest.approx(alone[0])


def test_more_words_than_are_kept_are_compared_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["sea", "ocean", "hill", "tree", "song"]
    expected = WordVectors().likeness(["sea"], words)
    monkeypatch.setattr(minilm, "MOST_WORDS", 3)
    assert WordVectors().likeness(["sea"], words) == pytest.approx(expected)
