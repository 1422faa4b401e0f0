"""Which facts a context shows, in which order, and how they are written down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.context.budgets import RecallBudgets, TokenCounting, TokenScale, UpperBoundCounting
from shared.context.fact_selection import SelectableFact, in_order, reduced, speaks_of_persons_or_places
from shared.context.recall import RecallMaterial, recollect, recollect_less
from shared.context.rendering import END, RECALLED, RecalledMemory, facts_text, packed
from shared.facts.categories import Category
from shared.llm.tokens import Rate

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROJECT, PREFERENCE, IDENTITY = Category.PROJECT, Category.PREFERENCE, Category.IDENTITY
ABOUT_ME = "What do you know about me?"


def known(
    number: int, category: Category, confidence: float = 0.75, days: int = 0, pin: int | None = None, says: str = ""
) -> SelectableFact:
    return SelectableFact(number, says or f"Fact {number}", category, confidence, NOON - timedelta(days=days), pin)


def ids(facts: tuple[SelectableFact, ...]) -> list[int]:
    return [fact.fact_id for fact in facts]


FACTS = st.lists(
    st.builds(
        known,
        st.integers(1, 10_000),
        st.sampled_from(Category),
        st.floats(0, 1),
        st.integers(0, 300),
        st.none() | st.integers(1, 10),
        st.text(min_size=1, max_size=200),
    ),
    max_size=30,
    unique_by=lambda fact: fact.fact_id,
)
SCALES: list[TokenScale] = [
    TokenCounting(),
    TokenCounting(Rate(1000, 1700)),
    TokenCounting(Rate(5, 1)),
    UpperBoundCounting(),
]


def test_pinned_ones_come_first_then_project_preference_and_identity() -> None:
    facts = [
        known(1, IDENTITY),
        known(2, PREFERENCE),
        known(3, PROJECT),
        known(4, IDENTITY, pin=2),
        known(5, PROJECT, pin=3),
    ]
    assert ids(in_order(facts, ABOUT_ME)) == [4, 5, 3, 2, 1]


def test_within_a_category_the_surer_comes_first_and_then_the_one_heard_of_last() -> None:
    facts = [
        known(1, PROJECT, 0.7),
        known(2, PROJECT, 0.9, days=9),
        known(3, PROJECT, 0.9, days=2),
        known(4, PROJECT, 0.9, days=9),
    ]
    assert ids(in_order(facts, None)) == [3, 2, 4, 1]


def test_words_shared_with_the_message_lift_a_fact_within_its_category_only() -> None:
    facts = [
        known(1, PREFERENCE, 0.5, says="Prefers gravel bikes"),
        known(2, PREFERENCE, 1.0, says="Likes tea"),
        known(3, PROJECT, 0.5, says="Builds a boat"),
    ]
    assert ids(in_order(facts, "Which bike should be bought?")) == [3, 1, 2]
    assert ids(in_order(facts, "Which should be bought?")) == [3, 2, 1]


def test_words_that_say_nothing_lift_nothing() -> None:
    older = known(1, PROJECT, days=9, says="Would like this done with that")
    newer = known(2, PROJECT, says="Builds a boat")
    assert ids(in_order((older, newer), "Would you like this with that?")) == [2, 1]


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        (ABOUT_ME, True),
        ("I'm stuck", True),
        ("Was soll ich kochen?", True),
        ("我应该吃什么", True),
        ("What does she like?", True),
        ("restaurants nearby", True),
        ("flights to Copenhagen", True),
        ("a week in New York", True),
        ("the tram in Ålesund", True),
        ("How do generics work in TypeScript?", False),
        ("Explain how iterators work", False),
        ("stuff the turkey, set out the china", False),
        ("Is it raining?", False),
        ("", False),
        (None, False),
    ],
)
def test_identity_is_shown_only_when_persons_or_places_are_spoken_of(message: str | None, asks: bool) -> None:
    facts = [known(1, IDENTITY, says="Lives in Ålesund"), known(2, PROJECT), known(3, IDENTITY, pin=1)]
    assert ids(in_order(facts, message)) == ([3, 2, 1] if asks else [3, 2])


def test_a_capital_at_the_beginning_of_a_fact_is_no_name() -> None:
    assert not speaks_of_persons_or_places("Works fine", ["Works as a cook"])


def test_in_a_full_window_identity_goes_and_at_most_half_of_the_preferences_stay_if_they_are_sure() -> None:
    facts = in_order(
        [
            known(1, IDENTITY), known(2, PREFERENCE, 0.95), known(3, PREFERENCE, 0.9), known(4, PREFERENCE, 0.85),
            known(5, PREFERENCE, 0.81), known(6, PREFERENCE, 0.8), known(7, PROJECT, 0.1),
            known(8, IDENTITY, 0.1, pin=1), known(9, PREFERENCE, 0.1, pin=2),
        ],
        ABOUT_ME,
    )  # fmt: skip
    assert ids(reduced(facts)) == [8, 9, 7, 2, 3]
    assert ids(reduced([known(1, PREFERENCE, 0.8), known(2, PREFERENCE, 0.8), known(3, PREFERENCE, 0.81)])) == [3]
    assert ids(reduced([known(1, PREFERENCE, 1.0)])) == []


def test_the_block_has_its_sections_in_order_and_no_empty_ones() -> None:
    text = facts_text([known(1, PROJECT, says="Builds a boat"), known(2, IDENTITY, says="Lives\nin Oslo")])
    assert text.splitlines() == [
        "## What you know about this user", RECALLED, "",
        "Current work:", "- Builds a boat", "",
        "About user:", "- Lives in Oslo", "",
        END,
    ]  # fmt: skip
    assert facts_text([]) == ""


def test_a_fact_that_does_not_fit_is_skipped_and_the_next_one_is_tried() -> None:
    facts = [known(1, PROJECT, says="a" * 40), known(2, PROJECT, says="b" * 2000), known(3, PROJECT, says="c" * 40)]
    assert ids(packed(facts, 300, TokenCounting())) == [1, 3]


def test_nothing_more_is_looked_for_within_fifty_tokens_of_the_budget() -> None:
    facts = [known(1, PROJECT, says="a" * 400), known(2, PROJECT, says="b")]
    whole = TokenCounting().tokens(facts_text(facts[:1]))
    assert ids(packed(facts, whole + 50, TokenCounting())) == [1]
    assert ids(packed(facts, whole + 52, TokenCounting())) == [1, 2]


@given(FACTS, st.integers(-10, 700), st.sampled_from(SCALES))
def test_facts_that_were_packed_fit_in_their_order(facts: list[SelectableFact], budget: int, scale: TokenScale) -> None:
    taken = packed(facts, budget, scale)
    assert scale.tokens(facts_text(taken)) <= max(0, budget)
    assert [fact for fact in facts if fact in taken] == list(taken)


@given(FACTS, st.text(max_size=80))
def test_pins_keep_the_order_of_their_places_whatever_is_said(facts: list[SelectableFact], message: str) -> None:
    shown = in_order(facts, message)
    pinned = sorted((fact for fact in facts if fact.pin is not None), key=lambda fact: (fact.pin or 0, fact.fact_id))
    assert list(shown[: len(pinned)]) == pinned
    assert [fact for fact in reduced(shown) if fact.pin is not None] == pinned


@given(
    FACTS,
    st.lists(st.text(min_size=1, max_size=200), max_size=10),
    st.integers(0, 1200),
    st.integers(0, 1200),
    st.sampled_from(SCALES),
)
def test_what_is_recalled_never_takes_more_than_its_budget(
    facts: list[SelectableFact], contents: list[str], budget: int, own: int, scale: TokenScale
) -> None:
    memories = tuple(RecalledMemory(number, content, NOON) for number, content in enumerate(contents))
    material = RecallMaterial("Notes", memories, in_order(facts, ABOUT_ME))
    budgets = RecallBudgets(min(budget, own), min(budget, 500), budget)
    whole = recollect(material, budgets, scale)
    less = recollect_less(material, budgets, budget // 2, scale)
    assert whole.tokens == scale.tokens(whole.text) <= budget
    assert less.tokens == scale.tokens(less.text) <= budget
    assert set(less.fact_ids) <= set(whole.fact_ids)


def both(budget: int) -> RecallBudgets:
    return RecallBudgets(budget, budget, budget)


def test_where_there_is_too_little_each_has_half_and_what_one_leaves_goes_to_the_other() -> None:
    memories = tuple(RecalledMemory(number, "m" * 150, NOON) for number in range(10))
    facts = tuple(known(number, PROJECT, says=f"{number} " + "f" * 70) for number in range(30))
    shared = recollect(RecallMaterial("Notes", memories, facts), both(500), TokenCounting())
    only_memories = recollect(RecallMaterial("Notes", memories), both(500), TokenCounting())
    only_facts = recollect(RecallMaterial("Notes", (), facts), both(500), TokenCounting())
    few_facts = recollect(RecallMaterial("Notes", memories, facts[:2]), both(500), TokenCounting())
    assert 2 <= len(shared.memory_ids) < len(few_facts.memory_ids) <= len(only_memories.memory_ids)
    assert 5 <= len(shared.fact_ids) < len(only_facts.fact_ids)
    assert shared.text.startswith("(memories for app: Notes)") and shared.text.endswith(END)


@pytest.mark.parametrize("budget", [500, 1000])
def test_a_fact_that_is_promised_a_place_has_it(budget: int) -> None:
    memories = tuple(RecalledMemory(number, "m" * 190, NOON) for number in range(10))
    facts = [known(1, PROJECT, pin=1, says="p" * 300), known(2, PROJECT, says="f" * 290)]
    facts += [known(3, PROJECT, says="Is allergic to penicillin")]
    alone = packed(facts, budget // 2, TokenCounting())
    assert ids(alone) == [1, 2, 3]
    beside = recollect(RecallMaterial("Notes", memories, alone), both(budget), TokenCounting())
    assert beside.fact_ids == (1, 2, 3) and beside.memory_ids


def test_memories_have_a_budget_of_their_own_and_facts_theirs() -> None:
    memories = tuple(RecalledMemory(number, "m" * 200, NOON) for number in range(10))
    facts = tuple(known(number, PROJECT, says=f"{number} " + "f" * 70) for number in range(30))
    recalled = recollect(RecallMaterial("Notes", memories, facts), RecallBudgets(1024, 500, 2000), TokenCounting())
    assert len(recalled.memory_ids) == 10
    assert TokenCounting().tokens(facts_text(packed(facts, 500, TokenCounting()))) <= 500
    assert recalled.fact_ids == tuple(ids(packed(facts, 500, TokenCounting())))
