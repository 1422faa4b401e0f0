"""Memories and facts as one text, each within its own budget and both within what there is: memories first, then facts.

Where there is too little for both, each has half, and what one leaves goes to the other. In a full window facts are
reduced, and memories give way, the oldest first, until the window is no longer full. Source: decision 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.context.block import Block, Recalled, memories_block
from shared.context.budgets import Budgets
from shared.context.counting import Scale
from shared.context.sections import facts_text, packed
from shared.context.selection import KnownFact, reduced

_JOINT = "\n\n"


@dataclass(frozen=True)
class Material:
    """What there is to recall: memories the last updated first, facts the most needed first."""

    app_name: str
    memories: tuple[Recalled, ...] = ()
    facts: tuple[KnownFact, ...] = ()


@dataclass(frozen=True)
class Recollection:
    """A recalled text and what is in it."""

    text: str
    tokens: int
    memory_ids: tuple[int, ...]
    fact_ids: tuple[int, ...]


def recollect(material: Material, budgets: Budgets, scale: Scale) -> Recollection:
    """Write what fits into the budgets."""
    wanted = _memories(material, budgets.memories, scale)
    facts = _facts(material, wanted, budgets, scale)
    left = budgets.both - _tokens(facts, scale)
    return _written(wanted if wanted.tokens <= left else _memories(material, left, scale), facts, scale)


def recollect_less(material: Material, budgets: Budgets, below_full: int, scale: Scale) -> Recollection:
    """Write what stays when the window is full; memories as far as it is not, with ``below_full`` tokens more."""
    facts = reduced(_facts(material, _memories(material, budgets.memories, scale), budgets, scale))
    left = min(budgets.both, below_full) - _tokens(facts, scale)
    return _written(_memories(material, min(budgets.memories, left), scale), facts, scale)


def _facts(material: Material, memories: Block, budgets: Budgets, scale: Scale) -> tuple[KnownFact, ...]:
    """Return the facts that have a place: within their budget, and half of all at least where memories want more."""
    left = budgets.both - memories.tokens - (scale.tokens(_JOINT) if memories.text else 0)
    return packed(material.facts, min(budgets.facts, max(left, budgets.both // 2)), scale)


def _memories(material: Material, budget: int, scale: Scale) -> Block:
    return memories_block(material.app_name, material.memories, budget, scale)


def _tokens(facts: Sequence[KnownFact], scale: Scale) -> int:
    return scale.tokens(facts_text(facts)) + scale.tokens(_JOINT) if facts else 0


def _written(memories: Block, facts: Sequence[KnownFact], scale: Scale) -> Recollection:
    text = _JOINT.join(filter(None, (memories.text, facts_text(facts))))
    return Recollection(
        text=text,
        tokens=scale.tokens(text),
        memory_ids=tuple(memory.memory_id for memory in memories.included),
        fact_ids=tuple(fact.fact_id for fact in facts),
    )
