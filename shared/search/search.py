"""A search from beginning to end: words first, then the query's vector, then the ranking of what both brought.

The query is embedded on a thread of its own from the beginning on; behind its words only where an app's messages
name who speaks, because such names are left out of what is embedded and are known only from what the words found. No
transaction waits for an embedding. A part that is missing is named and done without. A conversation that is named is
looked in first, and the rest of the app only where it has too few results; nothing leads out of the app, nor from one
user's conversations into another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.base.clock import Clock
from shared.base.errors import Configuration, OverBudget, Transient
from shared.base.settings import Tuning
from shared.conversations.days import zones_now
from shared.conversations.models import MemoryMode
from shared.conversations.queries import get_conversation, user_asking
from shared.db.base import Transactions
from shared.llm.calls import Meter
from shared.search import search_queries
from shared.search.candidates import find_candidates, merge_hits
from shared.search.index_queries import ServingVectors
from shared.search.lexical import Posting, WordLikeness, rarity
from shared.search.query import QueryEmbedders, QueryVector, read_question, without_names
from shared.search.ranking import SearchHit
from shared.search.search_queries import MessageCounts, SearchedApp
from shared.search.statistics import QueryMeter, Recorder, RetrievalRecord
from shared.search.tuning import overlaid
from shared.search.vectors import VectorMatrices
from shared.search.view import Search, SearchRequest, SearchScope
from shared.search.word_index import postings_in
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

LEAST_RESULTS = 3
"""A conversation with fewer results is not looked in alone. Source: seed 002."""
COMMON = 20_000
"""A word that stands in more messages of an app than this is not looked for, unless no other is left."""
MOST_WORDS = 12
"""Of a long question only so many words are looked for."""
_SAMPLED = 10
_EMBEDDED_AT_ONCE = 40
"""Queries: as many as requests are served at once, so that an app whose embedder hangs holds up no other."""
_NOWHERE = np.zeros(0, np.int64)


class Embedded(NamedTuple):
    """A query's vector; none where it cannot be had, and what is ``missing`` then."""

    query: QueryVector | None
    missing: tuple[str, ...]
    milliseconds: float


class BegunEmbedding(NamedTuple):
    """A text that is being embedded, by the model and for vectors of the size that were its app's."""

    text: str
    model: str
    dimensions: int
    result: Future[Embedded]


@dataclass(eq=False)
class MessageSearch:
    """Searches the messages of one app at a time."""

    transactions: Transactions
    clock: Clock
    embedders: QueryEmbedders
    matrices: VectorMatrices
    recorder: Recorder
    meter: Callable[[str], Meter]
    """Who pays for the calls of a model for an app."""
    defaults: Tuning
    metrics: Metrics
    likeness: WordLikeness | None = None
    """How alike two words are."""
    counts: MessageCounts = field(default_factory=MessageCounts)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_EMBEDDED_AT_ONCE, thread_name_prefix="embedding")
    )

    def begin(self, app_id: str, text: str) -> BegunEmbedding | None:
        """Have a question embedded whose search comes later; None where it is not known yet how.

        That is as the last search in the app did, and what it came to may be found to be of no use.
        """
        kept = self.counts.of(app_id).vectors
        return None if kept is None else self._embedding(app_id, kept, text)

    def find(self, app_id: str, request: SearchRequest, begun: BegunEmbedding | None = None) -> Search:
        """Search, and count how it went; ``begun``: its question's embedding.

        Raises: NotFound for an app that is not there or a conversation it does not have; Conflict where that is
        another user's; Transient.
        """
        timer = StageTimer()
        # Before anything is read: it takes as long as all that is read before it is needed.
        begun = begun or self.begin(app_id, request.text)
        with self.transactions.read() as session:
            with timer.stage("words"):
                search = self._begin(session, app_id, request)
                kept, text = search.app.vectors, search.question.text
                may_name_speaker = search.app.words.has_names and bool(search.question.names)
                if not may_name_speaker and kept is not None:
                    is_as_begun = begun is not None and begun[:3] == (text, kept.model, kept.dimensions)
                    begun = begun if is_as_begun else self._embedding(app_id, kept, text)
                self._look_words_up(search)
                names = _speakers(session, search) if may_name_speaker else ()
            with timer.stage("dense"):
                search.matrix = self.matrices.of(session, app_id, kept)
        if may_name_speaker and kept is not None:
            begun = self._embedding(app_id, kept, without_names(text, names))
        # Waited for with no transaction open, however long it takes.
        search.query, missing = self._embedded(search, begun, timer)
        search.degraded = tuple(dict.fromkeys((*search.degraded, *missing)))
        # Messages are read anew, so what was erased since its places were looked up is no result.
        with timer.stage("rank"), self.transactions.read() as session:
            search.hits, search.widened = _hits(session, search)
        search.durations = timer.stop()
        self.metrics.searches.labels(request.purpose, "true" if search.hits else "false").inc()
        for part in search.degraded:
            self.metrics.searches_degraded.labels(part).inc()
        for stage, milliseconds in search.durations.items():
            self.metrics.search_duration.labels(stage).observe(milliseconds / 1000)
        return search

    def record(self, search: Search, used: int | None = None, beside: Mapping[str, int] | None = None) -> None:
        """Have it written down how a retrieval went.

        ``used``: tokens of what was found that were handed out; ``beside``: what else was, by what brought it.
        """
        flags = {"degraded": list(search.degraded), "widened": search.widened}
        self.recorder.record(
            RetrievalRecord(
                app_id=search.app_id,
                conversation_key=search.conversation_key,
                asker=search.request.purpose,
                at=self.clock.now(),
                results=len(search.hits),
                top_score=search.hits[0].ranked.score if search.hits else None,
                sources=search.sources | dict(beside or {}),
                durations=dict(search.durations),
                flags=flags_of(search.tuning) | flags,
                tokens_used=used,
                token_budget=None if used is None else search.tuning.token_budget,
                top_similarities=search.top_similarities,
            )
        )

    def _begin(self, session: Session, app_id: str, request: SearchRequest) -> Search:
        counted = self.counts.of(app_id)
        app = search_queries.look_at(session, app_id, counted.newest, request.user_id)
        conversation_key, user_id, is_alone, zones = None, request.user_id, False, app.zones
        if request.conversation_id is not None:
            conversation = get_conversation(session, app_id, request.conversation_id)
            conversation_key, user_id = conversation.key, user_asking(conversation, request.user_id)
            is_alone = conversation.memory == MemoryMode.OFF
            zones = zones_now(session, conversation_key)
        return Search(
            app_id=app_id,
            request=request,
            question=read_question(request.text, zones.local(self.clock.now())),
            tuning=overlaid(self.defaults, app.overrides).tuning,
            app=app,
            messages=self.counts.note(app_id, counted, app),
            user_id=user_id,
            conversation_key=conversation_key,
            is_alone=is_alone,
            conversations=_conversations(session, app_id, app, request, user_id),
            likeness=self.likeness,
        )

    def _embedding(self, app_id: str, kept: ServingVectors, text: str) -> BegunEmbedding:
        result = self._threads.submit(self._embed, app_id, kept, text)
        return BegunEmbedding(text, kept.model, kept.dimensions, result)

    def _embedded(
        self, search: Search, begun: BegunEmbedding | None, timer: StageTimer
    ) -> tuple[QueryVector | None, tuple[str, ...]]:
        """Return a query's vector; None, and what is missing, where it cannot be had."""
        if begun is None or search.app.vectors is None:
            return None, ("vectors",) if search.messages else ()
        query, missing, milliseconds = begun.result.result()
        timer.add("embed", milliseconds)
        return query, missing

    def _embed(self, app_id: str, kept: ServingVectors, text: str) -> Embedded:
        meter, at = QueryMeter(app_id, self.recorder, self.meter(app_id)), perf_counter()
        vector = None
        try:
            vector = self.embedders.embed(app_id, kept.model, text, meter)
        except (Transient, Configuration, OverBudget) as error:
            get_logger().warning("query_not_embedded", app_id=app_id, embedder=kept.model, why=error.code)
        # Another model under the same name: its vectors say nothing beside those that are stored.
        if vector is not None and kept.dimensions and len(vector) != kept.dimensions:
            got = len(vector)
            get_logger().warning("query_not_comparable", app_id=app_id, embedder=kept.model, dimensions=got)
            vector = None
        taken = 1000 * (perf_counter() - at)
        if vector is None:
            return Embedded(None, ("embedding",), taken)
        return Embedded(QueryVector(kept.model, vector), (), taken)

    def _look_words_up(self, search: Search) -> None:
        """Find where the question's words stand, and what each is worth."""
        index, question = search.app.words, search.question
        if not search.tuning.hybrid:
            return
        if not index.is_present:
            search.degraded = ("words",)
            return
        found = postings_in(index, question.words, COMMON)
        # One that is not among them stands nowhere in the app, and one without places nearly everywhere.
        doc_ids_of = ((word, found.get(word, _NOWHERE)) for word in question.words)
        counts = {word: COMMON + 1 if doc_ids is None else len(doc_ids) for word, doc_ids in doc_ids_of}
        known = [Posting(word, doc_ids) for word, doc_ids in found.items() if doc_ids is not None and len(doc_ids)]
        known.sort(key=lambda one: counts[one.word])
        search.worth = {word: rarity(times, search.messages) for word, times in counts.items()}
        search.postings = tuple(known[:MOST_WORDS])


def _hits(session: Session, search: Search) -> tuple[tuple[SearchHit, ...], bool]:
    """Return what is found, and whether the search went beyond the conversation that was named."""
    limit, request = search.request.limit, search.request
    beyond = SearchScope(beyond=search.conversation_key, conversations=search.conversations)
    if search.conversation_key is None or request.exclude_conversation:
        return () if search.is_alone else tuple(find_candidates(session, search, beyond, limit)), False
    # Three at least, however few are wanted: what only stands beside a result does not count for one.
    within = SearchScope(within=search.conversation_key)
    inside = find_candidates(session, search, within, max(LEAST_RESULTS, limit))
    is_enough = sum(hit.is_found for hit in inside) >= min(LEAST_RESULTS, limit)
    if search.is_alone or is_enough or len(inside) >= limit:
        return tuple(inside[:limit]), False
    return tuple(merge_hits([*inside, *find_candidates(session, search, beyond, limit)])[:limit]), True


def flags_of(tuning: Tuning) -> dict[str, object]:
    """Return a tuning as it goes into statistics and over the wire."""
    return {
        "hybrid": tuning.hybrid,
        "chunking": tuning.chunking,
        "tokenBudget": tuning.token_budget,
        "formula": tuning.formula.value,
    }


class StageTimer:
    """Times the stages of one search, in milliseconds."""

    def __init__(self) -> None:
        self._begun = perf_counter()
        self._taken: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside, beside what the stage took before."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.add(name, 1000 * (perf_counter() - begun))

    def add(self, name: str, milliseconds: float) -> None:
        self._taken[name] = self._taken.get(name, 0.0) + milliseconds

    def stop(self) -> dict[str, float]:
        """Return what each stage took, and all of it as ``total``."""
        return self._taken | {"total": 1000 * (perf_counter() - self._begun)}


def _speakers(session: Session, search: Search) -> frozenset[str]:
    """Return who speaks where the question's words stand, and next to it, as words in lower case.

    Of each word a few places are enough: those who speak there are those a question names.
    """
    scope, doc_ids = SearchScope(conversations=search.conversations), set[int]()
    for one in search.postings:
        if one.doc_ids is not None:
            found = one.doc_ids[scope.holds(one.doc_ids)]
            if len(found) > _SAMPLED:
                found = np.concatenate([found[: _SAMPLED // 2], found[-_SAMPLED // 2 :]])
            doc_ids.update(found.tolist())
    beside = sorted({doc_id + step for doc_id in doc_ids for step in (0, 1)})
    names = search_queries.names_at(session, search.app_id, beside)
    return frozenset(word for name in names for word in name.lower().split())


def _conversations(
    session: Session, app_id: str, app: SearchedApp, request: SearchRequest, user_id: str | None
) -> NDArray[np.int64] | None:
    """Return the keys of the conversations that may be looked in, ascending; None for all of the app's."""
    all_users = request.all_users and request.conversation_id is None
    allowed = search_queries.conversations_for(session, app_id, app, user_id, all_users)
    if not request.filters.conversation_ids:
        return allowed
    named = search_queries.keys_of(session, app_id, request.filters.conversation_ids)
    # A filter only narrows: a conversation of another user may be named in it.
    return named if allowed is None else np.intersect1d(named, allowed)
