"""How long a context's parts are in tokens, how well that is known, and how many of them may be recalled.

The provider's own figure goes before the rate its model was seen to have, and that before the estimate of last resort.
Learning rates is left to ``shared.energy.rates``. Source: seed 000, "Context Injection Strategy".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from shared.llm.tokens import LAST_RESORT, Rate, most_tokens


class TokenSource(StrEnum):
    """Where a figure comes from, the best first."""

    PROVIDER = "provider"
    CALIBRATED = "calibrated"
    ESTIMATED = "estimated"


def weakest(sources: Iterable[TokenSource]) -> TokenSource | None:
    """Return the least certain of the sources; None where there is none."""
    order = list(TokenSource)
    return max(sources, key=order.index, default=None)


class TokenScale(Protocol):
    """Weighs texts so that the weights of pieces add up to no less than the whole's."""

    def weigh(self, text: str) -> int:
        """Return the weight of a piece of text."""

    def holds(self, tokens: int) -> int:
        """Return the most weight that is sure to fit in so many tokens."""

    def tokens(self, text: str) -> int:
        """Return the length of a text, in tokens."""


@dataclass(frozen=True)
class TokenCounting(TokenScale):
    """Counts by a model's own rate, or by the estimate of last resort where none is known."""

    rate: Rate | None = None

    @property
    def source(self) -> TokenSource:
        """Where its figures come from."""
        return TokenSource.ESTIMATED if self.rate is None else TokenSource.CALIBRATED

    @cached_property
    def in_use(self) -> Rate:
        """The rate it counts by."""
        return self.rate or LAST_RESORT

    def weigh(self, text: str) -> int:
        """Return the characters: those of pieces add up exactly, which tokens rounded up do not."""
        return len(text)

    def holds(self, tokens: int) -> int:
        """Return the most characters that fit in so many tokens."""
        return self.in_use.chars_in(max(tokens, 0))

    def tokens(self, text: str) -> int:
        """Return the length of a text, in tokens."""
        return self.in_use.tokens_in(len(text))


class UpperBoundCounting(TokenScale):
    """Counts by the figure that a text hardly ever passes, for prompts that must fit whatever is in them."""

    def weigh(self, text: str) -> int:
        """Return the most tokens the text can have."""
        return most_tokens(text)

    def holds(self, tokens: int) -> int:
        """Return the tokens themselves."""
        return tokens

    def tokens(self, text: str) -> int:
        """Return the most tokens the text can have."""
        return most_tokens(text)


DEFAULT_RESERVE = 1000
"""Tokens left for the answer where a window is given and nothing else is said."""
LEAST_FOR_FACTS, _MOST = 150, 500
_SHARE = 4
"""A quarter: of what is left for facts, of the window for memories. Ten of 200 characters take 600 tokens."""
_STEPS = (2000, 1000, 500, 250, LEAST_FOR_FACTS, 75, 30, 0)
"""What is recalled shrinks in these: a budget that went down with each message would change a prompt's beginning."""
_FULL = (4, 5)
"""A window is full from four fifths on, exactly four fifths included."""


@dataclass(frozen=True)
class RecallBudgets:
    """The most tokens that memories may take, that facts may, and that both may together."""

    memories: int
    facts: int
    both: int

    def in_steps(self) -> RecallBudgets:
        """Return the next lower ones that do not follow the length of a conversation token by token."""
        return RecallBudgets(in_steps(self.memories), in_steps(self.facts), in_steps(self.both))


def budgets_of(window: int | None, conversation: int, reserve: int, cap: int) -> RecallBudgets:
    """Return what may be recalled beside a conversation of so many tokens; ``cap``: never more than this in all."""
    if window is None:
        return RecallBudgets(cap, min(_MOST, cap), cap)
    both = min(max(0, window - conversation - reserve), cap)
    return RecallBudgets(min(window // _SHARE, both), recall_budget(window, conversation, reserve, cap), both)


def recall_budget(window: int, conversation: int, reserve: int = DEFAULT_RESERVE, cap: int | None = None) -> int:
    """Return the tokens for facts: a quarter of what is left, 150 to 500, but never more than is left.

    ``cap``: never more than this either.
    """
    left = max(0, window - conversation - reserve)
    budget = min(max(left // _SHARE, LEAST_FOR_FACTS), _MOST, left)
    return budget if cap is None else min(budget, cap)


def in_steps(tokens: int) -> int:
    """Return the highest step that is not above so many tokens."""
    return next((step for step in _STEPS if step <= tokens), 0)


def is_full(tokens: int, window: int) -> bool:
    """Whether so many tokens are at least four fifths of the window."""
    return tokens * _FULL[1] >= window * _FULL[0]


def below_full(window: int) -> int:
    """Return the most tokens with which the window is not yet full; -1 for a window of 0."""
    return (window * _FULL[0] - 1) // _FULL[1]
