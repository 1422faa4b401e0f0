"""Choosing which of what was found fits a token budget, and writing it down.

Whole passages, never a part of one; what does not fit is passed over for what comes next. Each stands under the day it
was said, because a model cannot tell old from new otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from shared.search.models import PassageKind
from shared.search.ranking import RankedCandidate

LEFT_OUT = "[…]"
"""Stands where something was left out that was said before."""
_WORD = re.compile(r"\w+")
_BETWEEN = re.compile(r"((?<=[.!?…;:])\s+|(?<=[。！？])|\s*\n\s*)")
_LEAST_CHARS = 20
"""What is shorter may be said again: it costs little, and a sentence may need it."""
_ROUNDING = 2
"""Counts of pieces that are rounded up may add up to so much more than the whole's."""


@dataclass(frozen=True)
class AssemblyStyle:
    """What surrounds the passages: a line before and after all of them, and the mark before each."""

    opening: str = ""
    closing: str = ""
    mark: str = ""


@dataclass(frozen=True)
class AssembledText:
    """The text, how long it is, and what stands in it, the best first."""

    text: str
    tokens: int
    included: tuple[RankedCandidate, ...]


def assemble(
    ranked: Sequence[RankedCandidate],
    budget: int,
    count: Callable[[str], int],
    style: AssemblyStyle | None = None,
    *,
    code_first: bool = False,
) -> AssembledText:
    """Write as many of ``ranked``, the best first, as fit ``budget`` tokens by ``count``; empty when none does."""
    style = style or AssemblyStyle()
    included: list[RankedCandidate] = []
    best = AssembledText("", 0, ())
    for one in _in_order(ranked, code_first):
        if best.tokens + count(one.candidate.content) - _ROUNDING > budget:
            # Not worth writing down: it cannot fit.
            continue
        text = _written([*included, one], style)
        if (tokens := count(text)) <= budget:
            included.append(one)
            best = AssembledText(text, tokens, tuple(included))
    return best


def _in_order(ranked: Sequence[RankedCandidate], code_first: bool) -> list[RankedCandidate]:
    if not code_first:
        return list(ranked)
    return sorted(ranked, key=lambda one: one.candidate.kind is not PassageKind.CODE)


def _written(included: Sequence[RankedCandidate], style: AssemblyStyle) -> str:
    lines = [style.opening] if style.opening else []
    by_time = sorted((one.candidate for one in included), key=lambda one: (one.created_at, one.place, one.part))
    for day, said in groupby(by_time, key=lambda one: one.created_at.date()):
        lines.append(f"{day:%Y-%m-%d}")
        lines.extend(f"{style.mark}{one.name or one.role}: {one.content}" for one in said)
    return "\n".join([*lines, style.closing] if style.closing else lines)


class PriorText:
    """What was said before, to leave it out of what comes after."""

    def __init__(self, *texts: str) -> None:
        self._gists = f" {' '.join(' '.join(_WORD.findall(text.casefold())) for text in texts)} "

    def add(self, text: str) -> None:
        """Note that a text is said."""
        self._gists += f"{' '.join(_WORD.findall(text.casefold()))} "

    def left_of(self, text: str) -> str:
        """Return a text without the sentences that were said before, marked; empty where nothing much is left."""
        pieces = _BETWEEN.split(text)
        again = [self._was_said(piece) for piece in pieces[::2]]
        if not any(again):
            return text
        kept = [piece for piece, known in zip(pieces[::2], again, strict=True) if not known]
        if len("".join(kept)) < _LEAST_CHARS:
            return ""
        return _joined(pieces, again)

    def _was_said(self, piece: str) -> bool:
        words = " ".join(_WORD.findall(piece.casefold()))
        return len(words) >= _LEAST_CHARS and f" {words} " in self._gists


def _joined(pieces: list[str], again: list[bool]) -> str:
    """Return the pieces and what stands between them, one mark for those in a row that are left out."""
    text = ""
    for nth, known in enumerate(again):
        if known and text.endswith(LEFT_OUT):
            continue
        text += (pieces[2 * nth - 1] or " " if nth else "") + (LEFT_OUT if known else pieces[2 * nth])
    return text.strip()
