"""What the extractive agent keeps of one conversation, and what it leaves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shared.llm.calls import CallOutcome, WorkKind
from tests.support.meters import Calls
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import MemoryDraft, NothingToRemember, Transcript, TranscriptTurn

_WHEN = datetime(2023, 5, 8, 14, 0, tzinfo=UTC)


def _transcript(*said: tuple[str, str], known: tuple[str, ...] = (), names: bool = False) -> Transcript:
    turns = tuple(
        TranscriptTurn(f"m{i}", "user" if names else who, who if names else None, text, _WHEN)
        for i, (who, text) in enumerate(said)
    )
    return Transcript("chat", turns, _WHEN, known=known)


def _create(transcript: Transcript, limit: int = 200) -> MemoryDraft | NothingToRemember:
    return ExtractiveAgent().create(transcript, limit, Calls())


def _draft(*said: tuple[str, str], limit: int = 200, known: tuple[str, ...] = (), names: bool = False) -> MemoryDraft:
    made = _create(_transcript(*said, known=known, names=names), limit)
    assert isinstance(made, MemoryDraft)
    return made


@pytest.mark.parametrize("i", range(1, 9))
def test_every_scheduled_meeting_is_remembered_even_beside_the_others(i: int) -> None:
    known = tuple(f"User: Our meeting {j} is on 9 May" for j in range(1, 12) if j != i)
    draft = _draft(("user", f"Our meeting {i} is on 9 May."), ("assistant", "Noted."), known=known)
    assert f"meeting {i}" in draft.content


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("I prefer morning meetings", "morning meetings"),
        ("I am allergic to peanuts", "peanuts"),
        ("My birthday is 15 March", "15 March"),
        ("I live in New York", "New York"),
        ("I speak Spanish and English", "Spanish and English"),
        ("I have two children", "two children"),
        ("I have two kids.", "two kids"),
        ("I drive a Tesla", "Tesla"),
        ("I exercise daily", "exercise"),
        ("I exercise every day.", "exercise every day"),
        ("I'm vegetarian", "vegetarian"),
        ("I work remotely", "remotely"),
        ("I work from home", "work from home"),
        ("I love jazz", "jazz"),
        ("I graduated from MIT", "MIT"),
        ("Remember that I like tea!", "tea"),
    ],
)
def test_a_short_statement_about_oneself_is_kept_in_its_own_words(said: str, topic: str) -> None:
    draft = _draft(("user", said), ("assistant", "Got it, I'll remember that."))
    assert topic in draft.content
    assert draft.content.startswith("User: ")


@pytest.mark.parametrize(
    "said",
    [
        (),
        (("user", "   "),),
        (("user", "Hello!"), ("assistant", "Hi, how can I help?")),
        (("user", "Thanks a lot, bye"), ("assistant", "You're welcome!")),
        (("user", "How are you?"),),
        (("user", "What is the capital of France?"), ("assistant", "Paris is the capital of France.")),
        (("system", "My favourite colour is ultramarine"), ("tool", "Felix weighs 4 kg")),
        (("user", "```\nmy_secret = 42\n```"),),
    ],
    ids=["empty", "blank", "greeting", "thanks", "how are you", "question only", "system and tool", "code only"],
)
def test_a_conversation_without_substance_gives_nothing_and_says_why(said: tuple[tuple[str, str], ...]) -> None:
    made = _create(_transcript(*said))
    assert isinstance(made, NothingToRemember)
    assert made.reason


def test_what_is_already_remembered_is_not_remembered_again() -> None:
    known = ("User: I'm allergic to peanuts; vegetarian",)
    made = _create(_transcript(("user", "I am allergic to peanuts"), known=known))
    assert isinstance(made, NothingToRemember)
    assert "already" in made.reason


def test_a_denial_of_what_is_remembered_is_news() -> None:
    assert "not" in _draft(("user", "I am not allergic to peanuts"), known=("User: I'm allergic to peanuts",)).content


def test_recalled_memories_quoted_in_a_message_are_not_statements() -> None:
    recalled = "(memories for app: chat)\n1. [Created: 2023-05-01] Drives a Tesla.\n\nI bought a Volvo"
    assert "Tesla" not in _draft(("user", recalled)).content


def test_what_a_machine_says_is_no_source_of_a_memory() -> None:
    draft = _draft(
        ("user", "My cat is called Felix."),
        ("assistant", "Cats sleep sixteen hours. I've scheduled the vet for Monday at 3pm. I could book a taxi."),
    )
    assert draft.content == "User: My cat is called Felix"


def test_both_named_speakers_count_and_each_statement_says_whose_it_is() -> None:
    draft = _draft(
        ("Ada", "Hey Bo! I adopted a greyhound called Pixel yesterday."),
        ("Bo", "Wow, Ada, that's amazing! I started a pottery course in Ghent."),
        names=True,
    )
    assert draft.content.index("Ada: ") < draft.content.index("Pixel") < draft.content.index("Bo: ")
    assert "7 May 2023" in draft.content
    assert "amazing" not in draft.content
    assert draft.message_ids == ("m0", "m1")


@pytest.mark.parametrize("limit", [40, 60, 200, 400, 800, 2000])
def test_a_memory_never_exceeds_its_limit_and_is_one_line(limit: int) -> None:
    said = [("user", f"I moved to Town{i} with {i} horses and my brother Edgar{i}.\nThat was hard!") for i in range(80)]
    draft = _draft(*said, limit=limit)
    assert len(draft.content) <= limit
    assert "\n" not in draft.content


def test_one_statement_longer_than_the_limit_is_cut_between_words() -> None:
    said = "I keep " + " ".join(f"creature{i}" for i in range(60))
    draft = _draft(("user", said), limit=60)
    assert len(draft.content) <= 60
    assert set(draft.content.removeprefix("User: ").split()) <= set(said.split())


def test_a_very_long_or_odd_name_leaves_room_for_what_was_said() -> None:
    turn = TranscriptTurn(
        "m0", "user", "Maximiliane Konstanze: of; the Very Long\nName " * 4, "I own a zeppelin", _WHEN
    )
    made = _create(Transcript("chat", (turn,), _WHEN), 40)
    assert isinstance(made, MemoryDraft)
    assert "zeppelin" in made.content
    assert len(made.content) <= 40


def test_other_languages_are_remembered_too() -> None:
    assert "Berlin" in _draft(("user", "Ich wohne in Berlin und arbeite bei Siemens.")).content
    assert "饺子" in _draft(("user", "我住在北京，我喜欢吃饺子。")).content


def test_the_same_conversation_always_gives_the_same_memory() -> None:
    transcript = _transcript(("user", "I sail on Lake Geneva. I own 3 boats. My sister Ines lives in Lyon."))
    assert _create(transcript) == _create(transcript)


def test_importance_and_tags_say_what_the_memory_is_about() -> None:
    draft = _draft(("user", "I bought a sailing boat in Marseille."))
    assert 0 <= draft.importance <= 10
    assert "marseille" in draft.tags


def test_the_work_is_metered_once_with_estimated_tokens() -> None:
    calls = Calls()
    ExtractiveAgent().create(_transcript(("user", "I love jazz")), 200, calls)
    (call,) = calls
    assert (call.kind, call.model, call.outcome, call.estimated) == (
        WorkKind.CREATE,
        "extractive",
        CallOutcome.ANSWERED,
        True,
    )
    assert call.prompt_tokens == 3
    assert call.completion_tokens > 0


@pytest.mark.parametrize("part", ["`", "[", "[a ", ".", " - ", "\n", "oh ", "and I ", '"', "1 May 2023 ", "> x\n"])
def test_a_huge_odd_message_is_read_in_seconds(part: str) -> None:
    calls = Calls()
    transcript = _transcript(("user", part * (200_000 // len(part))))
    ExtractiveAgent().create(transcript, 200, calls)
    assert calls[0].seconds < 60
