"""What speaks for a candidate, each signal 0..1 over the candidates of one question.

What a signal is worth is left to the ranking. What stands around a candidate is known as far as it is a candidate too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shared.indexing.identifiers import identifiers_of
from shared.indexing.places import LAST_POSITION, conversation_of, position_of
from shared.indexing.words import words_of
from shared.retrieval.candidates import Candidate
from shared.retrieval.covering import Covered, Likeness, bm25, covered, worths
from shared.retrieval.dates import fit
from shared.retrieval.lexical import REACH
from shared.retrieval.questions import Question, without_names

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
    question: Question, candidates: Sequence[Candidate], worth: Mapping[str, float], likeness: Likeness | None
) -> list[dict[str, float]]:
    """Measure all signals of all candidates."""
    dense = scaled([one.dense for one in candidates])
    around = scaled([one.around for one in candidates])
    conversation = scaled(_best_of_conversation(candidates))
    window = _shares([one.window or 0.0 for one in candidates])
    covering = _covering(question, candidates, worth, likeness)
    coverage, nearby = covering.shares(), covering.shares_nearby(_nearby(candidates))
    asked_before = _asked_before(candidates, coverage)
    by_named = _by_named(question, candidates)
    return [
        {
            "dense": dense[at],
            "around": around[at],
            "conversation": conversation[at],
            "window": window[at],
            "coverage": coverage[at],
            "nearby": nearby[at],
            "answers": asked_before[at],
            "author": by_named[at],
            "date": fit(one.created_at, question.stretches) if question.stretches else 0.0,
            "when": float(question.asks_when and _TIME_WORDS.search(one.content) is not None),
            "identifier": float(bool(question.identifiers and question.identifiers & identifiers_of(one.content))),
            "asking": float(_is_question(one)),
        }
        for at, one in enumerate(candidates)
    ]


def keywords(question: Question, candidates: Sequence[Candidate], worth: Mapping[str, float]) -> list[float | None]:
    """Return BM25 of the candidates' texts; None where words were not searched."""
    texts = [words_of(one.content) for one in candidates]
    scores = bm25(question.words, texts, worths(question.words, texts, worth))
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


def _shares(values: Sequence[float]) -> list[float]:
    """Return values as shares of the highest."""
    most = max(values, default=0.0)
    return [one / most if most > 0 else 0.0 for one in values]


def _best_of_conversation(candidates: Sequence[Candidate]) -> list[float | None]:
    best: dict[int, float] = {}
    for one in candidates:
        if one.dense is not None:
            best[conversation_of(one.place)] = max(one.dense, best.get(conversation_of(one.place), -1.0))
    return [best.get(conversation_of(one.place)) for one in candidates]


def _covering(
    question: Question, candidates: Sequence[Candidate], worth: Mapping[str, float], likeness: Likeness | None
) -> Covered:
    text = without_names(question.text, {word for one in candidates for word in _name_of(one)})
    texts = [words_of(one.content) for one in candidates] if any(word not in worth for word in question.words) else []
    return covered(text, [one.content for one in candidates], worths(question.words, texts, worth), likeness)


def _nearby(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return for each candidate those within reach of it, and itself."""
    standing: dict[int, list[int]] = {}
    for at, one in enumerate(candidates):
        standing.setdefault(one.place, []).append(at)
    return [[at for place in _within_reach(one.place) for at in standing.get(place, ())] for one in candidates]


def _within_reach(place: int) -> range:
    position = position_of(place)
    return range(place - min(REACH, position), place + min(REACH, LAST_POSITION - position) + 1)


def _asked_before(candidates: Sequence[Candidate], coverage: Sequence[float]) -> list[float]:
    """Return how much of the question the turn before asks, which is then answered here."""
    asked = {one.place: share for one, share in zip(candidates, coverage, strict=True) if _is_question(one)}
    return [asked.get(one.place - 1, 0.0) if position_of(one.place) else 0.0 for one in candidates]


def _is_question(candidate: Candidate) -> bool:
    return candidate.content.rstrip().endswith("?")


def _by_named(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    """Return whether the person the question names speaks, and of themself."""
    named = {one.name for one in candidates if any(word in question.names for word in _name_of(one))}
    return [_of_themself(one) if one.name in named else 0.0 for one in candidates]


def _of_themself(candidate: Candidate) -> float:
    return 1.0 if _FIRST_PERSON.search(candidate.content) else _OF_OTHERS


def _name_of(candidate: Candidate) -> list[str]:
    return (candidate.name or "").lower().split()
