"""How many tokens of a window what is recalled may take, and when a window is so full that it must be compacted.

Pure arithmetic of whole tokens. Source: seed 000, "Context Injection Strategy"; decisions, "Facts and context".
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_RESERVE = 1000
"""Tokens left for the answer where a window is given and nothing else is said."""
_LEAST, _MOST = 150, 500
_SHARE = 4
"""A quarter: of what is left for facts, of the window for memories. Ten of 200 characters take 600 tokens."""
WHOLE_FROM = 4096
"""In a window of so many tokens or more the middle of a conversation goes before a memory does."""
_FULL = (4, 5)
"""A window is full from four fifths on, exactly four fifths included."""


@dataclass(frozen=True)
class Budgets:
    """The most tokens that memories may take, that facts may, and that both may together."""

    memories: int
    facts: int
    both: int


def budgets_of(window: int | None, conversation: int, reserve: int, cap: int) -> Budgets:
    """Return what may be recalled beside a conversation of so many tokens; ``cap``: never more than this in all."""
    if window is None:
        return Budgets(cap, min(_MOST, cap), cap)
    both = min(max(0, window - conversation - reserve), cap)
    return Budgets(min(window // _SHARE, both), recall_budget(window, conversation, reserve, cap), both)


def recall_budget(window: int, conversation: int, reserve: int = DEFAULT_RESERVE, cap: int | None = None) -> int:
    """Return the tokens for facts: a quarter of what is left, 150 to 500, but never more than is left.

    ``cap``: never more than this either.
    """
    left = max(0, window - conversation - reserve)
    budget = min(max(left // _SHARE, _LEAST), _MOST, left)
    return budget if cap is None else min(budget, cap)


def is_full(tokens: int, window: int) -> bool:
    """Whether so many tokens are at least four fifths of the window."""
    return tokens * _FULL[1] >= window * _FULL[0]


def below_full(window: int) -> int:
    """Return the most tokens with which the window is not yet full; -1 for a window of 0."""
    return (window * _FULL[0] - 1) // _FULL[1]
