"""Texts taken apart into statements, and put together with every gap shown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.sessions.text import GAP, joint_of, shortened, statements_of
from tests.support.chance import examples

_LINES = st.sampled_from(
    ["Fix the login.", "Can we:", "- keep v1", "- drop v2", "```sh", "make test", "make all", "```", "",
     "a wrapped line of", "words, e.g. this. And that!", "日本語の文。次の文。", '"Quoted. Twice."', "| a | b |"]
)  # fmt: skip


def excerpt_of(text: str, chosen: Sequence[int]) -> str:
    """Return the chosen statements of a text, joined as a version joins them."""
    statements, written = statements_of(text), list[str]()
    for before, number in zip([-1, *chosen], chosen, strict=False):
        one = statements[number]
        written += (joint_of(text, statements, before, number), text[one.start : one.end])
    return "".join([*written, joint_of(text, statements, chosen[-1], len(statements))]) if chosen else ""


def said(text: str) -> list[str]:
    return [text[one.start : one.end] for one in statements_of(text)]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("Fix it. Test it!", ["Fix it.", "Test it!"]),
        ("Use e.g. Redis, see No. 5 of it. Then stop.", ["Use e.g. Redis, see No. 5 of it.", "Then stop."]),
        ("Can we:\n- keep v1\n- drop v2", ["Can we:\n- keep v1", "- drop v2"]),
        ("Run:\n```sh\nmake\nmake test\n```", ["Run:\n```sh\nmake\nmake test"]),
        ("The table of berths is read for each lorry that comes in,\nso use an index. Thanks.",
         ["The table of berths is read for each lorry that comes in,\nso use an index.", "Thanks."]),
        ('You said "I see. I should wait." and left. Why?', ['You said "I see. I should wait." and left.', "Why?"]),
        ("I tried `ALTER TABLE ... ADD x`. It locked.", ["I tried `ALTER TABLE ... ADD x`.", "It locked."]),
        ("**1. Build it** first. **2. Ship it**", ["**1. Build it** first.", "**2. Ship it**"]),
        ("直してください。急ぎです！", ["直してください。", "急ぎです！"]),
    ],
)  # fmt: skip
def test_statements_are_sentences_items_and_code(text: str, statements: list[str]) -> None:
    assert said(text) == statements


@given(st.lists(_LINES, max_size=14), st.data())
@settings(max_examples=examples(150))
def test_an_excerpt_is_made_of_whole_statements_and_gaps(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    statements = statements_of(text)
    whole = excerpt_of(text, range(len(statements)))
    assert text.strip() == whole.strip() or not statements
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(len(statements)))))) if statements else []
    excerpt = excerpt_of(text, chosen)
    at = 0
    for number in chosen:
        one = text[statements[number].start : statements[number].end]
        assert one in excerpt[at:]
        at = excerpt.index(one, at) + len(one)
    assert (GAP in excerpt) is (0 < len(chosen) < len(statements))


def test_what_is_cut_ends_behind_a_word_with_a_sign() -> None:
    assert shortened("one two three four", 14) == "one two […]" and shortened("one two", 14) == "one two"
