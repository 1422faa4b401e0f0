"""What a session is about, without a model: the names and the less common words that people kept using in it."""

from __future__ import annotations

import re
from collections import Counter

_MOST_TOPICS = 12
_MOST_WORDS = 20_000
_NAME_WEIGHT = 3
_TITLE_WEIGHT = 2
_WORD = re.compile(r"[^\W\d_][\w./-]{3,60}(?<![./-])")
_MARKER = re.compile(r"##keepit[^#\s]{0,20}##", re.IGNORECASE)
_IS_NAME = re.compile(r"[a-z][A-Z]|_|\w[./]\w")
_COMMON = frozenset(
    """about above after again against also although always another any anything around back because been before being
    below better between both bring call came cannot change changes check code come could create does doing done down
    each else even ever every example file files first from function give going good have having help here however
    into issue just keep know last later least less like line lines little look made make makes many maybe mean might
    more most move much must need needs never next nothing only open other over please probably problem question rather
    read really remove right same seems several should show simple since some something still such sure take tell test
    tests than that their them then there these they thing things think this those three through time trying under
    until update used user uses using very want wants well were what when where whether which while whole will with
    without work works would write wrong your yours""".split()  # noqa: SIM905 - a list of 200 strings is not easier to read
)


class Topics:
    """Counts words. Feed it what people said."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, text: str, is_title: bool = False) -> None:
        """Take a text into account; a title says more than a prompt."""
        for word in _WORD.findall(_MARKER.sub(" ", text)):
            name = bool(_IS_NAME.search(word))
            key = word if name else word.lower()
            if (name or key not in _COMMON) and (key in self._counts or len(self._counts) < _MOST_WORDS):
                self._counts[key] += (_NAME_WEIGHT if name else 1) * (_TITLE_WEIGHT if is_title else 1)

    def best(self) -> list[str]:
        """Return the words used most, in an order that does not depend on where they stood."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [word for word, _ in ranked[:_MOST_TOPICS]]
