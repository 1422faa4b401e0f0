"""Segments as Markdown and as records: nothing is lost, nothing is parted, nothing depends on the moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import (
    Block,
    BlockKind,
    Heading,
    RecordedToolCall,
    block_tokens,
    markdown_lines,
    markdown_of,
    writable,
)
from shared.sessions.recording import BEGINNING, RecordOrigin, blocks_in, line_of, records_of
from tests.support.chance import examples

V001 = RecordOrigin("s1", "v001")
AT = datetime(2026, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC)
_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)
_PLAIN = [kind for kind in BlockKind if kind is not BlockKind.TOOL]


@st.composite
def _segments(draw: st.DrawFn) -> Block:
    at = draw(st.none() | st.datetimes(min_value=datetime(2020, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
    sources, tier = tuple(draw(st.lists(st.uuids().map(str), max_size=3))), draw(st.integers(0, 4))
    if draw(st.booleans()):
        call = RecordedToolCall(
            f"toolu_{draw(st.integers(1, 99))}",
            draw(_TEXT),
            draw(st.dictionaries(_TEXT, _TEXT | st.integers() | st.none(), max_size=3)),
            draw(st.none() | _TEXT),
            draw(st.booleans()),
        )
        return Block(BlockKind.TOOL, "assistant", draw(_TEXT), at, sources, (), call, tier=tier)
    role, pinned = draw(st.sampled_from(["user", "assistant", "note"])), draw(st.booleans())
    return Block(draw(st.sampled_from(_PLAIN)), role, draw(_TEXT), at, sources, ("kpt_1",), None, pinned, tier)


@given(st.lists(_segments(), max_size=6))
@settings(max_examples=examples(60))
def test_what_was_written_as_records_is_read_back_whole(
    tmp_path_factory: pytest.TempPathFactory, segments: list[Block]
) -> None:
    path = tmp_path_factory.mktemp("version") / "v001.jsonl"
    path.write_text("".join(map(line_of, records_of(segments, V001))), encoding="utf-8", newline="")
    found = list(blocks_in(path))
    for is_note in (False, True):  # What neither speaker said may stand a message later.
        assert [one for one in found if _is_note(one) is is_note] == [
            one for one in segments if _is_note(one) is is_note
        ]


def _is_note(block: Block) -> bool:
    return block.role == "note" and block.call is None


@given(st.lists(_segments(), max_size=6))
@settings(max_examples=examples(60))
def test_a_text_stands_in_the_markdown_byte_for_byte_and_costs_no_less_there_than_in_the_records(
    segments: list[Block],
) -> None:
    document = "".join(markdown_lines(segments, Heading("A version")))
    assert all(segment.text in document for segment in segments if segment.call is None)
    said = sum(len(_said(record)) for record in records_of(segments, V001))
    assert said <= len(document)
    heading = "".join(markdown_lines([], Heading("A version")))
    assert estimate_tokens(document) <= estimate_tokens(heading) + sum(map(block_tokens, segments))


def _said(record: dict[str, object]) -> str:
    content = record["content"] if record["type"] == "system" else record["message"]["content"]  # type: ignore[index]
    if isinstance(content, str):
        return "" if content == BEGINNING else content
    return "".join(
        one.get("text") or one.get("content") or json.dumps(one.get("input", ""), ensure_ascii=False) for one in content
    )


@pytest.mark.parametrize(
    ("text", "closing"),
    [("plain", ""), ("```py\nx = 1\n```", ""), ("```py\nx = 1", "\n```"), ("~~~~\n```\n", "\n~~~~"),
     ("~~~\nx = 1", "\n~~~"), ("the end\n```", "\n```"), ("a ```span``` in a line", "")],
    ids=["none", "closed", "open", "other marks inside", "open tildes", "closing only", "span"],
)  # fmt: skip
def test_a_fence_left_open_does_not_swallow_what_follows(text: str, closing: str) -> None:
    assert markdown_of(Block(BlockKind.KEEPIT, "user", text)).endswith(f"{text}{closing}\n\n")


def test_a_result_with_fences_of_its_own_stays_inside_its_fence() -> None:
    call = RecordedToolCall("t", "Read", {}, "````\ncode\n````")
    assert "\n`````\n````\ncode\n````\n`````\n" in markdown_of(Block(BlockKind.TOOL, "assistant", "", call=call))


def test_half_a_character_is_written_as_a_question_mark(tmp_path: Path) -> None:
    assert writable("a\ud83db") == "a?b"
    segments = [Block(BlockKind.WORDS, "user", "a\ud83db")]
    (tmp_path / "v").write_text("".join(map(line_of, records_of(segments, V001))), encoding="utf-8")
    assert [segment.text for segment in blocks_in(tmp_path / "v")] == ["a?b"]


def test_what_is_not_dated_follows_what_is_and_another_version_has_other_ids() -> None:
    words = [Block(BlockKind.REQUEST, "user", "build it", AT), Block(BlockKind.WORDS, "assistant", "built")]
    assert [one["timestamp"] for one in records_of(words, V001)] == ["2026-03-04T05:06:07.890000Z"] * 2
    opening, undated = records_of(words[1:], V001)
    assert undated["timestamp"] == "1970-01-01T00:00:00Z"
    assert (opening["type"], opening["isMeta"]) == ("user", True), "a transcript begins with a user's message"
    other = list(records_of(words, RecordOrigin("s1", "v002")))
    assert not {one["uuid"] for one in other} & {one["uuid"] for one in records_of(words, V001)}


def test_that_somebody_went_back_stands_before_the_prompt_said_instead() -> None:
    left = Block(BlockKind.LEFT, "note", "one prompt", AT)
    asked = [Block(BlockKind.REQUEST, "user", text, AT) for text in ("Before", "Instead")]
    for blocks in ([asked[0], left, asked[1]], [left, asked[1]]):
        (record,) = records_of(blocks, V001)
        texts = [part["text"] for part in record["message"]["content"]]
        assert texts[-2:] == ["Rewound: one prompt", "Instead"]
