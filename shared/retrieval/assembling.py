"""Choosing which of what was found fits a token budget, and writing it down.

Whole passages, never a part of one; what does not fit is passed over for what comes next. Each stands under the day it
was said, because a model cannot tell old from new otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from shared.indexing.models import PassageKind
from shared.retrieval.ranking import Ranked

_ROUNDING = 2
"""Counts of pieces that are rounded up may add up to so much more than the whole's."""


@dataclass(frozen=True)
class Style:
    """What surrounds the passages: a line before and after all of them, and the mark before each."""

    opening: str = ""
    closing: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Assembled:
    """The text, how long it is, and what stands in it, the best first."""

    text: str
    tokens: int
    included: tuple[Ranked, ...]


def assemble(
    ranked: Sequence[Ranked],
    budget: int,
    count: Callable[[str], int],
    style: Style | None = None,
    *,
    code_first: bool = False,
) -> Assembled:
    """Write as many of ``ranked``, the best first, as fit ``budget`` tokens by ``count``; empty when none does."""
    style = style or Style()
    included: list[Ranked] = []
    best = Assembled("", 0, ())
    for one in _in_order(ranked, code_first):
        if best.tokens + count(one.candidate.content) - _ROUNDING > budget:
            # Not worth writing down: it cannot fit.
            continue
        text = _written([*included, one], style)
        if (tokens := count(text)) <= budget:
            included.append(one)
            best = Assembled(text, tokens, tuple(included))
    return best


def _in_order(ranked: Sequence[Ranked], code_first: bool) -> list[Ranked]:
    if not code_first:
        return list(ranked)
    return sorted(ranked, key=lambda one: one.candidate.kind is not PassageKind.CODE)


def _written(included: Sequence[Ranked], style: Style) -> str:
    lines = [style.opening] if style.opening else []
    by_time = sorted((one.candidate for one in included), key=lambda one: (one.created_at, one.place, one.part))
    for day, said in groupby(by_time, key=lambda one: one.created_at.date()):
        lines.append(f"{day:%Y-%m-%d}")
        lines.extend(f"{style.mark}{one.name or one.role}: {one.content}" for one in said)
    return "\n".join([*lines, style.closing] if style.closing else lines)
