"""Markers put at random into transcripts: what survives is there byte for byte, the rest is accounted for, it fits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.base.choices import KeepitMode, TierPreset
from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import BlockKind, markdown_lines
from shared.sessions.compress.run import CompressionRun, Version
from shared.sessions.compress.settings import CompressionMode, CompressionSettings, Tier
from shared.sessions.compress.sources import CompressionTask, read_original
from shared.sessions.markers import PINNED, MarkerNames, PlacedMarker, survives
from shared.sessions.recording import RecordOrigin, blocks_in, line_of, records_of
from shared.sessions.transcripts.contents import read_blocks
from tests.support.clock import FrozenClock
from tests.support.compressing import long_talk
from tests.support.meters import Calls
from tests.support.recordings import Transcript
from tests.support.transcripts import REAL as SESSIONS
from tests.support.transcripts import markable, real_files, records_in
from worker.agent.session_rules import ExtractiveCompressionAgent

REAL = real_files()
LONG = ("ccviewer_5c0375b4", "entire_a6_e4c2a0fbd1_0_full", "entire_37_995ebed6e4_0_full", "episodic_short")
"""Transcripts with text enough for any ratio."""
needs_data = pytest.mark.skipif(not REAL, reason="the recorded sessions are not here")
_QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=80)
_ASSISTANT_TEXT = (BlockKind.ASSISTANT, BlockKind.THINKING, BlockKind.TOOL_USE)


@dataclass(frozen=True)
class Marking:
    """A marker to be put into a message."""

    record: int
    weight: int
    content: str
    where: str

    @property
    def tag(self) -> str:
        return f"##keepit{self.weight // 100}.{self.weight % 100:02d}##"

    def put_into(self, text: str) -> str:
        marked = f"{self.tag} {self.content}"
        return {
            "before": f"{marked}\n\n{text}",
            "behind": f"{text}\n\n{marked}",
            "fenced": f"{text}\n\n```py\nx = 1\n{marked}\n```\n",
            "holding code": f"{text}\n\n{self.tag} {self.content}\n```sh\nmake\n\nmake install\n```",
        }[self.where]


def _is_content(text: str) -> bool:
    return bool(text.strip()) and "##" not in text and "`" not in text and "~" not in text


_MARKINGS = st.lists(
    st.builds(
        Marking,
        record=st.integers(0, 10_000),
        weight=st.sampled_from([0, 10, 25, 31, 50, 60, 75, 80, 90, 99, 100, 100]),
        content=st.builds(lambda text, times: (text * times)[:3000], _TEXT.filter(_is_content), st.integers(1, 60)),
        where=st.sampled_from(["before", "behind", "fenced", "holding code"]),
    ),
    max_size=6,
)
_SETTINGS = st.builds(
    lambda mode, ratio, preset, keepit, distance, skip: CompressionSettings(
        mode=mode,
        compaction_ratio=ratio if mode is CompressionMode.UNIFORM else None,
        tier_preset=preset if mode is CompressionMode.TIERED else None,
        keepit_mode=keepit,
        session_distance=distance,
        skip_first_messages=skip,
    ).complete("extractive"),
    st.sampled_from(CompressionMode),
    st.integers(2, 100),
    st.sampled_from([TierPreset.GENTLE, TierPreset.STANDARD, TierPreset.AGGRESSIVE]),
    st.sampled_from(KeepitMode),
    st.integers(1, 12),
    st.sampled_from([0, 0, 1, 3]),
)


def marked_copy(source: Path, target: Path, markings: Sequence[Marking]) -> Path:
    records = records_in(source)
    places = markable(records)
    for marking in markings if places else ():
        holder, name = places[marking.record % len(places)]
        holder[name] = marking.put_into(holder[name])
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return target


def compressed(path: Path, wanted: CompressionSettings) -> Version:
    least = min(tier.compaction_ratio for tier in wanted.tiers)
    task = CompressionTask("s1", wanted, "sha", None, read_original(read_blocks(path), "s1", {}, least))
    agent = ExtractiveCompressionAgent()
    making = CompressionRun(task, agent.chunk_tokens)
    made = making.finish([agent.condense(chunk, Calls()) for chunk in making.chunks])
    # What parts were counted to take is what they take; but for the label of a prompt that came to hold no rule alone.
    counted, selection = making.selection.chars, making.selection
    taken = len("".join(markdown_lines(selection.blocks(), selection.heading)))
    assert taken <= counted <= taken + len(", rule") * sum(one.kind is BlockKind.REQUEST for one in made.blocks)
    return made


def documents(made: Version, folder: Path) -> tuple[str, Path]:
    path = folder / "version.jsonl"
    path.write_bytes("".join(map(line_of, records_of(made.blocks, RecordOrigin("s1", "stamp"), made.heading))).encode())
    return "".join(markdown_lines(made.blocks, made.heading)), path


def expected_decisions(path: Path, wanted: CompressionSettings) -> list[tuple[PlacedMarker, bool]]:
    """Say by the seed's words alone what is to become of each marker."""
    names, found, message, key = MarkerNames("s1"), list[tuple[PlacedMarker, int]](), -1, ""
    for turn in read_blocks(path):
        own = turn.uuid if turn.kind is BlockKind.HUMAN else turn.message_id if turn.kind in _ASSISTANT_TEXT else None
        if own is not None and own != key:
            message, key = message + 1, own
        found += [(one, message) for one in names.of(turn)[0]]
    skip = wanted.skip_first_messages
    return [(one, _survives(one, place - skip, message + 1 - skip, wanted)) for one, place in found]


def _survives(marker: PlacedMarker, place: int, messages: int, wanted: CompressionSettings) -> bool:
    weight = marker.found.weight
    if wanted.keepit_mode is not KeepitMode.DECAY:
        return wanted.keepit_mode is KeepitMode.PRESERVE_ALL or weight == PINNED
    tier: Tier = next(
        (one for one in wanted.tiers if (place + 1) * 100 <= one.end_percent * messages), wanted.tiers[-1]
    )
    return survives(weight, tier.aggressiveness, tier.compaction_ratio, wanted.session_distance)


def check(path: Path, wanted: CompressionSettings, folder: Path) -> Version:
    """Compress, and check what must hold whatever was asked for."""
    made = compressed(path, wanted)
    text, records = documents(made, folder)
    expected = expected_decisions(path, wanted)
    assert [(decision.marker_id, decision.survived) for decision in made.plan.decisions] == [
        (one.marker_id, kept) for one, kept in expected
    ]
    kept = {segment.marker_ids[0]: segment.text for segment in blocks_in(records) if segment.marker_ids}
    assert kept == {one.marker_id: one.found.content for one, survived in expected if survived}
    for one, survived in expected:
        assert not survived or one.found.content in text
    assert estimate_tokens(text) == made.output_tokens
    assert documents(compressed(path, wanted), folder)[0] == text, "the same settings over the same bytes"
    check_pairs(records)
    return made


def check_pairs(path: Path) -> None:
    """Every call stands directly before its result, and no result without its call."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    said = [one["message"]["content"] for one in records if one["type"] != "system"]
    blocks = [block for content in said for block in _blocks(content)]
    for before, block in zip([{}, *blocks], [*blocks, {}], strict=True):
        uses, answers = before.get("type") == "tool_use", block.get("type") == "tool_result"
        assert uses == answers and (not uses or before["id"] == block["tool_use_id"])


def _blocks(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


@needs_data
@given(st.sampled_from(REAL or [Path()]), _MARKINGS, _SETTINGS)
@_QUICK
def test_what_should_survive_does_in_real_transcripts(
    tmp_path: Path, source: Path, markings: list[Marking], wanted: CompressionSettings
) -> None:
    check(marked_copy(source, tmp_path / "marked.jsonl", markings), wanted, tmp_path)


@given(st.integers(0, 12), _MARKINGS, _SETTINGS)
@_QUICK
def test_what_should_survive_does_in_made_up_ones(
    tmp_path: Path, exchanges: int, markings: list[Marking], wanted: CompressionSettings
) -> None:
    source = tmp_path / "source.jsonl"
    source.write_text(made_up(exchanges).text(), "utf-8")
    check(marked_copy(source, tmp_path / "marked.jsonl", markings), wanted, tmp_path)


def made_up(exchanges: int) -> Transcript:
    return long_talk(Transcript("s1", FrozenClock().now()), exchanges)


@needs_data
@pytest.mark.parametrize("ratio", [2, 4, 10, 17, 30])
@pytest.mark.parametrize("name", LONG)
def test_the_ratio_asked_for_is_met_within_a_fifth_where_there_is_text_enough(
    tmp_path: Path, name: str, ratio: int
) -> None:
    made = compressed(
        SESSIONS / f"{name}.jsonl", CompressionSettings(mode="uniform", compaction_ratio=ratio).complete("e")
    )
    assert made.ratio == pytest.approx(ratio, rel=0.2), made.statistics(0, "extractive")


@pytest.mark.parametrize("preset", [TierPreset.GENTLE, TierPreset.STANDARD, TierPreset.AGGRESSIVE])
def test_each_tier_comes_out_near_its_own_ratio(tmp_path: Path, preset: TierPreset) -> None:
    (tmp_path / "s.jsonl").write_text(made_up(80).text(), "utf-8")
    made = compressed(tmp_path / "s.jsonl", CompressionSettings(tier_preset=preset).complete("extractive"))
    told = made.statistics(0, "extractive")
    assert made.ratio == pytest.approx(told["askedRatio"], rel=0.2)
    ratios = [tier["tokensBefore"] / tier["tokensAfter"] for tier in told["tiers"]]
    # The heading and the names, which belong to no tier, take an eighth of so short a version.
    assert ratios == pytest.approx([tier["ratio"] for tier in told["tiers"]], rel=0.3)


def test_a_session_that_is_pinned_through_and_through_says_why_it_came_out_longer(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    source.write_text(made_up(3).human("##keepit1.00## " + "kites " * 1200).text(), "utf-8")
    made = compressed(source, CompressionSettings(mode="uniform", compaction_ratio=30).complete("extractive"))
    told = made.statistics(0, "extractive")
    assert made.ratio < 2 and "marked parts" in told["note"]
    assert [segment.kind for segment in made.blocks if segment.is_pinned] == [BlockKind.KEEPIT]


def test_nothing_at_all_is_compressed_into_a_heading(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("", "utf-8")
    made = compressed(tmp_path / "s.jsonl", CompressionSettings().complete("extractive"))
    assert (made.blocks, made.messages, made.statistics(0, "x")["note"]) == ([], 0, "there is nothing to compress")
