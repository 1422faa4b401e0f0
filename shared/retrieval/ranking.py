"""Which candidates come first: two recipes, both sums of a few signals that are brought to 0..1 and explained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.indexing.identifiers import identifiers_of
from shared.indexing.models import PassageKind
from shared.retrieval.dates import fit
from shared.retrieval.questions import Question


@dataclass(frozen=True)
class Candidate:
    """A message, or with ``part`` from 1 a passage of it, that may be what is asked for."""

    place: int
    part: int
    role: str
    name: str | None
    content: str
    created_at: datetime
    dense: float | None
    """Cosine with the question; None where it has no vector."""
    around: float | None
    """Mean of the cosines of the turns within reach."""
    turn: float | None
    """Score of its words; None where words were not searched."""
    window: float | None
    kind: PassageKind | None = None


@dataclass(frozen=True)
class Ranked:
    """A candidate and why it stands where it does: ``parts`` add up to ``score``."""

    candidate: Candidate
    score: float
    parts: dict[str, float]


@dataclass(frozen=True)
class Weighted:
    """The formula of seed 002: likeness, words and identifiers, each 0..1, by three weights that add up to 1."""

    alpha: float = 0.6
    beta: float = 0.3
    gamma: float = 0.1


@dataclass(frozen=True)
class Signals:
    """Several signals; the weights and what each was seen to bring are in decision 15."""

    dense: float = 0.3
    around: float = 0.2
    turn: float = 0.1
    window: float = 0.4
    author: float = 0.15
    date: float = 0.3
    asking: float = -0.06
    coverage: float = 0.3
    when: float = 0.08
    identifier: float = 0.3


SIGNALS = Signals()
Recipe = Weighted | Signals
LEAST_LIKENESS = 0.25
"""The cosine from which a candidate without any word of the question counts as found."""
_TIME_WORDS = re.compile(
    r"\b(?:today|yesterday|tomorrow|tonight|last|next|ago|week(?:end)?|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|june|july|august|september|october|november|december|since|recently|\d{4})\b",
    re.IGNORECASE,
)


def rank(question: Question, candidates: Sequence[Candidate], recipe: Recipe = SIGNALS) -> list[Ranked]:
    """Return the candidates, the best first; of equals, the latest."""
    parts = (
        _weighted(question, candidates, recipe)
        if isinstance(recipe, Weighted)
        else _signals(question, candidates, recipe)
    )
    ranked = [Ranked(one, sum(part.values()), part) for one, part in zip(candidates, parts, strict=True)]
    return sorted(ranked, key=lambda one: (-one.score, -one.candidate.created_at.timestamp(), -one.candidate.place))


def is_found(question: Question, candidate: Candidate) -> bool:
    """Whether a candidate is a result at all: it has a word or an identifier of the question, or is like it."""
    if (candidate.turn or 0) > 0 or (candidate.dense or 0) >= LEAST_LIKENESS:
        return True
    return bool(question.identifiers & identifiers_of(candidate.content))


def scaled(values: Sequence[float | None]) -> list[float]:
    """Bring values to 0..1 over those that are known; unknown ones are 0, and of equal ones those above 0 are 1."""
    known = [one for one in values if one is not None]
    if not known:
        return [0.0] * len(values)
    low, high = min(known), max(known)
    if low == high:
        return [float(one is not None and one > 0) for one in values]
    return [0.0 if one is None else (one - low) / (high - low) for one in values]


def _weighted(question: Question, candidates: Sequence[Candidate], recipe: Weighted) -> list[dict[str, float]]:
    likeness = scaled([one.dense for one in candidates])
    words = scaled([one.turn for one in candidates])
    return [
        {
            "dense": recipe.alpha * likeness[at],
            "words": recipe.beta * words[at],
            "identifier": recipe.gamma * bool(question.identifiers & identifiers_of(one.content)),
        }
        for at, one in enumerate(candidates)
    ]


def _signals(question: Question, candidates: Sequence[Candidate], recipe: Signals) -> list[dict[str, float]]:
    dense, around, turn, window = (
        scaled([getattr(one, name) for one in candidates]) for name in ("dense", "around", "turn", "window")
    )
    return [
        {
            "dense": recipe.dense * dense[at],
            "around": recipe.around * around[at],
            "turn": recipe.turn * turn[at],
            "window": recipe.window * window[at],
            "author": recipe.author * _is_by_named(question, one),
            "date": recipe.date * fit(one.created_at, question.stretches),
            "asking": recipe.asking * one.content.rstrip().endswith("?"),
            "when": recipe.when * (question.asks_when and _TIME_WORDS.search(one.content) is not None),
            "identifier": recipe.identifier * bool(question.identifiers & identifiers_of(one.content)),
        }
        for at, one in enumerate(candidates)
    ]


def _is_by_named(question: Question, candidate: Candidate) -> bool:
    return any(part in question.names for part in (candidate.name or "").lower().split())
