"""Which candidates come first: two recipes, both sums of a few signals that are brought to 0..1 and explained.

The signals themselves are measured in ``signals``; what each of them brings is in decision 15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from shared.indexing.identifiers import identifiers_of
from shared.retrieval.candidates import Candidate, Ranked
from shared.retrieval.covering import Likeness
from shared.retrieval.questions import Question
from shared.retrieval.signals import keywords, scaled, signals

__all__ = [
    "LEAST_LIKENESS",
    "SIGNALS",
    "WORDS_ALONE",
    "Candidate",
    "Ranked",
    "Recipe",
    "Signals",
    "Weighted",
    "is_beside",
    "is_found",
    "rank",
]

LEAST_LIKENESS = 0.25
"""The cosine from which a candidate without any word of the question counts as found."""


@dataclass(frozen=True)
class Weighted:
    """The formula of seed 002: likeness, words and identifiers, each 0..1, by three weights that add up to 1."""

    alpha: float = 0.6
    beta: float = 0.3
    gamma: float = 0.1


@dataclass(frozen=True)
class Signals:
    """What each signal is worth at its full strength."""

    dense: float = 0.2
    """Its vector is like the question's."""
    around: float = 0.1
    """So are those of the turns around it."""
    conversation: float = 0.1
    """So is the best of its conversation."""
    window: float = 0.2
    """The question's words are said in it or before it."""
    coverage: float = 0.1
    """It says much of what the question says, in the same or in like words."""
    nearby: float = 0.25
    """It and the turns around it do so together."""
    answers: float = 0.2
    """The turn before it asks what the question asks."""
    author: float = 0.15
    """The person the question names speaks of themself."""
    date: float = 0.35
    """It was said when the question asks about."""
    when: float = 0.2
    """It says a time, and the question asks when."""
    identifier: float = 0.3
    """An identifier of the question stands in it."""
    asking: float = -0.1
    """It is a question itself."""


SIGNALS = Signals()
WORDS_ALONE = replace(SIGNALS, window=0.4, author=0.1)
"""Where no candidate has a vector: what vectors would say is left to the words around."""
Recipe = Weighted | Signals


def rank(
    question: Question,
    candidates: Sequence[Candidate],
    recipe: Recipe = SIGNALS,
    worth: Mapping[str, float] | None = None,
    likeness: Likeness | None = None,
) -> list[Ranked]:
    """Return the candidates, the best first; of equals, the latest.

    ``worth``: how rare the question's words are in the app; ``likeness``: which words mean nearly the same.
    """
    if isinstance(recipe, Weighted):
        parts = _weighted(question, candidates, recipe, worth or {})
    else:
        weights = asdict(_fitting(recipe, candidates))
        measured = signals(question, candidates, worth or {}, likeness)
        parts = [{name: weights[name] * strength for name, strength in one.items()} for one in measured]
    ranked = [Ranked(one, sum(part.values()), part) for one, part in zip(candidates, parts, strict=True)]
    return sorted(ranked, key=lambda one: (one.score, one.candidate.created_at, one.candidate.place), reverse=True)


def _fitting(recipe: Signals, candidates: Sequence[Candidate]) -> Signals:
    has_vectors = any(one.dense is not None for one in candidates)
    return WORDS_ALONE if recipe == SIGNALS and not has_vectors else recipe


def is_found(question: Question, candidate: Candidate) -> bool:
    """Whether a candidate is a result at all: it has a word or an identifier of the question, or is like it."""
    if (candidate.turn or 0) > 0 or (candidate.dense or 0) >= LEAST_LIKENESS:
        return True
    return bool(question.identifiers and question.identifiers & identifiers_of(candidate.content))


def is_beside(candidate: Candidate) -> bool:
    """Whether a candidate stands next to what is found: an answer may share no word with its question."""
    return (candidate.window or 0) > 0 or (candidate.around or 0) >= LEAST_LIKENESS


def _weighted(
    question: Question, candidates: Sequence[Candidate], recipe: Weighted, worth: Mapping[str, float]
) -> list[dict[str, float]]:
    likeness = scaled([one.dense for one in candidates])
    words = scaled(keywords(question, candidates, worth))
    return [
        {
            "dense": recipe.alpha * likeness[at],
            "words": recipe.beta * words[at],
            "identifier": recipe.gamma * bool(question.identifiers & identifiers_of(one.content)),
        }
        for at, one in enumerate(candidates)
    ]
