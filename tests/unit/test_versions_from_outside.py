"""Versions of transcripts with every oddity, judged by a checker that shares no code with what made them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.base.choices import TierPreset
from shared.sessions.compress.settings import CompressionSettings
from tests.support.compressing import Press, open_press, uniform
from tests.support.odd_recorder import Labels, OddTranscript
from tests.support.odd_transcripts import odd_transcripts
from tests.support.version_checker import Verdict, check_version

ODD = odd_transcripts()
TIERED = {
    f"tiered {preset}": CompressionSettings(tier_preset=preset).complete("extractive")
    for preset in (TierPreset.GENTLE, TierPreset.STANDARD, TierPreset.AGGRESSIVE)
}
SETTINGS = {f"{ratio}:1": uniform(ratio) for ratio in (3, 5, 10, 30)} | TIERED
LEAST_KEPT = {"3:1": 0.95, "5:1": 0.95, "10:1": 0.8, "30:1": 0.5}
"""Of refusals and answers, the least share that stands whole."""

each_odd_one = pytest.mark.parametrize("odd", ODD, ids=[one.name for one in ODD])
each_setting = pytest.mark.parametrize("setting", SETTINGS)


@pytest.fixture(scope="module")
def press(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Press]:
    with open_press(sqlite_template, tmp_path_factory.mktemp("odd")) as press:
        for odd in ODD:
            press.shelf.add(odd)
        yield press


@pytest.fixture(scope="module")
def verdict_of(press: Press) -> Callable[[OddTranscript, str], Verdict]:
    """Compress an odd transcript, each with each setting once, and judge what comes out."""
    known: dict[tuple[str, str], Verdict] = {}

    def judged(odd: OddTranscript, setting: str) -> Verdict:
        if (odd.name, setting) not in known:
            made = press.make(odd.name, SETTINGS[setting])
            texts = (press.text(made, odd.name, ending) for ending in ("md", "jsonl"))
            known[odd.name, setting] = check_version(*texts, odd.labels)
        return known[odd.name, setting]

    return judged


@each_setting
@each_odd_one
def test_a_version_of_an_odd_transcript_keeps_its_promises(
    odd: OddTranscript, setting: str, verdict_of: Callable[[OddTranscript, str], Verdict]
) -> None:
    """Sentences whole or cut with a sign, every speaker right, the end there, both forms alike: the checker's rules."""
    assert verdict_of(odd, setting).violations == []


@pytest.mark.parametrize("setting", LEAST_KEPT)
@pytest.mark.parametrize("of", ["rejections", "answers"])
def test_what_was_typed_in_refusals_and_answers_stays(
    of: str, setting: str, verdict_of: Callable[[OddTranscript, str], Verdict]
) -> None:
    pairs = [getattr(verdict_of(odd, setting).retained, of) for odd in ODD]
    kept, total = (sum(column) for column in zip(*pairs, strict=True))
    assert kept >= LEAST_KEPT[setting] * total, f"{kept} of {total}"


@each_odd_one
def test_nothing_that_was_typed_is_lost_without_a_trace_where_there_is_room(
    odd: OddTranscript, verdict_of: Callable[[OddTranscript, str], Verdict]
) -> None:
    assert verdict_of(odd, "3:1").retained.lost == ()


# The checker itself: a version made of the labels passes, and each fault put into it is found.


def judge(markdown: str, records: list[dict[str, Any]], labels: Labels) -> Verdict:
    before = None
    for number, record in enumerate(records):
        record |= {"uuid": f"u{number}", "parentUuid": before}
        before = f"u{number}"
    return check_version(markdown, "".join(f"{json.dumps(one)}\n" for one in records), labels)
