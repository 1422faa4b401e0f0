"""Everything recalled for a context as one text within one budget: memories first, then facts.

Half of the budget is promised to each, and what one leaves goes to the other. In a full window facts are reduced, and
memories give way, the oldest first, until the window is no longer full. Source: decision 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.context.block import Block, Recalled, memories_block
from shared.context.counting import Scale
from shared.context.sections import facts_text, packed
from shared.context.selection import KnownFact, reduced

_JOINT = "\n\n"


@dataclass(frozen=True)
class Material:
    """What there is to recall: memories newest first, facts the most needed first."""

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


def recollect(material: Material, budget: int, scale: Scale) -> Recollection:
    """Write what fits into so many tokens."""
    joint = scale.tokens(_JOINT)
    promised = packed(material.facts, budget - budget // 2, scale, budget)
    memories = _memories(material, budget - _tokens(promised, scale, joint), scale)
    left = budget - memories.tokens - (joint if memories.text else 0)
    return _written(memories, packed(material.facts, left, scale), scale)


def recollect_less(material: Material, budget: int, below_full: int, scale: Scale) -> Recollection:
    """Write what stays when the window is full; memories as far as it is not, with ``below_full`` tokens more."""
    before = set(recollect(material, budget, scale).fact_ids)
    facts = packed(reduced([fact for fact in material.facts if fact.fact_id in before]), budget, scale)
    taken = _tokens(facts, scale, scale.tokens(_JOINT))
    return _written(_memories(material, min(budget, below_full) - taken, scale), facts, scale)


def _memories(material: Material, budget: int, scale: Scale) -> Block:
    return memories_block(material.app_name, material.memories, budget, scale)


def _tokens(facts: Sequence[KnownFact], scale: Scale, joint: int) -> int:
    return scale.tokens(facts_text(facts)) + joint if facts else 0


def _written(memories: Block, facts: Sequence[KnownFact], scale: Scale) -> Recollection:
    text = _JOINT.join(filter(None, (memories.text, facts_text(facts))))
    return Recollection(
        text=text,
        tokens=scale.tokens(text),
        memory_ids=tuple(memory.memory_id for memory in memories.included),
        fact_ids=tuple(fact.fact_id for fact in facts),
    )
