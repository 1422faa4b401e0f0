"""The block of facts: what is known of a user, in sections, as text for a system prompt.

Its lines are those of seed 000; two more say where the recalled text begins and ends, and that it is no instruction.
By them it is recognised, and not learnt again, when it comes back inside a transcript. A section without facts, and a
block without any, is not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shared.context.counting import Scale
from shared.context.marks import END, RECALLED, one_line
from shared.context.selection import KnownFact
from shared.facts.categories import Category

_HEADING = "What you know about this user"
_TITLES = {
    Category.PROJECT: "Current work:",
    Category.PREFERENCE: "Preferences:",
    Category.IDENTITY: "About user:",
}
_OPENING = f"## {_HEADING}\n{RECALLED}\n"
_CLOSING = f"\n{END}"
_MARGIN = 50
"""Tokens below the budget from which nothing more is looked for. Source: seed 001, task 1."""

_BETWEEN = r"(?:[\s>|]|\\+[nrt])*"
"""White space, marks of quotation, and line ends as JSON writes them."""
_BEGINNING = rf"(?:\#{{1,6}}[ \t]*)?{_HEADING}{_BETWEEN}{re.escape(RECALLED)}"
_WHOLE = re.compile(rf"{_BEGINNING}(?:(?!{_HEADING}).)*?{re.escape(END)}", re.DOTALL)
_WITHOUT_END = re.compile(rf"{_BEGINNING}(?:{_BETWEEN}(?:{'|'.join(_TITLES.values())}|-[ \t][^\r\n]*))*")


def packed(facts: Sequence[KnownFact], budget: int, scale: Scale) -> tuple[KnownFact, ...]:
    """Return the facts, in order, whose block fits so many tokens.

    One that does not fit is skipped, and nothing more is looked for within 50 tokens of the budget.
    """
    limit, enough = scale.holds(budget), scale.holds(budget - _MARGIN)
    used = scale.weigh(_OPENING) + scale.weigh(_CLOSING)
    taken: list[KnownFact] = []
    opened: set[Category] = set()
    for fact in facts:
        needed = scale.weigh(_line(fact)) + (0 if fact.category in opened else scale.weigh(_title(fact.category)))
        if used + needed <= limit:
            used += needed
            opened.add(fact.category)
            taken.append(fact)
            if used >= enough:
                break
    return tuple(taken)


def facts_text(facts: Sequence[KnownFact]) -> str:
    """Return the block of the facts, in their order within each section; empty without any."""
    return "".join([_OPENING, *_sections(facts), _CLOSING]) if facts else ""


def without_facts(text: str) -> str:
    """Return text without the blocks of facts that were put into it, whole or with their end cut off.

    What only resembles one in part stays: a block is known by its heading together with the mark below it.
    """
    return _WITHOUT_END.sub("", _WHOLE.sub("", text))


def _sections(facts: Sequence[KnownFact]) -> Iterator[str]:
    for category in _TITLES:
        lines = [_line(fact) for fact in facts if fact.category is category]
        if lines:
            yield _title(category)
            yield from lines


def _title(category: Category) -> str:
    return f"\n{_TITLES[category]}\n"


def _line(fact: KnownFact) -> str:
    return f"- {one_line(fact.statement)}\n"
