"""What of a conversation and of what is known beside it has room in a context, in tokens; pure rules over values.

One filler serves all: messages, memories, facts, a summary, earlier messages. Head: what is recalled whatever is said;
its budgets follow the window and not the length of the conversation, or it would change with each message; only where
that leaves too little it shrinks, in steps. Tail: what was chosen for the last thing the user said. Nothing stands in
both. The middle of a conversation goes first, and the last message never.

For a window of W tokens of which R are to be left for the answer and a last message of L, the result takes at most
max(W - R, min(L, W)): it always fits the window, and leaves the reserve unless the last message alone is longer than
that; nothing is recalled then. Source: seed 000 and 001; decisions 14, 20 and 34.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from shared.base.choices import Category
from shared.context import render
from shared.context.render import Frame, RecalledFact, RecalledMemory
from shared.llm.calls import TokenCounting
from shared.search.models import PassageKind
from shared.search.ranking import SearchHit
from shared.text.persons_and_places import speaks_of_persons_or_places
from shared.text.repetition import LEFT_OUT, PriorText
from shared.text.words import EMPTY, TERM, remembered, stem, word_set

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Item(Generic[ItemT]):
    """What may have a place, with what it costs; the first of a section costs the section's title as well."""

    of: ItemT
    weight: int
    section: str = ""
    section_weight: int = 0


class Filler(Generic[ItemT]):
    """Takes items as long as there is room for them, tokens or whatever weighs like tokens."""

    def __init__(self, limit: int, used: int = 0) -> None:
        """``used``: what is spent before the first item, as on the frame of a block."""
        self.limit = limit
        self.used = used
        self.taken: list[ItemT] = []
        self._sections: set[str] = set()

    def take(self, *items: Item[ItemT]) -> bool:
        """Take these items, all of them or none; return whether there was room."""
        opened = {one.section: one.section_weight for one in items if one.section not in self._sections}
        weight = sum(one.weight for one in items) + sum(opened.values())
        if self.used + weight > self.limit:
            return False
        self.used += weight
        self._sections.update(opened)
        self.taken += [one.of for one in items]
        return True

    def fill(self, items: Iterable[Item[ItemT]], *, enough: int | None = None, is_in_order: bool = False) -> None:
        """Take what fits, the most needed first; ``enough``: nothing more is looked for from so much on.

        ``is_in_order``: what comes after the first that does not fit has no place either; else it is tried.
        """
        for one in items:
            if self.taken and enough is not None and self.used >= enough:
                return
            if not self.take(one) and is_in_order:
                return


DEFAULT_RESERVE = 1000
"""Tokens left for the answer where a window is given and nothing else is said."""
LEAST_FOR_FACTS, _MOST_FOR_FACTS = 150, 500
_SHARE = 4
"""A quarter: of what is left for facts, of the window for memories. Ten of 200 characters take 600 tokens."""
_STEPS = (2000, 1000, 500, 250, LEAST_FOR_FACTS, 75, 30, 0)
"""What is recalled shrinks in these: a budget that went down with each message would change a prompt's beginning."""
_FULL = (4, 5)
"""A window is full from four fifths on, exactly four fifths included."""


@dataclass(frozen=True)
class HeadBudgets:
    """The most tokens that memories may take, that facts may, and that all of the head may."""

    memories: int
    facts: int
    all: int

    @property
    def in_steps(self) -> HeadBudgets:
        """The next lower ones that do not follow the length of a conversation token by token."""
        return HeadBudgets(in_steps(self.memories), in_steps(self.facts), in_steps(self.all))


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

    @property
    def below_full(self) -> int:
        """The most tokens with which the window is not yet full; -1 for a window of 0."""
        return ((self.window or 0) * _FULL[0] - 1) // _FULL[1]

    def is_passed_by(self, tokens: int) -> bool:
        """Whether so many tokens have to be compacted: the window is full, or the reserve would be touched."""
        return self.window is not None and (tokens > self.below_full or tokens > self.for_conversation)

    def beside(self, conversation: int) -> HeadBudgets:
        """Return what may be recalled beside a conversation of so many tokens.

        For facts a quarter of what is left, 150 to 500, but never more than is left.
        """
        if self.window is None:
            return HeadBudgets(self.budget, min(_MOST_FOR_FACTS, self.budget), self.budget)
        left = max(0, self.for_conversation - conversation)
        facts = min(max(left // _SHARE, LEAST_FOR_FACTS), _MOST_FOR_FACTS, left, self.budget)
        everything = min(left, self.budget)
        return HeadBudgets(min(self.window // _SHARE, everything), facts, everything)


def in_steps(tokens: int) -> int:
    """Return the highest step that is not above so many tokens."""
    return next((step for step in _STEPS if step <= tokens), 0)


SURE = 0.8
"""A preference has to be surer than this to stay in a full window."""
# Singular and plural meet and no other forms: with the stems of the index, choosing among 150 facts took twice as long,
# and that is felt in every context.
_WORD = re.compile(r"[^\W_]{3,}")
_NO_WORDS_TO_SHARE = word_set("""
the and for are was were has have had not but can could would should will shall did does done this that these those
with from into onto over under about what when where which who whom whose why how all any some more most than then
there here its our ours your yours her hers his him she they them their theirs you get got let use uses used user
please help need want like just also very much many make makes give tell show
""")
_CATEGORY_ORDER = {category: nth for nth, category in enumerate(Category)}


def standing_order(facts: Iterable[RecalledFact]) -> tuple[RecalledFact, ...]:
    """Return the facts in the order that holds whatever is said: all of them, identity last."""
    return tuple(sorted(facts, key=lambda fact: _rank(fact, frozenset())))


def order_for(facts: Iterable[RecalledFact], message: str | None) -> tuple[RecalledFact, ...]:
    """Return the facts a context with this message may show, the most needed first.

    Pinned ones in the order of their pins; what states a harm or a limit, whatever the message; then project,
    preference, identity, each by the words it shares with the message, by confidence, by how lately it was heard. Other
    identity only when the message speaks of persons or places.
    """
    candidates = list(facts)
    identity = [fact.statement for fact in candidates if fact.category is Category.IDENTITY]
    if not (message and identity and speaks_of_persons_or_places(message, identity)):
        candidates = [one for one in candidates if one.category is not Category.IDENTITY or one.is_always_shown]
    words = _words_to_share(message)
    return tuple(sorted(candidates, key=lambda fact: _rank(fact, words)))


def lifted(facts: Iterable[RecalledFact], message: str | None) -> tuple[RecalledFact, ...]:
    """Return the facts that a message asks for: by a word of theirs, identity where it speaks of persons or places."""
    words = _words_to_share(message)
    return order_for(
        (one for one in facts if one.category is Category.IDENTITY or words & _words_of(one.statement)), message
    )


def reduced(shown: Sequence[RecalledFact]) -> tuple[RecalledFact, ...]:
    """Return which of the facts shown stay in a full window.

    Pinned ones, projects, and what states a harm or a limit do, other identity does not, and of the other preferences
    the sure ones, at most half.
    """
    preferences = [fact for fact in shown if fact.category is Category.PREFERENCE and not fact.is_always_shown]
    sure = [fact for fact in preferences if fact.confidence > SURE][: len(preferences) // 2]
    return tuple(fact for fact in shown if fact.category is Category.PROJECT or fact in sure or fact.is_always_shown)


def _rank(fact: RecalledFact, words: frozenset[str]) -> tuple[float, ...]:
    if fact.pin is not None:
        return (-1, fact.pin, fact.fact_id)
    shared = len(words & _words_of(fact.statement)) if words else 0
    own = (-shared, -fact.confidence, -fact.last_seen.timestamp(), fact.fact_id)
    # Harms before all others, so that they have a place where not all fit.
    return (0 if fact.states_harm else 1, _CATEGORY_ORDER[fact.category], *own)


def _words_to_share(message: str | None) -> frozenset[str]:
    """Return the words of a message that say something, in singular and plural."""
    words = {word.removesuffix("s") for word in _words_of(message or "") - _NO_WORDS_TO_SHARE}
    return frozenset(words | {f"{word}s" for word in words})


@remembered(most=8192, longest=200)
def _words_of(text: str) -> frozenset[str]:
    """Return the words of a text that are not very short."""
    return frozenset(_WORD.findall(text.lower()))


_FACTS_MARGIN = 50
"""Tokens below the budget from which nothing more is looked for. Source: seed 001, task 1."""
_PROFILE_SHARE = 4
"""A profile takes a quarter of the head at most."""
_SENTENCES = re.compile(r"(?<=[.!?]) ")


@dataclass(frozen=True)
class RecallMaterial:
    """What there is to recall whatever is said: memories the last updated first, facts the most needed first."""

    app_name: str
    memories: tuple[RecalledMemory, ...] = ()
    facts: tuple[RecalledFact, ...] = ()
    profile: str = ""

    @cached_property
    def first_saying(self) -> Mapping[int, int]:
        """For each fact by its id, the number of the first memory that says it already.

        Memories are shown from the first on, so one number tells which of the facts they leave to be said.
        """
        if not self.memories:
            return {}
        known: dict[tuple[str, ...], int] = {}
        for number, memory in enumerate(self.memories):
            for text in memory.content.removeprefix("User: ").split("; "):
                # "Any allergies? Nuts" is one statement, and so are "Likes tea. Has a cat" two.
                for piece in (text, *_SENTENCES.split(text)):
                    known.setdefault(_gist(piece), number)
        numbers = ((fact.fact_id, known.get(_gist(fact.statement))) for fact in self.facts)
        return {fact_id: number for fact_id, number in numbers if number is not None}

    def unsaid(self, shown: int, *, is_final: bool = False) -> list[RecalledFact]:
        """Return the facts that none of the first memories says, of which so many are shown.

        What is always shown stays where room is given, unless ``is_final``: then no memory will go any more.
        """
        return [
            fact
            for fact in self.facts
            if (fact.pin is not None if is_final else fact.is_always_shown)
            or self.first_saying.get(fact.fact_id, shown) >= shown
        ]


@remembered(most=8192, longest=200)
def _gist(statement: str) -> tuple[str, ...]:
    """Return what a statement says, the same in the first person and in the third."""
    return tuple(stem(word) for word in TERM.findall(statement.lower()) if word not in EMPTY)


@dataclass(frozen=True)
class Head:
    """What is recalled whatever is said, and what is in it."""

    text: str = ""
    tokens: int = 0
    memory_ids: tuple[int, ...] = ()
    fact_ids: tuple[int, ...] = ()
    has_profile: bool = False


def fill_facts(
    facts: Iterable[RecalledFact], budget: int, scale: TokenCounting, filler: Filler[RecalledFact] | None = None
) -> Filler[RecalledFact]:
    """Take those of the facts, in order, whose block fits so many tokens; ``filler``: beside those it has already.

    One that does not fit is skipped, and nothing more is looked for within 50 tokens of the budget.
    """
    filler = filler or Filler(0, _frame_weight(render.FACTS, scale))
    filler.limit = scale.holds(budget)
    titles = {category: scale.weigh(render.section_title(category)) for category in Category}
    items = (Item(one, scale.weigh(render.fact_line(one)), one.category, titles[one.category]) for one in facts)
    filler.fill(items, enough=scale.holds(budget - _FACTS_MARGIN))
    return filler


def _frame_weight(frame: Frame, scale: TokenCounting) -> int:
    return scale.weigh(frame.opening) + scale.weigh(frame.closing)


class HeadSelector:
    """Chooses what of the material is in the head, for one budget or another."""

    def __init__(self, material: RecallMaterial, scale: TokenCounting) -> None:
        self.material = material
        self._scale = scale
        self._frame = render.memories_frame(material.app_name)
        self._lines = render.memory_lines(material.memories)
        self._profile = render.bullets_text(render.PROFILE, material.profile)

    def head(self, budgets: HeadBudgets) -> Head:
        """Return what fits: a profile whole or not at all; memories and facts half each where both want more."""
        profile = self._profile
        if self._beside(profile) > budgets.all // _PROFILE_SHARE:
            profile = ""
        left = budgets.all - self._beside(profile)
        shown = self._memories_within(budgets.memories)
        filler = self._facts_beside(shown, budgets.facts, left)
        for_memories = left - self._beside(render.facts_text(filler.taken))
        if self._scale.tokens(self._memories_text(shown)) > for_memories:
            shown = self._memories_within(for_memories)
            # What only a memory said that has no place is said by its fact, where there is room.
            more = [fact for fact in self.material.unsaid(shown) if fact not in filler.taken]
            budget = min(budgets.facts, left - self._beside(self._memories_text(shown)))
            fill_facts(more, budget, self._scale, filler)
        return self._head(shown, filler.taken, profile)

    def reduced_head(self, budgets: HeadBudgets, below_full: int) -> Head:
        """Return what stays when the window is full; memories as far as it is not, with ``below_full`` tokens more."""
        shown = self._memories_within(budgets.memories)
        facts = reduced(self._facts_beside(shown, budgets.facts, budgets.all).taken)
        left = min(budgets.all, below_full) - self._beside(render.facts_text(facts))
        return self._head(self._memories_within(min(budgets.memories, left)), facts)

    def lifted_beside(self, head: Head, message: str | None) -> tuple[RecalledFact, ...]:
        """Return the facts that a message asks for and that have no place in the head."""
        unsaid = self.material.unsaid(len(head.memory_ids), is_final=True)
        others = [fact for fact in unsaid if fact.fact_id not in head.fact_ids]
        return tuple(fill_facts(lifted(others, message), LEAST_FOR_FACTS, self._scale).taken) if others else ()

    def _memories_within(self, budget: int) -> int:
        """Return how many of the memories fit so many tokens."""
        filler = Filler[int](self._scale.holds(budget), _frame_weight(self._frame, self._scale))
        filler.fill((Item(n, self._scale.weigh(line)) for n, line in enumerate(self._lines)), is_in_order=True)
        return len(filler.taken)

    def _memories_text(self, shown: int) -> str:
        return self._frame.around("".join(self._lines[:shown]))

    def _facts_beside(self, shown: int, most: int, everything: int) -> Filler[RecalledFact]:
        """Return the facts that have a place beside memories: half of all at least where memories want more."""
        left = everything - self._beside(self._memories_text(shown))
        return fill_facts(self.material.unsaid(shown), min(most, max(left, everything // 2)), self._scale)

    def _beside(self, block: str) -> int:
        """Return the tokens that a block takes beside another."""
        return self._scale.tokens(block) + self._scale.tokens(render.JOINT) if block else 0

    def _head(self, shown: int, chosen: Sequence[RecalledFact], profile: str = "") -> Head:
        # In the order of the material: what had no room at first is back where it belongs, a pin before lesser pins.
        ids = {fact.fact_id for fact in chosen}
        facts = [fact for fact in self.material.unsaid(shown, is_final=True) if fact.fact_id in ids]
        text = render.join_blocks((self._memories_text(shown), render.facts_text(facts), profile))
        return Head(
            text=text,
            tokens=self._scale.tokens(text),
            memory_ids=tuple(memory.memory_id for memory in self.material.memories[:shown]),
            fact_ids=tuple(fact.fact_id for fact in facts),
            has_profile=bool(profile),
        )


@dataclass(frozen=True)
class TailMaterial:
    """What there is to recall for what is said now."""

    facts: tuple[RecalledFact, ...] = ()
    summary_id: str | None = None
    summary: str = ""
    earlier: Iterable[tuple[SearchHit, Sequence[SearchHit]]] = ()
    """Messages, the most to the point first, each with those that it is not shown without."""
    is_about_code: bool = False


@dataclass(frozen=True)
class Tail:
    """What is recalled for what is said now, and what is in it."""

    text: str = ""
    tokens: int = 0
    fact_ids: tuple[int, ...] = ()
    summary_id: str | None = None
    hits: tuple[SearchHit, ...] = ()
    """With what is quoted of them."""
    retrieved_tokens: int = 0


def select_tail(
    head: str, material: TailMaterial, budget: int, scale: TokenCounting, *, is_apart: bool = False
) -> Tail:
    """Return what fits into so many tokens and is not in the head already: a summary whole or not at all.

    ``is_apart``: in a message of its own; else behind the head.
    """
    before = "" if is_apart else head
    used = scale.tokens(before)
    # Of all together: each part rounded up by itself would take more than the whole.
    limit = scale.holds(budget + used)

    def tokens_of(blocks: Sequence[str]) -> int:
        return scale.tokens(render.join_blocks([before, *blocks])) - used

    facts = fill_facts(material.facts, budget, scale).taken
    blocks = [render.facts_text(facts)] if facts else []
    summary = render.bullets_text(render.SUMMARY, material.summary)
    has_summary = bool(summary) and tokens_of([*blocks, summary]) <= budget
    blocks += [summary] if has_summary else []
    tokens_before = tokens_of(blocks)
    above = render.join_blocks([before, *blocks])
    weight = scale.weigh(above + render.JOINT if above else "") + _frame_weight(render.headed(render.EARLIER), scale)
    filler = Filler[SearchHit](limit, weight)
    _fill_with_messages(filler, material, PriorText(head, *blocks), scale)
    blocks.append(render.excerpts_text(filler.taken))
    tokens = tokens_of(blocks)
    return Tail(
        text=render.join_blocks(blocks),
        tokens=tokens,
        fact_ids=tuple(fact.fact_id for fact in facts),
        summary_id=material.summary_id if has_summary else None,
        hits=tuple(filler.taken),
        retrieved_tokens=tokens - tokens_before,
    )


_FENCE = "```"
_LEAST_CHARS = len("> a: b\n")
"""Of a message and who said it: where not even that has room, no further message is read."""


def _fill_with_messages(
    filler: Filler[SearchHit], material: TailMaterial, prior: PriorText, scale: TokenCounting
) -> None:
    """Take earlier messages, the best first, without what was said before; none without what belongs to it."""
    earlier = material.earlier
    if material.is_about_code:
        earlier = sorted(earlier, key=lambda one: one[0].ranked.candidate.kind is not PassageKind.CODE)
    keys: set[tuple[int, int]] = set()
    least = scale.weigh("x" * _LEAST_CHARS)

    def item(hit: SearchHit, content: str) -> Item[SearchHit]:
        quoted, day = hit if content == hit.content else hit._replace(content=content), render.excerpt_day(hit)
        return Item(quoted, scale.weigh(render.excerpt_line(quoted)), day, scale.weigh(day))

    for hit, companions in earlier:
        if filler.used + least > filler.limit:
            return
        left = hit.content if _FENCE in hit.content else prior.left_of(hit.content)
        if not left or hit.key in keys:
            continue
        # Of what is wholly known its first clause: the assistant's line would mislead without it.
        items = [
            item(one, prior.left_of(one.content) or _beginning_of(one.content))
            for one in companions
            if one.key not in keys
        ]
        if filler.take(*items, item(hit, left)):
            keys.update((hit.key, *(one.key for one in companions)))
            prior.add(hit.content)


_CLAUSE = re.compile(r"[^,;.!?…。！？，、]+")


def _beginning_of(text: str) -> str:
    """Return a text up to the end of its first clause; never less, because "not" may come at its end."""
    clause = _CLAUSE.match(text)
    return f"{clause[0]} {LEFT_OUT}" if clause and len(clause[0]) + 1 < len(text) else text
