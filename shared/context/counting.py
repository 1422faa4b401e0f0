"""How long a context's parts are in tokens, and how well that is known.

The provider's own figure goes before the rate its model was seen to have, and that before the estimate of last resort.
Learning rates is left to ``shared.energy.rates``. Source: decisions, "Facts and context".
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


class Scale(Protocol):
    """Weighs texts so that the weights of pieces add up to no less than the whole's."""

    def weigh(self, text: str) -> int:
        """Return the weight of a piece of text."""

    def holds(self, tokens: int) -> int:
        """Return the most weight that is sure to fit in so many tokens."""

    def tokens(self, text: str) -> int:
        """Return the length of a text, in tokens."""


@dataclass(frozen=True)
class Counting(Scale):
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


class AtMost(Scale):
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
