"""One version from what was read to what is written, with its statistics; and what would come of one, by rules alone.

Values in, values out. Of a long session the estimate fills a sample; tiers, budgets and marked parts are always those
of the whole. Source: seed 004, "Creating a New Compression".
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from shared.base.choices import KeepitMode
from shared.llm.calls import LAST_RESORT
from shared.sessions.blocks import Block, BlockKind, Heading, fill_budget, heading_of, markdown_of
from shared.sessions.compress.assembly import Chunk, CondensedChunk, assemble, chunks_of, names_of
from shared.sessions.compress.draft import Draft
from shared.sessions.compress.opening import open_draft
from shared.sessions.compress.plan import CompressionPlan, plan_compression
from shared.sessions.compress.settings import CompressionMode
from shared.sessions.compress.sources import CompressionTask, is_told_by_itself, message_count
from shared.sessions.markers import threshold
from shared.sessions.text import names_in

TOLERANCE = 0.2
_SHORT_TEXT = 400_000
_ROOMY = 100
"""Tokens from which on a heading says more than whose session it is."""
_WHY_CHARS, _WHY_SHARE, _LEAST_WHY = 240, 0.04, 50
"""What a heading takes to say what was left out: at most, of the whole, and at least."""


@dataclass(frozen=True)
class Version:
    """A version, whole."""

    plan: CompressionPlan
    heading: Heading
    blocks: Sequence[Block]
    output_tokens: int
    counts: dict[str, Any]

    @property
    def messages(self) -> int:
        """How many things a person or the assistant said or did stand in it; a call and its result are one."""
        return sum(block.role != "note" for block in self.blocks)

    @property
    def ratio(self) -> float:
        """The ratio that was achieved."""
        return self.plan.input_tokens / max(1, self.output_tokens)

    @property
    def note(self) -> str | None:
        """Why the ratio is not the one asked for; None where it is, within a fifth."""
        plan, asked = self.plan, self.plan.asked_ratio
        if plan.input_tokens == 0:
            return "there is nothing to compress"
        if abs(self.ratio - asked) <= TOLERANCE * asked:
            return None
        if self.ratio > asked:
            return "there is too little text to come out longer"
        if self.counts["pinnedTokens"] > sum(plan.budgets) // 2:
            return "marked parts and the last request, which are never cut, take most of the room"
        return "the session is so short that headings and labels take much of the room"

    def statistics(self, seconds: float, agent: str) -> dict[str, Any]:
        """Return how it was made, as it is kept with the version."""
        return self.counts | {
            "agent": agent,
            "seconds": round(seconds, 3),
            "askedRatio": round(self.plan.asked_ratio, 2),
            "achievedRatio": round(self.ratio, 2),
            "note": self.note,
            "messagesBefore": self.plan.messages,
            "messagesAfter": self.messages,
        }


@dataclass
class CompressionRun:
    """A version under way."""

    task: CompressionTask
    chunk_tokens: int
    plan: CompressionPlan = field(init=False)
    heading: Heading = field(init=False)
    draft: Draft = field(init=False)
    chunks: list[Chunk] = field(init=False)

    def __post_init__(self) -> None:
        self.plan = plan_compression(self.task.blocks, self.task.settings)
        self.heading = _heading(self.task, self.plan)
        self.draft = open_draft(self.plan, self.heading)
        self.chunks = chunks_of(self.draft, self.chunk_tokens)

    @property
    def chunking_hash(self) -> str:
        """Digest of how the session was divided, so that parts of another division are never taken for these."""
        chunking = [(chunk.position, chunk.budget, [one.number for one in chunk.pieces]) for chunk in self.chunks]
        return sha256(json.dumps([self.task.cache_key, chunking]).encode()).hexdigest()[:12]

    def finish(self, parts: Sequence[CondensedChunk]) -> Version:
        """Assemble the parts of all chunks, or of none, into the version."""
        blocks = assemble(self.draft, self.chunks if parts else (), parts)
        gone = left_out(self.draft)
        if self.heading.lines:
            made, room = self.heading.lines
            told = why_of(gone, len(room))
            self.heading = replace(self.heading, lines=(made, told))
        chars = len(heading_of(self.heading)) + sum(len(markdown_of(block)) for block in blocks)
        return Version(self.plan, self.heading, blocks, LAST_RESORT.tokens_in(chars), _counts(self.draft, blocks, gone))


def _heading(task: CompressionTask, plan: CompressionPlan) -> Heading:
    title = f"Session {task.session_id}"
    times = [block.at for block in task.blocks if block.at is not None]
    if sum(plan.budgets) < _ROOMY or not times:
        return Heading(title)
    settings = task.settings
    how = f"{settings.compaction_ratio}:1" if settings.mode is CompressionMode.UNIFORM else str(settings.tier_preset)
    source = f" of {task.source_version}" if task.source_version else ""
    days = f"{min(times):%Y-%m-%d %H:%M} to {max(times):%Y-%m-%d %H:%M} UTC"
    made = f"{days}. Compressed{source}: {how}, {plan.input_tokens} tokens before."
    # What was left out is known in the end; until then its room is kept free.
    room = "_" * min(_WHY_CHARS, max(_LEAST_WHY, int(plan.target_chars * _WHY_SHARE)))
    return Heading(title, (made, room))


def _counts(draft: Draft, blocks: Sequence[Block], gone: Mapping[str, LeftOut]) -> dict[str, Any]:
    """Return how much of what a version kept: tokens by tier and by kind, blocks, names."""
    plan, after, kinds, pinned = draft.plan, Counter[int](), Counter[str](), 0
    for block in blocks:
        length = len(markdown_of(block))
        after[block.tier] += length if block.kind is not BlockKind.NAMES else 0
        kinds[block.kind] += length
        pinned += length if block.is_pinned else 0
    messages = Counter(tier for tier, _ in {(block.tier, block.message) for block in plan.blocks})
    tiers = [
        {
            "ratio": plan.settings.tiers[tier].compaction_ratio,
            "messages": messages[tier],
            "tokensBefore": tokens,
            "tokensAsked": plan.budgets[tier],
            "tokensAfter": LAST_RESORT.tokens_in(after[tier]),
        }
        for tier, tokens in enumerate(plan.input_by_tier)
    ]
    text = "".join(map(markdown_of, blocks))
    present, is_short = set(names_in(text)), len(text) <= _SHORT_TEXT
    names = [name for name, _, _ in names_of(draft)]
    return {
        "tiers": tiers,
        "kinds": {kind: LAST_RESORT.tokens_in(length) for kind, length in sorted(kinds.items())},
        "leftOut": {kind: asdict(one) for kind, one in gone.items() if one.of},
        "why": why_of(gone),
        "identifiers": {
            "found": len(names),
            "kept": sum(name in present or (is_short and name in text) for name in names),
        },
        "pinnedTokens": LAST_RESORT.tokens_in(pinned),
    }


def _is_whole(draft: Draft, position: int) -> bool:
    chosen = draft.chosen_of(position)
    return position in draft.plan.kept or (
        len(chosen) == len(draft.pieces_at(position)) and not any(piece.number in draft.cuts for piece in chosen)
    )


@dataclass
class LeftOut:
    """How much of one kind of a session a version does not hold, in messages or calls."""

    of: int = 0
    dropped: int = 0
    shortened: int = 0

    def told(self, kind: str) -> str:
        """Return it in words; empty where all of it is there."""
        parts = [f"{self.dropped} of {self.of} {kind}"] if self.dropped else []
        parts += [f"{self.shortened} of {self.of} {kind} in part"] if self.shortened and not self.dropped else []
        parts += [f"{self.shortened} more in part"] if self.shortened and self.dropped else []
        return ", ".join(parts)


_KINDS = {
    BlockKind.HUMAN: "prompts", BlockKind.ASSISTANT: "answers of the assistant", BlockKind.THINKING: "thoughts",
    BlockKind.TOOL: "tool calls", BlockKind.META: "inserted texts", BlockKind.SYSTEM: "notices",
    BlockKind.SUMMARY: "summaries", BlockKind.FAILURE: "failures",
}  # fmt: skip


def left_out(draft: Draft) -> dict[str, LeftOut]:
    """Return what of a session a version leaves out, by kinds in the words they are told in."""
    found: dict[str, LeftOut] = {kind: LeftOut() for kind in ("prompts", "refusals and answers")}
    if skipped := draft.plan.settings.skip_first_messages:
        found["messages at the beginning"] = LeftOut(skipped + draft.plan.messages, skipped)
    messages: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
    for position, block in enumerate(draft.plan.blocks):
        kind = "sub-agents' words" if block.is_sidechain and block.call is None else _KINDS.get(block.kind)
        if kind is None:
            continue
        kind = "refusals and answers" if position in draft.calls_of_replies else kind
        if block.call is None:
            messages[kind, block.sources].append(position)
            continue
        one = found.setdefault(kind, LeftOut())
        one.of += 1
        if block.call.result:
            results = found.setdefault("results of calls", LeftOut())
            results.of += 1
            results.dropped += position not in draft.pairs
        is_there = position in draft.mentioned or position in draft.pairs or position in draft.failures
        one.dropped += not is_there and not is_told_by_itself(block.call)
    for (kind, _), positions in messages.items():
        one = found.setdefault(kind, LeftOut())
        one.of += 1
        if not any(map(draft.is_shown, positions)):
            one.dropped += 1
        else:
            one.shortened += not all(_is_whole(draft, position) for position in positions)
    return found


def why_of(found: Mapping[str, LeftOut], most: int = 10_000) -> str:
    """Return in one sentence of at most so many characters what was left out; that nothing was, where nothing was."""
    told = [text for kind, one in found.items() if (text := one.told(kind))]
    fitting = list(fill_budget(told, lambda text: len(text) + 2, most - len("Left out: and more.")))
    if not told:
        return "Nothing was left out."
    if not fitting:
        return "Much was left out."
    more = " and more" if len(fitting) < len(told) else ""
    return f"Left out: {'; '.join(fitting)}{more}."


SAMPLE_TOKENS = 50_000
"""What rules compress within half a second."""
_WINDOW = 8
"""Messages that are sampled together, so that answers stand behind what was asked."""


@dataclass(frozen=True)
class VersionEstimate:
    """What would come of a compression."""

    plan: CompressionPlan
    output_tokens: int
    output_messages: int
    note: str | None
    """Why the ratio would not be near the one asked for."""
    is_sampled: bool

    @property
    def ratio(self) -> float:
        """The ratio that would be achieved."""
        return self.plan.input_tokens / max(1, self.output_tokens)

    @property
    def thresholds(self) -> list[float]:
        """The least weight that survives in each tier; none where decay does not decide."""
        settings = self.plan.settings
        if settings.keepit_mode is not KeepitMode.DECAY:
            return []
        return [
            float(
                threshold(tier.aggressiveness, tier.compaction_ratio, settings.session_distance, settings.decay) / 1000
            )
            for tier in settings.tiers
        ]


def estimate_version(task: CompressionTask, chunk_tokens: int) -> VersionEstimate:
    """Return what would come of a task, without a model."""
    plan = plan_compression(task.blocks, task.settings)
    sample = task
    if is_sampled := plan.input_tokens > SAMPLE_TOKENS:
        blocks = sampled_blocks(task.blocks, -(-plan.input_tokens // SAMPLE_TOKENS))
        sample = replace(task, blocks=blocks, settings=task.settings.model_copy(update={"skip_first_messages": 0}))
    made = CompressionRun(sample, chunk_tokens).finish(())
    scale = sum(plan.budgets) / max(1, sum(made.plan.budgets)) if is_sampled else 1.0
    return VersionEstimate(plan, round(made.output_tokens * scale), round(made.messages * scale), made.note, is_sampled)


def sampled_blocks(blocks: Sequence[Block], nth: int) -> list[Block]:
    """Return every ``nth`` window of messages, the last one among them, numbered anew."""
    messages = message_count(blocks)
    window = max(1, min(_WINDOW, messages // (2 * nth)))
    found: list[Block] = []
    numbers: dict[int, int] = {}
    for block in blocks:
        if (messages - 1 - block.message) // window % nth == 0:
            number = numbers.setdefault(block.message, len(numbers))
            found.append(replace(block, message=number))
    return found
