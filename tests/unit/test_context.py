"""Pure rules of a context: its budgets, how lengths are counted, which facts it shows, and that it always fits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.base.choices import Category
from shared.context.render import END, RECALLED, RecalledFact, RecalledMemory, facts_text
from shared.context.select import (
    DEFAULT_RESERVE,
    ContextLimits,
    Head,
    HeadBudgets,
    HeadSelector,
    RecallMaterial,
    fill_facts,
    order_for,
    reduced,
)
from shared.context.window import (
    ContextDraft,
    CountedMessage,
    Utterance,
    compact,
    counted,
    staying,
    truncate,
)
from shared.conversations.chat_message import (
    ITEM_CHARS,
    calls_of,
    chars_of,
    checked,
    owners_of,
    results_of,
    role_of,
    shortened,
    text_of,
)
from shared.energy.rates import HORIZON_CHARS, faded, is_measured
from shared.llm.calls import (
    CallOutcome,
    ModelCall,
    Rate,
    TokenCounting,
    TokenSource,
    UpperBoundCounting,
    WorkKind,
    most_tokens,
)
from shared.telemetry.metrics import CompactionStage
from shared.text.persons_and_places import speaks_of_persons_or_places
from tests.support.chance import examples


@pytest.mark.parametrize(
    ("window", "conversation", "budget"),
    [
        pytest.param(8192, 2000, 500, id="at most 500"),
        pytest.param(4096, 2000, 274, id="a quarter of what is left"),
        pytest.param(8192, 5600, 398, id="a quarter of what is left, rounded down"),
        pytest.param(8192, 6900, 150, id="at least 150"),
        pytest.param(8192, 7100, 92, id="not even 150 are left"),
        pytest.param(2048, 2000, 0, id="nothing is left"),
        pytest.param(2048, 5000, 0, id="less than nothing is left"),
    ],
)
def test_what_is_recalled_gets_a_quarter_of_what_is_left_within_bounds(
    window: int, conversation: int, budget: int
) -> None:
    assert ContextLimits(10_000, window, DEFAULT_RESERVE).beside(conversation).facts == budget


CALL = ModelCall(WorkKind.CREATE, "ollama:m", 1000, 60, False, CallOutcome.ANSWERED, 0.5, chars=4000)
RATES = st.builds(Rate, st.integers(1, 200_000), st.integers(1, 400_000))


@given(RATES, st.integers(0, 100_000))
def test_the_characters_that_fit_are_the_most_that_do(rate: Rate, tokens: int) -> None:
    chars = rate.chars_in(tokens)
    assert rate.tokens_in(chars) <= tokens < rate.tokens_in(chars + 1)


@given(st.lists(st.text(max_size=30), max_size=8))
def test_pieces_that_fit_by_weight_fit_as_one_text(pieces: list[str]) -> None:
    for scale in (TokenCounting(), TokenCounting(Rate(10, 7)), UpperBoundCounting()):
        weight = sum(map(scale.weigh, pieces))
        tokens = next(n for n in range(2000) if scale.holds(n) >= weight)
        assert scale.tokens("".join(pieces)) <= tokens
    assert UpperBoundCounting().tokens("a b") == most_tokens("a b")


@pytest.mark.parametrize(
    ("call", "telling"),
    [
        pytest.param(CALL, True, id="four characters a token"),
        pytest.param(replace(CALL, prompt_tokens=8000), True, id="two tokens a character"),
        pytest.param(replace(CALL, prompt_tokens=8001), False, id="more tokens than any script takes"),
        pytest.param(replace(CALL, prompt_tokens=500), True, id="eight characters a token"),
        pytest.param(replace(CALL, prompt_tokens=40), False, id="most of it was cached"),
        pytest.param(replace(CALL, prompt_tokens=0), False, id="all of it was cached"),
        pytest.param(replace(CALL, estimated=True), False, id="the provider counted nothing"),
        pytest.param(replace(CALL, outcome=CallOutcome.PROMPT_CUT), False, id="the prompt was cut"),
        pytest.param(replace(CALL, outcome=CallOutcome.TIMEOUT), False, id="it was not answered"),
        pytest.param(replace(CALL, chars=0), False, id="its length cannot be told"),
        pytest.param(replace(CALL, chars=399, prompt_tokens=100), False, id="short, so its frame weighs much"),
        pytest.param(replace(CALL, kind=WorkKind.THINK), False, id="tools were in it"),
    ],
)
def test_only_figures_that_can_be_believed_are_learnt_from(call: ModelCall, telling: bool) -> None:
    assert is_measured(call) is telling


def test_a_rate_follows_what_is_sent_lately() -> None:
    chars, tokens = 0, 0
    for _ in range(100):
        chars, tokens = faded(chars, tokens, 4000, 1000)
    assert (chars, tokens) == (HORIZON_CHARS, HORIZON_CHARS // 4)
    for _ in range(100):
        chars, tokens = faded(chars, tokens, 4000, 2000)
    assert chars == HORIZON_CHARS and 0.42 < tokens / chars <= 0.5
    assert faded(chars, tokens, 10 * HORIZON_CHARS, 10 * HORIZON_CHARS) == (HORIZON_CHARS, HORIZON_CHARS)


CAP = 1000


@pytest.mark.parametrize(
    ("bounds", "recalled", "is_capped", "budget"),
    [
        pytest.param(ContextLimits(500), 100, False, CAP, id="without a window as much as is tuned"),
        pytest.param(ContextLimits(500), 100, True, 400, id="a budget that was asked for holds for all of it"),
        pytest.param(ContextLimits(100), 100, True, 0, id="and may be used up"),
        pytest.param(ContextLimits(50), 100, True, 0, id="or passed"),
        pytest.param(ContextLimits(500, 1000), 100, False, 699, id="a window does not become full: 80 of 100"),
        pytest.param(ContextLimits(500, 1000, 400), 100, False, 500, id="nor does its reserve shrink"),
        pytest.param(ContextLimits(500, 1000, 400), 100, True, 400, id="the narrowest of them counts"),
        pytest.param(ContextLimits(500, 8000), 100, False, CAP, id="a wide window leaves what is tuned"),
        pytest.param(ContextLimits(500, 100), 100, False, 0, id="a full window leaves nothing"),
    ],
)
def test_the_room_for_more_is_within_every_bound(
    bounds: ContextLimits, recalled: int, is_capped: bool, budget: int
) -> None:
    composed = ContextDraft((), Head(tokens=recalled), CompactionStage.NONE, trimmed=0)
    assert composed.tail_budget(bounds, CAP, is_capped=is_capped) == budget


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROJECT, PREFERENCE, IDENTITY = Category.PROJECT, Category.PREFERENCE, Category.IDENTITY
ABOUT_ME = "What do you know about me?"


def known(
    number: int, category: Category, confidence: float = 0.75, days: int = 0, pin: int | None = None, says: str = ""
) -> RecalledFact:
    return RecalledFact(number, says or f"Fact {number}", category, confidence, NOON - timedelta(days=days), pin)


def ids(facts: tuple[RecalledFact, ...]) -> list[int]:
    return [fact.fact_id for fact in facts]


KNOWN_FACTS = st.lists(
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
SCALES: list[TokenCounting] = [
    TokenCounting(), TokenCounting(Rate(1000, 1700)), TokenCounting(Rate(5, 1)), UpperBoundCounting(),
]  # fmt: skip


def test_pinned_ones_come_first_then_project_preference_and_identity() -> None:
    facts = [
        known(1, IDENTITY), known(2, PREFERENCE), known(3, PROJECT), known(4, IDENTITY, pin=2),
        known(5, PROJECT, pin=3),
    ]  # fmt: skip
    assert ids(order_for(facts, ABOUT_ME)) == [4, 5, 3, 2, 1]


def test_within_a_category_the_surer_comes_first_and_then_the_one_heard_of_last() -> None:
    facts = [
        known(1, PROJECT, 0.7),
        known(2, PROJECT, 0.9, days=9),
        known(3, PROJECT, 0.9, days=2),
        known(4, PROJECT, 0.9, days=9),
    ]
    for given_so in (facts, facts[::-1]):
        assert ids(order_for(given_so, None)) == [3, 2, 4, 1], "however the database returns them"


def test_words_shared_with_the_message_lift_a_fact_within_its_category_only() -> None:
    facts = [
        known(1, PREFERENCE, 0.5, says="Prefers gravel bikes"),
        known(2, PREFERENCE, 1.0, says="Likes tea"),
        known(3, PROJECT, 0.5, says="Builds a boat"),
    ]
    assert ids(order_for(facts, "Which bike should be bought?")) == [3, 1, 2]
    assert ids(order_for(facts, "Which should be bought?")) == [3, 2, 1]


def test_words_that_say_nothing_lift_nothing() -> None:
    older = known(1, PROJECT, days=9, says="Would like this done with that")
    newer = known(2, PROJECT, says="Builds a boat")
    assert ids(order_for((older, newer), "Would you like this with that?")) == [2, 1]


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        (ABOUT_ME, True), ("I'm stuck", True), ("Was soll ich kochen?", True), ("我应该吃什么", True),
        ("What does she like?", True), ("restaurants nearby", True), ("flights to Copenhagen", True),
        ("a week in New York", True), ("the tram in Ålesund", True), ("How do generics work in TypeScript?", False),
        ("Explain how iterators work", False), ("stuff the turkey, set out the china", False),
        ("Is it raining?", False), ("", False), (None, False),
    ],
)  # fmt: skip
def test_identity_is_shown_only_when_persons_or_places_are_spoken_of(message: str | None, asks: bool) -> None:
    facts = [known(1, IDENTITY, says="Lives in Ålesund"), known(2, PROJECT), known(3, IDENTITY, pin=1)]
    assert ids(order_for(facts, message)) == ([3, 2, 1] if asks else [3, 2])


def test_a_capital_at_the_beginning_of_a_fact_is_no_name() -> None:
    assert not speaks_of_persons_or_places("Works fine", ["Works as a cook"])


def test_in_a_full_window_identity_goes_and_at_most_half_of_the_preferences_stay_if_they_are_sure() -> None:
    facts = order_for(
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


def packed(facts: Sequence[RecalledFact], budget: int, scale: TokenCounting) -> tuple[RecalledFact, ...]:
    return tuple(fill_facts(facts, budget, scale).taken)


def test_a_fact_that_does_not_fit_is_skipped_and_the_next_one_is_tried() -> None:
    facts = [known(1, PROJECT, says="a" * 40), known(2, PROJECT, says="b" * 2000), known(3, PROJECT, says="c" * 40)]
    assert ids(packed(facts, 300, TokenCounting())) == [1, 3]


def test_nothing_more_is_looked_for_within_fifty_tokens_of_the_budget() -> None:
    facts = [known(1, PROJECT, says="a" * 400), known(2, PROJECT, says="b")]
    whole = TokenCounting().tokens(facts_text(facts[:1]))
    assert ids(packed(facts, whole + 50, TokenCounting())) == [1]
    assert ids(packed(facts, whole + 52, TokenCounting())) == [1, 2]


@given(KNOWN_FACTS, st.integers(-10, 700), st.sampled_from(SCALES))
def test_facts_that_were_packed_fit_in_their_order(
    facts: list[RecalledFact], budget: int, scale: TokenCounting
) -> None:
    taken = packed(facts, budget, scale)
    assert scale.tokens(facts_text(taken)) <= max(0, budget)
    assert [fact for fact in facts if fact in taken] == list(taken)


def both(budget: int) -> HeadBudgets:
    return HeadBudgets(budget, budget, budget)


def head_of(material: RecallMaterial, budgets: HeadBudgets) -> Head:
    return HeadSelector(material, TokenCounting()).head(budgets)


def test_where_there_is_too_little_each_has_half_and_what_one_leaves_goes_to_the_other() -> None:
    memories = tuple(RecalledMemory(number, "m" * 150, NOON, NOON) for number in range(10))
    facts = tuple(known(number, PROJECT, says=f"{number} " + "f" * 70) for number in range(30))
    shared = head_of(RecallMaterial("Notes", memories, facts), both(500))
    only_memories = head_of(RecallMaterial("Notes", memories), both(500))
    only_facts = head_of(RecallMaterial("Notes", (), facts), both(500))
    few_facts = head_of(RecallMaterial("Notes", memories, facts[:2]), both(500))
    assert 2 <= len(shared.memory_ids) < len(few_facts.memory_ids) <= len(only_memories.memory_ids)
    assert 5 <= len(shared.fact_ids) < len(only_facts.fact_ids)
    assert shared.text.startswith("(memories for app: Notes)") and shared.text.endswith(END)


@pytest.mark.parametrize("budget", [500, 1000])
def test_a_fact_that_is_promised_a_place_has_it(budget: int) -> None:
    memories = tuple(RecalledMemory(number, "m" * 190, NOON, NOON) for number in range(10))
    facts = [known(1, PROJECT, pin=1, says="p" * 300), known(2, PROJECT, says="f" * 290)]
    facts += [known(3, PROJECT, says="Is allergic to penicillin")]
    alone = packed(facts, budget // 2, TokenCounting())
    assert ids(alone) == [1, 2, 3]
    beside = head_of(RecallMaterial("Notes", memories, alone), both(budget))
    assert beside.fact_ids == (1, 2, 3) and beside.memory_ids


WIDE = 8192
LETTERS = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}


def roles(letters: str) -> list[str]:
    return [LETTERS[letter] for letter in letters]


def said(
    letters: str, tokens: int | Sequence[int] = 100, counting: TokenCounting | None = None
) -> list[CountedMessage]:
    """Return messages of the roles, each known by its number and of so many tokens."""
    sizes = [tokens] * len(letters) if isinstance(tokens, int) else tokens
    texts = [f"{number:04d}" + "x" * (4 * size - 4) for number, size in enumerate(sizes)]
    return [
        counted(Utterance(r, text), counting or TokenCounting()) for r, text in zip(roles(letters), texts, strict=True)
    ]


def places(composed: Iterable[CountedMessage]) -> list[int]:
    return [int(one.message.content[:4]) for one in composed]


def composed(
    messages: Sequence[CountedMessage], window: int, reserve: int = 0, material: RecallMaterial | None = None
) -> ContextDraft:
    heads = HeadSelector(material or RecallMaterial("Notes"), TokenCounting())
    return compact(messages, heads, ContextLimits(1000, window, reserve))


def spoken(letters: str) -> list[Utterance]:
    return [Utterance(role, "") for role in roles(letters)]


def kept(letters: str) -> list[int]:
    return list(staying(spoken(letters), len(letters)))


@pytest.mark.parametrize(
    ("letters", "left"),
    [
        pytest.param("uauauaua", list(range(8)), id="eight stay whole"),
        pytest.param("aaaaaaaa", list(range(8)), id="eight stay whole without an exchange too"),
        pytest.param("uauauauau", [0, 1, 3, 4, 5, 6, 7, 8], id="of nine the middle one goes"),
        pytest.param("suauauauaua", [0, 1, 2, 5, 6, 7, 8, 9, 10], id="system messages stay beside the first exchange"),
        pytest.param("uauasauauauaua", [0, 1, 4, 8, 9, 10, 11, 12, 13], id="a system message in the middle stays"),
        pytest.param("uuauauauauau", [0, 6, 7, 8, 9, 10, 11], id="a first message without an answer stays alone"),
        pytest.param("auauauauauau", [1, 2, 6, 7, 8, 9, 10, 11], id="a greeting is no exchange"),
        pytest.param("aaaaaaaaaa", [4, 5, 6, 7, 8, 9], id="no exchange at all"),
        pytest.param("uatauauauauau", [0, 1, 2, 7, 8, 9, 10, 11, 12], id="the first answer keeps its tool's result"),
        pytest.param("uauauatttttt", [0, 1, 5, 6, 7, 8, 9, 10, 11], id="the tail reaches back to its call"),
        pytest.param("uauauatttuuuuut", [0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], id="also past other messages"),
        pytest.param("utuuuuuuuuuu", [0, 6, 7, 8, 9, 10, 11], id="a result without a call belongs to nobody"),
    ],
)
def test_when_the_window_is_full_the_middle_of_the_conversation_goes(letters: str, left: list[int]) -> None:
    assert kept(letters) == left


@given(st.text("suat", max_size=40))
def test_what_went_already_changes_nothing_about_what_stays(letters: str) -> None:
    once = kept(letters)
    again = staying([spoken(letters)[place] for place in once], len(letters))
    assert [once[place] for place in again] == once


def calling(*ids: str) -> Utterance:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return Utterance("assistant", "", payload={"role": "assistant", "content": None, "tool_calls": calls})


def result(call: str) -> Utterance:
    return Utterance("tool", "x", payload={"role": "tool", "content": "x", "tool_call_id": call})


def using(*ids: str) -> Utterance:
    parts = [{"type": "tool_use", "id": one, "name": "look", "input": {}} for one in ids]
    return Utterance("assistant", "", payload={"role": "assistant", "content": parts})


def results(*ids: str, text: str = "") -> Utterance:
    parts = [{"type": "tool_result", "tool_use_id": one, "content": "x"} for one in ids]
    payload = {"role": "user", "content": [*parts, *([{"type": "text", "text": text}] if text else [])]}
    return Utterance(role_of(payload), text_of(payload), payload=payload)


ASKED, SAID = Utterance("user", "?"), Utterance("assistant", "!")


@pytest.mark.parametrize(
    ("messages", "owners"),
    [
        pytest.param([calling("a", "b"), result("b"), result("a")], [0, 0, 0], id="results in any order"),
        pytest.param([calling("a"), SAID, result("a")], [0, 1, 0], id="a call named past another answer"),
        pytest.param([calling("a"), result("a"), calling("a"), result("a")], [0, 0, 2, 2], id="an id used again"),
        pytest.param([using("a"), results("a", text="and?")], [0, 0], id="a user's message that brings a result"),
        pytest.param([using("a"), using("b"), results("b", "a")], [0, 0, 0], id="one message with results of two"),
        pytest.param([using("a"), results("x", text="hm")], [0, 1], id="a result of no call that a user wrote beside"),
        pytest.param([SAID, result("x")], [0, 0], id="a result of no call goes with the last answer"),
        pytest.param([result("a"), calling("a")], [0, 1], id="a result before its call is not its"),
    ],
)
def test_a_result_belongs_to_the_call_it_names(messages: list[Utterance], owners: list[int]) -> None:
    assert owners_of(messages) == owners


def test_a_call_in_the_first_exchange_and_one_in_the_tail_keep_all_their_results() -> None:
    start = [ASKED, using("a", "b"), results("a"), results("b"), SAID]
    end = [calling("y", "z"), *[ASKED] * 3, result("z"), SAID, ASKED, ASKED, result("y")]
    messages = [*start, *[ASKED, SAID] * 5, *end]
    beside = len(messages) - len(end)
    assert list(staying(messages, len(messages))) == [0, 1, 2, 3, beside, *range(beside + 3, len(messages))]


LONG = "z" * 5000
SENT: dict[str, dict[str, Any]] = {
    "text beside a call": {
        "role": "assistant",
        "content": LONG,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
    },
    "long arguments": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": f'{{"at": "{LONG}"}}'}}],
    },
    "custom tools": {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": LONG}}],
    },
    "an image": {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://host/a.png"}}]},
    "an image and text": {
        "role": "user",
        "content": [{"type": "text", "text": LONG}, {"type": "image_url", "image_url": {"url": "https://host/a.png"}}],
    },
    "several texts": {"role": "user", "content": [{"type": "text", "text": LONG}, {"type": "text", "text": "more"}]},
    "results and text": {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": LONG}]},
            {"type": "tool_result", "tool_use_id": "b", "content": LONG},
            {"type": "text", "text": "What does it say?"},
        ],
    },
    "thoughts and a use": {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": LONG, "signature": "s"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "a", "name": "look", "input": {"at": LONG}},
        ],
    },
    "a refusal": {"role": "assistant", "content": None, "refusal": LONG},
    "a call of old": {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": LONG}},
    "what else there is": {"role": "assistant", "content": "So.", "reasoning_content": LONG, "audio": {"id": "x"}},
}  # fmt: skip


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
@given(chars=st.integers(0, 6000))
@settings(max_examples=examples(40))
def test_a_message_of_any_shape_can_be_made_as_short_as_need_be_and_stays_one(sent: dict[str, Any], chars: int) -> None:
    short = shortened(sent, chars)
    assert checked(short) == short and chars_of(short) <= chars
    assert (calls_of(short), results_of(short), short["role"]) == (calls_of(sent), results_of(sent), sent["role"])
    for call in short.get("tool_calls", ()):
        if "function" in call:
            json.loads(call["function"]["arguments"])


def test_of_a_message_that_is_cut_the_speakers_own_text_goes_last() -> None:
    short = shortened(SENT["results and text"], 40)
    assert short["content"][-1] == {"type": "text", "text": "What does it say?"}
    assert shortened(SENT["an image and text"], 2000)["content"] == [{"type": "text", "text": "z" * 1996 + " […]"}]
    assert len(shortened(SENT["an image and text"], 8400)["content"]) == 2
    assert shortened(SENT["an image"], 100)["content"] == [{"type": "text", "text": "[…]"}]


def test_what_calls_give_and_what_images_take_is_counted() -> None:
    assert chars_of(SENT["text beside a call"]) == 5000 + len('{"at": 1}')
    assert chars_of(SENT["an image"]) == ITEM_CHARS
    assert chars_of(SENT["results and text"]) == 2 * 5000 + len("What does it say?")
    assert counted(Utterance("user", "", payload=SENT["an image"]), TokenCounting()).tokens == 1000


@pytest.mark.parametrize(
    ("tokens", "stage"),
    [(6553, CompactionStage.NONE), (6554, CompactionStage.TRIMMED), (7192, CompactionStage.TRIMMED)],
    ids=["below four fifths", "exactly four fifths", "more"],
)
def test_a_conversation_is_compacted_from_exactly_four_fifths_of_the_window_on(
    tokens: int, stage: CompactionStage
) -> None:
    messages = said("uauauauaua", [100, 100, tokens - 900, *[100] * 7])
    result = composed(messages, WIDE, 1000)
    assert result.stage is stage
    assert result.trimmed == (0 if stage is CompactionStage.NONE else 2)


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        pytest.param(1100, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], id="nothing has to go"),
        pytest.param(1099, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10], id="what is neither here nor there"),
        pytest.param(999, [0, 3, 4, 5, 6, 7, 8, 9, 10], id="the first question"),
        pytest.param(899, [0, 4, 5, 6, 7, 8, 9, 10], id="its answer"),
        pytest.param(799, [0, 4, 7, 8, 9, 10], id="the oldest of the tail, with its result"),
        pytest.param(599, [0, 4, 8, 9, 10], id="the next one"),
        pytest.param(399, [0, 4, 10], id="all of the tail but the last message"),
        pytest.param(299, [0, 10], id="the later system message"),
        pytest.param(100, [10], id="the first one too"),
    ],
)
def test_what_is_still_too_long_goes_in_turn(budget: int, left: list[int]) -> None:
    messages, cut = truncate(said("sauasatuauu"), WIDE, budget)
    assert (places(messages), cut) == (left, False)


def test_what_belongs_to_the_last_message_stays_with_it_however_short_it_must_be() -> None:
    result = composed(said("uatt", [50, 4000, 6000, 3000]), WIDE, 1000)
    assert places(result.messages) == [1, 2, 3] and result.is_cut
    assert [one.tokens for one in result.messages] == [2096, 2096, 3000]


def test_a_cut_message_is_cut_at_the_rate_its_provider_counted() -> None:
    long = counted(Utterance("user", "x" * 1000, tokens=2000), TokenCounting())
    result = composed([long], 500)
    assert result.tokens == 500 and len(result.messages[0].message.content) == 250
    assert result.messages[0].source is TokenSource.CALIBRATED


def test_the_least_certain_figure_is_the_one_that_is_named() -> None:
    counting = TokenCounting(Rate(100, 40))
    provided = counted(Utterance("user", "hello", tokens=3), counting)
    bare, remembering = RecallMaterial("Notes"), RecallMaterial("Notes", (RecalledMemory(1, "Likes tea", NOON, NOON),))
    limits = ContextLimits(1000)

    def source(material: RecallMaterial, counting: TokenCounting) -> TokenSource:
        return compact([provided], HeadSelector(material, counting), limits).token_source(counting)

    assert source(bare, counting) is TokenSource.PROVIDER
    assert source(remembering, counting) is TokenSource.CALIBRATED
    assert source(remembering, TokenCounting()) is TokenSource.ESTIMATED


def sent_as(payload: dict[str, Any]) -> Utterance:
    return Utterance(role_of(payload), text_of(payload), payload=payload)


IDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=2)
MESSAGES = st.lists(
    st.builds(
        Utterance,
        st.sampled_from(list(LETTERS.values())),
        st.integers(0, 10_000).map("y".__mul__) | st.text(max_size=40),
        st.none(),
        st.none() | st.integers(0, 20_000),
    )
    | IDS.map(lambda ids: calling(*ids))
    | IDS.map(lambda ids: using(*ids))
    | IDS.map(lambda ids: results(*ids))
    | st.sampled_from("abc").map(result)
    | st.builds(replace, st.sampled_from(list(SENT.values())).map(sent_as), tokens=st.none() | st.integers(0, 9000)),
    max_size=24,
)
MEMORIES = st.lists(st.text(min_size=1, max_size=150), max_size=10)
SOME_RATES = st.none() | st.builds(Rate, st.integers(1, 500), st.integers(1, 900))
WINDOWS = st.integers(1, 500) | st.integers(1, 60_000)


@settings(max_examples=examples(400))
@given(MESSAGES, KNOWN_FACTS, MEMORIES, WINDOWS, st.integers(0, 20_000), st.integers(0, 2000), SOME_RATES)
@example([Utterance("user", "x" * 9)], [], [], 1, 0, 1000, Rate(1, 900))
@example([Utterance("user", "", tokens=50)], [], [], 1, 5, 1000, None)
def test_for_any_messages_facts_window_and_reserve_the_result_fits(
    utterances: list[Utterance],
    facts: list[RecalledFact],
    contents: list[str],
    window: int,
    reserve: int,
    budget: int,
    rate: Rate | None,
) -> None:
    counting = TokenCounting(rate)
    named = [replace(one, name=str(place)) for place, one in enumerate(utterances)]
    given_ones = [counted(one, counting) for one in named]
    memories = tuple(RecalledMemory(number, content, NOON, NOON) for number, content in enumerate(contents))
    material = RecallMaterial("Notes", memories, order_for(facts, ABOUT_ME))
    bounds = ContextLimits(budget, window, reserve)
    result = compact(given_ones, HeadSelector(material, counting), bounds)

    assert result.tokens <= window
    last = given_ones[-1].tokens if given_ones else 0
    assert result.tokens <= max(bounds.for_conversation, min(last, window))
    assert result.tokens <= bounds.for_conversation or not result.head.text
    check_figures(given_ones, result, counting, bounds)
    check_messages(given_ones, result, bounds)
    pinned = [one.fact_id for one in order_for(facts, None) if one.pin is not None]
    shown = [one for one in result.head.fact_ids if one in pinned]
    assert shown == [one for one in pinned if one in shown], "pins keep their order"


def check_figures(
    given_ones: list[CountedMessage], result: ContextDraft, counting: TokenCounting, bounds: ContextLimits
) -> None:
    assert result.head.tokens == counting.tokens(result.head.text) <= bounds.budget
    assert result.trimmed == len(given_ones) - len(result.messages)
    untouched = [one for one in result.messages if one in given_ones]
    assert result.is_cut == (len(untouched) < len(result.messages))
    for one in result.messages:
        if one.message.tokens is None and one.source is counting.source and one in given_ones:
            assert one.tokens == counting.in_use.tokens_in(one.message.chars)
    if result.stage is CompactionStage.NONE:
        assert list(result.messages) == given_ones and not bounds.is_passed_by(result.tokens)


def check_messages(given_ones: list[CountedMessage], result: ContextDraft, bounds: ContextLimits) -> None:
    """Check what stays: the last message, the order, tool pairs, and system messages before anything else."""
    where = [int(one.message.name or "") for one in result.messages]
    assert where == sorted(where)
    if given_ones:
        assert where[-1] == len(given_ones) - 1
        if given_ones[-1].tokens <= (bounds.window or 0):
            assert result.messages[-1] == given_ones[-1], "a last message that fits is not touched"
    owners = owners_of([one.message for one in given_ones])
    for place, owner in enumerate(owners):
        assert (place in where) == (owner in where), "a call and its result are never parted"
    system = {place for place, one in enumerate(given_ones) if one.message.role == "system"}
    if not system <= set(where):
        assert all(place in system or owners[place] == owners[-1] for place in where)
