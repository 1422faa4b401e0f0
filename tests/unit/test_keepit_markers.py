"""Marked parts: where they begin and end, what is not taken for one, their names, and whether they survive."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.base.choices import Aggressiveness
from shared.sessions.blocks import Block, BlockKind
from shared.sessions.compress.settings import CompressionBase, KeepitDecay
from shared.sessions.markers import WEIGHT_PRESETS, MarkerNames, find_markers, survives, threshold
from tests.support.chance import examples
from tests.support.transcripts import markable, real_files, records_in


def parts(text: str) -> list[tuple[int, str]]:
    found, _ = find_markers(text)
    for one in found:
        assert text[one.content_start : one.end] == one.content
        assert text[one.start :].lower().startswith("##keepit")
    return [(one.weight, one.content) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("##keepit0.80## Use WAL.", [(80, "Use WAL.")]),
        ("Before. ##KeepIt0.80##Use WAL.  \n\nAfter.", [(80, "Use WAL.")]),
        ("##keepit0.80## one ##keepit0.25## two", [(80, "one"), (25, "two")]),
        ("##keepit0.80## one\ntwo\n \t\nthree", [(80, "one\ntwo")]),
        ("##keepit0.80##\n    indented\n  less", [(80, "    indented\n  less")]),
        ("##keepit0.80## a\r\n\r\nb", [(80, "a")]),
        ("##keepit0.80## a ##keepit0.5## b", [(80, "a")]),
        ("##keepit0.80## write ##keepit here", [(80, "write ##keepit here")]),
        ("##keepit1.50## a", [(100, "a")]),
        ("##keepit-0.50## a", [(0, "a")]),
        ("##keepit0.80##\n\nnothing above", []),
        ("##keepit0.80##", []),
        ("no marker at all", []),
        ("##keepit1.00## see\n```py\na\n\nb\n```\nso\n\nnot this", [(100, "see\n```py\na\n\nb\n```\nso")]),
        ("##keepit1.00##```\na\n\nb\n```", [(100, "```\na\n\nb\n```")]),
        ("- ##keepit1.00## x\n- ```\n  a\n\n  b\n  ```\n\nno", [(100, "x\n- ```\n  a\n\n  b\n  ```")]),
        ("##keepit1.00## x\n~~~\n```\n\n~~~\nend\n\nno", [(100, "x\n~~~\n```\n\n~~~\nend")]),
        ("##keepit1.00## x\n````\n```\n\n````\n\nno", [(100, "x\n````\n```\n\n````")]),
        ("##keepit1.00## x\n```\nnever\n\nclosed", [(100, "x\n```\nnever\n\nclosed")]),
        ("##keepit1.00## `` ``` `` x\n\nno", [(100, "`` ``` `` x")]),
        ("```\na\n##keepit1.00## b\n\nc\n```\nout", [(100, "b\n\nc")]),
        ("```\n##keepit1.00## b\n##keepit0.10## c\n```\nout", [(100, "b"), (10, "c")]),
        ("##keepit0.10## x\n```\n##keepit1.00## y\n```\nz", [(10, "x\n```\n##keepit1.00## y\n```\nz"), (100, "y")]),
    ],
)  # fmt: skip
def test_a_part_ends_where_it_should(text: str, expected: list[tuple[int, str]]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "written", "reason"),
    [
        ("##keepit0.5## a", "##keepit0.5##", "must be written"),
        ("##keepithigh## a", "##keepithigh##", "must be written"),
        ("##keepit1,00## a", "##keepit1,00##", "must be written"),
        ("##keepit 0.80## a", "##keepit 0.80##", "must be written"),
        ("##keepit0.800## a", "##keepit0.800##", "must be written"),
        ("##keepit٠.٨٠## a", "##keepit٠.٨٠##", "must be written"),
        ("##keepit0.80 a", "##keepit0.80 a", "must be written"),
        ("##keepit1.50## a", "##keepit1.50##", "taken as 1.00"),
        ("##keepit-0.50## a", "##keepit-0.50##", "taken as 0.00"),
        ("##keepit0.80##\n\na", "##keepit0.80##", "nothing follows"),
    ],
)
def test_what_is_not_well_written_is_reported_and_not_guessed(text: str, written: str, reason: str) -> None:
    _, [problem] = find_markers(text)
    assert problem.written == written and reason in problem.reason and problem.start == 0


def test_the_context_is_what_stands_around() -> None:
    [one], _ = find_markers("x" * 200 + " ##keepit0.80## kept\n\n" + "y" * 200)
    assert one.context == "x" * 79 + " [...]\n\n" + "y" * 78


_PIECES = st.sampled_from(
    ["##keepit0.80##", "##keepit1.00## ", "##KEEPIT0.05##", "##keepit9##",
     "\n", "\n\n", "```\n", "~~~", "word ", "  ", "\r\n", "é🎉"]
)  # fmt: skip


@settings(max_examples=examples(300))
@given(st.lists(_PIECES, max_size=30).map("".join))
def test_any_text_gives_parts_in_order_that_are_cut_out_exactly(text: str) -> None:
    found, problems = find_markers(text)
    written = len(re.findall(r"##keepit[0-9]\.[0-9]{2}##", text, re.IGNORECASE))
    empty = sum("nothing follows" in one.reason for one in problems)
    assert len(found) + empty == written
    assert [one.start for one in found] == sorted(one.start for one in found)
    for one in found:
        assert one.start < one.content_start < one.end <= len(text)
        assert text[one.content_start : one.end] == one.content and one.content == one.content.rstrip()
        outside = text[: one.start].count("```") == 0 and "```" not in one.content and "~~~" not in text
        if outside:
            assert not re.search(r"\n[ \t\r]*\n", one.content)


@settings(max_examples=examples(60))
@given(st.data())
def test_a_paragraph_marked_in_a_real_session_is_found_exactly(data: st.DataObject) -> None:
    files = real_files()
    if not files:
        pytest.skip("the recorded sessions are not here")
    path = data.draw(st.sampled_from(files))
    texts = [text for holder, name in markable(records_in(path)) if (text := holder[name]).strip() and "`" not in text]
    if not texts:
        return
    paragraphs = re.split(r"\n\s*\n", data.draw(st.sampled_from(texts)).strip())
    index = data.draw(st.integers(0, len(paragraphs) - 1))
    marked = paragraphs[index]
    text = "\n\n".join([*paragraphs[:index], f"##keepit0.75## {marked}", *paragraphs[index + 1 :]])
    assert parts(text) == [(75, marked.strip(" \t\r"))]


def test_only_people_and_the_assistant_mark_and_names_stay() -> None:
    texts = [
        (BlockKind.HUMAN, False),
        (BlockKind.TOOL_RESULT, False),
        (BlockKind.ASSISTANT, True),
        (BlockKind.THINKING, False),
    ]
    turns = [
        Block(kind, "user", "##keepit0.80## a ##keepit0.10## b", sources=("u1",), is_sidechain=side)
        for kind, side in texts
    ]
    names = MarkerNames("s1")
    placed = [names.of(turn)[0] for turn in turns]
    assert [len(one) for one in placed] == [2, 0, 0, 0]
    again, _ = names.of(turns[0])
    ids = [one.marker_id for one in (*placed[0], *again)]
    assert len(set(ids)) == 4, "a record that occurs twice has parts of its own"
    assert [one.marker_id for one in MarkerNames("s1").of(turns[0])[0]] == ids[:2]
    assert not {one.marker_id for one in MarkerNames("s2").of(turns[0])[0]} & set(ids)


MIN, MOD, AGG = Aggressiveness.MINIMAL, Aggressiveness.MODERATE, Aggressiveness.AGGRESSIVE
_FRACTIONS = {MIN: Fraction(1, 10), MOD: Fraction(3, 10), AGG: Fraction(5, 10)}


@pytest.mark.parametrize(
    ("weight", "distance", "how", "ratio", "least", "kept"),
    [(80, 10, AGG, 30, 800, True), (80, 5, AGG, 30, 650, True), (25, 10, MOD, 15, 450, False),
     (50, 7, MIN, 5, 135, True), (100, 10, AGG, 100, 1500, True), (99, 10, AGG, 100, 1500, False),
     (80, 1000, AGG, 30, 800, True), (79, 10, AGG, 30, 800, False), (10, 0, MIN, 100, 100, True)],
)  # fmt: skip
def test_the_examples_of_the_seed(
    weight: int, distance: int, how: Aggressiveness, ratio: int, least: int, kept: bool
) -> None:
    assert threshold(how, ratio, distance) == least
    assert survives(weight, how, ratio, distance) is kept


def test_every_case_is_decided_as_exact_fractions_decide_it() -> None:
    for how, base in _FRACTIONS.items():
        for ratio in range(1, 101, 3):
            for distance in range(13):
                least = base + Fraction(ratio, 100) * Fraction(min(distance, 10), 10)
                assert threshold(how, ratio, distance) == least * 1000
                expected = [weight == 100 or Fraction(weight, 100) >= least for weight in range(101)]
                assert [survives(weight, how, ratio, distance) for weight in range(101)] == expected


@given(
    weight=st.integers(0, 100), ratio=st.integers(1, 100), distance=st.integers(0, 1000),
    how=st.sampled_from(list(_FRACTIONS)), base=st.integers(0, 1000), farthest=st.integers(1, 1000),
    pinned=st.integers(1, 100),
)  # fmt: skip
def test_whatever_is_set_is_decided_as_exact_fractions_decide_it(
    weight: int, ratio: int, distance: int, how: Aggressiveness, base: int, farthest: int, pinned: int
) -> None:
    written = dict.fromkeys(("light", "moderate", "aggressive"), base / 1000)
    wire = {"compressionBase": written, "maxSessionDistance": farthest, "pinnedWeight": pinned / 100}
    decay = KeepitDecay.model_validate_json(KeepitDecay.model_validate(wire).model_dump_json(by_alias=True))
    least = Fraction(base, 1000) + Fraction(ratio, 100) * Fraction(min(distance, farthest), farthest)
    assert survives(weight, how, ratio, distance, decay) is (weight >= pinned or Fraction(weight, 100) >= least)


def test_the_presets_weigh_what_the_seed_says() -> None:
    assert list(WEIGHT_PRESETS.values()) == [100, 90, 75, 50, 25, 10]
    assert [CompressionBase().thousandths(how) for how in (MIN, MOD, AGG)] == [100, 300, 500]
