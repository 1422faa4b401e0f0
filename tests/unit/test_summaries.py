"""Summaries: whole bullets below a limit, what the rules take from a talk, and each answer of a model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.base.errors import ModelOutput
from shared.llm.calls import EXTRACTIVE, WorkKind, estimate_tokens
from shared.llm.chat import Question
from shared.summaries.queries import MOST_TOKENS, code_lines, distinct, repeats_code, tokens_of, written
from tests.support.chance import examples
from tests.support.meters import Calls
from tests.support.scripted_chat import ScriptedChat, ScriptLine
from worker.agent.protocol import Digest, SummaryRequest, TranscriptTurn
from worker.agent.summary_model import ExtractiveSummaryAgent, ModelSummaryAgent

FENCE = "Look:\n```python\nconnection.execute('PRAGMA wal')\nend\n```\nand\n~~~\nSELECT  *  FROM rows\n~~~"


@given(st.lists(st.text(max_size=900), max_size=30), st.integers(1, 300))
def test_no_summary_is_above_its_limit_and_each_line_is_a_bullet(points: list[str], most: int) -> None:
    content = written(points, most)
    assert estimate_tokens(content) <= most
    assert all(line.startswith("- ") for line in content.splitlines())


@given(st.lists(st.text(alphabet="abc de", min_size=1, max_size=60), max_size=40))
def test_what_is_kept_is_kept_whole(points: list[str]) -> None:
    kept = [line.removeprefix("- ") for line in written(points).splitlines()]
    assert [line for line in kept if line not in distinct(points)] == []
    if tokens_of(points) <= MOST_TOKENS:
        assert kept == distinct(points)


def test_a_first_point_that_is_too_long_alone_is_cut_at_a_sentence() -> None:
    content = written(["We chose the blue one. " + "word " * 400])
    assert content.startswith("- We chose the blue one.") and estimate_tokens(content) <= MOST_TOKENS


@pytest.mark.parametrize(
    ("points", "content"),
    [
        pytest.param(["- one", "* two", "3. three", "• four"], "- one\n- two\n- three\n- four", id="their own marks"),
        pytest.param(["One.", "one", "ONE "], "- One.", id="the same again"),
        pytest.param(["", " \n", "...", "- "], "", id="nothing said"),
        pytest.param(["two\nlines"], "- two lines", id="two lines"),
        pytest.param(["3.5 litres"], "- 3.5 litres", id="a number is no mark"),
    ],
)
def test_points_become_clean_lines(points: list[str], content: str) -> None:
    assert written(points) == content


@pytest.mark.parametrize(
    ("point", "repeats"),
    [
        ("It runs connection.execute('PRAGMA wal') first", True),
        ("It runs connection.execute( 'PRAGMA wal' )", True), ("SELECT * FROM rows", True), ("```python", True),
        ("It switches the log on", False), ("In the end", False),
    ],
)  # fmt: skip
def test_a_whole_line_of_code_is_recognised(point: str, repeats: bool) -> None:
    assert repeats_code(point, code_lines([FENCE])) is repeats


def test_a_fence_that_was_never_closed_is_code_to_its_end() -> None:
    assert code_lines(["```\nfirst_line_of_it()\nsecond_line_of_it()"]) == {"first_line_of_it()", "second_line_of_it()"}


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TALK = (
    ("user", "Hi! Can you help me pick a database for the booking service?"),
    ("assistant", "Sure! What are your constraints?"),
    ("user", "We must run on one machine with 2 GB of memory. I prefer SQLite, it was a sunny day."),
    ("assistant", "Then let's use SQLite.\n```python\nconnection.execute('PRAGMA journal_mode=WAL')\n```\nThanks!"),
    ("user", "We decided to name the table reservations. We still need to plan the backups."),
    ("assistant", "I'll write the migration tomorrow."),
    ("user", "Does litestream work with it?"),
)


def by_rules(*said: tuple[str, str], previous: str | None = None) -> tuple[Digest, Calls]:
    turns = tuple(
        TranscriptTurn(f"m{i}", role, None, text, NOON + timedelta(minutes=i)) for i, (role, text) in enumerate(said)
    )
    calls = Calls()
    return ExtractiveSummaryAgent().summarise(SummaryRequest("chat", turns, previous), calls), calls


def test_decisions_come_first_then_wishes_then_what_is_open() -> None:
    points = list(by_rules(*TALK)[0].points)
    expected = [
        "Assistant: Then let's use SQLite",
        "User: We decided to name the table reservations",
        "User: I prefer SQLite, it was a sunny day",
        "User: We must run on one machine with 2 GB of memory",
        "User: Does litestream work with it?",
    ]
    assert [point for point in points if point in expected] == expected


def test_greetings_answered_questions_and_code_are_left_out_and_days_are_dated() -> None:
    text = "\n".join(by_rules(*TALK)[0].points)
    assert "2 March 2026" in text
    for gone in ("PRAGMA", "execute", "constraints", "Thanks", "pick a database"):
        assert gone not in text


def test_what_the_summary_before_says_is_not_said_again() -> None:
    points = by_rules(*TALK, previous="- User: We decided to name the table reservations")[0].points
    assert not any("reservations" in point for point in points) and points


@pytest.mark.parametrize(
    "said",
    [
        (("user", "Hello!"), ("assistant", "Hi there! How are you?")),
        (("user", "Thanks a lot!"), ("assistant", "You're welcome.")),
        (("assistant", "```\nlet x = compute(1, 2);\n```"),),
        (("user", "   "),),
    ],
    ids=["greetings", "thanks", "code alone", "white space"],
)
def test_small_talk_comes_to_nothing(said: tuple[tuple[str, str], ...]) -> None:
    assert by_rules(*said)[0] == Digest((), len(said))


def test_it_is_booked_as_the_built_in_agents_work() -> None:
    _, calls = by_rules(*TALK)
    assert [(call.kind, call.model) for call in calls] == [(WorkKind.SUMMARISE, EXTRACTIVE)]
    assert calls[0].completion_tokens <= calls.estimates[0].most_completion_tokens + 20


def test_a_long_talk_fills_what_there_is_and_no_more() -> None:
    said = [("user", f"We decided that module number {n} is written by the team of city {n * 7}.") for n in range(150)]
    content = written(by_rules(*said)[0].points)
    assert MOST_TOKENS // 2 < len(content) / 4 <= MOST_TOKENS


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=400)), min_size=1, max_size=8))
def test_whatever_is_said_is_read_whole(said: list[tuple[str, str]]) -> None:
    assert by_rules(*said)[0].turns_read == len(said)


TALK_OF_CODE = (
    ("user", "We take SQLite. Run `connection.execute('PRAGMA wal')` first."),
    ("assistant", "Done:\n```python\nconnection.execute('PRAGMA journal_mode=WAL')\n```"),
)


def span(*said: tuple[str, str], previous: str | None = None) -> SummaryRequest:
    pairs = enumerate(said or TALK_OF_CODE, 1)
    turns = tuple(
        TranscriptTurn(f"msg_{i}", role, None, text, NOON + timedelta(minutes=i)) for i, (role, text) in pairs
    )
    return SummaryRequest("diary", turns, previous)


def points(*given: Any) -> dict[str, Any]:
    return {"points": list(given)}


def summarise(
    *lines: ScriptLine, given: SummaryRequest | None = None, window: int = 8192
) -> tuple[Digest, ScriptedChat, Calls]:
    chat, calls = ScriptedChat(lines, context_tokens=window), Calls()
    agent = ModelSummaryAgent(chat, chat.name, window, 30.0)
    return agent.summarise(given or span(), calls), chat, calls


def test_its_points_are_proposed_and_the_call_is_booked() -> None:
    found, _, calls = summarise(points("They use SQLite", "They use SQLite.", "- Backups are open"))
    assert found == Digest(("They use SQLite", "Backups are open"), 2)
    assert [call.kind for call in calls] == [WorkKind.SUMMARISE]


def test_the_model_is_shown_what_was_said_and_the_summary_before() -> None:
    _, chat, _ = summarise(points(), given=span(previous="- They like tea"))
    shown = chat.questions[0].user.splitlines()
    assert "- They like tea" in shown and any("user: We take SQLite." in line for line in shown)


def test_nothing_is_an_answer() -> None:
    found, _, calls = summarise(points())
    assert found == Digest((), 2) and len(calls) == 1


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(points("I'm sorry, I cannot summarise this."), id="apology as a point"),
        pytest.param(points("..."), id="no words"),
        pytest.param(points({"text": "They use SQLite"}), id="an object for a text"),
        pytest.param({"points": "They use SQLite"}, id="no list"),
        pytest.param('["They use SQLite"]', id="bare list"),
        pytest.param({"summary": "They use SQLite"}, id="another key"),
    ],
)
def test_an_unusable_answer_is_asked_for_again_and_after_three_refused(line: ScriptLine) -> None:
    found, chat, calls = summarise(line, points("They use SQLite"))
    assert found.points == ("They use SQLite",) and len(calls) == 2
    assert (chat.questions[1].complaint or "").startswith("This answer cannot be used")
    with pytest.raises(ModelOutput):
        summarise(line, line, line)


def test_too_much_is_asked_for_once_more_and_then_handed_on_to_be_cut() -> None:
    long = points(
        *(f"SQLite runs first, then the connection is executed, journal {one}" for one in "abcdefghjklmnopqrstu")
    )
    found, chat, _ = summarise(long, points("SQLite first"))
    assert found.points == ("SQLite first",) and "at most 200" in (chat.questions[1].complaint or "")
    assert len(summarise(long, long)[0].points) == 20


def test_a_point_that_copies_code_is_asked_for_in_words_and_dropped_if_it_stays() -> None:
    copied = points("It runs connection.execute('PRAGMA journal_mode=WAL')", "They use SQLite")
    found, chat, calls = summarise(copied, copied)
    assert found.points == ("They use SQLite",) and len(calls) == 2
    assert "copies code" in (chat.questions[1].complaint or "")


def test_what_does_not_fit_is_left_for_the_next_time() -> None:
    said = [("user", f"{i} " + "rowing " * 60) for i in range(40)]
    found, chat, calls = summarise(points("They row"), given=span(*said), window=2560)
    assert 0 < found.turns_read < 40 and len(calls) == 1
    shown = chat.questions[0].user
    assert f"[{found.turns_read}] user" in shown and f"[{found.turns_read + 1}] user" not in shown


def test_one_turn_that_does_not_fit_is_read_whole_in_parts_and_the_notes_once_more() -> None:
    words = [f"w{i}" for i in range(1200)]

    def note(question: Question[Any]) -> ScriptLine:
        return points(next(word for word in question.user.split() if word in words))

    found, chat, calls = summarise(*[note] * 20, given=span(("user", " ".join(words)), ("user", "Bye.")), window=2560)
    *parts, last = [question.user for question in chat.questions]
    assert [word for part in parts for word in part.split() if word in set(words)] == words
    assert found.turns_read == 1 and len(calls) > 2 and last.count("- w") == len(parts)


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=900)), min_size=1, max_size=10),
    st.one_of(st.none(), st.text(min_size=1, max_size=800)),
    st.lists(st.text(max_size=400), max_size=8),
    st.sampled_from([2048, 4096]),
)
def test_no_question_passes_the_window_and_no_turn_is_passed_over(
    said: list[tuple[str, str]], previous: str | None, answered: list[str], window: int
) -> None:
    asked: list[Question[Any]] = []

    def answer(question: Question[Any]) -> ScriptLine:
        asked.append(question)
        return points("They use SQLite", *(f"x{one}" for one in answered))

    said = [(role, f"They use SQLite. {text}") for role, text in said]
    found, _, _ = summarise(*[answer] * 80, given=span(*said, previous=previous), window=window)
    assert 1 <= found.turns_read <= len(said)
    assert all(question.most_tokens + question.max_completion_tokens <= window for question in asked)
