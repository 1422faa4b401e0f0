"""Searches an app's sessions and their versions: conditions first, then words, in one short transaction.

Looking marks nothing as used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from shared.search.query import identifiers_of
from shared.search.words import query_words, words_of
from shared.sessions.models import Project
from shared.sessions.searching import queries
from shared.sessions.searching.models import SessionPassage
from shared.sessions.searching.queries import Facts, Posting
from shared.sessions.searching.ranking import Found, found, weights, with_recency
from shared.sessions.searching.snippets import Snippet, snippet_of
from shared.sessions.searching.wanted import Kind, Wanted, matched_files, matched_topics
from shared.sessions.searching.words import numbers_of

_MOST_PLACES = 20_000
"""A word in more passages says too little to be worth reading them."""
_MOST_WORDS = 24


@dataclass(frozen=True)
class Hit:
    """A session, or a version of one, that was found."""

    facts: Facts
    number: int | None
    """Of the version; None for the original."""
    score: float
    snippet: Snippet | None = None
    passage: SessionPassage | None = None
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Matches:
    """Which of its conditions' files and topics a session has."""

    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass
class _Sought:
    """The sessions that meet every condition, by key."""

    facts: dict[int, Facts] = field(default_factory=dict)
    matches: dict[int, _Matches] = field(default_factory=dict)


def find(
    session: Session, app_id: str, project: Project | None, wanted: Wanted, now: datetime
) -> tuple[list[Hit], bool]:
    """Return what was found, the best first, and whether there is more."""
    sought = _meeting(session, app_id, project, wanted)
    if not wanted.text.strip():
        return _by_date(sought, wanted)
    words = query_words(wanted.text)[:_MOST_WORDS]
    scored = _scored(session, app_id, wanted, words, sought, now)
    page = scored[wanted.offset : wanted.offset + wanted.limit]
    return _hits(session, page, sought, words), len(scored) > wanted.offset + wanted.limit


def scores_of(session: Session, app_id: str, text: str) -> dict[int, float]:
    """Return by session how well an app's sessions answer a text, about 0..1."""
    best: dict[int, float] = {}
    for one in _found(session, app_id, text, query_words(text)[:_MOST_WORDS]):
        best[one.session_key] = max(one.score, best.get(one.session_key, 0.0))
    return best


def _meeting(session: Session, app_id: str, project: Project | None, wanted: Wanted) -> _Sought:
    marked = _marked(session, app_id, wanted)
    touched = queries.touched(session, app_id, wanted.files)
    sought = _Sought()
    for facts in queries.facts_of(session, app_id, project):
        files = tuple(matched_files(wanted.files, touched.get(facts.key, [])))
        topics = tuple(matched_topics(wanted.topics, facts.topics))
        is_about = bool(files or not wanted.files) and bool(topics or not wanted.topics)
        if is_about and wanted.is_in_time(facts) and (marked is None or facts.key in marked):
            sought.facts[facts.key] = facts
            sought.matches[facts.key] = _Matches(files, topics)
    return sought


def _marked(session: Session, app_id: str, wanted: Wanted) -> set[int] | None:
    if not wanted.asks_for_weight:
        return None
    least = 0 if wanted.least_weight is None else wanted.least_weight
    most = 100 if wanted.most_weight is None else wanted.most_weight
    return queries.marked_between(session, app_id, least, most)


def _by_date(sought: _Sought, wanted: Wanted) -> tuple[list[Hit], bool]:
    """Return the sessions themselves, the latest first."""
    ordered = sorted(sought.facts.values(), key=lambda one: (one.last is not None, one.last, one.key), reverse=True)
    page = ordered[wanted.offset : wanted.offset + wanted.limit]
    hits = [Hit(one, None, 0.0, files=sought.matches[one.key].files, topics=sought.matches[one.key].topics)
            for one in page]  # fmt: skip
    return hits, len(ordered) > wanted.offset + wanted.limit


def _scored(
    session: Session, app_id: str, wanted: Wanted, words: Sequence[str], sought: _Sought, now: datetime
) -> list[tuple[float, Found]]:
    scored = [
        (with_recency(one.score, sought.facts[one.session_key].last, now), one)
        for one in _found(session, app_id, wanted.text, words)
        if one.session_key in sought.facts and _kind(one) in wanted.kinds
    ]
    return sorted(scored, key=lambda pair: (-pair[0], -pair[1].session_key, pair[1].compression_key or 0))


def _found(session: Session, app_id: str, text: str, words: Sequence[str]) -> list[Found]:
    places = _places(session, app_id, words)
    names = frozenset(words_of(" ".join(identifiers_of(text))))
    counts = {word: len(found) for word, found in places.items()}
    return found(places, weights(counts, names, queries.count_passages(session, app_id)))


def _places(session: Session, app_id: str, words: Sequence[str]) -> dict[str, Sequence[Posting]]:
    """Return where words stand, the too common ones left out unless there are no others."""
    read = {
        word: queries.postings(session, app_id, number, _MOST_PLACES + 1)
        for word, number in zip(words, numbers_of(app_id, words), strict=True)
    }
    rare = {word: places for word, places in read.items() if len(places) <= _MOST_PLACES}
    return rare if any(rare.values()) else read


def _kind(one: Found) -> Kind:
    return Kind.ORIGINAL if one.compression_key is None else Kind.VERSION


def _hits(session: Session, page: Sequence[tuple[float, Found]], sought: _Sought, words: Sequence[str]) -> list[Hit]:
    passages = queries.passages(session, [one.best for _, one in page])
    numbers = queries.version_numbers(session, [one.compression_key for _, one in page if one.compression_key])
    return [
        Hit(
            facts=sought.facts[one.session_key],
            number=None if one.compression_key is None else numbers[one.compression_key],
            score=score,
            snippet=snippet_of(passages[one.best].text, words),
            passage=passages[one.best],
            files=sought.matches[one.session_key].files,
            topics=sought.matches[one.session_key].topics,
        )
        for score, one in page
        if one.best in passages and (one.compression_key is None or one.compression_key in numbers)
    ]
