"""Searches an app's sessions and their versions: conditions first, then words, in one short transaction.

A word counts by how rare it is in the app's sessions, a name of code half as much again. A session counts by its best
passage and a little by its next ones; the later of two alike goes first. Source: seed 004, "Memory Search".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath

from sqlalchemy.orm import Session

from shared.search.query import identifiers_of
from shared.search.words import query_words, words_of
from shared.sessions.models import Project, SessionPassage
from shared.sessions.search import queries
from shared.sessions.search.index import numbers_of
from shared.sessions.search.queries import Posting, SessionFacts
from shared.sessions.text import Snippet, snippet_of


class SessionHitKind(StrEnum):
    """Where something may be found."""

    ORIGINAL = "original"
    VERSION = "version"


@dataclass(frozen=True)
class SessionQuery:
    """Every condition that is given must hold; a session must have one of the files and one of the topics."""

    text: str = ""
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    least_weight: int | None = None
    """Hundredths, of a marked part in the session."""
    most_weight: int | None = None
    kinds: frozenset[SessionHitKind] = frozenset(SessionHitKind)
    limit: int = 20
    offset: int = 0

    def is_in_time(self, facts: SessionFacts) -> bool:
        """Whether a session took place, in part at least, within the dates."""
        first, last = facts.recorded.first_timestamp, facts.recorded.last_timestamp
        if self.since is not None and (last is None or last < self.since):
            return False
        return self.until is None or (first is not None and first <= self.until)


def matched_files(wanted: tuple[str, ...], touched: list[str]) -> list[str]:
    """Return which files that were touched are meant by what is wanted: the same path, or the end of one."""
    return [path for path in touched if any(_is_meant(one, path) for one in wanted)]


def matched_topics(wanted: tuple[str, ...], topics: list[str]) -> list[str]:
    """Return which topics are meant by what is wanted."""
    lower = [one.lower() for one in wanted]
    return [topic for topic in topics if any(one in topic.lower() for one in lower if one)]


def _is_meant(wanted: str, path: str) -> bool:
    mine, other = PurePosixPath(wanted).parts, PurePosixPath(path).parts
    short, long = sorted((mine, other), key=len)
    return bool(short) and long[len(long) - len(short) :] == short


_NAME_FACTOR = 1.5
_NEXT_PASSAGES = 2
_NEXT_SHARE = 0.2
_RECENCY = 0.1
_HALF_LIFE_DAYS = 60.0


@dataclass(frozen=True)
class ScoredSession:
    """A session or a version in which words stand."""

    session_key: int
    compression_key: int | None
    score: float
    """About 0..1: 1 where a passage holds every word."""
    best: int
    """Key of the passage that says most."""

    @property
    def kind(self) -> SessionHitKind:
        """Where it was found."""
        return SessionHitKind.ORIGINAL if self.compression_key is None else SessionHitKind.VERSION


def weights(counts: Mapping[str, int], names: frozenset[str], passages: int) -> dict[str, float]:
    """Return what each word counts for, given in how many passages it stands."""
    return {
        word: math.log(1 + passages / (1 + count)) * (_NAME_FACTOR if word in names else 1.0)
        for word, count in counts.items()
    }


def score_sessions(postings: Mapping[str, Sequence[Posting]], worth: Mapping[str, float]) -> list[ScoredSession]:
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
    return [_score_session(owner, sorted(group, reverse=True), most) for owner, group in groups.items()]


def recency(last: datetime | None, now: datetime) -> float:
    """Return how recent a session is, 0..1; halved every sixty days."""
    if last is None:
        return 0.0
    days = max(0.0, (now - last).total_seconds()) / 86_400
    return math.pow(0.5, days / _HALF_LIFE_DAYS)


def with_recency(score: float, last: datetime | None, now: datetime) -> float:
    """Return a score with what being recent adds to it, never more than a tenth."""
    return score * (1 + _RECENCY * recency(last, now))


def _score_session(owner: tuple[int, int | None], group: Sequence[tuple[float, int]], most: float) -> ScoredSession:
    nexts = sum(score for score, _ in group[1 : 1 + _NEXT_PASSAGES])
    return ScoredSession(*owner, score=(group[0][0] + _NEXT_SHARE * nexts) / most, best=-group[0][1])


_MOST_PLACES = 20_000
"""A word in more passages says too little to be worth reading them."""
_MOST_WORDS = 24


@dataclass(frozen=True)
class SessionHit:
    """A session, or a version of one, that was found."""

    facts: SessionFacts
    number: int | None
    """Of the version; None for the original."""
    score: float
    snippet: Snippet | None = None
    passage: SessionPassage | None = None
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


def find_sessions(
    session: Session, app_id: str, project: Project | None, wanted: SessionQuery, now: datetime
) -> tuple[list[SessionHit], bool]:
    """Return what was found, the best first, and whether there is more."""
    meeting = _meeting(session, app_id, project, wanted)
    start, end = wanted.offset, wanted.offset + wanted.limit
    if not wanted.text.strip():
        rows = [hit.facts.recorded for hit in meeting.values()]
        ordered = sorted(
            rows, key=lambda one: (one.last_timestamp is not None, one.last_timestamp, one.key), reverse=True
        )
        return [meeting[one.key] for one in ordered[start:end]], len(ordered) > end
    words = query_words(wanted.text)[:_MOST_WORDS]
    scored = [
        (with_recency(one.score, meeting[one.session_key].facts.recorded.last_timestamp, now), one)
        for one in _search_words(session, app_id, wanted.text, words)
        if one.session_key in meeting and one.kind in wanted.kinds
    ]
    scored.sort(key=lambda pair: (-pair[0], -pair[1].session_key, pair[1].compression_key or 0))
    return _hits(session, scored[start:end], meeting, words), len(scored) > end


def scores_of(session: Session, app_id: str, text: str) -> dict[int, float]:
    """Return by session how well an app's sessions answer a text, about 0..1."""
    best: dict[int, float] = {}
    for one in _search_words(session, app_id, text, query_words(text)[:_MOST_WORDS]):
        best[one.session_key] = max(one.score, best.get(one.session_key, 0.0))
    return best


def _meeting(session: Session, app_id: str, project: Project | None, wanted: SessionQuery) -> dict[int, SessionHit]:
    """Return the sessions that meet every condition, by key."""
    marked: set[int] | None = None
    if wanted.least_weight is not None or wanted.most_weight is not None:
        least = 0 if wanted.least_weight is None else wanted.least_weight
        most = 100 if wanted.most_weight is None else wanted.most_weight
        marked = queries.marked_between(session, app_id, least, most)
    touched = queries.touched(session, app_id, wanted.files)
    found = {}
    for facts in queries.facts_of(session, app_id, project):
        key = facts.recorded.key
        files = tuple(matched_files(wanted.files, touched.get(key, [])))
        topics = tuple(matched_topics(wanted.topics, facts.topics))
        is_about = bool(files or not wanted.files) and bool(topics or not wanted.topics)
        if is_about and wanted.is_in_time(facts) and (marked is None or key in marked):
            found[key] = SessionHit(facts, None, 0.0, files=files, topics=topics)
    return found


def _search_words(session: Session, app_id: str, text: str, words: Sequence[str]) -> list[ScoredSession]:
    """Return what words are found in; the too common ones are left out unless there are no others."""
    read = {
        word: queries.postings(session, app_id, number, _MOST_PLACES + 1)
        for word, number in zip(words, numbers_of(app_id, words), strict=True)
    }
    rare = {word: found for word, found in read.items() if len(found) <= _MOST_PLACES}
    postings = rare if any(rare.values()) else read
    names = frozenset(words_of(" ".join(identifiers_of(text))))
    counts = {word: len(found) for word, found in postings.items()}
    return score_sessions(postings, weights(counts, names, queries.count_passages(session, app_id)))


def _hits(
    session: Session,
    page: Sequence[tuple[float, ScoredSession]],
    meeting: Mapping[int, SessionHit],
    words: Sequence[str],
) -> list[SessionHit]:
    passages = queries.passages(session, [one.best for _, one in page])
    numbers = queries.version_numbers(session, [one.compression_key for _, one in page if one.compression_key])
    return [
        replace(
            meeting[one.session_key],
            number=None if one.compression_key is None else numbers[one.compression_key],
            score=score,
            snippet=snippet_of(passages[one.best].text, words),
            passage=passages[one.best],
        )
        for score, one in page
        if one.best in passages and (one.compression_key is None or one.compression_key in numbers)
    ]
