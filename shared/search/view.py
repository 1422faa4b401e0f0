"""One search, what the indexes know of an app's messages within a scope of it, and the vector of its question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.base.settings import Tuning
from shared.search.lexical import REACH, Posting, WordLikeness, WordTable, word_table
from shared.search.models import LAST_POSITION, POSITION_BITS, HitKind, RetrievalPurpose, conversation_of
from shared.search.query import QueryVector, SearchQuestion
from shared.search.ranking import SearchHit
from shared.search.search_queries import MessageRow, SearchedApp
from shared.search.spoken import SpokenWords
from shared.search.statistics import TOP
from shared.search.vectors import FARTHEST, Distances, VectorMatrix, exact, nearest

Places = NDArray[np.int64]


@dataclass(frozen=True)
class MessageFilters:
    """What results must be; an empty set allows everything, and a named value that matches nothing, nothing."""

    roles: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Speakers, as the app named them, whatever the case."""
    since: datetime | None = None
    """The earliest time a result was said at."""
    until: datetime | None = None
    """The time all results were said before."""
    conversation_ids: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    """Tags of the conversation, all of which it must have."""
    kinds: frozenset[HitKind] = frozenset()

    @property
    def looks_at_messages(self) -> bool:
        """Whether a message has to be read to know if it passes."""
        return any((self.roles, self.names, self.since, self.until, self.tags, self.kinds))

    def passes(self, row: MessageRow, tags: Mapping[str, frozenset[str]]) -> bool:
        """Whether a message may be a result; ``tags`` are those of each conversation, by its id."""
        return (
            (not self.roles or row.role in self.roles)
            and (not self.names or (row.name or "").casefold() in {name.casefold() for name in self.names})
            and (self.since is None or row.created_at >= self.since)
            and (self.until is None or row.created_at < self.until)
            and (not self.tags or self.tags <= tags.get(row.conversation_id, frozenset()))
        )

    def allows(self, kind: HitKind) -> bool:
        return not self.kinds or kind in self.kinds


@dataclass(frozen=True)
class SearchRequest:
    """What is searched for."""

    text: str
    limit: int = 10
    conversation_id: str | None = None
    """Looked in first."""
    exclude_conversation: bool = False
    """Whether that conversation is left out instead, because all of it is shown."""
    user_id: str | None = None
    """Whose conversations are searched, where none is named; that one says itself whose it is."""
    all_users: bool = False
    """Whether, where neither is named, all of the app's are searched, and not only those that name nobody."""
    filters: MessageFilters = field(default_factory=MessageFilters)
    purpose: RetrievalPurpose = RetrievalPurpose.SEARCH


@dataclass(frozen=True)
class SearchScope:
    """A part of one app's places; ``conversations`` ascend."""

    within: int | None = None
    """Only this conversation."""
    beyond: int | None = None
    """Not this conversation."""
    conversations: Places | None = None
    """Only these conversations; None for all of the app's."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing of the app is left out."""
        return self.within is None and self.beyond is None and self.conversations is None

    def holds(self, doc_ids: Places) -> NDArray[np.bool_]:
        """Return for each doc id whether it lies within."""
        inside = np.ones(len(doc_ids), np.bool_)
        if self.is_everything:
            return inside
        conversations = doc_ids >> POSITION_BITS
        if self.within is not None:
            inside &= conversations == self.within
        if self.beyond is not None:
            inside &= conversations != self.beyond
        if self.conversations is not None:
            inside &= _among(conversations, self.conversations)
        return inside

    def rows_of(self, doc_ids: Places) -> NDArray[np.intp] | None:
        """Return where in ascending doc ids those stand that lie within; None for all of them."""
        if self.is_everything:
            return None
        wanted = self.conversations if self.within is None else np.array([self.within])
        if wanted is None:
            return np.flatnonzero(self.holds(doc_ids))
        # Looked for by conversation: an app has far fewer of them, and most scopes have few.
        firsts = np.searchsorted(doc_ids, wanted << POSITION_BITS)
        lengths = np.searchsorted(doc_ids, wanted << POSITION_BITS | LAST_POSITION, side="right") - firsts
        rows = np.repeat(firsts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        return rows[self.holds(doc_ids[rows])]


def _among(values: Places, ascending: Places) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    found: NDArray[np.bool_] = ascending[np.searchsorted(ascending, values).clip(max=len(ascending) - 1)] == values
    return found


Vector = NDArray[np.float32]
_FEW = 4
Unsure = Sequence[float | None]


@dataclass(eq=False)
class Search:
    """One search from beginning to end: what is asked for and where, what the indexes brought, what was found."""

    app_id: str
    request: SearchRequest
    question: SearchQuestion
    tuning: Tuning
    app: SearchedApp
    messages: int
    """How many the app has."""
    user_id: str | None
    """Whose conversations are searched, as far as a user was named, by the conversation or beside it."""
    conversation_key: int | None
    is_alone: bool
    """Whether nothing of other conversations may be recalled in that one."""
    conversations: Places | None
    """Keys of those that may be looked in, ascending; None for all of the app's."""
    likeness: WordLikeness | None = None
    """Which words mean nearly the same; None where that is not known."""
    spoken: SpokenWords = field(default_factory=SpokenWords)
    """Reads the messages of this search."""
    postings: Sequence[Posting] = ()
    """Of each looked-for word; none where words are not searched."""
    worth: Mapping[str, float] = field(default_factory=dict)
    """What each word of the question is worth in the app, whether it is looked for or not; see ``lexical.rarity``."""
    matrix: VectorMatrix | None = None
    query: QueryVector | None = None
    """None where vectors are not searched."""
    degraded: tuple[str, ...] = ()
    """Parts that had to be done without."""
    hits: tuple[SearchHit, ...] = ()
    """What was found, best first."""
    widened: bool = False
    """Whether it went beyond the conversation that was named."""
    durations: Mapping[str, float] = field(default_factory=dict)
    """By stage, in milliseconds."""

    @property
    def vector(self) -> Vector | None:
        """Of the question; None where vectors are not searched."""
        return None if self.query is None else self.query.vector

    @property
    def top_similarities(self) -> list[float]:
        """Cosines of the results most like the question, the best first."""
        known = (hit.ranked.candidate.dense for hit in self.hits)
        return sorted((one for one in known if one is not None), reverse=True)[:TOP]

    @property
    def sources(self) -> dict[str, int]:
        """How many results each way of finding brought."""
        dense = [conversation_of(hit.doc_id) == self.conversation_key for hit in self.hits if hit.by_vector]
        return {
            "conversationDense": sum(dense),
            "appDense": len(dense) - sum(dense),
            "words": sum(hit.by_words for hit in self.hits),
            "summaries": 0,
            "profile": 0,
        }


class ScopedView:
    """The indexes as seen within a scope, for one search."""

    def __init__(self, session: Session, search: Search, scope: SearchScope) -> None:
        self._session = session
        self._search = search
        self._scope = scope
        self._cosines: dict[tuple[int, int], float] = {}

    @property
    def worth(self) -> Mapping[str, float]:
        return self._search.worth

    @cached_property
    def table(self) -> WordTable:
        """Which words stand where."""
        within = [
            Posting(one.word, None if one.doc_ids is None else one.doc_ids[self._scope.holds(one.doc_ids)])
            for one in self._search.postings
        ]
        return word_table(within, self._search.messages)

    @cached_property
    def distances(self) -> Distances | None:
        """In how many signs each row differs, ``FARTHEST`` outside the scope; None where vectors are not searched."""
        matrix, vector = self._search.matrix, self._search.vector
        if matrix is None or vector is None or not len(matrix.doc_ids):
            return None
        rows = self._rows
        if rows is None:
            return matrix.distances(vector)
        distances = np.full(len(matrix.doc_ids), FARTHEST, np.uint16)
        # To pick rows out takes longer than to compare them, unless they are few.
        is_few = _FEW * len(rows) < len(distances)
        distances[rows] = matrix.distances(vector, rows) if is_few else matrix.distances(vector)[rows]
        return distances

    @cached_property
    def _rows(self) -> NDArray[np.intp] | None:
        """Rows within the scope; None for all of them."""
        return None if self._search.matrix is None else self._scope.rows_of(self._search.matrix.doc_ids)

    def best(self, count: int) -> Places:
        """Return the places that words and vectors bring first; they ascend."""
        found = [self.table.best(count)]
        matrix, distances, rows = self._search.matrix, self.distances, self._rows
        if matrix is not None and distances is not None:
            within = matrix.doc_ids if rows is None else matrix.doc_ids[rows]
            if len(within):
                found.append(within[nearest(distances if rows is None else distances[rows], count)])
        doc_ids = np.unique(np.concatenate(found))
        return doc_ids[self._scope.holds(doc_ids)]

    def likeliest(self, doc_ids: Places, count: int) -> Places:
        """Return so many of the places, by what costs next to nothing to reckon; they ascend as before."""
        if len(doc_ids) <= count:
            return doc_ids
        scores = self.table.scores(doc_ids)
        worth = _share(scores.window) + _share(scores.turn) / 2 + _share(self._estimated(doc_ids)[0])
        return doc_ids[np.sort(np.argpartition(-worth, count)[:count])]

    def _estimated(self, doc_ids: Places) -> tuple[Vector, NDArray[np.bool_]]:
        """Return the estimated cosine of each doc id, and whether it has one: a vector, and within the scope."""
        matrix, distances = self._search.matrix, self.distances
        if matrix is None or distances is None:
            return np.zeros(doc_ids.shape, np.float32), np.zeros(doc_ids.shape, np.bool_)
        row = np.minimum(np.searchsorted(matrix.doc_ids, doc_ids), len(matrix.doc_ids) - 1)
        known = (matrix.doc_ids[row] == doc_ids) & (distances[row] != FARTHEST)
        return np.where(known, matrix.likeness(distances[row]), np.float32(0)), known

    def look(self, doc_ids: Places) -> tuple[Unsure, Unsure, Unsure, Unsure]:
        """Return what is known of places, which ascend: as a candidate has it, its dense, around, turn and window."""
        dense, around = self._best_cosines(doc_ids), self._likeness_around(doc_ids)
        if not self._search.postings:
            unknown: Unsure = [None] * len(doc_ids)
            return dense, around, unknown, unknown
        scores = self.table.scores(doc_ids)
        return dense, around, scores.turn.tolist(), scores.window.tolist()

    def cosine(self, doc_id: int, part: int) -> float | None:
        """Return the cosine with the question of a message or a passage that was looked at."""
        return self._cosines.get((doc_id, part))

    def _best_cosines(self, doc_ids: Places) -> list[float | None]:
        """Return the cosine of each message, or of that passage of it which is most like the question."""
        best: list[float | None] = [None] * len(doc_ids)
        matrix, vector = self._search.matrix, self._search.vector
        if matrix is None or vector is None or not len(matrix.doc_ids):
            return best
        first, last = (np.searchsorted(matrix.doc_ids, doc_ids, side=side) for side in ("left", "right"))
        parts = last - first
        known = np.flatnonzero(parts)
        if not len(known):
            return best
        starts = (np.cumsum(parts) - parts)[known]
        rows = np.repeat(first[known] - starts, parts[known]) + np.arange(parts.sum())
        cosines = exact(self._session, matrix, rows, vector)
        keys = zip(matrix.doc_ids[rows].tolist(), matrix.parts[rows].tolist(), strict=True)
        self._cosines = dict(zip(keys, cosines.tolist(), strict=True))
        for at, cosine in zip(known.tolist(), np.maximum.reduceat(cosines, starts).tolist(), strict=True):
            best[at] = max(cosine, -1.0)
        return best

    def _likeness_around(self, doc_ids: Places) -> list[float | None]:
        if self.distances is None:
            return [None] * len(doc_ids)
        estimated, known = self._estimated(doc_ids + np.arange(-REACH, REACH + 1)[:, None])
        total, times = estimated.sum(axis=0, dtype=np.float64), known.sum(axis=0)
        means = (total / np.maximum(times, 1)).tolist()
        return [mean if known else None for mean, known in zip(means, (times > 0).tolist(), strict=True)]


def _share(values: Vector) -> Vector:
    """Return values as shares of the highest."""
    most = values.max(initial=0.0)
    return values / most if most > 0 else values
