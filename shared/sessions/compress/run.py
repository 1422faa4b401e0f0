"""One version from what was read to what is written, with its statistics. Values in, values out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from shared.llm.tokens import LAST_RESORT
from shared.sessions.blocks import Block, BlockKind, Heading, heading_of, markdown_of
from shared.sessions.compress.assembly import Chunk, CondensedChunk, assemble, chunks_of, names_of
from shared.sessions.compress.draft import Draft, open_draft
from shared.sessions.compress.plan import CompressionPlan, MarkerDecision, plan_compression
from shared.sessions.compress.settings import CompressionMode
from shared.sessions.compress.sources import CompressionTask
from shared.sessions.text import names_in

TOLERANCE = 0.2
_SHORT_TEXT = 400_000


@dataclass(frozen=True)
class VersionStatistics:
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

    def note(self, plan: CompressionPlan, ratio: float) -> str | None:
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


def statistics_of(draft: Draft, segments: Sequence[Block]) -> VersionStatistics:
    """Count over a version that is woven."""
    after = Counter[int]()
    kinds = Counter[str]()
    for segment in segments:
        length = len(markdown_of(segment))
        after[segment.tier] += length
        kinds[segment.kind] += length
    names, kept = _name_counts(draft, segments)
    pinned = sum(len(markdown_of(segment)) for segment in segments if segment.is_pinned)
    return VersionStatistics(
        _tier_rows(draft.plan, after),
        {kind: LAST_RESORT.tokens_in(length) for kind, length in sorted(kinds.items())},
        _block_counts(draft, segments),
        names,
        kept,
        LAST_RESORT.tokens_in(pinned),
    )


def _tier_rows(plan: CompressionPlan, after: Mapping[int, int]) -> tuple[Mapping[str, int], ...]:
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


def _block_counts(draft: Draft, segments: Sequence[Block]) -> dict[str, int]:
    mentioned = {source for segment in segments for source in segment.sources if segment.kind is not BlockKind.NAMES}
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


def _name_counts(draft: Draft, segments: Sequence[Block]) -> tuple[int, int]:
    text = "".join(map(markdown_of, segments))
    present, is_short = set(names_in(text)), len(text) <= _SHORT_TEXT
    names = [name for name, _, _ in names_of(draft)]
    return len(names), sum(name in present or (is_short and name in text) for name in names)


_ROOMY = 400
"""Tokens from which on a heading says more than whose session it is."""


@dataclass(frozen=True)
class Version:
    """A version, whole."""

    plan: CompressionPlan
    heading: Heading
    segments: Sequence[Block]
    output_tokens: int
    told: VersionStatistics

    @property
    def messages(self) -> int:
        """The records it is written as: a call and its result are two."""
        return sum(1 if segment.call is None else 2 for segment in self.segments)

    @property
    def ratio(self) -> float:
        """The ratio that was achieved."""
        return self.plan.input_tokens / max(1, self.output_tokens)

    @property
    def fates(self) -> Sequence[MarkerDecision]:
        """What became of the markers that stood in the source."""
        return self.plan.fates

    def statistics(self, seconds: float, agent: str) -> dict[str, Any]:
        """Return what is told of how it was made."""
        return self.told.as_json() | {
            "agent": agent,
            "seconds": round(seconds, 3),
            "askedRatio": round(self.plan.asked_ratio, 2),
            "achievedRatio": round(self.ratio, 2),
            "note": self.told.note(self.plan, self.ratio),
            "messagesBefore": self.plan.messages,
            "messagesAfter": self.messages,
        }


class CompressionRun:
    """A version under way."""

    def __init__(self, task: CompressionTask, chunk_tokens: int) -> None:
        self.task = task
        self.plan = plan_compression(task.gathered, task.settings)
        self.heading = _heading(task, self.plan)
        self.draft: Draft = open_draft(self.plan, self.heading)
        self.chunks: list[Chunk] = chunks_of(self.draft, chunk_tokens)

    @cached_property
    def outline(self) -> str:
        """A word for how the session was divided, so that parts of another division are never taken for these."""
        outline = [(chunk.position, chunk.room, [one.number for one in chunk.pieces]) for chunk in self.chunks]
        return sha256(json.dumps([self.task.stamp, outline]).encode()).hexdigest()[:12]

    def finish(self, parts: Sequence[CondensedChunk]) -> Version:
        """Weave the parts of all chunks, or of none, into the version."""
        segments = assemble(self.draft, self.chunks if parts else (), parts)
        chars = len(heading_of(self.heading)) + sum(len(markdown_of(segment)) for segment in segments)
        output_tokens = LAST_RESORT.tokens_in(chars)
        return Version(self.plan, self.heading, segments, output_tokens, statistics_of(self.draft, segments))


def _heading(task: CompressionTask, plan: CompressionPlan) -> Heading:
    title = f"Session {task.session_id}"
    times = [said.at for said in task.gathered if said.at is not None]
    if sum(plan.budgets) < _ROOMY or not times:
        return Heading(title)
    settings = task.settings
    how = f"{settings.compaction_ratio}:1" if settings.mode is CompressionMode.UNIFORM else str(settings.tier_preset)
    source = f" of {task.source_version}" if task.source_version else ""
    days = f"{min(times):%Y-%m-%d %H:%M} to {max(times):%Y-%m-%d %H:%M} UTC"
    return Heading(title, (f"{days}. Compressed{source}: {how}, {plan.input_tokens} tokens before.",))
