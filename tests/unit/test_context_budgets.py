"""How much of a window what is recalled may take, and when the window is full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.context.budgets import DEFAULT_RESERVE, below_full, is_full, recall_budget

TOKENS = st.integers(0, 300_000)


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
    assert recall_budget(window, conversation, DEFAULT_RESERVE) == budget


@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_a_budget_never_passes_what_is_left_nor_its_cap(window: int, said: int, reserve: int, cap: int) -> None:
    budget = recall_budget(window, said, reserve, cap)
    assert 0 <= budget <= min(500, cap)
    assert budget <= max(0, window - said - reserve)


@pytest.mark.parametrize(
    ("tokens", "window", "full"),
    [(6553, 8192, False), (6554, 8192, True), (8000, 10_000, True), (7999, 10_000, False), (0, 1, False), (1, 1, True)],
)
def test_a_window_is_full_from_exactly_four_fifths_on(tokens: int, window: int, full: bool) -> None:
    assert is_full(tokens, window) is full


@given(st.integers(1, 300_000))
def test_one_token_more_than_the_most_below_full_is_full(window: int) -> None:
    assert not is_full(below_full(window), window) and is_full(below_full(window) + 1, window)
