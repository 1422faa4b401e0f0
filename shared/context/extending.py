"""What else a context recalls, as far as there is room: the profile, the summary so far, and earlier messages.

Pure rules over values. Nothing is said twice: a summary goes in only where something it covers was left out, a message
only where it is not shown already, and of it only what the memories, the facts and better messages do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.context import excerpts
from shared.context.assembly import AssemblyStyle, PriorText, assemble
from shared.context.budgets import below_full
from shared.context.composing import Bounds, Composed
from shared.context.counting import Scale
from shared.context.marks import END
from shared.search.candidates import SearchHit
from shared.search.ranking import RankedCandidate

MOST_HITS = 40
"""So many earlier messages are looked for; few of them fit."""
_FENCE = "```"
_SHARE = 4
"""A profile takes a quarter of the room at most."""


@dataclass(frozen=True)
class Extra:
    """What there is to recall beside memories and facts."""

    profile: str = ""
    summary_id: str | None = None
    summary: str = ""
    hits: tuple[SearchHit, ...] = ()
    about_code: bool = False


@dataclass(frozen=True)
class Extension:
    """What was added; ``text`` stands after what was recalled before."""

    text: str = ""
    tokens: int = 0
    profile: bool = False
    summary_id: str | None = None
    hits: tuple[SearchHit, ...] = ()
    retrieved_tokens: int = 0


def room_for_more(composed: Composed, bounds: Bounds, cap: int, is_capped: bool) -> int:
    """Return the tokens that may be added: ``cap`` at most, and never so many that a window is full or passed.

    ``is_capped``: the budget of what is recalled was given, and holds for all of it.
    """
    room = cap
    if is_capped:
        room = min(room, bounds.budget - composed.recalled.tokens)
    if bounds.window is not None:
        room = min(room, below_full(bounds.window) - composed.tokens, bounds.room - composed.tokens)
    return max(0, room)


def extend(recalled: str, extra: Extra, room: int, scale: Scale) -> Extension:
    """Write what fits into so many tokens beside what is recalled already."""
    used = scale.tokens(recalled)

    def needed(blocks: Sequence[str]) -> int:
        return scale.tokens(excerpts.joined([recalled, *blocks])) - used

    result = _with_lines(extra, room, needed)
    blocks = [result.text] if result.text else []
    found = _assembled(extra, PriorText(recalled, *blocks), room, lambda text: needed([*blocks, text]))
    if found.text:
        blocks.append(found.text)
    tokens = needed(blocks) if blocks else 0
    return replace(
        found,
        text=excerpts.joined(blocks),
        tokens=tokens,
        profile=result.profile,
        summary_id=result.summary_id,
        retrieved_tokens=tokens - result.tokens,
    )


def _with_lines(extra: Extra, room: int, needed: Callable[[Sequence[str]], int]) -> Extension:
    """Write the profile and the summary, each whole or not at all."""
    profile = excerpts.framed(excerpts.PROFILE, extra.profile)
    if profile and needed([profile]) > room // _SHARE:
        profile = ""
    blocks = [profile] if profile else []
    summary = excerpts.framed(excerpts.SUMMARY, extra.summary)
    if summary and needed([*blocks, summary]) > room:
        summary = ""
    blocks += [summary] if summary else []
    return Extension(
        text=excerpts.joined(blocks),
        tokens=needed(blocks) if blocks else 0,
        profile=bool(profile),
        summary_id=extra.summary_id if summary else None,
    )


def _assembled(extra: Extra, said: PriorText, room: int, count: Callable[[str], int]) -> Extension:
    style = AssemblyStyle(excerpts.opening(excerpts.EARLIER).rstrip("\n"), END, "> ")
    by_candidate = {(hit.ranked.candidate.place, hit.ranked.candidate.part): hit for hit in extra.hits}
    quoted = []
    for hit in extra.hits:
        left = hit.content if _FENCE in hit.content else said.left_of(hit.content)
        if left and count(left) <= room:
            said.add(hit.content)
            quoted.append(_quoted(hit, left))
    found = assemble(quoted, room, count, style, code_first=extra.about_code)
    return Extension(
        text=found.text,
        hits=tuple(by_candidate[one.candidate.place, one.candidate.part] for one in found.included),
    )


def _quoted(hit: SearchHit, text: str) -> RankedCandidate:
    one = hit.ranked.candidate
    content = excerpts.quoted(text)
    if hit.times > 1:
        content += f" (said {hit.times} times, last on {hit.last_at:%Y-%m-%d})"
    said = replace(one, content=content, name=None if one.name is None else _name(one.name))
    return replace(hit.ranked, candidate=said)


def _name(name: str) -> str:
    return " ".join(excerpts.unmarked(name).split())
