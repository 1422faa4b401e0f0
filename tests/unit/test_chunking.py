"""The passages of a message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.llm.tokens import estimate_tokens
from shared.search.models import PassageKind
from shared.search.passages import MOST_CODE_TOKENS, MOST_FENCES, MOST_TOKENS, chunks_of, passages_of

CODE, PROSE = PassageKind.CODE, PassageKind.PROSE
_SENTENCE = "The lighthouse keeper counted seven ships before noon. "
_pieces = st.lists(
    st.one_of(
        st.sampled_from(
            ["```", "~~~", "````", "```PY\n", "\n\n", "\n", " ", "`x`", "  ```", "\t", "…", "x" * 2500, "é" * 30]
        ),
        st.sampled_from([_SENTENCE, _SENTENCE * 50, "line = 1\n" * 900]),
        st.text(max_size=40),
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("Hello there.", [(PROSE, None, "Hello there.")], id="short prose"),
        pytest.param(
            "Look:\n```TypeScript\nf()\n```\nDone.",
            [(PROSE, None, "Look:"), (CODE, "typescript", "```TypeScript\nf()\n```"), (PROSE, None, "Done.")],
            id="code between prose",
        ),
        pytest.param("```py\nx = 1\n```", [(CODE, "py", "```py\nx = 1\n```")], id="code only"),
        pytest.param("~~~\nx\n~~~", [(CODE, None, "~~~\nx\n~~~")], id="tildes"),
        pytest.param(
            "a\n```sh\nls", [(PROSE, None, "a"), (CODE, "sh", "```sh\nls")], id="a fence that is never closed"
        ),
        pytest.param("````\n```\nx\n```\n````", [(CODE, None, "````\n```\nx\n```\n````")], id="a fence in a fence"),
        pytest.param("```\nx\n~~~\ny\n```", [(CODE, None, "```\nx\n~~~\ny\n```")], id="another mark does not close"),
        pytest.param("use ```x``` here", [(PROSE, None, "use ```x``` here")], id="code within a line"),
        pytest.param("```x``` it is", [(PROSE, None, "```x``` it is")], id="code that begins a line"),
        pytest.param(
            "- a\n  ```js\n  x\n  ```", [(PROSE, None, "- a"), (CODE, "js", "```js\n  x\n  ```")], id="in a list"
        ),
        pytest.param(
            "```{.Python title=a}\nx\n```", [(CODE, "python", "```{.Python title=a}\nx\n```")], id="attributes"
        ),
        pytest.param(
            "```\r\nx\r\n```\r\nb", [(CODE, None, "```\r\nx\r\n```"), (PROSE, None, "b")], id="two-sign line ends"
        ),
        pytest.param(" \n\t ", [], id="white space only"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_a_message_falls_into_prose_and_code(content: str, expected: list[tuple[PassageKind, str | None, str]]) -> None:
    assert [(one.kind, one.language, one.of(content).strip()) for one in chunks_of(content)] == expected


def test_a_message_that_is_one_passage_of_prose_has_none_of_its_own() -> None:
    assert passages_of("Two short\n\nparagraphs.") == ()
    assert passages_of("  \n ") == ()


def test_a_message_of_code_alone_is_known_to_be_code() -> None:
    assert [one.kind for one in passages_of("```\nx\n```")] == [CODE]


def test_small_paragraphs_are_joined_and_long_prose_is_cut_between_them() -> None:
    paragraphs = [_SENTENCE * 14] * 5
    content = "\n\n".join(paragraphs)
    assert [one.of(content).count("\n\n") for one in passages_of(content)] == [1, 1, 0]


def test_a_paragraph_that_is_too_long_is_cut_between_sentences() -> None:
    content = _SENTENCE * 100
    passages = passages_of(content)
    assert len(passages) > 1
    assert all(one.of(content).endswith("noon.") for one in passages)


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    content = "lighthouse " * 500
    assert {word for one in passages_of(content) for word in one.of(content).split()} == {"lighthouse"}


def test_a_word_that_is_too_long_is_cut() -> None:
    assert [one.tokens for one in passages_of("x" * 4500)] == [500, 500, 125]


def test_a_fence_longer_than_a_passage_of_prose_stays_whole() -> None:
    content = "```\n" + "line = 1\n" * 400 + "```"
    (passage,) = passages_of(content)
    assert passage.tokens > MOST_TOKENS


def test_an_enormous_fence_is_cut_between_lines() -> None:
    content = "```\n" + "line = 1\n" * 2000 + "```"
    passages = passages_of(content)
    assert len(passages) == 3
    assert all(one.of(content).endswith(("line = 1", "```")) for one in passages)


@settings(max_examples=200)
@given(_pieces)
def test_passages_are_in_order_apart_within_their_size_and_leave_nothing_out(pieces: list[str]) -> None:
    content = "".join(pieces)
    chunks = chunks_of(content)
    assert bool(chunks) == bool(content.strip())
    at, kept = 0, []
    for one in chunks:
        assert one.start >= at and one.length > 0
        assert not content[at : one.start].strip(), "something was left out"
        at = one.start + one.length
        text = one.of(content)
        kept.append(text)
        assert text == text.strip()
        assert one.tokens == estimate_tokens(text) <= (MOST_TOKENS if one.kind is PROSE else MOST_CODE_TOKENS)
        assert (one.language is None) or (one.kind is CODE and one.language == one.language.lower())
    assert not content[at:].strip()


def test_a_message_of_countless_fences_has_no_countless_passages() -> None:
    passages = passages_of("```\nx\n```\n" * 5000)
    assert [one.kind for one in passages[:MOST_FENCES]] == [CODE] * MOST_FENCES
    assert {one.kind for one in passages[MOST_FENCES:]} == {PROSE} and len(passages) < 2 * MOST_FENCES
