"""Whether a known fact is over once something is said, where no phrase tells it: "studio rent is 700" beside "640".

A linear model over a pair of statements: the words of the new one, one and two at a time, with those that the old one
has marked as such, and what the two have in common. ``python -m ops.train_changes`` makes the weights out of labelled
pairs in ops/training. It is sure only where both name the same thing; and no harm is over by it.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shared.text.classifier import StatementType, asks, judge, states_harm
from shared.text.likeness import gist
from shared.text.words import MONTHS, VAGUE, WEEKDAYS, remembered, stem, word_set
from worker.agent.corrections import grammar
from worker.agent.protocol import PresentFact

PLACES = 1 << 15
"""Rows of weights that words and pairs of words are hashed to."""
WEIGHTS = Path(__file__).with_name("replacement.npz")
_OVER = 0.5
"""From these log odds on a fact is over."""
_LEAST = 0.1
"""Of what a fact names, so much is named by what ends it: more of it is not over by the end of one thing in it."""
_CHARACTER = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Of scripts that put no space between words; there each character is one."""
_TOKEN = re.compile(rf"[{_CHARACTER}]|\d+|(?:(?![{_CHARACTER}])[^\W\d_])+(?:'(?:(?![{_CHARACTER}])[^\W\d_])+)?|[^\w\s]")
_OF_TIME = {stem(word.lower()) for word in (*WEEKDAYS, *MONTHS)} | {stem(word) for word in VAGUE}
_NO_KEYS = _OF_TIME | {
    stem(word)
    for word in word_set(
        "now new just year years month months week weeks day days today yesterday tomorrow since first last next again"
        " end time thing things all one two get got going doctor doc dr my our take takes took have has had make"
        " made use uses"
        " used like likes love loves hate hates want wants live lives work works go goes went in at on mg"
    )
}
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’]\w+)?")
_SHARED = "="
_LIKELIEST = 1e-4
"""The classifier is never surer than that."""


@dataclass(frozen=True)
class Reading:
    """What of one statement is held against others."""

    tokens: tuple[str, ...]
    keys: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    is_positive: bool
    is_harm: bool
    own: NDArray[np.float32]
    """Shape (19,): its length, whether it asks, and what the classifier takes it for."""

    @property
    def sorts(self) -> NDArray[np.float32]:
        """Shape (13,): the probability of each sort."""
        return self.own[-len(StatementType) :]


@remembered(most=2048, longest=200)
def reading_of(text: str) -> Reading:
    """Read a statement, a known fact or a new one."""
    tokens = tuple(_TOKEN.findall(text.lower().replace("’", "'")))
    meaning, judged = gist(text), judge(text)
    shares = (min(max(share, _LIKELIEST), 1 - _LIKELIEST) for share in (judged.keep, judged.fact))
    plain = [np.log1p(len(text)), len(tokens) <= 4, asks(text), any(map(str.isdigit, text))]
    return Reading(
        tokens,
        _named_in(text),
        frozenset(meaning.names),
        frozenset(one for one in tokens if one.isdigit()),
        meaning.positive,
        states_harm(text),
        np.array([*plain, *(np.log(one / (1 - one)) for one in shares), *judged.sorts.values()], np.float32),
    )


@remembered(most=8192, longest=200)
def _named_in(text: str) -> frozenset[str]:
    """Return what a text names, see ``keys_of``; of scripts without spaces two characters each too."""
    unspaced = re.findall(rf"[{_CHARACTER}]{{2,}}", text)
    return keys_of(text) | {run[at : at + 2] for run in unspaced for at in range(len(run) - 1)}


def are_of_one_thing(old: str, new: str) -> bool:
    """Whether a new statement names enough of what an old one does to end it."""
    named = _named_in(old)
    both = len(named & _named_in(new))
    return both > 0 and both >= _LEAST * len(named)


def relation_of(old: Reading, new: Reading) -> NDArray[np.float32]:
    """Return what two statements are to each other: shape (m,), in the order of the stored weights."""
    both = len(old.keys & new.keys)
    plain = [
        both,
        both / max(1, len(old.keys)),
        both / max(1, len(new.keys)),
        both > 0,
        not old.names.isdisjoint(new.names),
        not new.names <= old.names,
        not old.numbers.isdisjoint(new.numbers),
        bool(old.numbers) and bool(new.numbers),
        old.is_positive != new.is_positive,
        new.is_positive,
        old.is_harm,
    ]
    sorts = old.sorts * new.sorts
    return np.concatenate([np.array([*plain, sorts.sum()], np.float32), sorts, old.own, new.own])


def cues_of(old: Reading, new: Reading) -> NDArray[np.int64]:
    """Return the rows of the new statement's words, one and two at a time, each once: shape (n,), ascending."""
    said = [_cue(token, old) for token in new.tokens]
    pairs = [f"{one} {other}" for one, other in zip(["^", *said], [*said, "$"], strict=True)]
    if _SHARED in said:
        pairs += [f"{_SHARED}{cue}" for cue in said]
    # Not Python's own hash, which is another one in each process.
    return np.unique([zlib.crc32(cue.encode("utf-8", "replace")) & (PLACES - 1) for cue in (*said, *pairs)])


def _cue(token: str, old: Reading) -> str:
    """Return what a word of a statement says beside the known one: of what both name only that they do."""
    if token.isdigit():
        return "=1" if token in old.numbers else "1"
    return _SHARED if token not in grammar() and stem(token.partition("'")[0]) in old.keys else token


@dataclass(frozen=True)
class _Model:
    cues: NDArray[np.int8]
    """Shape (PLACES,)."""
    scale: float
    """What one step of ``cues`` weighs."""
    relation: NDArray[np.float32]
    bias: float


@cache
def _model() -> _Model:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return _Model(stored["cues"], float(stored["scale"]), stored["relation"], float(stored["bias"]))


def _log_odds(old: Reading, new: Reading) -> float:
    """Return how likely the one statement is no longer true once the other is said."""
    model, rows = _model(), cues_of(old, new)
    said = int(model.cues[rows].sum(dtype=np.int64)) * model.scale / math.sqrt(len(rows))
    return said + float(relation_of(old, new) @ model.relation) + model.bias


def likeliest_over(text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the known fact that is over by what somebody tells, the likeliest; None where none surely is."""
    best, found = _OVER, None
    for fact in known:
        # Most name something else, and are not read any further: the classifier takes longest.
        if are_of_one_thing(fact.statement, text) and not (old := reading_of(fact.statement)).is_harm:
            sure = _log_odds(old, reading_of(text))
            if sure > best:
                best, found = sure, fact.fact_id
    return found


def keys_of(text: str) -> frozenset[str]:
    """Return the stems of what a text names; of no language's words of grammar, of no number and no time."""
    return frozenset(stem(word) for word in words_of(text) if word not in grammar()) - _NO_KEYS


def words_of(text: str) -> Iterator[str]:
    """Return the words of a text in small letters, without what stands behind an apostrophe."""
    return (re.split("['’]", word, maxsplit=1)[0] for word in _WORD.findall(text.casefold()))
