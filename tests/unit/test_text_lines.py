"""What the wording of a memory promises: one clean line, within its limit, whole words."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.text.lines import clean, shorten

WORDS = st.lists(st.text("abcdefgéß0123456789'.,;:!?-", min_size=1, max_size=12), min_size=1, max_size=60).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("  two\n\n lines\t here ", "two lines here", id="white space"),
        pytest.param("a\x00b\x1b[31mc", "a b [31mc", id="control characters"),
        pytest.param("pass\u200bword\ufeff \u202eright", "password right", id="invisible characters"),
        pytest.param("half \ud83d pair", "half pair", id="lone surrogate"),
        pytest.param("👩\u200d🔬 works", "👩\u200d🔬 works", id="joined emoji stay"),
        pytest.param(" \n ", "", id="nothing"),
    ],
)
def test_cleaning_gives_one_printable_line(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("Short enough.", 20, "Short enough.", id="fits"),
        pytest.param("Likes tea very much. Hates morning coffee now", 30, "Likes tea very much.", id="sentence end"),
        pytest.param("Allergic to peanuts, so every recipe avoids them", 30, "Allergic to peanuts", id="clause end"),
        pytest.param("Yes. Moved to Rome in May, and found a job", 40, "Yes. Moved to Rome in May", id="late clause"),
        pytest.param("Wants the report brought to the desk now", 31, "Wants the report brought", id="no loose words"),
        pytest.param("Sees the dentist Dr. Adeyemi-Osterhagen tomorrow", 24, "Sees the dentist Dr.", id="abbreviation"),
        pytest.param("Paid 3.5 million for the house on the hill", 12, "Paid 3.5", id="decimal point"),
        pytest.param("https://example.test/" + "x" * 40, 30, "https://example.test/" + "x" * 9, id="one long word"),
        pytest.param("他喜欢茶。他不喜欢咖啡和牛奶", 8, "他喜欢茶。", id="script without spaces"),
        pytest.param("Keeps bees — three hives behind the barn", 20, "Keeps bees", id="dash"),
    ],
)
def test_a_long_text_ends_at_the_best_place(text: str, limit: int, expected: str) -> None:
    assert shorten(text, limit) == expected


@given(WORDS, st.integers(1, 300))
@example(text=": : 00", limit=5)
def test_what_is_shortened_is_a_beginning_that_fits_and_keeps_words_whole(text: str, limit: int) -> None:
    line = clean(text)
    short = shorten(text, limit)
    assert short and len(short) <= limit
    assert line.startswith(short)
    if len(line.split(" ")[0]) <= limit:
        rest = line[len(short) :]
        assert not rest or not rest[0].isalnum()


@given(st.text(max_size=400), st.integers(1, 200))
def test_shortening_any_text_twice_changes_nothing_more(text: str, limit: int) -> None:
    once = shorten(text, limit)
    assert len(once) <= limit
    assert shorten(once, limit) == once
    assert bool(once) == bool(clean(text))
