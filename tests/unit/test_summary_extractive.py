"""The built-in agent's summaries: what was decided, wished for and left open, and none of the code."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm.calls import EXTRACTIVE, WorkKind
from shared.summaries.queries import MOST_TOKENS, written
from tests.support.meters import Calls
from worker.agent.protocol import Digest, SummaryRequest, TranscriptTurn
from worker.agent.summary_model import ExtractiveSummaryAgent

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


def summarise(*said: tuple[str, str], previous: str | None = None) -> tuple[Digest, Calls]:
    turns = tuple(
        TranscriptTurn(f"m{i}", role, None, text, NOON + timedelta(minutes=i)) for i, (role, text) in enumerate(said)
    )
    calls = Calls()
    return ExtractiveSummaryAgent().summarise(SummaryRequest("chat", turns, previous), calls), calls


def test_decisions_come_first_then_wishes_then_what_is_open() -> None:
    points = list(summarise(*TALK)[0].points)
    expected = [
        "Assistant: Then let's use SQLite",
        "User: We decided to name the table reservations",
        "User: I prefer SQLite, it was a sunny day",
        "User: We must run on one machine with 2 GB of memory",
        "User: Does litestream work with it?",
    ]
    assert [point for point in points if point in expected] == expected


def test_greetings_answered_questions_and_code_are_left_out_and_days_are_dated() -> None:
    text = "\n".join(summarise(*TALK)[0].points)
    assert "2 March 2026" in text
    for gone in ("PRAGMA", "execute", "constraints", "Thanks", "pick a database"):
        assert gone not in text


def test_what_the_summary_before_says_is_not_said_again() -> None:
    points = summarise(*TALK, previous="- User: We decided to name the table reservations")[0].points
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
    assert summarise(*said)[0] == Digest((), len(said))


def test_it_is_booked_as_the_built_in_agents_work() -> None:
    _, calls = summarise(*TALK)
    assert [(call.kind, call.model) for call in calls] == [(WorkKind.SUMMARISE, EXTRACTIVE)]
    assert calls[0].completion_tokens <= calls.prospects[0].most_completion_tokens + 20


def test_the_same_talk_comes_to_the_same() -> None:
    assert summarise(*TALK)[0] == summarise(*TALK)[0]


def test_a_long_talk_fills_what_there_is_and_no_more() -> None:
    said = [("user", f"We decided that module number {n} is written by the team of city {n * 7}.") for n in range(150)]
    content = written(summarise(*said)[0].points)
    assert MOST_TOKENS // 2 < len(content) / 4 <= MOST_TOKENS


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=400)), min_size=1, max_size=8))
def test_whatever_is_said_is_read_whole(said: list[tuple[str, str]]) -> None:
    assert summarise(*said)[0].turns_read == len(said)
