"""Which candidates come first: two recipes, both sums of a few signals that are brought to 0..1 and explained.

What stands around a candidate is known as far as it is a candidate too. What each signal brings is in decision 15.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from itertools import repeat
from typing import NamedTuple

import numpy as np

from shared.base.choices import RankingFormula
from shared.base.settings import Tuning
from shared.search.lexical import WordLikeness, bm25, coverage_of, worth_of_words
from shared.search.models import HitKind, PassageKind, conversation_of, position_of
from shared.search.query import SearchQuestion, fit_to_time_spans, identifiers_of, without_names
from shared.search.spoken import SpokenText, SpokenWords
from shared.search.words import words_of


class Candidate(NamedTuple):
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
    said: SpokenText | None = None
    """What it says, where somebody has read it already."""


class RankedCandidate(NamedTuple):
    """A candidate and why it stands where it does: what its ``signals`` bring adds up to ``score``."""

    candidate: Candidate
    score: float
    signals: Iterable[str] = ()
    brought: Sequence[float] = ()

    @property
    def parts(self) -> dict[str, float]:
        # Made when somebody wants to know: a search ranks hundreds, and explains a few.
        return dict(zip(self.signals, self.brought, strict=True))


class SearchHit(NamedTuple):
    """A result; ``ranked.candidate.content`` may be cut, ``content`` is not."""

    ranked: RankedCandidate
    is_found: bool
    """Whether it is one by itself, and not only by what stands next to it."""
    message_id: str
    conversation_id: str
    user_id: str | None
    """Whose conversation it is."""
    content: str
    kind: HitKind
    language: str | None
    times: int
    """How often the same was said by the same speaker; this is the time that fits best."""
    last_at: datetime
    """When last."""

    @property
    def key(self) -> tuple[int, int]:
        """Its doc id, and which part of the message it is; 0 for all of it."""
        return self.ranked.candidate.doc_id, self.ranked.candidate.part

    @property
    def doc_id(self) -> int:
        return self.ranked.candidate.doc_id

    @property
    def role(self) -> str:
        return self.ranked.candidate.role

    @property
    def by_words(self) -> bool:
        """Whether a word of the question stands in it."""
        return (self.ranked.candidate.turn or 0) > 0

    @property
    def by_vector(self) -> bool:
        return (self.ranked.candidate.dense or 0) >= LEAST_LIKENESS


Strengths = Sequence[float]
"""Of a signal in each candidate, 0..1."""
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
    # At 0.25 NDCG gains a point, and adversarial questions lose five (decision 15).
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


def recipe_of(tuning: Tuning) -> Recipe:
    if tuning.formula is RankingFormula.WEIGHTED:
        return WeightedRecipe(tuning.alpha, tuning.beta, tuning.gamma)
    return SIGNALS


def rank(
    question: SearchQuestion,
    candidates: Sequence[Candidate],
    recipe: Recipe = SIGNALS,
    worth: Mapping[str, float] | None = None,
    likeness: WordLikeness | None = None,
    spoken: SpokenWords | None = None,
) -> list[RankedCandidate]:
    """Return the candidates, the best first; of equals, the latest.

    ``worth``: how rare the question's words are in the app; ``likeness``: which words mean nearly the same; ``spoken``:
    who read the candidates that were read.
    """
    if not candidates:
        return []
    if isinstance(recipe, WeightedRecipe):
        weights = {"dense": recipe.alpha, "words": recipe.beta, "identifier": recipe.gamma}
        measured: Mapping[str, Strengths] = {
            "dense": scaled([one.dense for one in candidates]),
            "words": scaled(keywords(question, candidates, worth or {})),
            "identifier": [_names_identifier(question, one.content) for one in candidates],
        }
    else:
        has_vectors = any(one.dense is not None for one in candidates)
        weights = vars(WORDS_ALONE if recipe == SIGNALS and not has_vectors else recipe)
        measured = signals(question, candidates, worth or {}, likeness, spoken or SpokenWords())
    table = np.array([weights[name] * np.asarray(strengths, np.float64) for name, strengths in measured.items()])
    # One after the other, so that a score is to the last bit the sum of its parts.
    scores = reduce(np.add, table).tolist()
    ranked = map(RankedCandidate, candidates, scores, repeat(tuple(measured)), table.T.tolist())
    return sorted(ranked, key=lambda one: (one.score, one.candidate.created_at, one.candidate.doc_id), reverse=True)


def is_found(question: SearchQuestion, candidate: Candidate) -> bool:
    """Whether a candidate is a result at all: it has a word or an identifier of the question, or is like it."""
    if (candidate.turn or 0) > 0 or (candidate.dense or 0) >= LEAST_LIKENESS:
        return True
    return _names_identifier(question, candidate.content)


def is_beside(candidate: Candidate) -> bool:
    """Whether a candidate stands next to what is found: an answer may share no word with its question."""
    # Without these, two points of recall and four of the evidence within a budget were lost (decision 15).
    return (candidate.window or 0) > 0 or (candidate.around or 0) >= LEAST_LIKENESS


_OF_OTHERS = 0.5
"""What it is worth that the named person speaks, but of something else."""


def signals(
    question: SearchQuestion,
    candidates: Sequence[Candidate],
    worth: Mapping[str, float],
    likeness: WordLikeness | None,
    spoken: SpokenWords,
) -> dict[str, Strengths]:
    """Measure all signals of all candidates: by signal, its strength in each."""
    said = [spoken.read(one.content) if one.said is None else one.said for one in candidates]
    names = {one.name for one in candidates}
    named = {name for name in names if any(word in question.names for word in _words_of_name(name))}
    windows = [one.window or 0.0 for one in candidates]
    most = max(windows)
    text = without_names(question.text, {word for name in names for word in _words_of_name(name)})
    texts = [words_of(one.content) for one in candidates] if any(word not in worth for word in question.words) else []
    covering = coverage_of(text, said, spoken, worth_of_words(question.words, texts, worth), likeness)
    coverage = covering.shares()
    is_question = [one.content.rstrip().endswith("?") for one in candidates]
    # How much of the question each doc id asks itself: what comes next is then its answer.
    asked = {one.doc_id: share for one, share, asks in zip(candidates, coverage, is_question, strict=True) if asks}
    nothing, spans = [0.0] * len(candidates), question.time_spans
    return {
        "dense": scaled([one.dense for one in candidates]),
        "around": scaled([one.around for one in candidates]),
        "conversation": scaled(_best_of_conversation(candidates)),
        "window": [one / most for one in windows] if most > 0 else nothing,
        "coverage": coverage,
        "nearby": covering.shares_nearby(np.array([one.doc_id for one in candidates], np.int64)),
        "answers": [asked.get(one.doc_id - 1, 0.0) if position_of(one.doc_id) else 0.0 for one in candidates],
        "author": [_speaks_for(*one, named) for one in zip(candidates, said, strict=True)] if named else nothing,
        "date": [fit_to_time_spans(one.created_at, spans) for one in candidates] if spans else nothing,
        "when": [one.says_when for one in said] if question.asks_when else nothing,
        "identifier": [_names_identifier(question, one.content) for one in candidates],
        "asking": is_question,
    }


def _speaks_for(candidate: Candidate, said: SpokenText, named: Collection[str | None]) -> float:
    """Return what it is worth who says this."""
    if candidate.name not in named:
        return 0.0
    return 1.0 if said.says_i else _OF_OTHERS


def _names_identifier(question: SearchQuestion, content: str) -> bool:
    """Whether an identifier of the question stands in a text."""
    if not question.identifiers:
        return False
    if content.isascii() and not any(map(content.lower().__contains__, question.identifiers)):
        return False  # To read a text for identifiers takes far longer than to see that none of these is in it.
    return not question.identifiers.isdisjoint(identifiers_of(content))


def keywords(
    question: SearchQuestion, candidates: Sequence[Candidate], worth: Mapping[str, float]
) -> list[float | None]:
    """Return BM25 of the candidates' texts; None where words were not searched."""
    texts = [words_of(one.content) for one in candidates]
    scores = bm25(question.words, texts, worth_of_words(question.words, texts, worth))
    return [None if one.turn is None else score for one, score in zip(candidates, scores, strict=True)]


def scaled(values: Sequence[float | None]) -> list[float]:
    """Bring values to 0..1 over those that are known; unknown ones are 0, and where all are equal they are 1."""
    known = [one for one in values if one is not None]
    if not known:
        return [0.0] * len(values)
    worst, best = min(known), max(known)
    return [0.0 if one is None else (one - worst) / (best - worst) if best != worst else 1.0 for one in values]


def _best_of_conversation(candidates: Sequence[Candidate]) -> list[float | None]:
    best: dict[int, float] = {}
    conversations = [conversation_of(one.doc_id) for one in candidates]
    for conversation, one in zip(conversations, candidates, strict=True):
        if one.dense is not None:
            best[conversation] = max(one.dense, best.get(conversation, -1.0))
    return [best.get(conversation) for conversation in conversations]


def _words_of_name(name: str | None) -> list[str]:
    return (name or "").lower().split()
