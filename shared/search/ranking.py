"""Which candidates come first: two recipes, both sums of a few signals that are brought to 0..1 and explained.

What stands around a candidate is known as far as it is a candidate too. What each signal brings is in decision 15.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from shared.search.lexical import REACH, Coverage, WordLikeness, bm25, coverage_of, worth_of_words
from shared.search.models import LAST_POSITION, PassageKind, conversation_of, position_of
from shared.search.query import SearchQuestion, fit_to_time_spans, identifiers_of, without_names
from shared.search.words import words_of


@dataclass(frozen=True)
class Candidate:
    """A message, or with ``part`` from 1 a passage of it, that may be what is asked for."""

    doc_id: int
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
    """Score of the words said around it."""
    kind: PassageKind | None = None


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate and why it stands where it does: ``parts`` add up to ``score``."""

    candidate: Candidate
    score: float
    parts: dict[str, float]


LEAST_LIKENESS = 0.25
"""The cosine from which a candidate without any word of the question counts as found."""


@dataclass(frozen=True)
class WeightedRecipe:
    """The formula of seed 002: likeness, words and identifiers, each 0..1, by three weights that add up to 1."""

    alpha: float = 0.6
    beta: float = 0.3
    gamma: float = 0.1


@dataclass(frozen=True)
class SignalRecipe:
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


SIGNALS = SignalRecipe()
WORDS_ALONE = replace(SIGNALS, window=0.4, author=0.1)
"""Where no candidate has a vector: what vectors would say is left to the words around."""
Recipe = WeightedRecipe | SignalRecipe


def rank(
    question: SearchQuestion,
    candidates: Sequence[Candidate],
    recipe: Recipe = SIGNALS,
    worth: Mapping[str, float] | None = None,
    likeness: WordLikeness | None = None,
) -> list[RankedCandidate]:
    """Return the candidates, the best first; of equals, the latest.

    ``worth``: how rare the question's words are in the app; ``likeness``: which words mean nearly the same.
    """
    if isinstance(recipe, WeightedRecipe):
        parts = _weighted(question, candidates, recipe, worth or {})
    else:
        has_vectors = any(one.dense is not None for one in candidates)
        weights = asdict(WORDS_ALONE if recipe == SIGNALS and not has_vectors else recipe)
        measured = signals(question, candidates, worth or {}, likeness)
        parts = [{name: weights[name] * strength for name, strength in one.items()} for one in measured]
    ranked = [RankedCandidate(one, sum(part.values()), part) for one, part in zip(candidates, parts, strict=True)]
    return sorted(ranked, key=lambda one: (one.score, one.candidate.created_at, one.candidate.doc_id), reverse=True)


def is_found(question: SearchQuestion, candidate: Candidate) -> bool:
    """Whether a candidate is a result at all: it has a word or an identifier of the question, or is like it."""
    if (candidate.turn or 0) > 0 or (candidate.dense or 0) >= LEAST_LIKENESS:
        return True
    return bool(question.identifiers and question.identifiers & identifiers_of(candidate.content))


def is_beside(candidate: Candidate) -> bool:
    """Whether a candidate stands next to what is found: an answer may share no word with its question."""
    return (candidate.window or 0) > 0 or (candidate.around or 0) >= LEAST_LIKENESS


def _weighted(
    question: SearchQuestion, candidates: Sequence[Candidate], recipe: WeightedRecipe, worth: Mapping[str, float]
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


_TIME_WORDS = re.compile(
    r"\b(?:today|yesterday|tomorrow|tonight|last|next|ago|week(?:end)?|month|year"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|since|recently|\d{4})\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)
_OF_OTHERS = 0.5
"""What it is worth that the named person speaks, but of something else."""


def signals(
    question: SearchQuestion, candidates: Sequence[Candidate], worth: Mapping[str, float], likeness: WordLikeness | None
) -> list[dict[str, float]]:
    """Measure all signals of all candidates."""
    dense = scaled([one.dense for one in candidates])
    around = scaled([one.around for one in candidates])
    conversation = scaled(_best_of_conversation(candidates))
    most = max((one.window or 0.0 for one in candidates), default=0.0)
    covering = _coverage(question, candidates, worth, likeness)
    coverage, nearby = covering.shares(), covering.shares_nearby(_nearby(candidates))
    is_question = [one.content.rstrip().endswith("?") for one in candidates]
    # How much of the question each doc id asks itself: what comes next is then its answer.
    asked = {one.doc_id: share for one, share, asks in zip(candidates, coverage, is_question, strict=True) if asks}
    named = {one.name for one in candidates if any(word in question.names for word in _name_of(one))}
    return [
        {
            "dense": dense[at],
            "around": around[at],
            "conversation": conversation[at],
            "window": (one.window or 0.0) / most if most > 0 else 0.0,
            "coverage": coverage[at],
            "nearby": nearby[at],
            "answers": asked.get(one.doc_id - 1, 0.0) if position_of(one.doc_id) else 0.0,
            "author": (1.0 if _FIRST_PERSON.search(one.content) else _OF_OTHERS) if one.name in named else 0.0,
            "date": fit_to_time_spans(one.created_at, question.time_spans) if question.time_spans else 0.0,
            "when": float(question.asks_when and _TIME_WORDS.search(one.content) is not None),
            "identifier": float(bool(question.identifiers and question.identifiers & identifiers_of(one.content))),
            "asking": float(is_question[at]),
        }
        for at, one in enumerate(candidates)
    ]


def keywords(
    question: SearchQuestion, candidates: Sequence[Candidate], worth: Mapping[str, float]
) -> list[float | None]:
    """Return BM25 of the candidates' texts; None where words were not searched."""
    texts = [words_of(one.content) for one in candidates]
    scores = bm25(question.words, texts, worth_of_words(question.words, texts, worth))
    return [None if one.turn is None else score for one, score in zip(candidates, scores, strict=True)]


def scaled(values: Sequence[float | None], *, smaller_is_better: bool = False) -> list[float]:
    """Bring values to 0..1 over those that are known; unknown ones are 0, and where all are equal they are 1.

    ``smaller_is_better``: as FTS5's ``bm25()`` has it.
    """
    known = [one for one in values if one is not None]
    if not known:
        return [0.0] * len(values)
    worst, best = (max(known), min(known)) if smaller_is_better else (min(known), max(known))
    return [0.0 if one is None else (one - worst) / (best - worst) if best != worst else 1.0 for one in values]


def _best_of_conversation(candidates: Sequence[Candidate]) -> list[float | None]:
    best: dict[int, float] = {}
    for one in candidates:
        if one.dense is not None:
            best[conversation_of(one.doc_id)] = max(one.dense, best.get(conversation_of(one.doc_id), -1.0))
    return [best.get(conversation_of(one.doc_id)) for one in candidates]


def _coverage(
    question: SearchQuestion, candidates: Sequence[Candidate], worth: Mapping[str, float], likeness: WordLikeness | None
) -> Coverage:
    text = without_names(question.text, {word for one in candidates for word in _name_of(one)})
    texts = [words_of(one.content) for one in candidates] if any(word not in worth for word in question.words) else []
    return coverage_of(
        text, [one.content for one in candidates], worth_of_words(question.words, texts, worth), likeness
    )


def _nearby(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return for each candidate those within reach of it, and itself."""
    standing: dict[int, list[int]] = {}
    for at, one in enumerate(candidates):
        standing.setdefault(one.doc_id, []).append(at)

    def within_reach(doc_id: int) -> range:
        position = position_of(doc_id)
        return range(doc_id - min(REACH, position), doc_id + min(REACH, LAST_POSITION - position) + 1)

    return [[at for doc_id in within_reach(one.doc_id) for at in standing.get(doc_id, ())] for one in candidates]


def _name_of(candidate: Candidate) -> list[str]:
    return (candidate.name or "").lower().split()
