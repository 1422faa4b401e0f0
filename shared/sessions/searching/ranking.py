"""How well what was found answers what was asked: arithmetic over where words stand.

A word counts by how rare it is in the app's sessions, a name of code half as much again. A session counts by its best
passage and a little by its next ones; the later of two alike goes first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.sessions.searching.queries import Posting

_NAME_FACTOR = 1.5
_NEXT_PASSAGES = 2
_NEXT_SHARE = 0.2
_RECENCY = 0.1
_HALF_LIFE_DAYS = 60.0


@dataclass(frozen=True)
class Found:
    """A session or a version in which words stand."""

    session_key: int
    compression_key: int | None
    score: float
    """About 0..1: 1 where a passage holds every word."""
    best: int
    """Key of the passage that says most."""


def weights(counts: Mapping[str, int], names: frozenset[str], passages: int) -> dict[str, float]:
    """Return what each word counts for, given in how many passages it stands."""
    return {
        word: math.log(1 + passages / (1 + count)) * (_NAME_FACTOR if word in names else 1.0)
        for word, count in counts.items()
    }


def found(postings: Mapping[str, Sequence[Posting]], worth: Mapping[str, float]) -> list[Found]:
    """Return what words were found in, unordered."""
    scores: dict[int, float] = defaultdict(float)
    owners: dict[int, tuple[int, int | None]] = {}
    for word, places in postings.items():
        for passage, session_key, compression_key in places:
            scores[passage] += worth[word]
            owners[passage] = (session_key, compression_key)
    groups: dict[tuple[int, int | None], list[tuple[float, int]]] = defaultdict(list)
    for passage, score in scores.items():
        groups[owners[passage]].append((score, -passage))
    most = sum(worth.values()) or 1.0
    return [_found(owner, sorted(group, reverse=True), most) for owner, group in groups.items()]


def recency(last: datetime | None, now: datetime) -> float:
    """Return how recent a session is, 0..1; halved every sixty days."""
    if last is None:
        return 0.0
    days = max(0.0, (now - last).total_seconds()) / 86_400
    return math.pow(0.5, days / _HALF_LIFE_DAYS)


def with_recency(score: float, last: datetime | None, now: datetime) -> float:
    """Return a score with what being recent adds to it, never more than a tenth."""
    return score * (1 + _RECENCY * recency(last, now))


def _found(owner: tuple[int, int | None], group: Sequence[tuple[float, int]], most: float) -> Found:
    nexts = sum(score for score, _ in group[1 : 1 + _NEXT_PASSAGES])
    return Found(*owner, score=(group[0][0] + _NEXT_SHARE * nexts) / most, best=-group[0][1])
