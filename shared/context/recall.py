"""What a context recalls, within what there is: what stands whatever is said, then what was chosen for what is said.

Memories, standing facts and a profile are the same from question to question: their budgets follow the window, not the
length of the conversation, and where that leaves too little they shrink in steps. Facts that a message lifts, a summary
and earlier messages are of that message. Nothing is said twice.

Pure rules over values. For a window of W tokens of which R are to be left for the answer and a last message of L, the
result takes at most max(W - R, min(L, W)): it always fits the window, and leaves the reserve unless the last message
alone is longer than that; nothing is recalled then. Source: decisions, "Facts and context", "What stands where".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from shared.context import rendering
from shared.context.companions import place_of
from shared.context.fact_selection import SelectableFact, always_told, in_order, lifted, reduced
from shared.context.window import (
    LEAST_FOR_FACTS,
    CountedMessage,
    RecallBudgets,
    TokenCounting,
    TokenScale,
    TokenSource,
    below_full,
    budgets_of,
    in_steps,
    is_full,
    length,
    squeezed,
    staying,
    weakest,
)
from shared.search.candidates import SearchHit
from shared.search.ranking import RankedCandidate
from shared.telemetry.metrics import CompactionStage
from shared.text.words import EMPTY, TERM, stem


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
    """A context: the messages to send beside what is recalled whatever is said."""

    messages: tuple[CountedMessage, ...]
    recalled: Recollection
    stage: CompactionStage
    trimmed: int
    """Messages that were left out."""
    cut: bool
    """Whether a message was shortened."""
    is_shrunk: bool = False
    """Whether less is recalled than the window has room for without the conversation."""

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
    # Not beside the messages: what is recalled must not change because one more was said.
    recalled = recollect(material, bounds.beside(0), counting)
    if not left_out and not overfills(length(messages) + recalled.tokens, bounds):
        return ContextDraft(tuple(messages), recalled, CompactionStage.NONE, 0, False)
    assert bounds.window is not None, "without a window nothing is too long"
    of = len(messages) + left_out
    kept = [messages[i] for i in staying([one.said for one in messages], of)]
    stage = CompactionStage.TRIMMED if len(kept) < of else CompactionStage.NONE
    for is_shrunk in (False, True):
        if is_shrunk:
            recalled = recollect(material, bounds.beside(length(kept)).in_steps(), counting)
        if not overfills(length(kept) + recalled.tokens, bounds):
            return ContextDraft(tuple(kept), recalled, stage, of - len(kept), False, is_shrunk)
    last, cut = squeezed(kept, bounds.window, bounds.for_conversation)
    said = length(last)
    room = in_steps(below_full(bounds.window) - said)
    recalled = recollect_less(material, bounds.beside(said).in_steps(), room, counting)
    return ContextDraft(tuple(last), recalled, CompactionStage.REDUCED, of - len(last), cut, is_shrunk=True)


def overfills(tokens: int, bounds: ContextLimits) -> bool:
    """Whether so many tokens have to be compacted: the window is full, or the reserve would be touched."""
    return bounds.window is not None and (is_full(tokens, bounds.window) or tokens > bounds.for_conversation)


def source_of(composed: ContextDraft, counting: TokenCounting, is_extended: bool = False) -> TokenSource:
    """Return the least certain source of the figures of a context; ``is_extended``: more is recalled beside it."""
    sources = {message.source for message in composed.messages}
    if composed.recalled.text or is_extended:
        sources.add(counting.source)
    return weakest(sources) or counting.source


_JOINT = "\n\n"


@dataclass(frozen=True)
class RecallMaterial:
    """What there is to recall: memories the last updated first, facts the most needed first."""

    app_name: str
    memories: tuple[rendering.RecalledMemory, ...] = ()
    facts: tuple[SelectableFact, ...] = ()
    profile: str = ""

    def chosen_for(self, message: str | None) -> RecallMaterial:
        """Return it with the facts in the order of their use for a message."""
        return replace(self, facts=in_order(self.facts, message))

    def lifted_beside(
        self, recalled: Recollection, message: str | None, scale: TokenScale
    ) -> tuple[SelectableFact, ...]:
        """Return the facts that a message asks for and that have no place in what is recalled already."""
        shown = [memory for memory in self.memories if memory.memory_id in recalled.memory_ids]
        others = [fact for fact in unsaid(self.facts, shown, True) if fact.fact_id not in recalled.fact_ids]
        return rendering.packed(lifted(others, message), LEAST_FOR_FACTS, scale) if others else ()


@dataclass(frozen=True)
class Recollection:
    """A recalled text and what is in it."""

    text: str
    tokens: int
    memory_ids: tuple[int, ...]
    fact_ids: tuple[int, ...]
    has_profile: bool = False


def recollect(material: RecallMaterial, budgets: RecallBudgets, scale: TokenScale) -> Recollection:
    """Write what fits into the budgets; a profile whole, where it takes no more than a quarter."""
    profile = rendering.framed(rendering.PROFILE, material.profile)
    if _taken(profile, scale) > budgets.both // _PROFILE_SHARE:
        profile = ""
    budgets = replace(budgets, both=budgets.both - _taken(profile, scale))
    wanted = _memories(material, budgets.memories, scale)
    facts = _facts(unsaid(material.facts, wanted.included), wanted, budgets, scale)
    left = budgets.both - _taken(rendering.facts_text(facts), scale)
    if wanted.tokens <= left:
        return _recollection(wanted, facts, scale, profile)
    memories = _memories(material, left, scale)
    # What only a memory said that has no place is said by its fact, where there is room.
    beside = budgets.both - _taken(memories.text, scale)
    others = [fact for fact in unsaid(material.facts, memories.included) if fact not in facts]
    more = rendering.packed([*facts, *others], min(budgets.facts, beside), scale)
    kept = more if more[: len(facts)] == facts else facts
    # What had no place at first comes back where it belongs: a pin before the pins that are less.
    return _recollection(memories, [fact for fact in material.facts if fact in kept], scale, profile)


def recollect_less(
    material: RecallMaterial, budgets: RecallBudgets, below_full: int, scale: TokenScale
) -> Recollection:
    """Write what stays when the window is full; memories as far as it is not, with ``below_full`` tokens more."""
    memories = _memories(material, budgets.memories, scale)
    facts = reduced(_facts(unsaid(material.facts, memories.included), memories, budgets, scale))
    left = min(budgets.both, below_full) - _taken(rendering.facts_text(facts), scale)
    return _recollection(_memories(material, min(budgets.memories, left), scale), facts, scale)


def _facts(
    facts: Sequence[SelectableFact], memories: rendering.MemoryBlock, budgets: RecallBudgets, scale: TokenScale
) -> tuple[SelectableFact, ...]:
    """Return the facts that have a place: within their budget, and half of all at least where memories want more."""
    left = budgets.both - memories.tokens - (scale.tokens(_JOINT) if memories.text else 0)
    return rendering.packed(facts, min(budgets.facts, max(left, budgets.both // 2)), scale)


_SENTENCES = re.compile(r"(?<=[.!?]) ")


def unsaid(
    facts: Sequence[SelectableFact], memories: Sequence[rendering.RecalledMemory], is_final: bool = False
) -> list[SelectableFact]:
    """Return the facts that are no statement of one of these memories, which say them already.

    What is told whatever there is room for (a harm, what is pinned) stays, unless ``is_final``: then no memory will go.
    """
    texts = [text for memory in memories for text in memory.content.removeprefix("User: ").split("; ")]
    # "Any allergies? Nuts" is one statement, and so are "Likes tea. Has a cat" two.
    said = {_told(piece) for text in texts for piece in (text, *_SENTENCES.split(text))}
    stays = [fact.pin is not None if is_final else always_told(fact) for fact in facts]
    return [fact for fact, is_told in zip(facts, stays, strict=True) if is_told or _told(fact.statement) not in said]


def _told(statement: str) -> tuple[str, ...]:
    """Return what a statement says, the same in the first person and in the third."""
    return tuple(stem(word) for word in TERM.findall(statement.lower()) if word not in EMPTY)


def _memories(material: RecallMaterial, budget: int, scale: TokenScale) -> rendering.MemoryBlock:
    return rendering.memories_block(material.app_name, material.memories, budget, scale)


def _taken(block: str, scale: TokenScale) -> int:
    """Return the tokens that a block takes beside another."""
    return scale.tokens(block) + scale.tokens(_JOINT) if block else 0


def _recollection(
    memories: rendering.MemoryBlock, facts: Sequence[SelectableFact], scale: TokenScale, profile: str = ""
) -> Recollection:
    facts = unsaid(facts, memories.included, is_final=True)
    text = rendering.join_blocks((memories.text, rendering.facts_text(facts), profile))
    return Recollection(
        text=text,
        tokens=scale.tokens(text),
        memory_ids=tuple(memory.memory_id for memory in memories.included),
        fact_ids=tuple(fact.fact_id for fact in facts),
        has_profile=bool(profile),
    )


MOST_HITS = 40
"""So many earlier messages are looked for; few of them fit."""
_FENCE = "```"
HitKey = tuple[int, int]
_PROFILE_SHARE = 4
"""A profile takes a quarter of all that is recalled whatever is said, at most."""


@dataclass(frozen=True)
class ExtraMaterial:
    """What there is to recall for what is said now."""

    facts: tuple[SelectableFact, ...] = ()
    summary_id: str | None = None
    summary: str = ""
    hits: tuple[SearchHit, ...] = ()
    companions: Mapping[int, tuple[SearchHit, ...]] = field(default_factory=dict)
    """The users' lines that an assistant's, by its place, does not stand without."""
    about_code: bool = False


@dataclass(frozen=True)
class ContextExtension:
    """What was added for what is said now."""

    text: str = ""
    tokens: int = 0
    fact_ids: tuple[int, ...] = ()
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


def extend(
    recalled: str, extra: ExtraMaterial, budget: int, scale: TokenScale, *, is_apart: bool = False
) -> ContextExtension:
    """Write what fits into so many tokens and is not in what is recalled already: a summary whole or not at all.

    ``is_apart``: in a message of its own; else behind what is recalled.
    """
    before_it = "" if is_apart else recalled
    used = scale.tokens(before_it)
    blocks: list[str] = []

    def needed(*more: str) -> int:
        return scale.tokens(rendering.join_blocks([before_it, *blocks, *more])) - used if blocks or more else 0

    facts = rendering.packed(extra.facts, budget - _taken(before_it and _JOINT, scale), scale)
    if facts:
        blocks.append(rendering.facts_text(facts))
    summary = rendering.framed(rendering.SUMMARY, extra.summary)
    has_summary = bool(summary) and needed(summary) <= budget
    if has_summary:
        blocks.append(summary)
    before = needed()
    prior = rendering.PriorText(recalled, *blocks)
    lines: dict[HitKey, RankedCandidate] = {}
    for hit in extra.hits:
        left = hit.content if _FENCE in hit.content else prior.left_of(hit.content)
        beside = [one for one in extra.companions.get(place_of(hit), ()) if _key(one) not in lines]
        if left and needed(left, *(one.content for one in beside)) <= budget:
            for one in beside:
                # Of what is wholly known its first clause: the assistant's line would mislead without it.
                lines[_key(one)] = _quoted(one, prior.left_of(one.content) or _beginning_of(one.content))
            prior.add(hit.content)
            lines.setdefault(_key(hit), _quoted(hit, left))
    style = rendering.AssemblyStyle(rendering.block_opening(rendering.EARLIER).rstrip("\n"), rendering.END, "> ")

    def assembled() -> rendering.AssembledText:
        return rendering.assemble(list(lines.values()), budget, needed, style, code_first=extra.about_code)

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
        text=rendering.join_blocks(blocks),
        tokens=tokens,
        fact_ids=tuple(fact.fact_id for fact in facts),
        summary_id=extra.summary_id if has_summary else None,
        hits=tuple(by_candidate[one.candidate.doc_id, one.candidate.part] for one in found.included),
        retrieved_tokens=tokens - before,
    )


_CLAUSE = re.compile(r"[^,;.!?…。！？，、]+")


def _beginning_of(text: str) -> str:
    """Return a text up to the end of its first clause; never less, because "not" may stand at its end."""
    clause = _CLAUSE.match(text)
    return f"{clause[0]} {rendering.LEFT_OUT}" if clause and len(clause[0]) + 1 < len(text) else text


def _key(hit: SearchHit) -> HitKey:
    return place_of(hit), hit.ranked.candidate.part


def _left_alone(found: rendering.AssembledText, extra: ExtraMaterial) -> list[HitKey]:
    """Return what stands in a text without a line that it must not stand without."""
    included = {(one.candidate.doc_id, one.candidate.part) for one in found.included}
    return [key for key in included if any(_key(one) not in included for one in extra.companions.get(key[0], ()))]


def _quoted(hit: SearchHit, text: str) -> RankedCandidate:
    one = hit.ranked.candidate
    content = rendering.quoted(text)
    if hit.times > 1:
        content += f" (said {hit.times} times, last on {hit.last_at:%Y-%m-%d})"
    name = None if one.name is None else " ".join(rendering.unmarked(one.name).split())
    return hit.ranked._replace(candidate=one._replace(content=content, name=name))
