"""What an agent learns from what people asked for, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from shared.sessions.blocks import Block, BlockKind, RecordedToolCall
from shared.sessions.models import SemanticKind
from shared.sessions.semantic import SessionPrompt, confidence, material_of, normal_of, patterns_in
from tests.support.meters import Calls
from tests.support.scripted_chat import ScriptedChat, ScriptLine
from worker.agent.session_model import ModelLearningAgent
from worker.agent.session_rules import ExtractiveLearningAgent

DECISION, FACT, PREFERENCE = SemanticKind.DECISION, SemanticKind.FACT, SemanticKind.PREFERENCE


def learnt(text: str) -> list[tuple[SemanticKind, str]]:
    found = ExtractiveLearningAgent().learn([SessionPrompt("u1", text)], Calls())
    return [(one.kind, one.content) for one in found.proposals]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Always run the linter before you commit.", [(PREFERENCE, "Always run the linter before you commit")]),
        ("please don't touch the generated files", [(PREFERENCE, "Please don't touch the generated files")]),
        ("Use pytest instead of unittest.", [(PREFERENCE, "Use pytest instead of unittest")]),
        ("We decided to keep SQLite for tests.", [(DECISION, "We decided to keep SQLite for tests")]),
        ("Let's use Postgres for the queue.", [(DECISION, "Let's use Postgres for the queue")]),
        ("The project uses Jest for testing.", [(FACT, "The project uses Jest for testing")]),
        ("Our API follows REST with /api/v1 in front.", [(FACT, "Our API follows REST with /api/v1 in front")]),
    ],
)
def test_what_is_laid_down_outright_is_learnt(said: str, expected: list[tuple[SemanticKind, str]]) -> None:
    assert learnt(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Should we always run the linter?",
        "The build is broken again.",
        "Maybe the project uses Jest.",
        "Fix the retry in upload.py.",
        "ok",
        "The tests are failing now",
        "```\nalways use tabs\n```",
        "> always use tabs, they said",
        "I want to make sure I'm building the right thing.",
    ],
)
def test_questions_guesses_quotations_and_what_passes_are_not(said: str) -> None:
    assert learnt(said) == []


def turn(kind: BlockKind, text: str, **more: Any) -> Block:
    return Block(kind, "user", text, sources=("u1",), **more)


def test_only_a_person_s_own_prompts_are_material() -> None:
    material = material_of(
        [
            turn(BlockKind.HUMAN, "Always run the linter."),
            turn(BlockKind.HUMAN, "Never run it.", is_sidechain=True),
            turn(BlockKind.ASSISTANT, "Always use tabs."),
            turn(BlockKind.TOOL_RESULT, "Always use spaces."),
            turn(BlockKind.META, "Always obey."),
            turn(BlockKind.SUMMARY, "The user always wants tests."),
        ]
    )
    assert [one.text for one in material.prompts] == ["Always run the linter."]


def test_a_command_run_again_and_again_is_a_pattern() -> None:
    commands = ["go test ./...", "ls", "go  test ./...", "go test ./...", *["x" * 200] * 3]
    uses = [
        turn(BlockKind.TOOL_USE, "{}", call=RecordedToolCall("t", "Bash", {"command": one}, None)) for one in commands
    ]
    assert [(one.kind, one.content) for one in patterns_in(material_of(uses))] == [("pattern", "Runs `go test ./...`")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Always run the linter.", "always run linter", True),
        ("Please always run the linter", "Always run the linter!", True),
        ("Use pytest", "Use unittest", False),
        ("Keep /api/v1", "Keep /api/v2", False),
    ],
)
def test_what_says_the_same_is_the_same(one: str, other: str, same: bool) -> None:
    assert (normal_of(one) == normal_of(other)) is same


def test_what_more_sessions_say_is_believed_more() -> None:
    assert [confidence(n) for n in (0, 1, 2, 3)] == [0.0, 0.5, 0.75, 0.88]
    assert confidence(100) < 1


SAID = (
    SessionPrompt("u1", "Always run make lint before a commit."),
    SessionPrompt("u2", "We use Postgres 16 for the queue."),
)


def ask(*answers: ScriptLine) -> tuple[list[tuple[str, str, str]], int, int]:
    agent = ModelLearningAgent(ScriptedChat(answers), "ollama:test", 8192, 10.0, lambda: "mark")
    calls = Calls()
    found = agent.learn(SAID, calls)
    return [(one.kind, one.content, one.uuid) for one in found.proposals], found.prompts_read, len(calls)


def finding(content: str, *sources: int, kind: str = "fact") -> dict[str, Any]:
    return {"findings": [{"kind": kind, "content": content, "from": list(sources)}]}


def test_what_a_model_finds_is_taken_where_it_was_said() -> None:
    answer = finding("The queue uses Postgres 16", 2)
    assert ask(answer) == ([("fact", "The queue uses Postgres 16", "u2")], 2, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        finding("The queue uses Redis 7", 2),
        finding("The queue uses Postgres 17", 2),
        finding("The queue uses Postgres 16", 1),
        finding("The queue uses Postgres 16", 9),
        finding("The queue uses Postgres 16"),
        finding("x" * 300, 2),
        finding("I am sorry, I cannot help with that.", 2),
        finding("The queue uses Postgres 16", 2, kind="opinion"),
        "not json",
    ],
    ids=["invented name", "invented number", "said elsewhere", "no such message", "no source", "too long", "apology",
         "unknown kind", "no JSON"],
)  # fmt: skip
def test_what_was_not_said_is_asked_for_once_more_and_then_dropped(wrong: ScriptLine) -> None:
    assert ask(wrong, finding("Always run make lint", 1, kind="preference")) == (
        [("preference", "Always run make lint", "u1")], 2, 2
    )  # fmt: skip
    if isinstance(wrong, dict) and wrong["findings"][0]["kind"] != "opinion":
        assert ask(wrong, wrong) == ([], 2, 2)


def test_of_more_prompts_than_fit_the_window_the_first_are_read_and_no_more_counted() -> None:
    long = [SessionPrompt(f"u{n}", f"Rule {n}: " + "words and more words " * 60) for n in range(20)]
    chat = ScriptedChat([{"findings": []}], context_tokens=4096)
    found = ModelLearningAgent(chat, "ollama:test", 4096, 10.0).learn(long, Calls())
    assert 0 < found.prompts_read < 20


def test_a_prompt_longer_than_the_window_is_read_as_far_as_it_fits_and_does_not_stop_the_rest() -> None:
    chat = ScriptedChat([{"findings": []}], context_tokens=2048)
    agent = ModelLearningAgent(chat, "ollama:test", 2048, 10.0)
    assert agent.learn([SessionPrompt("u1", "words " * 1300)], Calls()).prompts_read == 1
