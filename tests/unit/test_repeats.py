"""What is said again, and what says nothing."""

from __future__ import annotations

import pytest

from shared.context.rendering import PriorText
from shared.search.candidates import gist
from shared.search.small_talk import is_small_talk


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Nice to meet you, Ana.", "nice to meet you ana", True, id="case and signs"),
        pytest.param("Nice to meet you, Ana.", "Nice to meet you, Ana!\n", True, id="an end"),
        pytest.param("Nice to meet you, Ana.", "Nice to meet you, Ann.", False, id="another name"),
        pytest.param("75 micrograms", "57 micrograms", False, id="another number"),
        pytest.param("👍", "👎", False, id="signs alone"),
        pytest.param("x, " * 200, "x  " * 200, False, id="a long text has to be the same"),
    ],
)
def test_texts_say_the_same_where_their_words_are_the_same(one: str, other: str, same: bool) -> None:
    assert (gist(one) == gist(other)) is same


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("The mast is bare wood.", "The mast is bare wood.", id="nothing was said before"),
        pytest.param("The yacht is painted blue today!", "", id="all of it was"),
        pytest.param("Well. The yacht is painted blue today.", "", id="next to nothing is left"),
        pytest.param(
            "The yacht is painted blue today. Its mast is still bare wood.",
            "[…] Its mast is still bare wood.",
            id="the beginning was",
        ),
        pytest.param(
            "We came home very late.\nThe yacht is painted blue today; the keel is laid in Oslo.\nIts mast is bare.",
            "We came home very late.\n[…]\nIts mast is bare.",
            id="some in a row",
        ),
        pytest.param("Noted: the yacht is painted blue today. Anything else for now?",
                     "Noted: […] Anything else for now?", id="behind a colon"),
        pytest.param("The yacht is painted bluer today.", "The yacht is painted bluer today.", id="whole words only"),
        pytest.param("", "", id="nothing"),
    ],
)  # fmt: skip
def test_what_was_said_before_is_left_out_and_marked(text: str, left: str) -> None:
    assert PriorText("1. The yacht is painted blue today", "The keel is laid in Oslo").left_of(text) == left


def test_what_is_noted_is_said_from_then_on() -> None:
    said = PriorText()
    assert said.left_of("The yacht is painted blue today.") == "The yacht is painted blue today."
    said.add("The yacht is painted blue today.")
    assert said.left_of("The yacht is painted blue today.") == ""


@pytest.mark.parametrize(
    "text",
    [
        "hi", "Hiiii!!", "Hello there", "good evening", "thanks a lot, have a great weekend!", "ok", "Yes, please.",
        "how are you?", "no problem", "Vielen Dank für deine Hilfe!", "Wie geht's dir?", "Grüß Gott", "bonjour à tous",
        "salut, ça va ?", "Muchas gracias por todo", "¿qué tal?", "Buongiorno, come stai?", "Tudo bem?", "tusen takk",
        "dzień dobry", "Günaydın", "Привет, как дела?", "שלום", "مرحبا", "नमस्ते", "สวัสดีครับ", "おはようございます",
        "谢谢！", "안녕하세요!", "terima kasih", "xin chào", "hahaha", "😂👍", "...", "",
    ],
)  # fmt: skip
def test_a_greeting_or_thanks_says_nothing_in_any_language(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "gluten?", "hi, where is my parcel", "thanks, and my order number?", "my boat", "Who am I?", "42",
        "a refund please",         "good restaurants in Rome", "What do you know about me?", "tomorrow, the dentist",
        "Danke, und wann ist die Prüfung?",
        "¿qué puedo cenar?", "試験は何日でしたっけ？", "好的，那我的地址呢",
        "Напомни мой адрес", "salt", "the second one",
    ],
)  # fmt: skip
def test_whoever_asks_for_something_says_something(text: str) -> None:
    assert not is_small_talk(text)
