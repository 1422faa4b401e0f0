"""Bullets: whole ones, each once, never above the limit, and no code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm.tokens import estimate_tokens
from shared.summaries.queries import MOST_TOKENS, code_lines, distinct, repeats_code, tokens_of, written

FENCE = "Look:\n```python\nconnection.execute('PRAGMA wal')\nend\n```\nand\n~~~\nSELECT  *  FROM rows\n~~~"


@given(st.lists(st.text(max_size=900), max_size=30), st.integers(1, 300))
def test_no_summary_is_above_its_limit_and_each_line_is_a_bullet(points: list[str], most: int) -> None:
    content = written(points, most)
    assert estimate_tokens(content) <= most
    assert all(line.startswith("- ") for line in content.splitlines())


@given(st.lists(st.text(alphabet="abc de", min_size=1, max_size=60), max_size=40))
def test_what_is_kept_is_kept_whole(points: list[str]) -> None:
    kept = [line.removeprefix("- ") for line in written(points).splitlines()]
    assert [line for line in kept if line not in distinct(points)] == []
    if tokens_of(points) <= MOST_TOKENS:
        assert kept == distinct(points)


def test_a_first_point_that_is_too_long_alone_is_cut_at_a_sentence() -> None:
    content = written(["We chose the blue one. " + "word " * 400])
    assert content.startswith("- We chose the blue one.") and estimate_tokens(content) <= MOST_TOKENS


@pytest.mark.parametrize(
    ("points", "content"),
    [
        pytest.param(["- one", "* two", "3. three", "• four"], "- one\n- two\n- three\n- four", id="their own marks"),
        pytest.param(["One.", "one", "ONE "], "- One.", id="the same again"),
        pytest.param(["", " \n", "...", "- "], "", id="nothing said"),
        pytest.param(["two\nlines"], "- two lines", id="two lines"),
        pytest.param(["3.5 litres"], "- 3.5 litres", id="a number is no mark"),
    ],
)
def test_points_become_clean_lines(points: list[str], content: str) -> None:
    assert written(points) == content


@pytest.mark.parametrize(
    ("point", "repeats"),
    [
        ("It runs connection.execute('PRAGMA wal') first", True),
        ("It runs connection.execute( 'PRAGMA wal' )", True),
        ("SELECT * FROM rows", True),
        ("```python", True),
        ("It switches the log on", False),
        ("In the end", False),
    ],
)
def test_a_whole_line_of_code_is_recognised(point: str, repeats: bool) -> None:
    assert repeats_code(point, code_lines([FENCE])) is repeats


def test_a_fence_that_was_never_closed_is_code_to_its_end() -> None:
    assert code_lines(["```\nfirst_line_of_it()\nsecond_line_of_it()"]) == {"first_line_of_it()", "second_line_of_it()"}
