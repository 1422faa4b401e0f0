"""What a newly found statement is to what stands already: new, said again, or a contradiction. Pure.

The standing facts are those of the same user; keeping users apart, and carrying a decision out, is left to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.facts.likeness import are_opposed, beginnings, differ, gist, speaks_of
from shared.facts.normalising import normal
from shared.facts.single_values import contradict, single_value
from shared.llm.embedding import from_bytes
from shared.telemetry.metrics import MergedBy

RULE_CONTRADICTION = "rule:contradiction"


@dataclass(frozen=True)
class Stated:
    """A statement to be judged."""

    text: str
    updates: int | None = None
    """The fact that whoever found it says it contradicts."""
    vector: bytes | None = None
    vector_model: str | None = None


@dataclass(frozen=True)
class Known:
    """A standing fact of the same user."""

    fact_id: int
    text: str
    said_at: datetime
    vector: bytes | None = None
    vector_model: str | None = None


@dataclass(frozen=True)
class New:
    """Nothing that stands says it, or contradicts it."""


@dataclass(frozen=True)
class Repeat:
    """A standing fact says it already."""

    fact_id: int
    by: MergedBy


@dataclass(frozen=True)
class Replace:
    """It contradicts standing facts: the one that was named, or every one there can be only one of."""

    fact_ids: tuple[int, ...]
    by_rule: bool
    """Whether a rule saw the contradiction, and not whoever found the statement."""
    repeats: Repeat | None = None
    """Another standing fact that says it already, and stands for both from now on."""


Judgement = New | Repeat | Replace


def judge(stated: Stated, known: Sequence[Known], same_meaning: float) -> Judgement:
    """Decide what a statement is; ``same_meaning`` is the cosine from which vectors may mean the same, -1..1."""
    repeated = _repeated(stated, known, same_meaning)
    named = next((fact for fact in known if fact.fact_id == stated.updates), None)
    if named is not None and normal(named.text) != normal(stated.text):
        others = [fact for fact in known if fact is not named]
        return Replace((named.fact_id,), False, _repeated(stated, others, same_meaning))
    if repeated is not None:
        return repeated
    against = sorted(_contradicted(stated.text, known), key=_newest, reverse=True)
    return Replace(tuple(fact.fact_id for fact in against), True) if against else New()


def contradicts(one: str, other: str) -> bool:
    """Whether two statements contradict each other by rule."""
    return contradict(one, other) or are_opposed(gist(one), gist(other))


def says_the_same(stated: Stated, fact: Known, same_meaning: float) -> bool:
    """Whether a statement repeats a fact."""
    return _repeated(stated, [fact], same_meaning) is not None


def _contradicted(text: str, known: Sequence[Known]) -> list[Known]:
    has_one_value, said = single_value(text) is not None, gist(text)
    those = beginnings(said)
    return [
        fact
        for fact in known
        if (has_one_value and contradict(fact.text, text))
        or (speaks_of(fact.text, those) and are_opposed(gist(fact.text), said))
    ]


def _repeated(stated: Stated, known: Sequence[Known], same_meaning: float) -> Repeat | None:
    wanted = normal(stated.text)
    for fact in known:
        if normal(fact.text) == wanted:
            return Repeat(fact.fact_id, MergedBy.TEXT)
    close = [(cosine, fact) for fact in known if (cosine := _cosine(stated, fact)) >= same_meaning]
    alike = [(cosine, fact) for cosine, fact in close if not differ(fact.text, stated.text)]
    return Repeat(max(alike, key=_closest)[1].fact_id, MergedBy.EMBEDDING) if alike else None


def _cosine(stated: Stated, fact: Known) -> float:
    """Return the cosine of two vectors of unit length, -2 where there is nothing to compare."""
    if stated.vector is None or fact.vector is None or stated.vector_model != fact.vector_model:
        return -2.0
    left, right = from_bytes(stated.vector), from_bytes(fact.vector)
    return float(left @ right) if left.shape == right.shape else -2.0


def _closest(pair: tuple[float, Known]) -> tuple[float, int]:
    return pair[0], -pair[1].fact_id


def _newest(fact: Known) -> tuple[datetime, int]:
    return fact.said_at, fact.fact_id
