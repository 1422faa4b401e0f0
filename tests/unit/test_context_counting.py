"""Which figure a length in tokens is taken from, and how the rate of a model is learnt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.context.budgets import TokenCounting, TokenSource, UpperBoundCounting, weakest
from shared.context.window import Utterance, counted
from shared.energy.rates import HORIZON_CHARS, faded, is_measured
from shared.llm.calls import CallOutcome, ModelCall, WorkKind
from shared.llm.tokens import LAST_RESORT, Rate, most_tokens

CALL = ModelCall(WorkKind.CREATE, "ollama:m", 1000, 60, False, CallOutcome.ANSWERED, 0.5, chars=4000)
RATES = st.builds(Rate, st.integers(1, 200_000), st.integers(1, 400_000))


def test_the_providers_figure_goes_before_the_rate_and_that_before_the_estimate() -> None:
    plain, given_one = Utterance("user", "x" * 100), Utterance("user", "x" * 100, tokens=7)
    calibrated, estimated = TokenCounting(Rate(200, 100)), TokenCounting()
    figures = [counted(one, how) for one in (given_one, plain) for how in (calibrated, estimated)]
    assert [(one.tokens, one.source) for one in figures] == [
        (7, TokenSource.PROVIDER), (7, TokenSource.PROVIDER), (50, TokenSource.CALIBRATED), (25, TokenSource.ESTIMATED),
    ]  # fmt: skip


def test_the_weakest_source_is_the_least_certain_one() -> None:
    assert weakest([TokenSource.PROVIDER, TokenSource.ESTIMATED, TokenSource.CALIBRATED]) is TokenSource.ESTIMATED
    assert weakest([TokenSource.PROVIDER, TokenSource.CALIBRATED]) is TokenSource.CALIBRATED
    assert weakest([]) is None


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


@given(st.lists(st.tuples(st.integers(400, 500_000), st.integers(1, 8)), min_size=1, max_size=30))
def test_a_rate_stays_between_the_rates_it_was_learnt_from(calls: list[tuple[int, int]]) -> None:
    chars = tokens = 0
    for length, per_token in calls:
        chars, tokens = faded(chars, tokens, length, length // per_token)
    assert chars <= HORIZON_CHARS
    least, most = min(n // p / n for n, p in calls), max(n // p / n for n, p in calls)
    assert least - 0.01 <= tokens / chars <= most + 0.01


def test_without_a_rate_a_quarter_of_the_characters_is_counted_rounded_up() -> None:
    assert [TokenCounting().tokens("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert TokenCounting().in_use == LAST_RESORT
