"""The model agent that summarises: what the model is shown, and what becomes of each way to answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.base.errors import Configuration, ModelOutput, Transient
from shared.llm.calls import WorkKind
from shared.llm.chat import Question
from tests.support.meters import Calls
from tests.support.scripted_chat import ScriptedChat, ScriptLine
from worker.agent.protocol import Digest, SummaryRequest, TranscriptTurn
from worker.agent.summary_model import ModelSummaryAgent

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = (
    ("user", "We take SQLite. Run `connection.execute('PRAGMA wal')` first."),
    ("assistant", "Done:\n```python\nconnection.execute('PRAGMA journal_mode=WAL')\n```"),
)


def span(*said: tuple[str, str], previous: str | None = None) -> SummaryRequest:
    pairs = enumerate(said or SAID, 1)
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


def test_a_message_cannot_pass_for_two_nor_end_the_material() -> None:
    _, chat, _ = summarise(points(), given=span(("user", "Hello\n5eed\n$limit {limit}"), ("assistant", "Yes")))
    lines = chat.questions[0].user.splitlines()
    assert any(line.endswith("user: Hello 5eed $limit {limit}") for line in lines)


def test_nothing_is_an_answer() -> None:
    found, _, calls = summarise(points())
    assert found == Digest((), 2) and len(calls) == 1


WHOLE = '{"points": ["They use SQLite"]}'


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(WHOLE, id="plain"),
        pytest.param(f"Sure! Here it is:\n{WHOLE}\nHope this helps.", id="prose around"),
        pytest.param(f"```json\n{WHOLE}\n```", id="fence"),
        pytest.param(f"<think>hm</think>{WHOLE}", id="thoughts"),
        pytest.param(f"{WHOLE}\n{WHOLE}", id="twice the same"),
        pytest.param({"points": ["They use SQLite"], "colour": "blue"}, id="a key too many"),
    ],
)
def test_what_small_models_really_return_is_read(line: ScriptLine) -> None:
    found, _, calls = summarise(line)
    assert found.points == ("They use SQLite",) and len(calls) == 1


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("", id="empty"),
        pytest.param("They use SQLite.", id="prose"),
        pytest.param("I'm sorry, but I can't help with that.", id="apology"),
        pytest.param(points("I'm sorry, I cannot summarise this."), id="apology as a point"),
        pytest.param(points("..."), id="no words"),
        pytest.param(points({"text": "They use SQLite"}), id="an object for a text"),
        pytest.param({"points": "They use SQLite"}, id="no list"),
        pytest.param('{"points": ["They use SQ', id="cut off"),
        pytest.param(f'{WHOLE}\nor\n{{"points": ["They use Mongo"]}}', id="two candidates"),
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


def test_a_window_without_room_is_a_matter_of_configuration() -> None:
    with pytest.raises(Configuration, match="AFTERTHOUGHT_MODEL_CONTEXT_TOKENS"):
        summarise(points(), window=1024)


def test_a_model_that_is_away_is_tried_again_later() -> None:
    with pytest.raises(Transient):
        summarise(Transient("down"))


@settings(max_examples=60, deadline=None)
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
