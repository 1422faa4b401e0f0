"""How many tokens a text has, where no provider has counted them.

One best guess, the same guess at the rate a model was seen to have, and two bounds. A provider's own count always goes
before these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CHARS_PER_TOKEN = 4
_FEWEST_LETTERS_PER_TOKEN = 3
_TOKENS_BEYOND_COMMON_PLANE = 3
_LETTERS = re.compile(r"[A-Za-z ]+")
_BEYOND_COMMON_PLANE = re.compile(r"[^\x00-\uffff]")


@dataclass(frozen=True)
class Rate:
    """So many tokens for so many characters (at least one); whole numbers, so that sums and bounds are exact."""

    chars: int
    tokens: int

    def tokens_in(self, chars: int) -> int:
        """Return the tokens of so many characters, rounded up."""
        return -(-chars * self.tokens // self.chars)

    def chars_in(self, tokens: int) -> int:
        """Return the most characters that take no more than so many tokens; for a rate above 0."""
        return tokens * self.chars // self.tokens


LAST_RESORT = Rate(_CHARS_PER_TOKEN, 1)


def estimate_tokens(text: str) -> int:
    """Return the estimate of last resort: a quarter of the characters, rounded up."""
    return LAST_RESORT.tokens_in(len(text))


def most_tokens(text: str) -> int:
    """Return a figure that text in the vocabularies in use hardly ever passes.

    Three letters a token (prose has four to five), one for any other character, three for those beyond the common
    plane; at least one for each word.
    """
    others = _LETTERS.sub("", text)
    rare = len(_BEYOND_COMMON_PLANE.findall(others))
    letters = len(text) - len(others)
    tokens = -(-letters // _FEWEST_LETTERS_PER_TOKEN) + len(others) + (_TOKENS_BEYOND_COMMON_PLANE - 1) * rare
    return max(tokens, least_tokens(text))


def least_tokens(text: str) -> int:
    """Return a figure no vocabulary in use stays below: they never join two words into one token."""
    return len(text.split())
