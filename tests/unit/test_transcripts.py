"""Reading recorded sessions: the real ones counted as their README counts them, and every oddity by itself."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest

from shared.base.errors import Invalid
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
        (b"", "empty"), (b"\n \n", "empty"), (b"\x89PNG\0\0", "binary"),
        (b'{"type":"response_item","payload":{}}\n' * 300, "kind"), (b"[\n {}\n]", "one JSON document"),
        (b"just text", "kind"), (b'{"a":' * 5000, "kind"),
    ],
    ids=["empty", "blank", "binary", "another agent's", "array", "text", "deep"],
)  # fmt: skip
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
        (b"{", "not JSON"), (b'"text"', "not a JSON object"), (b"[1]", "not a JSON object"),
        (b'{"a": NaN}', "not JSON"), (b'{"a":' * 100_000, "not JSON"), (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"a":' + b"[" * 300 + b'"\\u0000"' + b"]" * 300 + b"}", "nested deeper than 200"),
    ],
    ids=["cut", "string", "array", "NaN", "deep", "huge number", "deeper than is gone into"],
)  # fmt: skip
def test_a_bad_line_is_counted_and_the_others_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(user("a", "1")) + line + b"\n" + lines(user("b", "2")))
    assert bad(path) == [reason]
    assert [turn.text for turn in read_blocks(path)] == ["a", "b"]
    assert overview_of(path, "s1").counts["badLines"] == 1


@pytest.mark.parametrize("odd", [b"caf\xe9", b"\xffa\xfe", b"a\xe2\x82b", b"a\xc3", b"##keepit1.00## caf\xe9 noir"])
def test_a_byte_that_is_not_utf8_is_replaced_and_its_record_read(odd: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes((lines(user("First", "1")) + lines(user("@", "2"))).replace(b"@", odd).rstrip(b"\n"))
    assert complete_bytes(path) == path.stat().st_size, "a last line that is whole waits for nothing"
    read = "".join(one if one.isascii() else "\ufffd" for one in odd.decode("latin-1"))
    assert [one.text for one in read_blocks(path)] == ["First", read]
    overview = overview_of(path, "s1")
    assert (overview.counts["notUtf8"], overview.counts["badLines"]) == (1, 0)
    assert [one.found.content for one in overview.markers] == (["caf\ufffd noir"] if b"keepit" in odd else [])


def test_a_record_that_is_cut_within_a_character_waits(tmp_path: Path) -> None:
    path, whole = tmp_path / "s.jsonl", json.dumps(user("naïve €", "2"), ensure_ascii=False).encode()
    for cut in range(1, len(whole)):
        path.write_bytes(lines(user("a", "1")) + whole[:cut])
        assert complete_bytes(path) == path.stat().st_size - cut


def test_a_number_larger_than_any_stays_text_that_can_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(next(tool("Read", {"limit": 7}, "", 1))).replace(b"7", b"-1e999"))
    (turn,) = read_blocks(path)
    assert turn.call is not None and turn.call.input == {"limit": "-1e999"} == json.loads(turn.text)


def test_what_neither_utf8_nor_a_database_takes_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"type":"user","uuid":"1","message":{"content":"a\\ud83d\\u0000b \\ud83d\\ude00"}}\n'
        b'{"type":"user","uuid":"2","message":{"content":"c\xed\xa0\xbdd \xed\xa0\xbd\xed\xb8\x80"}}\n'
    )
    assert [turn.text for turn in read_blocks(path)] == ["a��b 😀", "c�d 😀"]


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (b'{"a":1}\n{"b":2}\n', 16), (b'{"a":1}\n{"b":2}', 15), (b'{"a":1}\n{"b":2', 8), (b'{"a":1}\n42', 8),
        (b'{"a":1}{"b', 0), (b'{"a":1}\n' + b" " * 200_000, 8 + 200_000), (b"x" * 200_000, 0), (b"", 0),
    ],
    ids=["whole", "no newline", "cut", "number", "glued and cut", "blank", "no line", "empty"],
)  # fmt: skip
def test_a_last_line_that_is_still_being_written_waits(tmp_path: Path, content: bytes, taken: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    assert complete_bytes(path) == taken


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
    assert details["firstPrompt"] == "Fix parse_config in app/config.py, parse_config fails"
    assert details["recordedIds"] == ["other"]
    assert details["primaryTopics"][:2] == ["parse_config", "app/config.py"] and "database" in details["primaryTopics"]
    assert not any("keepit" in topic for topic in details["primaryTopics"])
    assert [one.found.content for one in overview.markers] == ["The database is SQLite"]


def test_of_many_branches_the_first_and_the_last_are_known(tmp_path: Path) -> None:
    branches = [f"fix-{number}" for number in range(14)]
    records = [user("more", str(number), gitBranch=name) for number, name in enumerate(branches)]
    details = look(tmp_path / "many.jsonl", *records).details
    assert (details["gitBranch"], details["gitBranches"]) == ("fix-13", ["fix-0", *branches[5:]])


def test_the_folder_where_a_session_began_stays_known_though_it_was_come_back_to(tmp_path: Path) -> None:
    folders = ["/home/me/app", "/home/me/app/web", "/home/me/app", *(f"/home/me/app/p{n}" for n in range(11))]
    records = [user("more", str(number), cwd=name) for number, name in enumerate(folders)]
    details = look(tmp_path / "many.jsonl", *records).details
    assert details["cwd"] == "/home/me/app" and "/home/me/app" in details["folders"]


def _long_session(path: Path, size_bytes: int) -> Path:
    """Write a session of a size: the real ones, where they are, over and over with new ids."""
    sources = [record.fields for file in real_files() for record in read_records(file) if isinstance(record, Record)]
    sources = sources or [user("Please look at app/config.py again", "1"), assistant("It reads the file. " * 200, "2")]
    with path.open("wb") as file:
        for number in count():
            for record in sources:
                message = record.get("message")
                ids = {name: f"{record[name]}-{number}" for name in ("uuid", "parentUuid") if record.get(name)}
                if isinstance(message, dict) and message.get("id"):
                    ids["message"] = message | {"id": f"{message['id']}-{number}"}
                file.write(lines(record | ids))
            if file.tell() >= size_bytes:
                return path
    raise AssertionError


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


def result(of: int, uuid: str, parent: str) -> dict[str, Any]:
    """Return what came back of a call."""
    content = [{"type": "tool_result", "tool_use_id": f"t{of}", "content": f"result {of}"}]
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"content": content}}


def call(number: int, uuid: str, parent: str, message: str = "m") -> dict[str, Any]:
    """Return a call, of a message that may be several records."""
    use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"call {number}"}}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": {"id": message, "content": [use]}}


def aside(kind: str, uuid: str, parent: str, **more: Any) -> dict[str, Any]:
    """Return a record of the recorder's own, which is no message."""
    return {"type": kind, "uuid": uuid, "parentUuid": parent} | more


def asked(text: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return user(text, uuid, parentUuid=parent, **more)


def written(tree: str, by: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return records written as what.uuid.parent: u and a with words, c and r with the number of a call, or a dash.

    A call may name its message behind; a dash stands for a record ``by`` the recorder.
    """
    found = []
    for what, uuid, parent, *message in (one.split(".") for one in tree.split()):
        kind, said = what[0], what[1:]
        if kind == "-":
            found.append(aside(uuid=uuid, parent=parent, **(by or {})))
        elif kind in "cr":
            found.append(call(int(said), uuid, parent, *message) if kind == "c" else result(int(said), uuid, parent))
        elif kind == "u":
            found.append(asked(said, uuid, parent or None))
        else:
            found.append(assistant(said, uuid, parent or None))
    return found


_HOOKED = "uA.1. c1.2.1 r1.3.2 aB.4.3 uC.5.4"
_ASIDES = [
    {"kind": "progress", "data": {"type": "hook_progress"}}, {"kind": "attachment", "attachment": {"type": "hook"}},
    {"kind": "system", "subtype": "stop_hook_summary"}, {"kind": "system", "subtype": "api_error"},
    {"kind": "file-history-snapshot"}, {"kind": "summary", "summary": "Title", "leafUuid": "1"},
    {"kind": "queue-operation", "operation": "dequeue"}, {"kind": "some-new-kind"},
    {"kind": "user", "isMeta": True, "message": {"content": "Stop hook feedback:\nlint"}},
]  # fmt: skip
_NOBODY_WENT_BACK = {
    "a call behind a record of the recorder's": "uA.1. c1.2.1 -.3.2 c2.4.3 r1.5.2 -.6.5 c3.7.6 r2.8.4 r3.9.7 aB.10.9",
    "words behind a record of the recorder's": f"{_HOOKED} aD.6.5 -.7.6 aE.8.7 uF.9.6",
    "a reply beside it": f"{_HOOKED} aD.6.5 -.7.5 uE.8.7 aF.9.8",
    "an answer beside and one behind it": f"{_HOOKED} aD.6.5 -.7.5 aE.8.7 uF.9.8",
    "answers beside it": f"{_HOOKED} aD.6.5 -.7.5 aE.8.5 uF.9.8",
    "a late one on which the next prompt hangs": f"{_HOOKED} aD.6.5 -.7.4 uE.8.7 aF.9.8",
}


@pytest.mark.parametrize("by", _ASIDES, ids=lambda by: by.get("subtype", by["kind"]))
@pytest.mark.parametrize("shape", _NOBODY_WENT_BACK)
def test_nothing_is_rewound_at_what_the_recorder_writes_beside(shape: str, by: dict[str, Any], tmp_path: Path) -> None:
    _all_is_read(tmp_path / "s.jsonl", written(_NOBODY_WENT_BACK[shape], by))


def _all_is_read(path: Path, records: list[dict[str, Any]]) -> None:
    """Assert that every word, call and result of a transcript is read in the order in which it stands there."""
    blocks = [one for record in records for one in _blocks(record)]
    notes = (BlockKind.SYSTEM, BlockKind.META)
    found = [one.text for one in read_blocks(write(path, *records)) if one.kind not in notes]
    assert found == [one for one in blocks if not one.startswith("Stop hook")]


def _blocks(record: dict[str, Any]) -> Iterator[str]:
    content = record.get("message", {}).get("content", [])
    for one in [{"text": content}] if isinstance(content, str) else content:
        yield one.get("text") or (json.dumps(one["input"]) if "input" in one else one["content"])


_OTHER_RECORDERS = {
    "answers hang on the prompt": "uA.1. c1.2.1.m1 r1.3.2 aB.4.1 c2.5.1.m2 r2.6.5 aC.7.1 uD.8.7 aE.9.8",
    "prompts hang on the prompt before": "uA.1. aB.2.1 uC.3.1 aD.4.3 uE.5.3 aF.6.5",
    "all hang on the first prompt": (
        "uA.1. c1.2.1.m1 r1.3.1 aB.4.1 uC.5.1 c2.6.1.m2 r2.7.1 aD.8.1 uE.9.1 aF.10.1"),
    "nothing hangs on anything": "uA.1. aB.2. uC.3. aD.4.",
    "calls at once on the prompt": f"{_HOOKED} c2.6.5.m2 c3.7.5.m3 r2.8.6 r3.9.7 aD.10.9 uE.11.10",
    "calls on the prompt, each result behind its own": (
        f"{_HOOKED} aW.12.5 c2.6.5.m2 r2.8.6 c3.7.5.m3 r3.9.7 aD.10.9 uE.11.10"),
    "calls at once, each result on its own": "uA.1. c1.2.1 c2.3.2 c3.4.3 r2.5.3 r1.6.2 r3.7.4 aB.8.7 uC.9.8",
}  # fmt: skip


@pytest.mark.parametrize("recorder", _OTHER_RECORDERS)
def test_nothing_is_rewound_where_a_recorder_hangs_records_its_own_way(recorder: str, tmp_path: Path) -> None:
    records = written(_OTHER_RECORDERS[recorder])
    if recorder.startswith("nothing"):
        records = [{name: value for name, value in one.items() if name != "parentUuid"} for one in records]
    _all_is_read(tmp_path / "s.jsonl", records)


def test_an_error_beside_the_answer_is_no_branch(tmp_path: Path) -> None:
    beside = assistant("E", "7", "5", isApiErrorMessage=True)
    records = [*written(f"{_HOOKED} aD.6.5"), beside, asked("F", "8", "6")]
    assert [one.text for one in read_blocks(write(tmp_path / "s.jsonl", *records))][-3:] == ["D", "E", "F"]


_COMMAND = "<command-name>/model</command-name>\n<command-args></command-args>"
_SET = "<command-name>/model</command-name>\n<command-args>opus</command-args>"
_PRINTED = "<local-command-stdout>set</local-command-stdout>"
_WENT_BACK = {
    "twice to one place": written("uD.6.4 aE.7.6 uF.8.4"), "behind a hook": written(
        "-.6.5 aD.7.6 uF.8.4 aG.9.8", {"kind": "system"}),
    "with a command before the prompt": [
        asked("Caveat: The messages below were generated by the user", "6", "4", isMeta=True),
        asked(_COMMAND, "7", "6"), asked(_PRINTED, "8", "7"), *written("uF.9.8 aG.10.9")],
    "with a command that was given something": [
        asked(_SET, "7", "4"), asked(_PRINTED, "8", "7"), *written("uF.9.8 aG.10.9")],
    "with a command that is the system's": [
        aside("system", "6", "4", subtype="local_command", content=_COMMAND), *written("uF.7.6 aG.8.7")],
}  # fmt: skip


@pytest.mark.parametrize("how", _WENT_BACK)
def test_who_goes_back_leaves_a_branch(how: str, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", *written(_HOOKED), *_WENT_BACK[how])
    found = [(str(one.kind), one.text) for one in read_blocks(path)]
    said = [text for kind, text in found if kind in ("human", "assistant")]
    assert said[:2] == ["A", "B"] and "C" not in said and "D" not in said and "F" in said
    assert sum(kind == "left" for kind, _ in found) == (2 if how == "twice to one place" else 1)


@pytest.mark.parametrize(("printed_at", "next_at"), [("7", "4"), ("4", "4"), ("7", "8")])
def test_nobody_went_back_who_only_set_something(printed_at: str, next_at: str, tmp_path: Path) -> None:
    beside = [asked(_SET, "7", "4"), asked(_PRINTED, "8", printed_at), *written(f"uF.9.{next_at} aG.10.9")]
    path = write(tmp_path / "s.jsonl", *written(_HOOKED)[:-1], *beside)
    assert [one.text for one in read_blocks(path)][-4:] == ["/model\nopus", "set", "F", "G"]


_WHOLE = json.dumps(asked("Whole", "9", "1", sessionId="s"), ensure_ascii=False).encode()
_BROKEN = json.dumps(
    call(1, "8", "1") | {"toolUseResult": {"type": "text", "file": {"lines": ["if (x) {", "}"], "n": 1}}, "z": "naïve"},
    ensure_ascii=False,
).encode()


def test_a_record_that_is_cut_anywhere_takes_no_other_along(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for cut in range(1, len(_BROKEN)):
        path.write_bytes(lines(user("First", "1")) + _BROKEN[:cut] + _WHOLE + b"\n" + lines(user("Last", "3")))
        assert [one.text for one in read_blocks(path)] == ["First", "Whole", "Last"], _BROKEN[:cut]
        assert overview_of(path, "s1").counts["badLines"] == 1
        path.write_bytes(_BROKEN[cut:] + _WHOLE + _WHOLE.replace(b"9", b"7") + _BROKEN[:cut] + b"\n")
        assert [one.text for one in read_blocks(path)] == ["Whole", "Whole"], _BROKEN[cut:]


@pytest.mark.parametrize(
    "text",
    [
        b"\0\0" + _WHOLE + b"\n", _WHOLE + b"\0\0\n", b"\0\n" + _WHOLE, _WHOLE[:-30] + b"\0\0\0" + _WHOLE[-30:] + b"\n",
        b"\0" * 70_000 + _WHOLE + b"\n", _WHOLE[:40] + b"\0\0" + _WHOLE + b"\n", _WHOLE + b"\n" + b"\0" * 900,
        b"\0" * (17 * 2**20) + _WHOLE + b"\n",
    ],
    ids=["before", "behind", "between", "within", "many", "behind one cut off", "at the end", "longer than a line"],
)  # fmt: skip
def test_zero_bytes_are_passed_over_and_counted(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(text)
    refuse_foreign(path, path.name)
    assert [one.text for one in read_blocks(path, complete_bytes(path))] == ["Whole"]
    assert overview_of(path, "s1").counts["zeroByteRuns"] >= 1


def test_a_line_of_nothing_but_beginnings_is_given_up_soon(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":[' * 300_000 + b"\n" + b'{"a":{"b":1},' * 300_000 + b"\n" + lines(user("Last", "3")))
    assert [one.text for one in read_blocks(path)] == ["Last"] and bad(path) == ["not JSON", "not JSON"]


def test_what_is_queued_again_and_again_is_told_once_with_how_often(tmp_path: Path) -> None:
    def queued(operation: str, text: str = "") -> dict[str, Any]:
        return {"type": "queue-operation", "operation": operation, **({"content": text} if text else {})}

    records = [user("Go", "1"), *[queued("enqueue", "again")] * 3, queued("popAll"), queued("enqueue", "again"),
               queued("enqueue", "tests"), queued("enqueue", "again"), queued("dequeue"),
               queued("enqueue", "Go")]  # fmt: skip
    found = [(one.label, one.text) for one in read_blocks(write(tmp_path / "s.jsonl", *records))]
    assert found == [("", "Go"), ("User, not sent, 2 times", "again"), ("User, not sent", "tests")]
