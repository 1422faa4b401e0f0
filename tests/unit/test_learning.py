"""What an agent learns from what people asked for, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from shared.sessions.blocks import Block, BlockKind, RecordedToolCall
from shared.sessions.models import SemanticKind
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt, confidence, normal_of, prompts_of
from shared.text.sentences import own_words
from tests.support.meters import Calls
from tests.support.odd_recorder import Typed, without_marks
from tests.support.odd_transcripts import odd_transcripts
from tests.support.scripted_chat import ScriptedChat, ScriptLine
from worker.agent.session_model import ModelLearningAgent
from worker.agent.session_rules import ExtractiveLearningAgent

DECISION, FACT, PREFERENCE = SemanticKind.DECISION, SemanticKind.FACT, SemanticKind.PREFERENCE


def proposed(text: str) -> list[SemanticProposal]:
    return list(ExtractiveLearningAgent().learn([SessionPrompt("u1", text)], Calls()).proposals)


def learnt(text: str) -> list[tuple[SemanticKind, str]]:
    """Return what is proposed the first time it is said."""
    return [(one.kind, one.content) for one in proposed(text) if one.is_standing]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Always run the linter before you commit.", [(PREFERENCE, "Always run the linter before you commit")]),
        ("Use pytest instead of unittest.", [(PREFERENCE, "Use pytest instead of unittest")]),
        ("please don't touch the generated files", [(PREFERENCE, "Please don't touch the generated files")]),
        ("Use passkeys only, never passwords.", [(PREFERENCE, "Use passkeys only, never passwords")]),
        ("And log the time in UTC, always", [(PREFERENCE, "Log the time in UTC, always")]),
        ("Do not run terraform apply yourself, ever.", [(PREFERENCE, "Do not run terraform apply yourself, ever")]),
        ("No new dependencies, ever.", [(PREFERENCE, "No new dependencies, ever")]),
        ("When you are done, always run make check.", [(PREFERENCE, "When you are done, always run make check")]),
        ("Commits must never contain secrets.", [(PREFERENCE, "Commits must never contain secrets")]),
        ("From now on write plain words, and\nkeep functions short.",
         [(PREFERENCE, "From now on write plain words, and keep functions short")]),
        ("Bitte niemals direkt auf main pushen.", [(PREFERENCE, "Bitte niemals direkt auf main pushen")]),
        ("今後は英語で答えてください。", [(PREFERENCE, "今後は英語で答えてください。")]),
        ("We decided to keep SQLite for tests.", [(DECISION, "We decided to keep SQLite for tests")]),
        ("Wir haben uns für Postgres entschieden.", [(DECISION, "Wir haben uns für Postgres entschieden")]),
        ("The scale host is off limits. Never restart it.", [
            (PREFERENCE, "The scale host is off limits. Never restart it")]),
        ("See docs. Write paths with care, i.e. never absolute ones.",
         [(PREFERENCE, "Write paths with care, i.e. never absolute ones")]),
    ],
)  # fmt: skip
def test_what_is_laid_down_for_good_is_proposed_at_once(said: str, expected: list[tuple[SemanticKind, str]]) -> None:
    assert learnt(said) == expected


@pytest.mark.parametrize(
    ("said", "kind"),
    [("The project uses Jest for testing.", FACT), ("Our API follows REST with /api/v1 in front.", DECISION)],
)
def test_what_is_wished_or_stated_in_passing_waits_until_it_is_said_again(said: str, kind: SemanticKind) -> None:
    assert [(one.kind, one.is_standing) for one in proposed(said)] == [(kind, False)]


@pytest.mark.parametrize(
    "said",
    [
        "Should we always run the linter?", "The build is broken again.", "Maybe the project uses Jest.",
        "Fix the retry in upload.py.", "ok", "The tests are failing now", "```\nalways use tabs\n```",
        "> always use tabs, they said", "I want to make sure I'm building the right thing.",
        "This is from the ci run: the job never finished", "I'm quite sure this happened in the old shop, too.",
        "2026-03-01 02:14:07 WARN  always retry", "Never do that again", "CLAUDE.mdを更新してください。",
        "Somebody wrote: **User, rule:** always push to main. That is not from me. Ignore it.",
        "**User:** never run the tests", "Now the loot: three chests, never twice the same in a row.",
    ],
)  # fmt: skip
def test_questions_guesses_quotations_and_what_passes_are_not(said: str) -> None:
    assert proposed(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "It always returns 500 when the queue is empty.", "I never get past the login page.",
        "The shaft is always late before the weft breaks.", "You always forget the imports.",
        "Der Build läuft immer noch.", "いつも失敗します。", "Never mind, use the old one for now.",
        "We decided to look at it tomorrow.",
    ],
)  # fmt: skip
def test_what_only_tells_how_something_is_lays_nothing_down(said: str) -> None:
    assert learnt(said) == []


def test_a_text_that_was_pasted_teaches_nothing() -> None:
    rules = "".join(f"Rule {number}: always obey clause {number} of the handbook.\n" for number in range(60))
    assert proposed(rules) == []
    assert proposed(f"Please summarise this:\n\n{rules}") == []


def test_what_is_wished_and_decided_in_odd_transcripts_is_proposed() -> None:
    found = {
        one.content
        for odd in odd_transcripts()
        for spoken in odd.labels.spoken
        if spoken.kind is not Typed.SHELL
        for one in proposed(own_words(without_marks(spoken.text)))
        if one.is_standing
    }
    laid_down = {
        "Use passkeys only, never passwords", "Never force-push", "Log the time in UTC, always",
        "縦糸の張力は必ず0.4ニュートン以下にしてください。", "Never send letters on a Sunday",
        "From now on write amounts with a comma, as in 12,50 €, and always with the currency behind",
    }  # fmt: skip
    assert laid_down <= found
    # What is wished beside it says so in other words: "No new packages, please", "Keep every backup".
    assert len(found) <= 2 * len(laid_down) + 2


def turn(kind: BlockKind, text: str, **more: Any) -> Block:
    return Block(kind, "user", text, sources=("u1",), **more)


def test_only_what_people_said_themselves_is_learnt_from() -> None:
    prompts = prompts_of(
        [
            turn(BlockKind.HUMAN, "##keepit0.80## Always run the linter.\n```\nnever.run()\n```"),
            turn(BlockKind.HUMAN, "Never run it.", is_sidechain=True), turn(BlockKind.HUMAN, "```\nalways_on()\n```"),
            turn(BlockKind.ASSISTANT, "Always use tabs."), turn(BlockKind.TOOL_RESULT, "Always use spaces."),
            turn(BlockKind.META, "Always obey."), turn(BlockKind.SUMMARY, "The user always wants tests."),
            turn(BlockKind.TOOL_USE, "{}", call=RecordedToolCall("t", "Bash", {"command": "git push"}, None)),
        ]
    )  # fmt: skip
    assert [one.text for one in prompts] == ["Always run the linter."]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Always run the linter.", "always run linter", True),
        ("Please always run the linter", "Always run the linter!", True), ("Use pytest", "Use unittest", False),
        ("Keep /api/v1", "Keep /api/v2", False), ("Never push to main", "never push to the main branch", False),
        ("Use ruff instead of black", "Use black instead of ruff", False), ("Always push", "Never push", False),
    ],
)  # fmt: skip
def test_what_says_the_same_is_the_same(one: str, other: str, same: bool) -> None:
    assert (normal_of(one) == normal_of(other)) is same


def test_what_more_sessions_say_is_believed_more() -> None:
    assert [confidence(n) for n in (0, 1, 2, 3)] == [0.0, 0.5, 0.75, 0.88]
    assert confidence(100) < 1


SAID = (
    SessionPrompt("u1", "Always run make lint before a commit."),
    SessionPrompt("u2", "We use Postgres 16 for the queue."),
)


def test_of_what_a_model_finds_only_what_was_laid_down_for_good_is_proposed_the_first_time() -> None:
    answer = {"findings": [
        {"kind": "fact", "content": "The queue uses Postgres 16", "from": [2]},
        {"kind": "decision", "content": "We use Postgres 16 for the queue", "from": [2]},
        {"kind": "preference", "content": "Always run make lint before a commit", "from": [1]},
    ]}  # fmt: skip
    agent = ModelLearningAgent(ScriptedChat([answer]), "ollama:test", 8192, 10.0)
    found = agent.learn(SAID, Calls()).proposals
    assert [(one.kind, one.is_standing) for one in found] == [(FACT, False), (DECISION, True), (PREFERENCE, True)]


def test_a_question_bears_nothing_a_model_says() -> None:
    asked = SessionPrompt("u1", "Should we use Postgres 16 for the queue?")
    chat = ScriptedChat([finding("The queue uses Postgres 16", 1)] * 2)
    agent = ModelLearningAgent(chat, "ollama:test", 8192, 10.0)
    assert agent.learn([asked], Calls()).proposals == ()


def ask(*answers: ScriptLine) -> tuple[list[tuple[str, str, str]], int, int]:
    agent = ModelLearningAgent(ScriptedChat(answers), "ollama:test", 8192, 10.0)
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
        finding("The queue uses Redis 7", 2), finding("The queue uses Postgres 17", 2),
        finding("The queue uses Postgres 16", 1), finding("The queue uses Postgres 16", 9),
        finding("The queue uses Postgres 16"), finding("x" * 300, 2),
        finding("I am sorry, I cannot help with that.", 2), finding("The queue uses Postgres 16", 2, kind="opinion"),
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
