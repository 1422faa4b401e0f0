"""Ways to say one thing, each under an example of what it finds."""

from __future__ import annotations

import re
from collections.abc import Mapping


class PhraseTable:
    """Ways to say one thing: patterns, each under an example of what it finds."""

    def __init__(self, phrases: Mapping[str, str], opening: str = r"\b", closing: str = r"\b") -> None:
        """``opening`` and ``closing``: what stands before and after each pattern."""
        self.phrases = phrases
        self._frame = opening, closing
        self._every = self.compiled("|".join(phrases.values()))

    def is_in(self, text: str) -> bool:
        """Whether any of the phrases stands in a text."""
        return self.search(text) is not None

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first of the phrases in a text."""
        return self._every.search(text)

    def compiled(self, pattern: str) -> re.Pattern[str]:
        """Return a pattern as it is looked for."""
        opening, closing = self._frame
        return re.compile(f"{opening}(?:{pattern}){closing}", re.IGNORECASE)
