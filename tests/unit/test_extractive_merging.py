"""How the extractive agent makes room: by what would be lost, never by age."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.llm.calls import WorkKind
from shared.memories.compaction import NEW, SLIGHT, VITAL, Action, CompactionCandidate, Decision, carry_out, refusal
from shared.text.words import content_stems
from tests.support.meters import Calls
from worker.agent.memory_rules import ExtractiveAgent
from worker.pipelines.create_memory import by_rules

_START = datetime(2023, 5, 1, tzinfo=UTC)
_TOPICS = (
    "I prefer morning meetings",
    "I'm allergic to peanuts",
    "My birthday is 15 March",
    "I live in New York",
    "I speak Spanish and English",
    "I have two children",
    "I drive a Tesla",
    "I exercise daily",
    "I'm vegetarian",
    "I work remotely",
    "I love jazz",
    "I graduated from MIT",
)


def _memory(number: int, content: str, *, pinned: bool = False, importance: int = 5) -> CompactionCandidate:
    return CompactionCandidate(number, content, _START + timedelta(days=number), importance, pinned=pinned)


def _decide(existing: list[CompactionCandidate], new: str, limit: int = 200) -> Decision:
    candidate = CompactionCandidate(NEW, new, _START + timedelta(days=99))
    decision = ExtractiveAgent().compact(existing, candidate, limit, Calls())
    assert refusal(decision, existing, candidate, limit) is None
    return decision


def _hold(contents: list[str], limit: int = 200) -> list[CompactionCandidate]:
    held: list[CompactionCandidate] = []
    for number, content in enumerate(contents, 1):
        placed = _memory(number, content)
        if len(held) == 10:
            budget = carry_out(_decide(held, content, limit))
            held = [
                replace(m, content=budget.content) if m.id == budget.rewritten_id and budget.content else m
                for m in held
            ]
            held = [m for m in held if m.id != budget.removed_id] + ([placed] if budget.removed_id != NEW else [])
        else:
            held.append(placed)
        assert len(held) <= 10
    return held


def test_twelve_short_memories_become_ten_without_losing_a_word() -> None:
    together = " ".join(m.content for m in _hold([f"User: {topic}" for topic in _TOPICS]))
    for topic in _TOPICS:
        assert topic.split()[-1] in together


def test_a_memory_that_another_wholly_says_is_deleted() -> None:
    existing = [_memory(i, f"User: {topic}") for i, topic in enumerate(_TOPICS[:9], 1)]
    existing.append(_memory(10, "User: I drive a Tesla; I sing in a choir"))
    decision = _decide(existing, "User: I love jazz")
    assert (decision.action, decision.target_id) == (Action.DELETE, 7)
    assert "memory 10" in decision.reason


def test_when_every_place_is_pinned_the_new_one_gives_way() -> None:
    existing = [_memory(i, f"User: {topic}", pinned=True) for i, topic in enumerate(_TOPICS[:10], 1)]
    decision = _decide(existing, "User: I love jazz")
    assert (decision.action, decision.target_id) == (Action.DELETE, NEW)
    assert "pinned" in decision.reason


def test_a_single_free_memory_takes_in_the_new_one() -> None:
    existing = [_memory(i, f"User: {topic}", pinned=i != 4) for i, topic in enumerate(_TOPICS[:10], 1)]
    decision = _decide(existing, "User: I love jazz")
    assert (decision.action, decision.target_id, decision.absorbed_id) == (Action.EDIT, 4, NEW)
    assert decision.new_content == "User: I live in New York; I love jazz"


def test_the_reason_says_what_took_in_what_and_how_much_was_let_go_without_quoting() -> None:
    existing = [_memory(i, f"User: {topic}") for i, topic in enumerate(_TOPICS[:10], 1)]
    decision = _decide(existing, "User: I love jazz")
    assert f"memory {decision.target_id}" in decision.reason
    assert "takes in" in decision.reason
    assert not any(topic in decision.reason for topic in _TOPICS)


def test_a_valuable_statement_survives_many_merges() -> None:
    valuable = "User: I'm allergic to penicillin since 1998"
    chatter = [f"User: we had a nice day number{i}; it was fun again; we saw garden{i % 3}" for i in range(60)]
    held = _hold([valuable, *chatter], limit=120)
    assert any("penicillin" in memory.content and "1998" in memory.content for memory in held)


def test_speakers_keep_their_own_statements_through_a_merge() -> None:
    existing = [_memory(1, "Ada: adopted greyhound Pixel. bo_2: course in Ghent")]
    decision = _decide(existing, "bo_2: bought kiln. Ada: Pixel won race")
    assert decision.new_content == "Ada: adopted greyhound Pixel; Pixel won race. bo_2: course in Ghent; bought kiln"


def test_memories_written_by_hand_are_merged_as_sentences() -> None:
    existing = [_memory(1, "Prefers tea. Works at Siemens in Munich.")]
    decision = _decide(existing, "The release of Phoenix is on 3 November 2024.")
    assert decision.new_content is not None
    assert "Siemens in Munich" in decision.new_content
    assert "Phoenix" in decision.new_content


def test_a_memory_longer_than_a_lowered_limit_can_still_be_merged() -> None:
    existing = [_memory(i, f"User: I own {' '.join(f'thing{i}x{j}' for j in range(30))}") for i in range(1, 11)]
    assert len(_decide(existing, "User: I love jazz", limit=40).new_content or "") <= 40


_TEXTS = st.text(max_size=120) | st.sampled_from(["No nuts", "No nuts at all", *_TOPICS])
_MEMORIES = st.lists(st.tuples(_TEXTS, st.booleans(), st.integers(0, 10)), min_size=1, max_size=10)
_LIMITS = st.sampled_from([40, 200, 2000])


@settings(max_examples=60, deadline=None)
@given(_MEMORIES, _TEXTS, _LIMITS)
def test_whatever_the_texts_the_decision_is_accepted(
    memories: list[tuple[str, bool, int]], new: str, limit: int
) -> None:
    numbered = enumerate(memories, 1)
    _decide([_memory(i, text, pinned=pin, importance=min(n, VITAL - 1)) for i, (text, pin, n) in numbered], new, limit)


@settings(max_examples=60, deadline=None)
@given(_MEMORIES, _TEXTS, st.integers(0, 10), _LIMITS)
def test_whatever_stands_nothing_vital_is_lost_by_the_rules_while_something_slight_stays(
    memories: list[tuple[str, bool, int]], text: str, importance: int, limit: int
) -> None:
    existing = [_memory(i, said, pinned=pin, importance=n) for i, (said, pin, n) in enumerate(memories, 1)]
    new = replace(_memory(99, text, importance=importance), id=NEW)
    eviction = by_rules(new, limit, None)(existing, "all places were taken")
    [gone] = [one for one in (*existing, new) if one.id == eviction.removed_id]
    stay = [one for one in (*existing, new) if one.id not in (eviction.removed_id, eviction.rewritten_id)]
    assert not gone.pinned
    if gone.importance >= VITAL and any(one.importance < SLIGHT and not one.pinned for one in stay):
        texts = [eviction.content or "", *(one.content for one in stay if one.importance >= VITAL)]
        said = content_stems(gone.content)
        assert any(2 * len(said & content_stems(text)) >= len(said) for text in texts)


def test_compaction_is_metered_once() -> None:
    calls = Calls()
    existing = [_memory(1, "User: I love jazz")]
    ExtractiveAgent().compact(existing, CompactionCandidate(NEW, "User: I drive a Tesla", _START), 200, calls)
    assert [call.kind for call in calls] == [WorkKind.COMPACT]


@pytest.mark.parametrize("text", ["", "User: ", "!!!", "the and of"])
def test_a_memory_that_says_nothing_is_the_one_to_go(text: str) -> None:
    existing = [_memory(1, "User: I love jazz"), _memory(2, text)]
    assert _decide(existing, "User: I drive a Tesla").target_id == 2
