"""Searches an app's sessions and their versions, and suggests which would help in a working folder and a budget.

Conditions go first, then words, in one short transaction. A word counts by how rare it is in the app's sessions, a name
of code half as much again; a session by its best passage and a little by its next ones. What is suggested counts by the
files it shares, its subject, place, answer and recency, each as far as asked for. Source: seed 004, "Memory Search",
"Suggest".
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import ConfigDict, Field, StrictInt, model_validator
from pydantic.alias_generators import to_camel
from sqlalchemy.orm import Session

from shared.base.closed import Closed
from shared.contracts.values import Moment, Words
from shared.search.query import identifiers_of
from shared.search.words import query_words, words_of
from shared.sessions.compose.compositions import MAX_BUDGET, MIN_BUDGET
from shared.sessions.compose.plan import ComponentForm, VersionCriteria, select_best
from shared.sessions.compress.settings import MAX_RATIO, MIN_RATIO
from shared.sessions.models import BuildState, Project, RecordedSession, SessionPassage, SessionVersion
from shared.sessions.queries import versions_by_session
from shared.sessions.search import queries
from shared.sessions.search.index import numbers_of
from shared.sessions.search.queries import Posting, SessionFacts
from shared.sessions.text import Snippet, snippet_of
from shared.text.sentences import mask_secrets

SearchedPath = Annotated[Words, Field(min_length=1, max_length=500)]
SearchedTopic = Annotated[Words, Field(min_length=1, max_length=100)]
SearchedText = Annotated[Words, Field(min_length=1, max_length=4_000)]
_Weight = Annotated[float, Field(ge=0, le=1)]


class SessionHitKind(StrEnum):
    """Where something may be found."""

    ORIGINAL = "original"
    VERSION = "version"


class _QueryPart(Closed):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class DateRange(_QueryPart):
    """When sessions took place, in part at least."""

    start: Moment | None = None
    end: Moment | None = None

    def overlaps(self, recorded: RecordedSession) -> bool:
        """Whether a session took place, in part at least, within the dates."""
        first, last = recorded.first_timestamp, recorded.last_timestamp
        if self.start is not None and (last is None or last < self.start):
            return False
        return self.end is None or (first is not None and first <= self.end)


class WeightRange(_QueryPart):
    """Weights in force, of which a session has at least one."""

    min: _Weight = 0.0
    max: _Weight = 1.0


class SessionQuery(_QueryPart):
    """Every condition that is given must hold; a session must have one of the files and one of the topics."""

    text: SearchedText | None = Field(None, examples=["retry of the uploader"])
    files: Annotated[list[SearchedPath], Field(min_length=1, max_length=50)] | None = Field(
        None, description="Files it touched, whole paths or the ends of such."
    )
    topics: Annotated[list[SearchedTopic], Field(min_length=1, max_length=50)] | None = None
    date_range: DateRange | None = None
    keepit_weight: WeightRange | None = None
    kinds: Annotated[list[SessionHitKind], Field(min_length=1, max_length=2)] | None = Field(
        None,
        description="Originals, versions, or both, each found place by itself; unless given, a session is found once, "
        "where most of the words stand. With a text.",
    )
    limit: Annotated[StrictInt, Field(ge=1, le=200)] = 20

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        conditions = (self.text, self.files, self.topics, self.date_range, self.keepit_weight)
        if all(one is None for one in conditions):
            raise ValueError("give at least one of text, files, topics, dateRange, keepitWeight")
        return self


def matched_files(paths: Sequence[str], touched: Sequence[str]) -> list[str]:
    """Return which files that were touched are meant by what is wanted: the same path, or the end of one."""
    return [path for path in touched if any(_is_meant(one, path) for one in paths)]


def matched_topics(requested: Sequence[str], topics: Sequence[str]) -> list[str]:
    lower = [one.lower() for one in requested]
    return [topic for topic in topics if any(one in topic.lower() for one in lower if one)]


def _is_meant(named: str, path: str) -> bool:
    mine, other = PurePosixPath(named).parts, PurePosixPath(path).parts
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
        # Negated, so that of equals the first passage comes first.
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
    session: Session, app_id: str, project: Project | None, query: SessionQuery, now: datetime, offset: int = 0
) -> tuple[list[SessionHit], bool]:
    """Return what was found, the best first, and whether there is more."""
    meeting = _meeting(session, app_id, project, query)
    start, end = offset, offset + query.limit
    text = query.text or ""
    if not text.strip():
        rows = [hit.facts.recorded for hit in meeting.values()]
        # Those without a time last; two Nones are equal, so they are never compared by order.
        ordered = sorted(
            rows, key=lambda one: (one.last_timestamp is not None, one.last_timestamp, one.key), reverse=True
        )
        return [meeting[one.key] for one in ordered[start:end]], len(ordered) > end
    words = query_words(text)[:_MOST_WORDS]
    scored = [
        (with_recency(one.score, meeting[one.session_key].facts.recorded.last_timestamp, now), one)
        for one in _search_words(session, app_id, text, words)
        if one.session_key in meeting and (query.kinds is None or one.kind in query.kinds)
    ]
    scored.sort(key=lambda pair: (-pair[0], -pair[1].session_key, pair[1].compression_key or 0))
    if query.kinds is None:
        # A session and its versions say the same; unless they are asked for, the place that says most is enough.
        best: dict[int, tuple[float, ScoredSession]] = {}
        for pair in scored:
            best.setdefault(pair[1].session_key, pair)
        scored = list(best.values())
    return _hits(session, scored[start:end], meeting, words), len(scored) > end


def scores_of(session: Session, app_id: str, text: str) -> dict[int, float]:
    """Return by session how well an app's sessions answer a text, about 0..1."""
    best: dict[int, float] = {}
    for one in _search_words(session, app_id, text, query_words(text)[:_MOST_WORDS]):
        best[one.session_key] = max(one.score, best.get(one.session_key, 0.0))
    return best


def _meeting(session: Session, app_id: str, project: Project | None, query: SessionQuery) -> dict[int, SessionHit]:
    """Return the sessions that meet every condition, by key."""
    marked: set[int] | None = None
    if (weight := query.keepit_weight) is not None:
        marked = queries.marked_between(session, app_id, round(weight.min * 100), round(weight.max * 100))
    files_wanted, topics_wanted, dates = query.files or (), query.topics or (), query.date_range or DateRange()
    touched = queries.touched(session, app_id, files_wanted)
    found = {}
    for facts in queries.facts_of(session, app_id, project):
        key = facts.recorded.key
        files = tuple(matched_files(files_wanted, touched.get(key, [])))
        topics = tuple(matched_topics(topics_wanted, facts.topics))
        is_about = bool(files or not files_wanted) and bool(topics or not topics_wanted)
        if is_about and dates.overlaps(facts.recorded) and (marked is None or key in marked):
            found[key] = SessionHit(facts, None, 0.0, files=files, topics=topics)
    return found


def _search_words(session: Session, app_id: str, text: str, words: Sequence[str]) -> list[ScoredSession]:
    """Return what words are found in; the too common ones are left out unless there are no others."""
    read = {
        # One more than may be tells that there are too many.
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
    # On PostgreSQL each statement sees its own moment: what is gone since the words were looked up is passed over.
    passages = queries.passages(session, [one.best for _, one in page])
    numbers = queries.version_numbers(session, [one.compression_key for _, one in page if one.compression_key])
    return [
        replace(
            meeting[one.session_key],
            number=None if one.compression_key is None else numbers[one.compression_key],
            score=score,
            # What was indexed when secrets were not masked yet may hold some.
            snippet=snippet_of(mask_secrets(passages[one.best].text)[0], words),
            passage=passages[one.best],
        )
        for score, one in page
        if one.best in passages and (one.compression_key is None or one.compression_key in numbers)
    ]


MOST = 10
LEAST_TOKENS = 200
"""With less, a session is not worth mentioning."""
_LEAST_RELEVANCE = 0.1
_WEIGHTS = {"files": 0.4, "topics": 0.25, "text": 0.3, "folder": 0.15}
_RECENT = 0.1


class WorkSituation(Closed):
    """Where somebody works, and what on."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)
    working_dir: SearchedPath | None = None
    files: Annotated[list[SearchedPath], Field(max_length=200)] = Field(default_factory=list)
    topics: Annotated[list[SearchedTopic], Field(max_length=50)] = Field(default_factory=list)
    text: SearchedText | None = None
    token_budget: Annotated[StrictInt, Field(ge=MIN_BUDGET, le=MAX_BUDGET)] = 16_000

    @property
    def question(self) -> str:
        return (self.text or "").strip()


@dataclass(frozen=True)
class PastSession:
    """A session that may help."""

    facts: SessionFacts
    files: tuple[str, ...]
    versions: tuple[SessionVersion, ...]
    answers: float = 0.0
    """How well it answers the text, about 0..1."""


@dataclass(frozen=True)
class SessionSuggestion:
    """A session, in which form, and what it takes."""

    past: PastSession
    relevance: float
    files: tuple[str, ...]
    topics: tuple[str, ...]
    parts: Mapping[str, float]
    choice: SessionVersion | ComponentForm
    tokens: int

    @property
    def ratio(self) -> int | None:
        """The ratio of the version that would have to be made, if any."""
        if self.choice is not ComponentForm.COMPRESS:
            return None
        needed = -(-self.past.facts.recorded.original_tokens // self.tokens)
        return min(MAX_RATIO, max(MIN_RATIO, needed))


def suggest(situation: WorkSituation, pasts: Sequence[PastSession], now: datetime) -> list[SessionSuggestion]:
    """Return what would help, the most relevant first; together never more than the budget."""
    rated = [(_parts(situation, past, now), past) for past in pasts if past.facts.recorded.original_tokens > 0]
    ordered = sorted(rated, key=lambda pair: (-sum(pair[0].values()), -pair[1].facts.recorded.key))
    left, chosen = situation.token_budget, list[SessionSuggestion]()
    for parts, past in ordered:
        if left < LEAST_TOKENS or len(chosen) == MOST or sum(parts.values()) < _LEAST_RELEVANCE:
            break
        one = _chosen(situation, past, parts, left)
        if one is not None:
            chosen.append(one)
            left -= one.tokens
    return chosen


def _parts(situation: WorkSituation, past: PastSession, now: datetime) -> dict[str, float]:
    """Return each part of a session's relevance, weighed; only what was asked for counts."""
    parts = {}
    if situation.files:
        parts["files"] = sum(bool(matched_files((one,), past.files)) for one in situation.files) / len(situation.files)
    if situation.topics:
        met = sum(bool(matched_topics((one,), past.facts.topics)) for one in situation.topics)
        parts["topics"] = met / len(situation.topics)
    if situation.question:
        parts["text"] = min(1.0, past.answers)
    if situation.working_dir:
        parts["folder"] = nearness(situation.working_dir, past.facts.recorded.details.get("cwd"))
    total = sum(_WEIGHTS[name] for name in parts)
    weighed = {name: _WEIGHTS[name] * value / total * (1 - _RECENT) for name, value in parts.items()}
    return weighed | {"recency": recency(past.facts.recalled, now) * (_RECENT if parts else 1.0)}


def nearness(folder: str, other: object) -> float:
    """Return how near two folders are: 1 for the same, less the more steps lie between one and the other above it."""
    if not isinstance(other, str):
        return 0.0
    mine, theirs = PurePosixPath(folder).parts, PurePosixPath(other).parts
    short, long = sorted((mine, theirs), key=len)
    # A root alone is above everything, and says nothing.
    if len(short) < 2 or long[: len(short)] != short:
        return 0.0
    return 1 / (1 + len(long) - len(short))


def _chosen(
    situation: WorkSituation, past: PastSession, parts: Mapping[str, float], left: int
) -> SessionSuggestion | None:
    most = max(left * 2 // 3, min(left, 2 * LEAST_TOKENS))  # Something is left for the next one.
    choice = select_best(past.facts.recorded, past.versions, VersionCriteria(most, preserve_keepits=True))
    if isinstance(choice, SessionVersion):
        tokens = choice.output_tokens if choice.output_tokens <= most else None
    elif choice is ComponentForm.ORIGINAL:
        tokens = past.facts.recorded.original_tokens
    else:
        tokens = most if -(-past.facts.recorded.original_tokens // most) <= MAX_RATIO else None
    if tokens is None:
        return None
    return SessionSuggestion(
        past=past,
        relevance=sum(parts.values()),
        files=tuple(matched_files(situation.files, past.files)),
        topics=tuple(matched_topics(situation.topics, past.facts.topics)),
        parts=parts,
        choice=choice,
        tokens=tokens,
    )


def past_sessions(session: Session, app_id: str, project: Project, situation: WorkSituation) -> list[PastSession]:
    """Return a project's sessions as suggestions see them; of their files those called like one that is asked for."""
    facts = queries.facts_of(session, app_id, project)
    touched = queries.touched(session, app_id, situation.files)
    answers = scores_of(session, app_id, situation.question) if situation.question else {}
    versions = versions_by_session(session, [one.recorded.key for one in facts], BuildState.READY)
    return [
        PastSession(one, tuple(touched.get(key, ())), tuple(versions[key]), answers.get(key, 0.0))
        for one, key in ((one, one.recorded.key) for one in facts)
    ]
