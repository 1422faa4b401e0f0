"""Versions of transcripts with every oddity, judged by a checker that shares no code with what made them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.base.choices import TierPreset
from shared.sessions.compress.settings import CompressionSettings
from tests.support.compressing import Press, open_press, uniform
from tests.support.odd_recorder import Labels, OddTranscript, Spoken, Typed
from tests.support.odd_transcripts import odd_transcripts
from tests.support.recorded_speech import read_speech
from tests.support.version_checker import Verdict, check_version, sentences_of

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


def sound_version(labels: Labels) -> tuple[str, list[dict[str, Any]]]:
    """Return a version in both forms that says all a person typed, written here."""
    turns = [("User", one.text if one.command is None else f"{one.command} {one.text}") for one in labels.spoken]
    unmarked = [(who, re.sub(r"##keepit\d\.\d\d## ", "", text)) for who, text in turns]
    answer = [("Assistant", labels.outcome)] if labels.outcome else []
    notes = [("Rewound", f"{len(branch.spoken)} prompts") for branch in labels.left]
    markdown = "# Session\n\n" + "".join(f"**{who}:** {text}\n\n" for who, text in (*notes, *unmarked, *answer))
    records: list[dict[str, Any]] = [_record("system", content="Session")]
    records += [_record("system", content=f"{who}: {text}") for who, text in notes]
    said = [{"type": "text", "text": text} for _, text in unmarked]
    records.append(_record("user", message={"role": "user", "content": said}))
    for _, text in answer:
        content = [{"type": "text", "text": text}]
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
        records.append(_record("assistant", message=message))
    return markdown, records


def _record(kind: str, **more: Any) -> dict[str, Any]:
    frame = {"sessionId": "s", "cwd": "/c", "version": "2.1.12", "timestamp": "2026-03-02T08:00:00Z"}
    return {"type": kind, **frame, **more}


def judge(markdown: str, records: list[dict[str, Any]], labels: Labels) -> Verdict:
    before = None
    for number, record in enumerate(records):
        record |= {"uuid": f"u{number}", "parentUuid": before}
        before = f"u{number}"
    return check_version(markdown, "".join(f"{json.dumps(one)}\n" for one in records), labels)


@each_odd_one
def test_the_checker_finds_no_fault_in_a_version_that_says_what_was_said(odd: OddTranscript) -> None:
    verdict = judge(*sound_version(odd.labels), odd.labels)
    assert verdict.violations == []
    for name in ("requests", "sentences", "rejections", "answers"):
        kept, total = getattr(verdict.retained, name)
        assert kept == total, name
    assert verdict.retained.lost == ()


FAULTS = {
    "words cut out of sentences": ("why and repair it. I do not want", "why I do not want", "spliced"),
    "a sentence left out without a sign": (" Find out why and repair it.", "", "gap"),
    "the end of a refusal left out without a sign": (" The harbour office audits this in May.", "", "gap"),
    "another word": ("**User:** y\n", "**User:** yes\n", "spliced"),
    "a line of code left out": ("loom = Loom(shafts=8)\n", "", "gap"),
    "a list without its members": (
        "1. stop the loom when a shaft is late twice in a row\n2. write the pick into the log\n"
        "3. do not ring the bell at night", "", "head"),
    "a name of a branch": ("# Session", "# Session\n\n**Names:** tideTableLocalStore", "left branch"),
    "a branch without its line": ("**Rewound:** 1 prompts\n\n", "", "left branch"),
    "what was left as the person's": (
        "**User:** y\n", "**User:** y\n\n**User:** Write the whole tide table into the browser's local storage, nobody "
        "will notice.\n", "left branch"),
    "a hook as the person": (
        "# Session", "# Session\n\n**User:** Commit messages of this folder begin with TIDE.", "speaker"),
    "another session's title as the assistant": (
        "# Session", "# Session\n\n**Assistant:** Pier lamp flicker hunt", "speaker"),
    "a thought as the assistant's words": (
        "# Session", "# Session\n\n**Assistant:** The NaN may come from a gauge that froze before the second high "
        "tide.", "speaker"),
    "a prompt as a skill": ("**User:** Skill /deploy is broken", "**Skill:** Skill /deploy is broken", "speaker"),
    "the end is missing": (
        "**Assistant:** The table is on paper since noon, in large letters. The moon is still missing.", "", "outcome"),
    "the last request is missing": ("**User:** Is the table on paper now?\n\n", "", "last request"),
    "a question without its answer": (
        '**User:** Chart, as in "Chart 12, 1987"\n', "**Assistant:** Which datum?\n", "answer"),
    "many names": ("# Session", "# Session\n\n**Names:** " + "berth_list " * 80, "names"),
    "words in one form alone": ("**Assistant:**", "**Assistant:** It flies.", "forms"),
}  # fmt: skip
JUDGED = ODD[1]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_finds_a_fault(fault: str) -> None:
    old, new, rule = FAULTS[fault]
    labels = JUDGED.labels
    markdown, records = sound_version(labels)
    assert old in markdown
    assert judge(markdown.replace(old, new), records, labels).broken(rule)


def _without_model(records: list[dict[str, Any]]) -> None:
    del records[-1]["message"]["model"]


def _two_in_a_row(records: list[dict[str, Any]]) -> None:
    records.insert(-1, json.loads(json.dumps(records[-2])))


def _call_without_result(records: list[dict[str, Any]]) -> None:
    records[-1]["message"]["content"].append({"type": "tool_use", "id": "t", "name": "Read", "input": {}})


@pytest.mark.parametrize(
    ("fault", "rule"), [(_without_model, "record"), (_two_in_a_row, "roles"), (_call_without_result, "pairs")]
)
def test_the_checker_finds_a_fault_of_records(fault: Callable[[list[dict[str, Any]]], None], rule: str) -> None:
    labels = JUDGED.labels
    markdown, records = sound_version(labels)
    fault(records)
    assert judge(markdown, records, labels).broken(rule)


def test_a_cut_with_a_sign_is_no_fault_and_counts_as_what_it_leaves() -> None:
    labels = JUDGED.labels
    markdown, records = sound_version(labels)
    cut = markdown.replace(" Find out why and repair it.", " […]")
    verdict = judge(cut, records, labels)
    assert verdict.broken("spliced", "gap") == []
    assert verdict.retained.requests[0] == verdict.retained.requests[1] - 1
    assert verdict.retained.sentences[0] == verdict.retained.sentences[1] - 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One file a year.\nThe scales send one reading, and\nhalf of them arrive late.", 2),
        ("Prices are set e.g. in decision No. 5. Leave them.", 2),
        ("Can we:\n- renew them\n- revoke one", 3),
        ("糸が切れるからです。設定は変更しないでください。", 2),
        ("Use v1.2. of the protocol, not v2.", 1),
    ],
)
def test_the_checker_tells_sentences(text: str, count: int) -> None:
    assert len(sentences_of(text)) == count


@each_odd_one
def test_what_is_read_from_the_records_is_what_the_labels_say(odd: OddTranscript, tmp_path: Path) -> None:
    def told(spoken: tuple[Spoken, ...]) -> list[tuple[object, ...]]:
        # A prompt that waited and had its turn is recorded as any other.
        return [
            (Typed.PROMPT if one.kind is Typed.QUEUED else one.kind, one.text, one.question, one.command, one.chosen)
            for one in spoken
        ]

    found = read_speech(odd.write(tmp_path))
    assert told(found.spoken) == told(odd.labels.spoken)
    branches, expected = ([set(told(one.spoken)) for one in branches] for branches in (found.left, odd.labels.left))
    assert branches == expected
    assert (found.last_request.text, found.outcome) == (odd.labels.last_request.text, odd.labels.outcome)


def test_the_same_seed_gives_the_same_transcripts_and_another_gives_others() -> None:
    made = [one.text() for one in odd_transcripts()]
    assert made == [one.text() for one in ODD] and len(set(made)) == len(made)
    assert not set(made) & {one.text() for one in odd_transcripts(1)}
