"""Reading recorded sessions: the real ones counted as their README counts them, and every oddity by itself."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from shared.errors import Invalid
from shared.sessions.blocks import BlockKind
from shared.sessions.transcripts.contents import read_blocks, read_records, refuse_foreign
from shared.sessions.transcripts.overview import TranscriptOverview, overview_of
from shared.sessions.transcripts.records import BadLine, Record, complete_bytes
from tests.support.transcripts import FOREIGN, REAL, assistant, lines, real_files, tool, user, write

_TABLE = {
    # lines, human prompts, assistant records, messages, tool uses, tokens summed naively, once per message
    "ccl_edge_cases": (19, 7, 4, 4, 3, 435, 435),
    "ccviewer_1af7fc5e": (29, 0, 15, 7, 12, 1258, 953),
    "ccviewer_5c0375b4": (53, 0, 28, 20, 21, 4031, 3629),
    "episodic_tiny": (7, 2, 4, 3, 1, 4, 3),
    "entire_c9_883595c929_0_full": (9, 1, 4, 2, 1, 32, 16),
    "entire_e2_775d4606d9_0_full": (9, 1, 5, 2, 1, 431, 424),
    "entire_ee_8f793bfeb9_0_full": (28, 2, 15, 6, 5, 429, 386),
    "entire_a6_e4c2a0fbd1_0_full": (54, 2, 32, 13, 10, 2070, 2038),
    "entire_37_995ebed6e4_0_full": (67, 3, 24, 10, 7, 51, 22),
    "entire_d8_ab7104d00c_0_full": (23, 1, 9, 4, 3, 492, 471),
    "entire_39_7737088f0a_0_full": (12, 1, 4, 2, 1, 28, 10),
}
_SPECIAL: dict[str, dict[str, int]] = {
    "ccl_edge_cases": {"badLines": 3, "duplicateUuids": 2, "orphans": 1, "roots": 13},
    "ccviewer_5c0375b4": {"sidechainRecords": 22, "roots": 3},
    "entire_e2_775d4606d9_0_full": {"foreignSummaries": 1},
    "entire_ee_8f793bfeb9_0_full": {"foreignSummaries": 2},
    "entire_a6_e4c2a0fbd1_0_full": {"compactionBoundaries": 1, "outOfOrder": 1, "orphans": 1},
    "entire_37_995ebed6e4_0_full": {"roots": 0, "orphans": 2, "foreignSummaries": 16},
    "entire_d8_ab7104d00c_0_full": {"orphans": 0, "roots": 1},
}
_COUNTS = (
    "lines", "humanPrompts", "assistantRecords", "assistantMessages", "toolUses", "outputTokensNaive", "outputTokens",
)  # fmt: skip
_VERSIONS = {"ccviewer_1af7fc5e": "1.0.98", "entire_d8_ab7104d00c_0_full": "2.1.31", "episodic_tiny": "1.0.119"}


def look(path: Path, *records: dict[str, Any]) -> TranscriptOverview:
    return overview_of(write(path, *records), "s1")


def bad(path: Path) -> list[str]:
    return [found.reason for found in read_records(path) if isinstance(found, BadLine)]


@pytest.mark.parametrize("name", _TABLE)
def test_a_real_session_is_counted_as_its_readme_counts_it(name: str) -> None:
    path = REAL / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the recorded sessions are not here")
    before = sha256(path.read_bytes()).hexdigest()
    refuse_foreign(path, path.name)
    overview = overview_of(path, "s1")
    assert tuple(overview.counts[one] for one in _COUNTS) == _TABLE[name]
    assert {one: overview.counts[one] for one in _SPECIAL.get(name, {})} == _SPECIAL.get(name, {})
    assert overview.original_messages == _TABLE[name][1] + _TABLE[name][3]
    assert overview.details["claudeVersion"] == _VERSIONS.get(name, overview.details["claudeVersion"])
    assert (overview.counts["badLines"] == 0) == (name != "ccl_edge_cases")
    assert overview.markers == () and overview.marker_problems == ()
    assert sha256(path.read_bytes()).hexdigest() == before


def test_the_real_turns_are_in_order_and_tell_people_from_tools() -> None:
    if not real_files():
        pytest.skip("the recorded sessions are not here")
    for path in real_files():
        records, at = [one.uuid for one in read_records(path) if isinstance(one, Record)], 0
        for turn in read_blocks(path):
            at = records.index(turn.uuid, at)  # Of the same record or of one behind it.
            assert turn.kind is not BlockKind.HUMAN or not (turn.is_sidechain or turn.text.startswith("<"))
            assert turn.kind is not BlockKind.TOOL_USE or (
                turn.call is not None and json.loads(turn.text) == turn.call.input
            )


def test_a_file_of_another_format_is_refused_with_its_name() -> None:
    if not (REAL / FOREIGN).exists():
        pytest.skip("the recorded sessions are not here")
    with pytest.raises(Invalid, match=f"{FOREIGN}.*one JSON document") as refused:
        refuse_foreign(REAL / FOREIGN, FOREIGN)
    assert refused.value.code == "not_a_transcript" and refused.value.details == {"file": FOREIGN}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"\x89PNG\0\0", "binary"),
        (b'{"type":"response_item","payload":{}}\n' * 300, "kind"),
        (b"[\n {}\n]", "one JSON document"),
        (b"just text", "kind"),
        (b'{"a":' * 5000, "kind"),
    ],
    ids=["empty", "blank", "binary", "another agent's", "array", "text", "deep"],
)
def test_what_is_no_transcript_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(Invalid, match=f"notes.txt .*{why}"):
        refuse_foreign(path, "notes.txt")


def test_two_records_glued_on_one_line_are_both_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    one, two = (json.dumps(user(text, text)) for text in ("a", "b"))
    three, four = (json.dumps(user(text, text)) for text in ("c", "d"))
    path.write_text(f"{one}{two}\n{three} {four} x\n")
    assert [turn.text for turn in read_blocks(path)] == ["a", "b", "c", "d"]
    assert bad(path) == ["not JSON"]
    assert [found.line for found in read_records(path)] == [1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b'"text"', "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"a":' + b"[" * 300 + b'"\\u0000"' + b"]" * 300 + b"}", "nested deeper than 200"),
    ],
    ids=["cut", "string", "array", "NaN", "bytes", "deep", "huge number", "deeper than is gone into"],
)
def test_a_bad_line_is_counted_and_the_others_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(user("a", "1")) + line + b"\n" + lines(user("b", "2")))
    assert bad(path) == [reason]
    assert [turn.text for turn in read_blocks(path)] == ["a", "b"]
    assert overview_of(path, "s1").counts["badLines"] == 1


def test_a_number_larger_than_any_stays_text_that_can_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(next(tool("Read", {"limit": 7}, "", 1))).replace(b"7", b"-1e999"))
    (turn,) = read_blocks(path)
    assert turn.call is not None and turn.call.input == {"limit": "-1e999"} == json.loads(turn.text)


def test_what_neither_utf8_nor_a_database_takes_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"type":"user","uuid":"1","message":{"content":"a\\ud83d\\u0000b \\ud83d\\ude00"}}\n'
    )
    assert [turn.text for turn in read_blocks(path)] == ["a��b 😀"]


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (b'{"a":1}\n{"b":2}\n', 16),
        (b'{"a":1}\n{"b":2}', 15),
        (b'{"a":1}\n{"b":2', 8),
        (b'{"a":1}\n42', 8),
        (b'{"a":1}{"b', 0),
        (b'{"a":1}\n' + b" " * 200_000, 8 + 200_000),
        (b"x" * 200_000, 0),
        (b"", 0),
    ],
    ids=["whole", "no newline", "cut", "number", "glued and cut", "blank", "no line", "empty"],
)
def test_a_last_line_that_is_still_being_written_waits(tmp_path: Path, content: bytes, taken: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    assert complete_bytes(path) == taken


def test_only_so_many_bytes_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", user("a", "1"), user("b", "2"))
    first = len(lines(user("a", "1")))
    assert [turn.text for turn in read_blocks(path, first)] == ["a"]
    assert [found.offset for found in read_records(path)] == [0, first]


def test_usage_counts_once_per_message_and_falls_back_to_request_and_record(tmp_path: Path) -> None:
    def said(message_id: str | None, request: str | None, uuid: str, tokens: object) -> dict[str, Any]:
        message = {"id": message_id, "content": [], "usage": {"output_tokens": tokens}}
        return {"type": "assistant", "uuid": uuid, "requestId": request, "message": message}

    overview = look(
        tmp_path / "s.jsonl",
        said("m1", "r1", "1", 3), said("m1", "r1", "2", 9), said(None, "r2", "3", 4), said(None, "r2", "4", 2),
        said(None, None, "5", 7), said(None, None, "6", 1), said("m2", None, "7", "many"),
    )  # fmt: skip
    assert (overview.counts["outputTokens"], overview.counts["outputTokensNaive"]) == (9 + 4 + 7 + 1, 26)
    assert overview.counts["assistantMessages"] == 5


def test_a_summary_of_what_stands_here_is_told_from_one_of_another_session(tmp_path: Path) -> None:
    summaries = [{"type": "summary", "summary": "About", "leafUuid": leaf} for leaf in ("1", "elsewhere")]
    assert look(tmp_path / "s.jsonl", *summaries, user("Do it", "1")).counts["foreignSummaries"] == 1


def test_text_before_a_compaction_boundary_is_not_counted_twice(tmp_path: Path) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "content": "Conversation compacted"}
    long = "The long answer. " * 20
    before = [user("Do it", "1"), assistant(long, "2")]
    summary = user("This session is being continued", "s", isCompactSummary=True)
    alone = look(tmp_path / "a.jsonl", *before)
    repeated = [user("Do it", "1"), assistant(long, "9"), user("Do it", "3")]
    twice = look(tmp_path / "b.jsonl", *before, boundary, summary, *repeated)
    assert twice.original_tokens == alone.original_tokens + 2, "only the prompt that was given again is new"
    kinds = [turn.kind for turn in read_blocks(tmp_path / "b.jsonl")]
    assert kinds == [BlockKind.HUMAN, BlockKind.ASSISTANT, BlockKind.SYSTEM, BlockKind.SUMMARY, BlockKind.HUMAN]


def test_peoples_words_are_told_from_what_the_tool_writes_in_their_name(tmp_path: Path) -> None:
    said = [
        user("A prompt", "1"), user("<command-name>/exit</command-name>", "2"), user("A reminder", "3", isMeta=True),
        user("[Request interrupted by user for tool use]", "4"), user("To a sub-agent", "5", isSidechain=True),
        {"type": "user", "uuid": "6", "message": "A bare string"},
        {"type": "user", "uuid": "7", "message": {"content": ["A list", {"type": "image"}, 7]}},
        {"type": "system", "uuid": "8", "content": "Hook ran"}, {"type": "progress", "uuid": "9", "data": "x"},
        {"type": "summary", "summary": "A title", "leafUuid": "1"},
        {"type": "user", "uuid": "10", "message": None}, {"type": "user", "uuid": "11", "message": {"content": 5}},
    ]  # fmt: skip
    path = write(tmp_path / "s.jsonl", *said)
    found = [(str(turn.kind), turn.text) for turn in read_blocks(path)]
    assert found == [
        ("human", "A prompt"), ("meta", "/exit"), ("meta", "A reminder"),
        ("meta", "[Request interrupted by user for tool use]"), ("meta", "To a sub-agent"), ("human", "A bare string"),
        ("human", "A list"), ("human", "[image]"), ("system", "Hook ran"), ("system", "A title"),
    ]  # fmt: skip


def test_files_are_told_by_what_tools_were_given(tmp_path: Path) -> None:
    calls = chain(
        tool("Read", {"file_path": "/a.py"}, "text", 1), tool("Edit", {"file_path": "/a.py"}, "done", 2),
        tool("NotebookEdit", {"notebook_path": "/n.ipynb"}, "done", 3), tool("Grep", {"path": "/src"}, "hit", 4),
        tool("Read", {"file_path": "/" + "x" * 600}, "", 5), tool("Odd", {"file_path": 7}, "", 6),
    )  # fmt: skip
    files = look(tmp_path / "s.jsonl", user("Go", "0"), *calls).files
    assert [(one.path, one.touches, one.changed) for one in files] == [
        ("/a.py", 2, True), ("/n.ipynb", 1, True), ("/src", 1, False),
    ]  # fmt: skip


def test_times_names_and_topics_are_kept(tmp_path: Path) -> None:
    named = {"cwd": "/home/me/app", "version": "2.1.0", "sessionId": "other"}
    overview = look(
        tmp_path / "s.jsonl",
        user(
            "Fix parse_config in app/config.py, parse_config fails",
            "1", timestamp="2026-01-02T10:00:00Z", gitBranch="main", **named,
        ),
        user(
            "##keepit0.80## The database is SQLite",
            "2", timestamp="2026-01-02T09:00:00+01:00", gitBranch="fix", **named,
        ),
        user("database again", "3", timestamp="yesterday", gitBranch="main"),
        {"type": "custom-title", "customTitle": "Config loader"},
    )  # fmt: skip
    assert overview.first_timestamp == datetime(2026, 1, 2, 8, tzinfo=UTC)
    assert overview.last_timestamp == datetime(2026, 1, 2, 10, tzinfo=UTC)
    details = overview.details
    assert (details["gitBranch"], details["gitBranches"], details["cwd"]) == ("main", ["fix", "main"], "/home/me/app")
    assert (details["projectName"], details["claudeVersion"], details["title"]) == ("app", "2.1.0", "Config loader")
    assert details["recordedIds"] == ["other"]
    assert details["primaryTopics"][:2] == ["parse_config", "app/config.py"] and "database" in details["primaryTopics"]
    assert not any("keepit" in topic for topic in details["primaryTopics"])
    assert [one.found.content for one in overview.markers] == ["The database is SQLite"]


def _long_session(path: Path, size_bytes: int) -> Path:
    """Write a session of a size: the real ones, where they are, over and over with new ids."""
    sources = [record.fields for file in real_files() for record in read_records(file) if isinstance(record, Record)]
    sources = sources or [user("Please look at app/config.py again", "1"), assistant("It reads the file. " * 200, "2")]
    with path.open("wb") as file:
        for number in _count():
            for record in sources:
                message = record.get("message")
                ids = {name: f"{record[name]}-{number}" for name in ("uuid", "parentUuid") if record.get(name)}
                if isinstance(message, dict) and message.get("id"):
                    ids["message"] = message | {"id": f"{message['id']}-{number}"}
                file.write(lines(record | ids))
            if file.tell() >= size_bytes:
                return path
    raise AssertionError


def _count() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


@pytest.mark.parametrize(
    ("megabytes", "most_megabytes"), [(5, 6), pytest.param(100, 60, marks=pytest.mark.long)], ids=["5 MB", "100 MB"]
)
def test_a_long_session_is_read_in_bounded_memory(tmp_path: Path, megabytes: int, most_megabytes: int) -> None:
    path = _long_session(tmp_path / "s.jsonl", megabytes * 2**20)
    tracemalloc.start()
    try:
        overview = overview_of(path, "s1")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"{path.stat().st_size} bytes, {overview.counts['lines']} lines, {peak} bytes at most")
    assert overview.counts["lines"] > 1000
    assert peak < most_megabytes * 2**20


def test_a_first_prompt_that_is_said_anew_replaces_the_one_before_it(tmp_path: Path) -> None:
    def told(*records: dict[str, Any]) -> list[str]:
        return [turn.text for turn in read_blocks(write(tmp_path / "s.jsonl", *records))]

    first = [user("Paint it red", "1", parentUuid=None), assistant("Red it is", "2", parentUuid="1")]
    anew = [user("Let it be", "3", parentUuid=None), assistant("As you like", "4", parentUuid="3")]
    going_on = [user("And the door?", "5", parentUuid="4")]
    assert told(*first, *anew, *going_on)[1:] == ["Let it be", "As you like", "And the door?"]
    assert told(*first, *anew) == ["Paint it red", "Red it is", "Let it be", "As you like"], "nothing says that it was"
    resumed = {"type": "system", "uuid": "r", "parentUuid": None, "content": "resumed"}
    assert told(*first, resumed, *anew, *going_on)[:2] == ["Paint it red", "Red it is"]


def test_an_answer_with_notes_is_told_behind_one_question(tmp_path: Path) -> None:
    asked = {"questions": [{"question": 'Which, "a" or b?'}], "answers": {'Which, "a" or b?': "b, of course"}}
    asked["annotations"] = {'Which, "a" or b?': {"notes": "a is slow"}}
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "Your questions have been answered."}]
    answer = {"type": "user", "uuid": "1", "message": {"content": result}, "toolUseResult": asked}
    found = [(str(turn.kind), turn.text) for turn in read_blocks(write(tmp_path / "s.jsonl", answer))]
    assert found[1:] == [("question", 'Which, "a" or b?'), ("human", "b, of course"), ("human", "a is slow")]
