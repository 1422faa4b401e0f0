"""What is told of a version: how much of what it kept, and why it came out longer or shorter than asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.llm.tokens import LAST_RESORT
from shared.sessions.compressions.drafting import Draft
from shared.sessions.compressions.names import names_in
from shared.sessions.compressions.planning import Plan
from shared.sessions.compressions.rendering import markdown_of
from shared.sessions.compressions.segments import Segment, SegmentKind
from shared.sessions.compressions.weaving import names_of

TOLERANCE = 0.2
_SHORT_TEXT = 400_000


@dataclass(frozen=True)
class Told:
    """Counts over a version."""

    tiers: tuple[Mapping[str, int], ...]
    kinds: Mapping[str, int]
    """Tokens by kind of segment."""
    turns: Mapping[str, int]
    """How many of what was said stand whole, condensed or not at all."""
    names: int
    names_kept: int
    pinned_tokens: int

    def as_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        return {
            "tiers": [dict(tier) for tier in self.tiers],
            "kinds": dict(self.kinds),
            "turns": dict(self.turns),
            "identifiers": {"found": self.names, "kept": self.names_kept},
            "pinnedTokens": self.pinned_tokens,
        }

    def note(self, plan: Plan, ratio: float) -> str | None:
        """Return why the ratio is not the one asked for; None where it is, within a fifth."""
        asked = plan.asked_ratio
        if plan.input_tokens == 0:
            return "there is nothing to compress"
        if abs(ratio - asked) <= TOLERANCE * asked:
            return None
        if ratio > asked:
            return "there is too little text to come out longer"
        if self.pinned_tokens > sum(plan.budgets) // 2:
            return "marked parts and the last request, which are never cut, take most of the room"
        return "the session is so short that headings and labels take much of the room"


def told_of(draft: Draft, segments: Sequence[Segment]) -> Told:
    """Count over a version that is woven."""
    after = Counter[int]()
    kinds = Counter[str]()
    for segment in segments:
        length = len(markdown_of(segment))
        after[segment.tier] += length
        kinds[segment.kind] += length
    names, kept = _names(draft, segments)
    pinned = sum(len(markdown_of(segment)) for segment in segments if segment.is_pinned)
    return Told(
        _tiers(draft.plan, after),
        {kind: LAST_RESORT.tokens_in(length) for kind, length in sorted(kinds.items())},
        _turns(draft, segments),
        names,
        kept,
        LAST_RESORT.tokens_in(pinned),
    )


def _tiers(plan: Plan, after: Mapping[int, int]) -> tuple[Mapping[str, int], ...]:
    messages = Counter(dict.fromkeys(range(len(plan.budgets)), 0))
    for tier, _ in {(tier, said.message) for tier, said in zip(plan.tier_of, plan.gathered, strict=True)}:
        messages[tier] += 1
    return tuple(
        {
            "ratio": plan.settings.tiers[tier].compaction_ratio,
            "messages": messages[tier],
            "tokensBefore": tokens,
            "tokensAsked": plan.budgets[tier],
            "tokensAfter": LAST_RESORT.tokens_in(after[tier]),
        }
        for tier, tokens in enumerate(plan.input_by_tier)
    )


def _turns(draft: Draft, segments: Sequence[Segment]) -> dict[str, int]:
    mentioned = {source for segment in segments for source in segment.sources if segment.kind is not SegmentKind.NAMES}
    counts = Counter({"whole": 0, "condensed": 0, "dropped": 0})
    for place, said in enumerate(draft.plan.gathered):
        is_whole = place in draft.plan.kept or _squeezed(draft.texts_of(place)) == _squeezed(said.text)
        if said.call is None and is_whole:
            counts["whole"] += 1
        else:
            counts["condensed" if mentioned.intersection(said.sources) else "dropped"] += 1
    return dict(counts)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _names(draft: Draft, segments: Sequence[Segment]) -> tuple[int, int]:
    text = "".join(map(markdown_of, segments))
    present, is_short = set(names_in(text)), len(text) <= _SHORT_TEXT
    names = [name for name, _, _ in names_of(draft)]
    return len(names), sum(name in present or (is_short and name in text) for name in names)
