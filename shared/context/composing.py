"""A context that always fits: what was said and what is recalled, compacted in two stages when the window is full.

Pure rules over values. What is promised, for a window of W tokens of which R are to be left for the answer and a last
message of L: the result takes at most max(W - R, min(L, W)). So it always fits the window, and leaves the reserve
unless the last message alone is longer than that; nothing is recalled then. Source: decisions, "Facts and context".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.context.budgets import WHOLE_FROM, Budgets, below_full, budgets_of, is_full
from shared.context.counting import Counting, TokenSource, weakest
from shared.context.recalling import Material, Recollection, recollect, recollect_less
from shared.context.window import Counted, length, squeezed, staying


class Stage(StrEnum):
    """How far a context was compacted; a closed set, so it can label a metric."""

    NONE = "none"
    TRIMMED = "stage1"
    """The middle of the conversation went."""
    REDUCED = "stage2"
    """What is recalled was reduced too, and more was dropped where even that was too long."""


@dataclass(frozen=True)
class Bounds:
    """How long a context may be, in tokens."""

    budget: int
    """The most that what is recalled may take."""
    window: int | None = None
    reserve: int = 0
    """What of the window is left for the answer."""

    @property
    def room(self) -> int:
        """What of a window is left beside the reserve."""
        return max(0, (self.window or 0) - self.reserve)

    def beside(self, conversation: int) -> Budgets:
        """Return what may be recalled beside a conversation of so many tokens."""
        return budgets_of(self.window, conversation, self.reserve, self.budget)


@dataclass(frozen=True)
class Composed:
    """A context: the messages to send after what is recalled."""

    messages: tuple[Counted, ...]
    recalled: Recollection
    stage: Stage
    trimmed: int
    """Messages that were left out."""
    cut: bool
    """Whether a message was shortened."""

    @property
    def tokens(self) -> int:
        """Its length."""
        return length(self.messages) + self.recalled.tokens


def compose(
    messages: Sequence[Counted], material: Material, bounds: Bounds, counting: Counting, left_out: int = 0
) -> Composed:
    """Compose a context of a conversation.

    ``left_out``: so many messages are not among those given, because the conversation fills the window without anything
    recalled, and they would be the first to go.
    """
    if bounds.window is None:
        return _with_recalled(messages, material, bounds, counting)
    return _within(bounds.window, messages, material, bounds, counting, left_out)


def overfills(tokens: int, bounds: Bounds) -> bool:
    """Whether so many tokens have to be compacted: the window is full, or the reserve would be touched."""
    return bounds.window is not None and (is_full(tokens, bounds.window) or tokens > bounds.room)


def source_of(composed: Composed, counting: Counting, is_extended: bool = False) -> TokenSource:
    """Return the least certain source of the figures of a context; ``is_extended``: more is recalled beside it."""
    sources = {message.source for message in composed.messages}
    if composed.recalled.text or is_extended:
        sources.add(counting.source)
    return weakest(sources) or counting.source


def _within(
    window: int,
    messages: Sequence[Counted],
    material: Material,
    bounds: Bounds,
    counting: Counting,
    left_out: int,
) -> Composed:
    of = len(messages) + left_out
    kept = [messages[i] for i in staying([one.said for one in messages], of)]
    if not left_out:
        whole = _with_recalled(messages, material, bounds, counting)
        is_short = len(kept) < of and _lacks_memories(whole, window, material, bounds, counting)
        if not is_short and not overfills(whole.tokens, bounds):
            return whole
    shorter = _with_recalled(kept, material, bounds, counting)
    if not overfills(shorter.tokens, bounds):
        return Composed(shorter.messages, shorter.recalled, Stage.TRIMMED, of - len(kept), False)
    last, cut = squeezed(kept, window, bounds.room)
    said = length(last)
    recalled = recollect_less(material, bounds.beside(said), below_full(window) - said, counting)
    return Composed(tuple(last), recalled, Stage.REDUCED, of - len(last), cut)


def _lacks_memories(whole: Composed, window: int, material: Material, bounds: Bounds, counting: Counting) -> bool:
    """Whether the length of the conversation keeps memories out that are promised a place in such a window."""
    if window < WHOLE_FROM or len(whole.recalled.memory_ids) == len(material.memories):
        return False
    promised = recollect(material, bounds.beside(0), counting)
    return len(whole.recalled.memory_ids) < len(promised.memory_ids)


def _with_recalled(messages: Sequence[Counted], material: Material, bounds: Bounds, counting: Counting) -> Composed:
    recalled = recollect(material, bounds.beside(length(messages)), counting)
    return Composed(tuple(messages), recalled, Stage.NONE, 0, False)
