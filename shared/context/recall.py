"""What a context recalls, within what there is: memories and facts first, then profile, summary and earlier messages.

Pure rules over values. For a window of W tokens of which R are to be left for the answer and a last message of L, the
result takes at most max(W - R, min(L, W)): it always fits the window, and leaves the reserve unless the last message
alone is longer than that; nothing is recalled then. Nothing is said twice. Source: decisions, "Facts and context".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from shared.context.budgets import (
    WHOLE_FROM,
    RecallBudgets,
    TokenCounting,
    TokenScale,
    TokenSource,
    below_full,
    budgets_of,
    is_full,
    weakest,
)
from shared.context.companions import place_of
from shared.context.fact_selection import SelectableFact, reduced
from shared.context.rendering import (
    EARLIER,
    END,
    PROFILE,
    SUMMARY,
    AssembledText,
    AssemblyStyle,
    MemoryBlock,
    PriorText,
    RecalledMemory,
    assemble,
    block_opening,
    facts_text,
    framed,
    join_blocks,
    memories_block,
    packed,
    quoted,
    unmarked,
)
from shared.context.window import CountedMessage, length, squeezed, staying
from shared.search.candidates import SearchHit
from shared.search.ranking import RankedCandidate
from shared.telemetry.metrics import CompactionStage


@dataclass(frozen=True)
class ContextLimits:
    """How long a context may be, in tokens."""

    budget: int
    """The most that what is recalled may take."""
    window: int | None = None
    reserve: int = 0
    """What of the window is left for the answer."""

    @property
    def for_conversation(self) -> int:
        """What of a window is left beside the reserve."""
        return max(0, (self.window or 0) - self.reserve)

    def beside(self, conversation: int) -> RecallBudgets:
        """Return what may be recalled beside a conversation of so many tokens."""
        return budgets_of(self.window, conversation, self.reserve, self.budget)


@dataclass(frozen=True)
class ContextDraft:
    """A context: the messages to send after what is recalled."""

    messages: tuple[CountedMessage, ...]
    recalled: Recollection
    stage: CompactionStage
    trimmed: int
    """Messages that were left out."""
    cut: bool
    """Whether a message was shortened."""

    @property
    def tokens(self) -> int:
        """Its length."""
        return length(self.messages) + self.recalled.tokens


def compose(
    messages: Sequence[CountedMessage],
    material: RecallMaterial,
    bounds: ContextLimits,
    counting: TokenCounting,
    left_out: int = 0,
) -> ContextDraft:
    """Compose a context of a conversation.

    ``left_out``: so many messages are not among those given, because the conversation fills the window without anything
    recalled, and they would be the first to go.
    """
    if bounds.window is None:
        return _with_recalled(messages, material, bounds, counting)
    return _within(bounds.window, messages, material, bounds, counting, left_out)


def overfills(tokens: int, bounds: ContextLimits) -> bool:
    """Whether so many tokens have to be compacted: the window is full, or the reserve would be touched."""
    return bounds.window is not None and (is_full(tokens, bounds.window) or tokens > bounds.for_conversation)


def source_of(composed: ContextDraft, counting: TokenCounting, is_extended: bool = False) -> TokenSource:
    """Return the least certain source of the figures of a context; ``is_extended``: more is recalled beside it."""
    sources = {message.source for message in composed.messages}
    if composed.recalled.text or is_extended:
        sources.add(counting.source)
    return weakest(sources) or counting.source


def _within(
    window: int,
    messages: Sequence[CountedMessage],
    material: RecallMaterial,
    bounds: ContextLimits,
    counting: TokenCounting,
    left_out: int,
) -> ContextDraft:
    of = len(messages) + left_out
    kept = [messages[i] for i in staying([one.said for one in messages], of)]
    if not left_out:
        whole = _with_recalled(messages, material, bounds, counting)
        is_short = len(kept) < of and _lacks_memories(whole, window, material, bounds, counting)
        if not is_short and not overfills(whole.tokens, bounds):
            return whole
    shorter = _with_recalled(kept, material, bounds, counting)
    if not overfills(shorter.tokens, bounds):
        return ContextDraft(shorter.messages, shorter.recalled, CompactionStage.TRIMMED, of - len(kept), False)
    last, cut = squeezed(kept, window, bounds.for_conversation)
    said = length(last)
    recalled = recollect_less(material, bounds.beside(said), below_full(window) - said, counting)
    return ContextDraft(tuple(last), recalled, CompactionStage.REDUCED, of - len(last), cut)


def _lacks_memories(
    whole: ContextDraft, window: int, material: RecallMaterial, bounds: ContextLimits, counting: TokenCounting
) -> bool:
    """Whether the length of the conversation keeps memories out that are promised a place in such a window."""
    if window < WHOLE_FROM or len(whole.recalled.memory_ids) == len(material.memories):
        return False
    promised = recollect(material, bounds.beside(0), counting)
    return len(whole.recalled.memory_ids) < len(promised.memory_ids)


def _with_recalled(
    messages: Sequence[CountedMessage], material: RecallMaterial, bounds: ContextLimits, counting: TokenCounting
) -> ContextDraft:
    recalled = recollect(material, bounds.beside(length(messages)), counting)
    return ContextDraft(tuple(messages), recalled, CompactionStage.NONE, 0, False)


_JOINT = "\n\n"


@dataclass(frozen=True)
class RecallMaterial:
    """What there is to recall: memories the last updated first, facts the most needed first."""

    app_name: str
    memories: tuple[RecalledMemory, ...] = ()
    facts: tuple[SelectableFact, ...] = ()


@dataclass(frozen=True)
class Recollection:
    """A recalled text and what is in it."""

    text: str
    tokens: int
    memory_ids: tuple[int, ...]
    fact_ids: tuple[int, ...]


def recollect(material: RecallMaterial, budgets: RecallBudgets, scale: TokenScale) -> Recollection:
    """Write what fits into the budgets."""
    wanted = _memories(material, budgets.memories, scale)
    facts = _facts(material, wanted, budgets, scale)
    left = budgets.both - _tokens(facts, scale)
    return _recollection(wanted if wanted.tokens <= left else _memories(material, left, scale), facts, scale)


def recollect_less(
    material: RecallMaterial, budgets: RecallBudgets, below_full: int, scale: TokenScale
) -> Recollection:
    """Write what stays when the window is full; memories as far as it is not, with ``below_full`` tokens more."""
    facts = reduced(_facts(material, _memories(material, budgets.memories, scale), budgets, scale))
    left = min(budgets.both, below_full) - _tokens(facts, scale)
    return _recollection(_memories(material, min(budgets.memories, left), scale), facts, scale)


def _facts(
    material: RecallMaterial, memories: MemoryBlock, budgets: RecallBudgets, scale: TokenScale
) -> tuple[SelectableFact, ...]:
    """Return the facts that have a place: within their budget, and half of all at least where memories want more."""
    left = budgets.both - memories.tokens - (scale.tokens(_JOINT) if memories.text else 0)
    return packed(material.facts, min(budgets.facts, max(left, budgets.both // 2)), scale)


def _memories(material: RecallMaterial, budget: int, scale: TokenScale) -> MemoryBlock:
    return memories_block(material.app_name, material.memories, budget, scale)


def _tokens(facts: Sequence[SelectableFact], scale: TokenScale) -> int:
    return scale.tokens(facts_text(facts)) + scale.tokens(_JOINT) if facts else 0


def _recollection(memories: MemoryBlock, facts: Sequence[SelectableFact], scale: TokenScale) -> Recollection:
    text = _JOINT.join(filter(None, (memories.text, facts_text(facts))))
    return Recollection(
        text=text,
        tokens=scale.tokens(text),
        memory_ids=tuple(memory.memory_id for memory in memories.included),
        fact_ids=tuple(fact.fact_id for fact in facts),
    )


MOST_HITS = 40
"""So many earlier messages are looked for; few of them fit."""
_FENCE = "```"
HitKey = tuple[int, int]
_PROFILE_SHARE = 4
"""A profile takes a quarter of the budget at most."""


@dataclass(frozen=True)
class ExtraMaterial:
    """What there is to recall beside memories and facts."""

    profile: str = ""
    summary_id: str | None = None
    summary: str = ""
    hits: tuple[SearchHit, ...] = ()
    companions: Mapping[int, tuple[SearchHit, ...]] = field(default_factory=dict)
    """The users' lines that an assistant's, by its place, does not stand without."""
    about_code: bool = False


@dataclass(frozen=True)
class ContextExtension:
    """What was added; ``text`` stands after what was recalled before."""

    text: str = ""
    tokens: int = 0
    profile: bool = False
    summary_id: str | None = None
    hits: tuple[SearchHit, ...] = ()
    retrieved_tokens: int = 0


def budget_for_more(composed: ContextDraft, bounds: ContextLimits, cap: int, is_capped: bool) -> int:
    """Return the tokens that may be added: ``cap`` at most, and never so many that a window is full or passed.

    ``is_capped``: the budget of what is recalled was given, and holds for all of it.
    """
    budget = cap
    if is_capped:
        budget = min(budget, bounds.budget - composed.recalled.tokens)
    if bounds.window is not None:
        budget = min(budget, below_full(bounds.window) - composed.tokens, bounds.for_conversation - composed.tokens)
    return max(0, budget)


def extend(recalled: str, extra: ExtraMaterial, budget: int, scale: TokenScale) -> ContextExtension:
    """Write what fits into so many tokens beside what is recalled already: profile and summary whole or not at all."""
    used = scale.tokens(recalled)
    blocks: list[str] = []

    def needed(*more: str) -> int:
        return scale.tokens(join_blocks([recalled, *blocks, *more])) - used if blocks or more else 0

    profile = framed(PROFILE, extra.profile)
    has_profile = bool(profile) and needed(profile) <= budget // _PROFILE_SHARE
    if has_profile:
        blocks.append(profile)
    summary = framed(SUMMARY, extra.summary)
    has_summary = bool(summary) and needed(summary) <= budget
    if has_summary:
        blocks.append(summary)
    before = needed()
    prior = PriorText(recalled, *blocks)
    lines: dict[HitKey, RankedCandidate] = {}
    for hit in extra.hits:
        left = hit.content if _FENCE in hit.content else prior.left_of(hit.content)
        beside = [one for one in extra.companions.get(place_of(hit), ()) if _key(one) not in lines]
        if left and needed(left, *(one.content for one in beside)) <= budget:
            for one in beside:
                # Also what is known: the assistant's line would mislead without it.
                lines[_key(one)] = _quoted(one, one.content)
            prior.add(hit.content)
            lines.setdefault(_key(hit), _quoted(hit, left))
    style = AssemblyStyle(block_opening(EARLIER).rstrip("\n"), END, "> ")

    def assembled() -> AssembledText:
        return assemble(list(lines.values()), budget, needed, style, code_first=extra.about_code)

    found = assembled()
    while alone := _left_alone(found, extra):
        for key in alone:
            del lines[key]
        found = assembled()
    if found.text:
        blocks.append(found.text)
    tokens = needed()
    every = [*chain.from_iterable(extra.companions.values()), *extra.hits]
    by_candidate = {_key(hit): hit for hit in every}
    return ContextExtension(
        text=join_blocks(blocks),
        tokens=tokens,
        profile=has_profile,
        summary_id=extra.summary_id if has_summary else None,
        hits=tuple(by_candidate[one.candidate.doc_id, one.candidate.part] for one in found.included),
        retrieved_tokens=tokens - before,
    )


def _key(hit: SearchHit) -> HitKey:
    return place_of(hit), hit.ranked.candidate.part


def _left_alone(found: AssembledText, extra: ExtraMaterial) -> list[HitKey]:
    """Return what stands in a text without a line that it must not stand without."""
    included = {(one.candidate.doc_id, one.candidate.part) for one in found.included}
    return [key for key in included if any(_key(one) not in included for one in extra.companions.get(key[0], ()))]


def _quoted(hit: SearchHit, text: str) -> RankedCandidate:
    one = hit.ranked.candidate
    content = quoted(text)
    if hit.times > 1:
        content += f" (said {hit.times} times, last on {hit.last_at:%Y-%m-%d})"
    name = None if one.name is None else " ".join(unmarked(one.name).split())
    return hit.ranked._replace(candidate=one._replace(content=content, name=name))
