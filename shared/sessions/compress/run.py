"""One version from what was read to what is written, with its statistics; and what would come of one, by rules alone.

Values in, values out. What must not be lost is put in first, then chunks of the rest are an agent's to condense, then
the fill goes on behind what the agent made. Surviving markers are never shown, so no agent can change a byte of them.
Of a long session the estimate fills a sample; tiers, budgets and marked parts are always those of the whole.
Source: seed 004, "Creating a New Compression".
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from shared.base.choices import KeepitMode
from shared.llm.calls import LAST_RESORT, most_tokens
from shared.sessions.blocks import Block, BlockKind, Heading, fill_budget, heading_of, markdown_of
from shared.sessions.compress.plan import BlockPiece, CompressionPlan, Rank, plan_compression
from shared.sessions.compress.select import (
    NAMES_SHARE,
    Candidate,
    candidates_of,
    fill,
    has_names,
    names_of,
    names_to_list,
    present_names,
    sorted_by_rank,
    tier_budgets,
    understandable,
    whole,
)
from shared.sessions.compress.settings import CompressionMode
from shared.sessions.compress.sources import CompressionTask, call_text, is_answered_by_user, message_count
from shared.sessions.compress.write import WHOLE, Selection
from shared.sessions.markers import threshold
from shared.sessions.text import NameRanking

TOLERANCE = 0.2
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
        plan, target = self.plan, self.plan.target_ratio
        if plan.input_tokens == 0:
            return "there is nothing to compress"
        if abs(self.ratio - target) <= TOLERANCE * target:
            return None
        if self.ratio > target:
            return "there is too little text to come out longer"
        if self.counts["pinnedTokens"] > sum(plan.budgets) // 2:
            return "marked parts and the last request, which are never cut, take most of the room"
        return "the session is so short that headings and labels take much of the room"

    def statistics(self, seconds: float, agent: str) -> dict[str, Any]:
        """Return how it was made, as it is kept with the version."""
        return self.counts | {
            "agent": agent,
            "seconds": round(seconds, 3),
            "askedRatio": round(self.plan.target_ratio, 2),
            "achievedRatio": round(self.ratio, 2),
            "note": self.note,
            "messagesBefore": self.plan.messages,
            "messagesAfter": self.messages,
        }


_FIXED_SHARE, _CHUNK_SHARE = 0.8, 0.8
"""Of a tier's budget what is chosen before an agent is asked; of what is left then what is asked of it."""
_LEAST_BUDGET = 80
"""Characters below which nothing is asked for."""
NAMED_TOKENS = 16
"""What a piece takes beside its text when it is shown with its number and who says it."""
_CONDENSABLE = (Rank.RULE, Rank.SPOKEN, Rank.REST)
_MUST_KEEP = 40
_LEAST_NAMES = 40
"""Characters below which no room is kept for names."""


@dataclass(frozen=True)
class Chunk:
    """What an agent is given to condense: pieces of one tier in order."""

    position: int
    pieces: tuple[BlockPiece, ...]
    budget: int
    """Characters that what is made of them may take."""
    must_keep: tuple[str, ...]
    """Names that must not be lost, the most important first."""


@dataclass(frozen=True)
class CondensedChunk:
    """What an agent makes of a chunk: pieces it keeps as they are, and lines of its own; taken as it is."""

    kept: tuple[int, ...] = ()
    lines: tuple[Block, ...] = ()

    def as_rows(self) -> list[dict[str, Any]]:
        """Return it as it is kept until the version is whole."""
        lines = ({"text": line.text, "sources": list(line.sources)} for line in self.lines)
        return [{"kept": list(self.kept)}, *lines]


def summary_line(text: str, sources: Sequence[str]) -> Block:
    """Return a line of an agent's own words about some records."""
    return Block(BlockKind.SUMMARY, "assistant", text, sources=tuple(sources))


def condensed_of(rows: Sequence[Mapping[str, Any]]) -> CondensedChunk:
    """Return what was kept as rows."""
    lines = tuple(summary_line(row["text"], row["sources"]) for row in rows[1:])
    return CondensedChunk(tuple(rows[0]["kept"]), lines)


@dataclass
class CompressionRun:
    """A version under way."""

    task: CompressionTask
    chunk_tokens: int
    plan: CompressionPlan = field(init=False)
    selection: Selection = field(init=False)
    chunks: list[Chunk] = field(init=False)

    def __post_init__(self) -> None:
        self.plan = plan_compression(self.task.blocks, self.task.settings)
        self.selection = Selection(self.plan, _heading(self.task, self.plan))
        self._has_names = has_names(self.plan.blocks)
        self._candidates = candidates_of(self.selection, Rank.LAST_REQUEST, Rank.ANSWER)
        # In this order: the share of replies is one of what the ends leave, each tier's one of what all of these leave.
        # Rules hold on, however long ago they were said, so they are of no tier.
        self._fill(Rank.LAST_REQUEST, Rank.RULE)
        self._fill(Rank.REPLY, Rank.REPLY)
        self._fill(Rank.FIRST_REQUEST, Rank.FIRST_REQUEST)
        self._fill(Rank.ATTEMPT, Rank.DECISION)
        self._fill_tiers(Rank.MORE_RULES, Rank.ANSWER, _FIXED_SHARE)
        # A long session has ten times as many candidates as statements: those that had their turn go at once.
        self._candidates.clear()
        self.chunks = chunks_of(self.selection, self._free, self.chunk_tokens)

    @property
    def _free(self) -> int:
        """Characters that are left beside those for names, where there are any and room for some."""
        target = self.plan.target_chars
        names = int(target * NAMES_SHARE) if self._has_names else 0
        return target - (names if names >= _LEAST_NAMES else 0) - self.selection.chars

    @property
    def chunking_hash(self) -> str:
        """Digest of how the session was divided, so that parts of another division are never taken for these."""
        chunking = [(chunk.position, chunk.budget, [one.number for one in chunk.pieces]) for chunk in self.chunks]
        return sha256(json.dumps([self.task.cache_key, chunking]).encode()).hexdigest()[:12]

    def finish(self, parts: Sequence[CondensedChunk]) -> Version:
        """Complete the version with what became of all chunks, or of none."""
        selection = self.selection
        chunks = zip(self.chunks if parts else (), parts, strict=True)
        condensed = [one for chunk, part in chunks for one in self._condensed(chunk, part)]
        self._candidates = [*sorted_by_rank(condensed), *candidates_of(selection, Rank.SPOKEN, Rank.INSERTED)]
        self._fill_tiers(Rank.CONDENSED, Rank.INSERTED)
        # What one tier has no use for is for the others.
        self._fill(Rank.CONDENSED, Rank.INSERTED)
        self._candidates.clear()
        # What is left is less than any candidate takes; only where a single sentence is most of a session it is much.
        selection.lengthen(self._free)
        names = names_of(self.plan.blocks)
        present = present_names(names, selection.blocks())
        listed = names_to_list(selection, (name for name in names if name not in present))
        blocks = selection.blocks(listed)
        gone = left_out(selection)
        heading = selection.heading
        if heading.lines:
            heading = replace(heading, lines=(heading.lines[0], why_of(gone, len(heading.lines[1]))))
        chars = len(heading_of(heading)) + sum(len(markdown_of(block)) for block in blocks)
        counts = _counts(selection, blocks, gone)
        counts["identifiers"] = {"found": len(names), "kept": len(present) + len(listed)}
        return Version(self.plan, heading, blocks, LAST_RESORT.tokens_in(chars), counts)

    def _fill(self, first: Rank, last: Rank) -> None:
        fill(self.selection, (one for one in self._candidates if first <= one.rank <= last), self._free)

    def _fill_tiers(self, first: Rank, last: Rank, share: float = 1.0) -> None:
        for tier, budget in enumerate(tier_budgets(self.selection, self._free)):
            own = (one for one in self._candidates if first <= one.rank <= last and one.tier == tier)
            fill(self.selection, own, int(budget * share))

    def _condensed(self, chunk: Chunk, part: CondensedChunk) -> Iterator[Candidate]:
        """Yield what an agent made of a chunk: its own lines first, in their order, then what it kept by worth."""
        own = {piece.number: piece for piece in chunk.pieces if piece.number is not None}
        positions = {piece.source: piece.block for piece in own.values()}
        first = min(piece.block for piece in own.values())
        for nth, line in enumerate(part.lines):
            position = next((positions[one] for one in line.sources if one in positions), first)
            key = self.selection.add_line(position, line)
            # More than any statement is worth, in the order the agent gave.
            yield Candidate(Rank.CONDENSED, 1e6 - nth, self.plan.blocks[position].tier, parts=((key, WHOLE),))
        for number in part.kept:
            if (piece := own.get(number)) is not None and (kept := understandable(self.selection, piece)):
                yield whole(self.selection, Rank.CONDENSED, piece.worth, kept)


def chunks_of(selection: Selection, free: int, most: int) -> list[Chunk]:
    """Divide what is open into chunks of at most so many tokens (``most_tokens``), with budgets by length and worth."""
    found: list[Chunk] = []
    for tier, budget in enumerate(tier_budgets(selection, free)):
        groups = list(_groups(selection, tier, most))
        lengths = [sum(int(len(piece.text) * min(1.0, piece.worth)) + 1 for piece in group) for group in groups]
        for group, length in zip(groups, lengths, strict=True):
            share = int(budget * _CHUNK_SHARE) * length // max(1, sum(lengths))
            # Nothing can be said in so little; the fill goes on there without the agent.
            if share < _LEAST_BUDGET:
                continue
            pieces = tuple(_with_calls(selection.plan, group))
            ranking = NameRanking()
            for piece in pieces:
                ranking.add(piece.text, piece.worth)
            found.append(Chunk(len(found), pieces, share, tuple(ranking.best_first()[:_MUST_KEEP])))
    return found


def _groups(selection: Selection, tier: int, most: int) -> Iterator[list[BlockPiece]]:
    """Yield the open pieces of a tier in groups of at most ``most`` tokens, the speaker named with each."""
    plan = selection.plan
    group: list[BlockPiece] = []
    length = 0
    for piece in selection.open_pieces():
        if plan.blocks[piece.block].tier != tier or piece.rank not in _CONDENSABLE or selection.is_shown(piece):
            continue
        cost = most_tokens(piece.text) + NAMED_TOKENS
        if group and length + cost > most:
            yield group
            group, length = [], 0
        group.append(piece)
        length += cost
    if group:
        yield group


def _with_calls(plan: CompressionPlan, group: Sequence[BlockPiece]) -> Iterator[BlockPiece]:
    """Yield the pieces of a group, and between them what was done meanwhile."""
    blocks, position = plan.blocks, group[0].block
    for piece in group:
        for between in range(position, piece.block):
            call = blocks[between].call
            if call is not None:
                text, source = call_text(call), blocks[between].sources[0]
                yield BlockPiece(between, text, Rank.REST, 0.5, speaker="Assistant did", source=source)
        position = max(position, piece.block)
        yield piece


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
    placeholder = "_" * min(_WHY_CHARS, max(_LEAST_WHY, int(plan.target_chars * _WHY_SHARE)))
    return Heading(title, (made, placeholder))


def _counts(selection: Selection, blocks: Sequence[Block], gone: Mapping[str, LeftOut]) -> dict[str, Any]:
    """Return how much of what a version kept: tokens by tier and by kind, blocks."""
    plan, after, kinds, pinned = selection.plan, Counter[int](), Counter[str](), 0
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
    return {
        "tiers": tiers,
        "kinds": {kind: LAST_RESORT.tokens_in(length) for kind, length in sorted(kinds.items())},
        "leftOut": {kind: asdict(one) for kind, one in gone.items() if one.of},
        "why": why_of(gone),
        "pinnedTokens": LAST_RESORT.tokens_in(pinned),
    }


@dataclass
class LeftOut:
    """How much of one kind of a session a version does not hold, in messages or calls."""

    of: int = 0
    dropped: int = 0
    shortened: int = 0

    def text(self, kind: str) -> str:
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


def left_out(selection: Selection) -> dict[str, LeftOut]:
    """Return what of a session a version leaves out, by kinds in the words they are told in."""
    plan = selection.plan
    found: dict[str, LeftOut] = {}
    if masked := sum(block.masked for block in plan.blocks):
        found["sentences that hold a secret"] = LeftOut(masked, masked)
    if skipped := plan.settings.skip_first_messages:
        found["messages at the beginning"] = LeftOut(skipped + plan.messages, skipped)
    found |= {kind: LeftOut() for kind in ("prompts", "refusals and answers")}
    messages: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
    for position, block in enumerate(plan.blocks):
        kind = "sub-agents' words" if block.is_sidechain and block.call is None else _KINDS.get(block.kind)
        if kind is None:
            continue
        kind = "refusals and answers" if position in plan.replied_to else kind
        if block.call is None:
            messages[kind, block.sources].append(position)
            continue
        part = next(iter(selection.shown_at(position)), None)
        one = found.setdefault(kind, LeftOut())
        one.of += 1
        one.dropped += part is None and not is_answered_by_user(block.call)
        if block.call.result:
            results = found.setdefault("results of calls", LeftOut())
            results.of += 1
            results.dropped += part is None or part.block.call is None
    for (kind, _), positions in messages.items():
        one = found.setdefault(kind, LeftOut())
        one.of += 1
        if not any(map(selection.shown_at, positions)):
            one.dropped += 1
        else:
            one.shortened += not all(map(selection.is_whole, positions))
    return found


def why_of(found: Mapping[str, LeftOut], most: int = 10_000) -> str:
    """Return in one sentence of at most so many characters what was left out; that nothing was, where nothing was."""
    texts = [text for kind, one in found.items() if (text := one.text(kind))]
    fitting = list(fill_budget(texts, lambda text: len(text) + 2, most - len("Left out: and more.")))
    if not texts:
        return "Nothing was left out."
    if not fitting:
        return "Much was left out."
    more = " and more" if len(fitting) < len(texts) else ""
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
    # Tiers and markers are of the whole, skipping is done with: only the filling, which takes long, is of a sample.
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
