"""How a budget is shared among the parts of a composition. Whole tokens; never more in sum than there is.

Whoever needs less than its share leaves the rest to the others. Each part is first given a floor, so that no strategy
starves a small session beside a large one; by ``custom`` each has exactly what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.errors import Invalid

FLOOR = 64
"""Tokens a part is given before anything is shared, unless it needs less."""
BUDGET_TOO_SMALL = "budget_too_small"


class Strategy(StrEnum):
    """How a budget is shared."""

    EQUAL = "equal"
    PROPORTIONAL = "proportional"
    """By how long the sessions are."""
    RECENT_FIRST = "recent-first"
    """The newest first, each up to a share of what is left that grows with every one."""
    CUSTOM = "custom"


@dataclass(frozen=True)
class Need:
    """A part, as far as sharing goes."""

    most: int
    """Tokens it can use at most."""
    length: int
    """Tokens of its original."""
    age: int = 0
    """0 is the newest."""
    asked: int | None = None
    """Tokens it is to have, by ``custom``."""


def allocate(strategy: Strategy, needs: Sequence[Need], available: int) -> tuple[int, ...]:
    """Return the tokens of each part. Raises: Invalid when the floors alone take more than there is."""
    if strategy is Strategy.CUSTOM:
        return _custom(needs, available)
    floors = [min(FLOOR, need.most) for need in needs]
    if sum(floors) > available:
        raise too_small(sum(floors) - available, f"{len(needs)} sessions take at least {FLOOR} tokens each")
    beyond = [need.most - floor for need, floor in zip(needs, floors, strict=True)]
    if strategy is Strategy.RECENT_FIRST:
        more = _recent_first(beyond, [need.age for need in needs], available - sum(floors))
    else:
        lengths = [max(1, need.length) if strategy is Strategy.PROPORTIONAL else 1 for need in needs]
        more = _shared(beyond, lengths, available - sum(floors))
    return tuple(floor + extra for floor, extra in zip(floors, more, strict=True))


def too_small(missing: int, why: str, budget: int | None = None) -> Invalid:
    """Return what to raise for a budget that lacks so many tokens."""
    needed = None if budget is None else budget + missing
    what = f"; ask for at least {needed} tokens" if needed else f"; {missing} tokens are missing"
    details = {"missing": missing} | ({"needed": needed} if needed else {})
    return Invalid(f"The budget is too small: {why}{what}.", code=BUDGET_TOO_SMALL, details=details)


def _custom(needs: Sequence[Need], available: int) -> tuple[int, ...]:
    """Return what was asked for, less an equal part of each where headings leave too little."""
    asked = [need.asked or 0 for need in needs]
    total = sum(asked)
    return tuple(asked) if total <= available else tuple(one * available // total for one in asked)


def _shared(wanted: Sequence[int], weights: Sequence[int], available: int) -> list[int]:
    """Fill by weight; who is full leaves the rest to those who are not. A last odd token goes to the last parts."""
    given, left = [0] * len(wanted), available
    hungry = [place for place, want in enumerate(wanted) if want > 0]
    while hungry:
        total = sum(weights[place] for place in hungry)
        full = [place for place in hungry if wanted[place] * total <= left * weights[place]]
        if not full:
            break
        for place in full:
            given[place] = wanted[place]
        left = available - sum(given)
        hungry = [place for place in hungry if place not in full]
    total = sum(weights[place] for place in hungry)
    for place in hungry:
        given[place] = left * weights[place] // total
    for place in reversed(hungry[len(hungry) - (available - sum(given)) :] if hungry else []):
        given[place] += 1
    return given


def _recent_first(wanted: Sequence[int], ages: Sequence[int], available: int) -> list[int]:
    """Give each what it wants, newest first, up to 2/(k+1) of what is left while k are left; then the rest likewise.

    Three sessions that want more than there is get 1/2, 1/3 and 1/6 of it; ten get 18 % down to 2 %.
    """
    given, left = [0] * len(wanted), available
    newest_first = sorted(range(len(wanted)), key=lambda place: ages[place])
    for rank, place in enumerate(newest_first):
        given[place] = min(wanted[place], -(-left * 2 // (len(wanted) - rank + 1)))
        left -= given[place]
    for place in newest_first:
        more = min(wanted[place] - given[place], left)
        given[place] += more
        left -= more
    return given
