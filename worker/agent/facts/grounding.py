"""Whether a statement has ground in what was said: its names and numbers, and at least one of its other words.

A guard against what models make up, not a proof: that the words were said does not show that they were meant so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from worker.agent.dating import resolve
from worker.agent.facts.words import EXPLAINING, NUMERALS
from worker.agent.protocol import Turn
from worker.agent.vocabulary import EMPTY, MONTHS, WEEKDAYS, WORD, stem

_NUMBERS = {word: str(number) for number, word in enumerate(NUMERALS)}
_DATE_WORDS = frozenset(word.lower() for word in (*MONTHS, *WEEKDAYS))
_PREFIX = 5
"""Letters in which two forms of one long word agree."""
_UNSPACED = re.compile(r"[^\x00-\u024f\u0370-\u05ff\u0600-\u06ff\u0900-\u0dff]")


class Ground:
    """The words of some texts, as a statement may use them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = " ".join(texts).casefold()
        self._roots = frozenset(_root(word) for word in WORD.findall(self._text))

    @classmethod
    def of(cls, turns: Iterable[Turn]) -> Ground:
        """Return the ground that turns give: what was said, by whom, and when."""
        return cls(text for turn in turns for text in _readings(turn))

    def bears(self, statement: str) -> bool:
        """Say whether a statement has ground here."""
        words = WORD.findall(statement)
        weighty = [word for i, word in enumerate(words) if _is_weighty(word, i == 0)]
        content = [word for word in words if word.lower() not in EMPTY | EXPLAINING | _DATE_WORDS]
        return all(map(self._has, weighty)) and any(map(self._has, content))

    def _has(self, word: str) -> bool:
        lowered = word.casefold()
        if _root(lowered) in self._roots:
            return True
        if _UNSPACED.search(word):
            return any(lowered[i : i + 2] in self._text for i in range(max(1, len(lowered) - 1)))
        return (
            lowered.isalpha()
            and len(lowered) >= _PREFIX
            and re.search(rf"\b{re.escape(lowered[:_PREFIX])}", self._text) is not None
        )


def _readings(turn: Turn) -> tuple[str, ...]:
    """Return what was said as it stands and with its relative times as dates, who said it, and in which year."""
    day = turn.created_at.date()
    return turn.content, resolve(turn.content, day), turn.name or "", str(day.year)


def _is_weighty(word: str, opens: bool) -> bool:
    """Say whether a word is a number, or a name: those are not put in other words."""
    if any(character.isdigit() for character in word) or word.lower() in _NUMBERS:
        return True
    return word[:1].isupper() and not opens and word.lower() not in _DATE_WORDS | EMPTY


def _root(word: str) -> str:
    bare = re.split(r"['’]", word)[0]
    return _NUMBERS.get(bare, stem(bare))
