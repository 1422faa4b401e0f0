"""The wording of a summary: bullets, one clean line each, together no longer than the limit, and no code repeated.

Pure functions of text, shared by every agent; what is worth saying is left to them. Source: seed 002.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shared.llm.tokens import LAST_RESORT, estimate_tokens
from shared.text.lines import clean, shorten

MOST_TOKENS = 200
MOST_CHARS = LAST_RESORT.chars_in(MOST_TOKENS)
_BULLET = "- "
_MARK = re.compile(r"^(?:[-*•–+]\s+|\d{1,2}[.)]\s+)+")
_FENCE = re.compile(r"(```|~~~)[^\n]*\n(.*?)(?:\1|\Z)", re.DOTALL)
_SHORTEST_CODE = 10
"""A shorter line (``end``, ``return``) is as likely prose, characters without white space."""


def written(points: Iterable[str], most_tokens: int = MOST_TOKENS) -> str:
    """Return points as bullets, each once, as many whole ones as fit; the first alone is cut to fit."""
    lines: list[str] = []
    for point in distinct(points):
        line = f"{_BULLET}{point}"
        if estimate_tokens("\n".join([*lines, line])) <= most_tokens:
            lines.append(line)
        elif not lines:
            lines.append(f"{_BULLET}{shorten(point, LAST_RESORT.chars_in(most_tokens) - len(_BULLET))}")
    return "\n".join(lines)


def distinct(points: Iterable[str]) -> list[str]:
    """Return points as clean lines without marks of their own, those that say something, each once."""
    found: dict[str, str] = {}
    for point in points:
        line = _MARK.sub("", clean(point))
        if any(character.isalnum() for character in line):
            found.setdefault(line.casefold().rstrip(" ."), line)
    return list(found.values())


def tokens_of(points: Iterable[str]) -> int:
    """Return how long points are when they are written whole."""
    return estimate_tokens("\n".join(f"{_BULLET}{point}" for point in distinct(points)))


def code_lines(texts: Iterable[str]) -> frozenset[str]:
    """Return the lines of fenced code in texts, without white space; short ones say nothing and are left out."""
    bodies = (match[2] for text in texts for match in _FENCE.finditer(text))
    lines = (_dense(line) for body in bodies for line in body.splitlines())
    return frozenset(line for line in lines if len(line) >= _SHORTEST_CODE)


def repeats_code(point: str, lines: Iterable[str]) -> bool:
    """Whether a point holds a whole line of code."""
    dense = _dense(point)
    return "```" in point or any(line in dense for line in lines)


def _dense(text: str) -> str:
    return "".join(text.split())
