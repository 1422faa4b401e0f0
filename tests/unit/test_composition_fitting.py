"""What goes into a composition: never over its budget, what is pinned in any case, pairs whole, in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.base.errors import Invalid
from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall, markdown_of
from shared.sessions.compose.documents import (
    PATIENCE,
    VALUES,
    ComposedContext,
    CompositionSource,
    SizedBlock,
    SizedPart,
    compose_documents,
    fit,
    paired_blocks,
)
from shared.sessions.compose.plan import ORIGINAL
from shared.sessions.models import KeepitMarker, RecordedSession, SessionVersion
from tests.support.chance import examples

DAY = datetime(2026, 1, 15, tzinfo=UTC)
CHAIN = "0d9c1f9e-7a8b-5c3d-9e2f-1a2b3c4d5e6f"
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)
CALLS = st.builds(
    RecordedToolCall,
    st.sampled_from(["", "toolu_1", "toolu_2", "toolu_1_2"]),
    st.sampled_from(["Bash", "Read"]),
    st.dictionaries(st.sampled_from(["command", "path"]), TEXTS, max_size=2),
    st.none() | TEXTS,
    st.booleans(),
)
SAID = st.builds(
    Block,
    st.sampled_from([kind for kind in VALUES if kind is not BlockKind.TOOL]),
    st.sampled_from(["user", "assistant"]),
    TEXTS,
    is_pinned=st.sampled_from([False, False, False, True]),
)
USED = st.builds(Block, st.just(BlockKind.TOOL), st.just("assistant"), st.just("Did it"), call=CALLS)
SESSIONS = st.lists(st.lists(SAID | USED, max_size=12), min_size=1, max_size=5)


def source(
    segments: Sequence[Block], name: str = "s1", allocation: int = 1000, version: str = "v001"
) -> CompositionSource:
    recorded = RecordedSession(session_id=name, last_timestamp=DAY, size_bytes=100)
    made = None if version == ORIGINAL else SessionVersion(number=1, settings={}, source_bytes=100)
    return CompositionSource(recorded, made, None, allocation, lambda: segments)


def said(kind: BlockKind, text: str, **more: Any) -> Block:
    return Block(kind, "user", text, **more)


def records(composed: ComposedContext) -> list[dict[str, Any]]:
    return [json.loads(line) for line in composed.lines(CHAIN)]


def contents(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every text that the records' messages hold, as a model would be sent it."""
    for record in found:
        content = record["content"] if record["type"] == "system" else record["message"]["content"]
        for block in [content] if isinstance(content, str) else content:
            if isinstance(block, str):
                yield block
            elif block["type"] == "tool_use":
                yield json.dumps(block["input"], ensure_ascii=False) + block["name"]
            else:
                yield block.get("text") or block.get("content") or ""


def composed_or_refused(sessions: list[list[Block]], budget: int) -> ComposedContext | None:
    sources = [source(one, f"s{n}", budget // len(sessions)) for n, one in enumerate(sessions)]
    try:
        return compose_documents("notes", sources, budget)
    except Invalid as refused:
        assert refused.code == "budget_too_small"
        needed = refused.details["needed"]
        assert compose_documents("notes", sources, needed).tokens <= needed
        with pytest.raises(Invalid):
            compose_documents("notes", sources, needed - 1)
        return None


@given(SESSIONS, st.integers(100, 1500))
@settings(max_examples=examples(80))
def test_a_composition_is_never_over_its_budget_by_one_token(sessions: list[list[Block]], budget: int) -> None:
    composed = composed_or_refused(sessions, budget)
    if composed is not None:
        assert estimate_tokens("".join(composed.markdown())) == composed.tokens <= budget
        assert estimate_tokens("".join(contents(records(composed)))) <= budget


@given(SESSIONS, st.integers(100, 1500))
@settings(max_examples=examples(50))
def test_what_is_pinned_is_kept_whole_and_everything_in_order(sessions: list[list[Block]], budget: int) -> None:
    composed = composed_or_refused(sessions, budget)
    if composed is None:
        return
    for part, segments in zip(composed.parts, sessions, strict=True):
        kept = list(part.blocks())
        assert all(kept.count(one) >= segments.count(one) for one in segments if one.is_pinned)
        rest = iter(segments)
        assert all(any(one is kept_one for one in rest) for kept_one in kept)
        assert part.left_out == len(segments) - len(kept)


@given(SESSIONS)
@settings(max_examples=examples(50))
def test_every_call_has_its_result_behind_it_and_all_records_are_one_chain(sessions: list[list[Block]]) -> None:
    composed = composed_or_refused(sessions, 100_000)
    assert composed is not None
    found = records(composed)
    assert [one["parentUuid"] for one in found] == [None, *(one["uuid"] for one in found[:-1])]
    assert len({one["uuid"] for one in found}) == len(found) and {one["sessionId"] for one in found} == {CHAIN}
    uses = [(place, block) for place, block in blocks(found) if block["type"] == "tool_use"]
    results = {place: block for place, block in blocks(found) if block["type"] == "tool_result"}
    assert len({use["id"] for _, use in uses}) == len(uses) == len(results)
    assert all(results[place + 1]["tool_use_id"] == use["id"] for place, use in uses)


def blocks(found: Sequence[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    lists = [(place, one["message"]["content"]) for place, one in enumerate(found) if one["type"] != "system"]
    return [(place, block) for place, content in lists if isinstance(content, list) for block in content]


def test_the_least_valuable_goes_first() -> None:
    kinds = [
        BlockKind.NAMES, BlockKind.INSTRUCTION, BlockKind.FAILURE, BlockKind.REQUEST,
        BlockKind.SUMMARY, BlockKind.TOOL, BlockKind.KEEPIT,
    ]  # fmt: skip
    segments = [said(kind, "x" * (300 - len(markdown_of(said(kind, ""))))) for kind in kinds]
    goes, present = [], set(kinds)
    for budget in range(900, 0, -1):
        try:
            composed = compose_documents("t", [source(segments, allocation=budget)], budget)
        except Invalid:
            break
        kept = {one.kind for one in composed.parts[0].blocks()}
        goes += [kind for kind in kinds if kind in present - kept]
        present = kept
    assert goes == [
        BlockKind.NAMES, BlockKind.TOOL, BlockKind.SUMMARY, BlockKind.FAILURE, BlockKind.REQUEST,
        BlockKind.INSTRUCTION, BlockKind.KEEPIT,
    ]  # fmt: skip


def test_what_one_session_leaves_is_the_next_ones_and_what_the_last_leaves_goes_back() -> None:
    short, long = [said(BlockKind.WORDS, "a" * 100)], [said(BlockKind.WORDS, "b" * 100)] * 40
    for sessions in ([short, long], [long, short]):
        composed = compose_documents("t", [source(one, allocation=500) for one in sessions], 1000)
        assert 970 <= composed.tokens <= 1000


def test_pinned_parts_beyond_a_sessions_share_are_paid_by_the_others() -> None:
    pinned = [said(BlockKind.KEEPIT, "k" * 2800, is_pinned=True)]
    words = [said(BlockKind.WORDS, "w" * 100)] * 40
    composed = compose_documents("t", [source(words, allocation=500), source(pinned, allocation=500)], 1000)
    assert list(composed.parts[1].blocks()) == pinned and composed.tokens <= 1000
    assert 0 < len(composed.parts[0].positions) < 10


def test_what_is_pinned_may_take_all_there_is_and_not_one_character_more() -> None:
    pinned = SizedBlock(40, 6, is_pinned=True)
    assert fit([SizedPart((pinned, SizedBlock(1, 2)), 100)], 20, fixed=40) == ((0,),)
    with pytest.raises(Invalid) as refused:
        fit([SizedPart((pinned,), 100)], 20, fixed=41)
    assert refused.value.details == {"missing": 1, "needed": 21}


def test_an_original_is_not_cut_below_what_it_was_asked_last() -> None:
    asked = [said(BlockKind.REQUEST, f"Request {n} " + "r" * 100) for n in range(20)]
    marked = said(BlockKind.WORDS, "##keepit0.50## m", marker_ids=("m1",))
    composed = compose_documents("t", [source([*asked, marked], allocation=150, version=ORIGINAL)], 170)
    kept = list(composed.parts[0].blocks())
    assert asked[-1] in kept and marked in kept and asked[0] not in kept


def turn(kind: BlockKind, text: str = "", tool: str | None = None, is_error: bool = False) -> Block:
    is_call = kind in (BlockKind.TOOL_USE, BlockKind.TOOL_RESULT)
    call = RecordedToolCall(tool or "", "Bash", {}, None, is_error) if is_call else None
    return Block(kind, "user", text, sources=(text or str(tool),), call=call)


def test_calls_of_an_original_find_their_results_wherever_they_stand() -> None:
    turns = [
        turn(BlockKind.TOOL_USE, tool="a"), turn(BlockKind.TOOL_USE, tool="b"), turn(BlockKind.ASSISTANT, "Between"),
        turn(BlockKind.TOOL_RESULT, "B", tool="b"), turn(BlockKind.TOOL_RESULT, "A", tool="a", is_error=True),
    ]  # fmt: skip
    first, second, between = paired_blocks(turns, {})
    assert first.call is not None and (first.call.result, first.call.is_error) == ("A", True)
    assert second.call is not None and second.call.result == "B" and between.text == "Between"


def test_half_a_pair_becomes_text() -> None:
    lost = [turn(BlockKind.TOOL_USE, "{}", tool="a"), turn(BlockKind.TOOL_RESULT, "No file", tool="z", is_error=True)]
    call, result = paired_blocks(lost, {})
    assert (call.call, result.call, result.kind) == (None, None, BlockKind.FAILURE)
    assert "{}" in call.text and "No file" in result.text


def test_a_call_that_is_never_answered_does_not_hold_up_what_follows() -> None:
    def turns() -> Iterator[Block]:
        yield turn(BlockKind.TOOL_USE, tool="a")
        for number in range(3 * PATIENCE):
            seen.append(number)
            yield turn(BlockKind.ASSISTANT, f"Says {number}")
        yield turn(BlockKind.TOOL_RESULT, "Late", tool="a")

    seen: list[int] = []
    said = paired_blocks(turns(), {})
    assert next(said).call is None and len(seen) <= PATIENCE + 1
    assert [one.text for one in said][-1].endswith("Late")


@pytest.mark.parametrize("twice", [("a", "a"), (None, None)], ids=["the same id twice", "no id"])
def test_calls_that_cannot_be_told_apart_keep_their_order(twice: tuple[str | None, str | None]) -> None:
    turns = [turn(BlockKind.TOOL_USE, tool=one) for one in twice] + [turn(BlockKind.TOOL_RESULT, "A", tool="a")]
    found = list(paired_blocks(turns, {}))
    assert len([one for one in found if one.call is not None]) == (1 if twice[0] else 0)
    assert len(found) == (2 if twice[0] else 3)


def test_thinking_and_what_the_recorder_noted_stay_out_and_marks_are_known() -> None:
    turns = [
        turn(BlockKind.THINKING, "Hm"), turn(BlockKind.SYSTEM, "Noted"), turn(BlockKind.HUMAN, "Do it"),
        turn(BlockKind.HUMAN, " \n"), turn(BlockKind.SUMMARY, "So far"),
    ]  # fmt: skip
    marks = {"Do it": [KeepitMarker(marker_id="m1", weight=100)]}
    asked, summed = paired_blocks(turns, marks)
    assert (asked.kind, asked.marker_ids, asked.is_pinned) == (BlockKind.REQUEST, ("m1",), True)
    assert (summed.kind, summed.marker_ids) == (BlockKind.SUMMARY, ())
