"""What sessions are found by, in which order, and what is shown of them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.words import query_words
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall
from shared.sessions.models import RecordedSession, SessionVersion
from shared.sessions.search.index import MOST_OF_A_SESSION, numbers_of, passages_of
from shared.sessions.search.queries import SessionFacts
from shared.sessions.search.query import (
    DateRange,
    PastSession,
    WorkSituation,
    matched_files,
    matched_topics,
    nearness,
    recency,
    score_sessions,
    suggest,
    weights,
    with_recency,
)
from shared.sessions.text import MAX_PASSAGE_CHARS, passage_pieces, snippet_of
from shared.sessions.text import MAX_SNIPPET_CHARS as LONGEST_SNIPPET

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def facts_of(**more: Any) -> SessionFacts:
    columns = {"key": 1, "session_id": "s1", "original_tokens": 1000, "size_bytes": 5000, "registered_at": NOW}
    times = {"first_timestamp": NOW - timedelta(days=2), "last_timestamp": NOW, "last_accessed": NOW}
    return SessionFacts(RecordedSession(**columns | times | {"details": {}} | more), "-work")


def turn(position: int, kind: BlockKind, text: str, **more: object) -> Block:
    return Block(kind, "user", text, sources=(f"u{position}",), **more)  # type: ignore[arg-type]


@given(st.text(max_size=6000))
def test_a_text_is_cut_into_pieces_that_lose_nothing_but_white_space_and_an_endless_tail(text: str) -> None:
    cut = list(passage_pieces(text))
    assert all(0 < len(one) <= MAX_PASSAGE_CHARS for one in cut)
    kept, said = "".join("".join(cut).split()), "".join(text.split())
    assert said.startswith(kept)
    assert kept == said or len(cut) == 8


def test_passages_are_what_was_asked_and_answered_and_a_line_for_each_use_of_a_tool() -> None:
    use = RecordedToolCall("t1", "Edit", {"file_path": "a/up.py", "old_string": "x"}, None)
    failed = RecordedToolCall("t2", "", {}, None, is_error=True)
    turns = [
        turn(0, BlockKind.HUMAN, "Fix the retry."), turn(1, BlockKind.THINKING, "hmm"),
        turn(2, BlockKind.TOOL_USE, "{}", call=use), turn(3, BlockKind.TOOL_RESULT, "fine"),
        turn(4, BlockKind.TOOL_RESULT, "Error: no such file\nTraceback", call=failed),
        turn(5, BlockKind.META, "<hook>"), turn(6, BlockKind.ASSISTANT, "Done."),
        turn(7, BlockKind.HUMAN, "a sub-agent's order", is_sidechain=True),
    ]  # fmt: skip
    assert [(one.kind, one.text, one.message_uuid) for one in passages_of(turns)] == [
        ("human", "Fix the retry.", "u0"), ("tool_use", "Edit a/up.py", "u2"),
        ("tool_result", "Error: no such file Traceback", "u4"), ("assistant", "Done.", "u6"),
    ]  # fmt: skip


def test_of_a_very_long_session_passages_of_the_whole_are_kept_and_every_prompt_that_fits() -> None:
    kinds = [BlockKind.HUMAN if number % 50 == 0 else BlockKind.ASSISTANT for number in range(5000)]
    kept = passages_of(turn(number, kind, f"said {number}") for number, kind in enumerate(kinds))
    assert len(kept) <= MOST_OF_A_SESSION and sum(one.kind == "human" for one in kept) == 100
    places = [int(one.text.split()[1]) for one in kept]
    fifths = [sum(1000 * n <= place < 1000 * (n + 1) for place in places) for n in range(5)]
    assert places == sorted(places) and min(fifths) > 30
    kept = passages_of(turn(number, BlockKind.HUMAN, f"said {number}") for number in range(3000))
    assert 0 < len(kept) <= MOST_OF_A_SESSION


def test_the_same_word_is_another_number_in_another_app() -> None:
    assert numbers_of("notes", ["kite"]) != numbers_of("mail", ["kite"])
    assert all(0 <= number < 2**56 for number in numbers_of("notes", ["kite", "\ud800", ""]))


def test_a_rare_word_counts_for_more_and_a_name_of_code_for_more_still() -> None:
    worth = weights({"common": 500, "rare": 2, "name": 2}, frozenset({"name"}), 1000)
    assert weights({"new": 0}, frozenset(), 9) == {"new": pytest.approx(math.log(10))}
    assert worth["common"] < worth["rare"] < worth["name"] == pytest.approx(1.5 * worth["rare"])


def test_a_session_counts_by_its_best_passage_and_a_little_by_its_next_ones() -> None:
    worth = {"a": 1.0, "b": 1.0}
    postings = {"a": [(1, 10, None), (2, 10, None), (3, 20, None), (4, 30, 7)], "b": [(3, 20, None)]}
    scores = {(one.session_key, one.compression_key): (one.score, one.best) for one in score_sessions(postings, worth)}
    assert scores == {(10, None): (0.6, 1), (20, None): (1.0, 3), (30, 7): (0.5, 4)}


def test_being_recent_adds_a_tenth_at_most() -> None:
    assert with_recency(1.0, NOW, NOW) == pytest.approx(1.1) and recency(None, NOW) == 0
    assert recency(NOW - timedelta(days=60), NOW) == pytest.approx(0.5)


def test_a_snippet_shows_the_words_where_most_of_them_stand_together_and_cuts_no_word_in_two() -> None:
    text = "kite. " + "filler words " * 60 + "the kite flew over parse_config in the wind " + "more " * 100
    shown = snippet_of(text, query_words("kite parse_config"))
    assert len(shown.text) <= LONGEST_SNIPPET
    assert [shown.text[a:b] for a, b in shown.marks] == ["kite", "parse_config"]
    text = "wonderful " * 40 + "kites " + "marvellous " * 40
    assert set(snippet_of(text, query_words("kites")).text.split()) == {"wonderful", "kites", "marvellous"}
    assert snippet_of("x" * 900, ["nothing"]).text == "x" * LONGEST_SNIPPET


@given(st.text(max_size=2000), st.text(max_size=40))
def test_marks_always_lie_within_the_snippet_and_on_words_that_were_asked_for(text: str, asked: str) -> None:
    shown = snippet_of(text, query_words(asked))
    assert shown.text in text
    assert all(0 <= a < b <= len(shown.text) for a, b in shown.marks)


@pytest.mark.parametrize(
    ("wanted", "touched", "is_meant"),
    [("up.py", "/home/me/a/up.py", True), ("up.py", "/home/me/a/startup.py", False),
     ("/home/me/a/up.py", "a/up.py", True), ("b/up.py", "/home/me/a/up.py", False), ("", "/home/me/a/up.py", False)],
    ids=["by its name", "by a part of it", "from elsewhere", "another folder", "nothing"],
)  # fmt: skip
def test_a_file_is_meant_by_its_path_or_the_end_of_it(wanted: str, touched: str, is_meant: bool) -> None:
    assert matched_files((wanted,), [touched]) == ([touched] if is_meant else [])


def test_what_is_near_in_topic_time_and_place() -> None:
    assert matched_topics(("UPLOAD", ""), ["uploader", "kites"]) == ["uploader"]
    day = timedelta(days=1)
    times = {(None, None): True, (NOW, None): True, (NOW + day, None): False, (None, NOW - 3 * day): False}
    assert {one: DateRange(start=one[0], end=one[1]).overlaps(facts_of().recorded) for one in times} == times
    near = {("/a/b", "/a/b"): 1.0, ("/a/b/c", "/a/b"): 0.5, ("/a", "/a/b/c"): 1 / 3, ("/a/b", "/a/c"): 0,
            ("/a", "/"): 0, ("/a", None): 0}  # fmt: skip
    assert {folders: nearness(*folders) for folders in near} == pytest.approx(near)


def version_of(number: int, tokens: int, covers: int = 5000) -> SessionVersion:
    return SessionVersion(number=number, output_tokens=tokens, ratio=10.0, source_bytes=covers, keepit_stats={})


def past(
    key: int, tokens: int = 1000, files: tuple[str, ...] = (), *versions: SessionVersion, **details: object
) -> PastSession:
    facts = facts_of(key=key, session_id=f"s{key}", original_tokens=tokens, details=details)
    return PastSession(facts, files, versions)


def test_a_session_with_the_same_files_goes_before_one_from_the_same_folder() -> None:
    situation = WorkSituation(workingDir="/home/me/kites", files=["/home/me/kites/up.py"])
    same_file, same_folder = past(1, 1000, ("/home/me/kites/up.py",)), past(2, 1000, (), cwd="/home/me/kites")
    chosen = suggest(situation, [same_folder, same_file], NOW)
    assert [one.past.facts.recorded.key for one in chosen] == [1, 2]
    assert chosen[0].files == ("/home/me/kites/up.py",)
    assert sum(chosen[0].parts.values()) == pytest.approx(chosen[0].relevance)


def test_of_several_files_and_topics_the_share_that_was_met_counts() -> None:
    situation = WorkSituation(files=["/k/up.py", "/k/down.py"], topics=["kites", "wind", "rain", "sun"])
    [one] = suggest(situation, [past(1, 1000, ("/k/up.py",), primaryTopics=["kites"])], NOW)
    assert one.parts == pytest.approx({"files": 0.9 * 0.4 / 0.65 / 2, "topics": 0.9 * 0.25 / 0.65 / 4, "recency": 0.1})


@given(
    st.integers(100, 20_000),
    st.lists(st.tuples(st.integers(0, 10**6), st.lists(st.integers(1, 30_000), max_size=3)), max_size=15),
)
def test_suggestions_together_never_take_more_than_the_budget(
    budget: int, sessions: list[tuple[int, list[int]]]
) -> None:
    pasts = [
        past(key, tokens, (), *(version_of(n, size, 0) for n, size in enumerate(sizes)))
        for key, (tokens, sizes) in enumerate(sessions)
    ]
    assert sum(one.tokens for one in suggest(WorkSituation(tokenBudget=budget), pasts, NOW)) <= budget
