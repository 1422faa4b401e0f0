"""A search from beginning to end: words first, then the query's vector, then the ranking of what both brought.

The query is embedded on a thread of its own while its words are looked up; behind them only where an app's messages
name who speaks, because such names are left out of what is embedded and are known only from what the words found. No
transaction waits for an embedding. A part that is missing is named and done without. A conversation that is named is
looked in first, and the rest of the app only where it has too few results; nothing leads out of the app, nor from one
user's conversations into another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.base.choices import RankingFormula
from shared.base.clock import Clock
from shared.base.errors import Configuration, OverBudget, Transient
from shared.base.settings import Tuning
from shared.conversations.days import zones_now
from shared.conversations.models import MemoryMode
from shared.conversations.queries import get_conversation, user_asking
from shared.db.base import Transactions
from shared.llm.calls import Meter
from shared.search import search_queries
from shared.search.candidates import CandidateRequest, MessageFilters, SearchHit, find_candidates, merge_hits
from shared.search.lexical import Posting, WordLikeness, rarity
from shared.search.models import Asker, conversation_of
from shared.search.query import SearchQuestion, read_question, without_names
from shared.search.ranking import SIGNALS, Recipe, WeightedRecipe
from shared.search.search_queries import MessageCounts, SearchedApp
from shared.search.statistics import TOP, QueryMeter, Recorder, RetrievalRecord
from shared.search.tuning import in_force, overlaid
from shared.search.vectors import VectorMatrices
from shared.search.view import IndexSources, QueryEmbedders, QueryVector, SearchScope
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
_Embedded = tuple[QueryVector | None, tuple[str, ...]]
"""A query's vector; None, and what is missing, where it cannot be had."""


@dataclass(frozen=True)
class SearchRequest:
    """What is searched for."""

    text: str
    limit: int = 10
    conversation_id: str | None = None
    """Looked in first."""
    is_elsewhere: bool = False
    """Whether that conversation is left out instead, because all of it is shown."""
    user_id: str | None = None
    """Whose conversations are searched, where none is named; that one says itself whose it is."""
    is_of_everybody: bool = False
    """Whether, where neither is named, all of the app's are searched, and not only those that name nobody."""
    filters: MessageFilters = field(default_factory=MessageFilters)
    asker: Asker = Asker.SEARCH


@dataclass(frozen=True)
class Findings:
    """What was found, best first, and how that went; durations in milliseconds."""

    hits: tuple[SearchHit, ...]
    question: SearchQuestion
    degraded: tuple[str, ...]
    widened: bool
    tuning: Tuning
    query: QueryVector | None
    conversation_key: int | None
    user_id: str | None
    """Whose conversations were searched, as far as a user was named, by the conversation or beside it."""
    durations: dict[str, float]
    sources: dict[str, int]

    @property
    def top_similarities(self) -> list[float]:
        """Cosines of the results most like the question, the best first."""
        known = (hit.ranked.candidate.dense for hit in self.hits)
        return sorted((one for one in known if one is not None), reverse=True)[:TOP]


@dataclass(frozen=True)
class _Searched:
    """What is searched, and for whom."""

    app: SearchedApp
    messages: int
    """How many the app has."""
    tuning: Tuning
    conversation_key: int | None
    is_alone: bool
    """Whether nothing of other conversations may be recalled in that one."""
    user_id: str | None
    conversations: NDArray[np.int64] | None
    """Keys of those that may be looked in, ascending; None for all of the app's."""


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

    def find(self, app_id: str, request: SearchRequest) -> Findings:
        """Search, and count how it went.

        Raises: NotFound for an app that is not there or a conversation it does not have; Conflict where that is
        another user's; Transient.
        """
        timer = StageTimer()
        with self.transactions.read() as session:
            with timer.stage("words"):
                searched = self._look(session, app_id, request)
                asker = zones_now(session, app_id, searched.user_id, searched.conversation_key)
                question = read_question(request.text, asker.local(self.clock.now()))
                may_name_speaker = searched.app.words.has_names and bool(question.names)
                embedding = None if may_name_speaker else self._begin(timer, app_id, searched, question.text)
                sources = self._word_sources(searched, question)
                names = _speakers(session, app_id, sources.postings, searched) if may_name_speaker else ()
            with timer.stage("dense"):
                matrix = self.matrices.of(session, app_id, searched.app.vectors)
        if embedding is None:
            embedding = self._begin(timer, app_id, searched, without_names(question.text, names))
        query, missing = embedding.result()
        with timer.stage("rank"), self.transactions.read() as session:
            sources = replace(sources, matrix=matrix, vector=None if query is None else query.vector)
            hits, widened = self._hits(session, app_id, request, question, searched, sources)
        findings = Findings(
            hits=tuple(hits),
            question=question,
            degraded=tuple(dict.fromkeys((*sources.missing, *missing))),
            widened=widened,
            tuning=searched.tuning,
            query=query,
            conversation_key=searched.conversation_key,
            user_id=searched.user_id,
            durations=timer.stop(),
            sources=_sources(hits, searched.conversation_key),
        )
        self.metrics.searches.labels(request.asker, "true" if findings.hits else "false").inc()
        for part in findings.degraded:
            self.metrics.searches_degraded.labels(part).inc()
        for stage, milliseconds in findings.durations.items():
            self.metrics.search_duration.labels(stage).observe(milliseconds / 1000)
        return findings

    def tuning(self, session: Session, app_id: str) -> Tuning:
        """Return the values in force for an app."""
        return in_force(session, self.defaults, app_id)

    def record(
        self,
        app_id: str,
        findings: Findings,
        asker: Asker,
        used: int | None = None,
        beside: Mapping[str, int] | None = None,
    ) -> None:
        """Have it written down how a retrieval went.

        ``used``: tokens of what was found that were handed out; ``beside``: what else was, by what brought it.
        """
        flags = {"degraded": list(findings.degraded), "widened": findings.widened}
        self.recorder.record(
            RetrievalRecord(
                app_id=app_id,
                conversation_key=findings.conversation_key,
                asker=asker,
                at=self.clock.now(),
                results=len(findings.hits),
                top_score=findings.hits[0].ranked.score if findings.hits else None,
                sources=findings.sources | dict(beside or {}),
                durations=findings.durations,
                flags=flags_of(findings.tuning) | flags,
                tokens_used=used,
                token_budget=None if used is None else findings.tuning.token_budget,
                top_similarities=findings.top_similarities,
            )
        )

    def _look(self, session: Session, app_id: str, request: SearchRequest) -> _Searched:
        counted = self.counts.of(app_id)
        app = search_queries.look_at(session, app_id, counted.newest)
        conversation_key, user_id, is_alone = None, request.user_id, False
        if request.conversation_id is not None:
            conversation = get_conversation(session, app_id, request.conversation_id)
            conversation_key, user_id = conversation.key, user_asking(conversation, request.user_id)
            is_alone = conversation.memory == MemoryMode.OFF
        return _Searched(
            app=app,
            messages=self.counts.note(app_id, counted, app),
            tuning=overlaid(self.defaults, app.overrides).tuning,
            conversation_key=conversation_key,
            is_alone=is_alone,
            user_id=user_id,
            conversations=_conversations(session, app_id, app, request, user_id),
        )

    def _begin(self, timer: StageTimer, app_id: str, searched: _Searched, text: str) -> Future[_Embedded]:
        def embed() -> _Embedded:
            with timer.stage("embed"):
                return self._embed(app_id, searched, text)

        return self._threads.submit(embed)

    def _embed(self, app_id: str, searched: _Searched, text: str) -> _Embedded:
        kept = searched.app.vectors
        if kept is None:
            return None, ("vectors",) if searched.messages else ()
        meter = QueryMeter(app_id, self.recorder, self.meter(app_id))
        try:
            vector = self.embedders.embed(app_id, kept.model, text, meter)
        except (Transient, Configuration, OverBudget) as error:
            get_logger().warning("query_not_embedded", app_id=app_id, embedder=kept.model, why=error.code)
            return None, ("embedding",)
        if vector is None:
            return None, ("embedding",)
        if kept.dimensions and len(vector) != kept.dimensions:
            got = len(vector)
            get_logger().warning("query_not_comparable", app_id=app_id, embedder=kept.model, dimensions=got)
            return None, ("embedding",)
        return QueryVector(kept.model, vector), ()

    def _word_sources(self, searched: _Searched, question: SearchQuestion) -> IndexSources:
        """Return where the question's words stand, and what each is worth; vectors are yet to come."""
        sources, index = IndexSources(messages=searched.messages, likeness=self.likeness), searched.app.words
        if not searched.tuning.hybrid:
            return sources
        if not index.is_present:
            return replace(sources, missing=("words",))
        found = postings_in(index, question.words, COMMON)
        # One that is not among them stands nowhere in the app, and one without places nearly everywhere.
        doc_ids_of = ((word, found.get(word, _NOWHERE)) for word in question.words)
        counts = {word: COMMON + 1 if doc_ids is None else len(doc_ids) for word, doc_ids in doc_ids_of}
        known = [Posting(word, doc_ids) for word, doc_ids in found.items() if doc_ids is not None and len(doc_ids)]
        known.sort(key=lambda one: counts[one.word])
        worth = {word: rarity(times, searched.messages) for word, times in counts.items()}
        return replace(sources, postings=tuple(known[:MOST_WORDS]), worth=worth)

    def _hits(
        self,
        session: Session,
        app_id: str,
        request: SearchRequest,
        question: SearchQuestion,
        searched: _Searched,
        sources: IndexSources,
    ) -> tuple[list[SearchHit], bool]:
        """Return what is found, and whether the search went beyond the conversation that was named."""
        tuning = searched.tuning
        wanted = CandidateRequest(app_id, question, recipe_of(tuning), request.filters, request.limit, tuning.chunking)
        beyond = SearchScope(beyond=searched.conversation_key, conversations=searched.conversations)
        if searched.conversation_key is None or request.is_elsewhere:
            return ([] if searched.is_alone else find_candidates(session, sources, wanted, beyond)), False
        # Three at least, however few are wanted: what only stands beside a result does not count for one.
        nearest = replace(wanted, limit=max(LEAST_RESULTS, request.limit))
        inside = find_candidates(session, sources, nearest, SearchScope(within=searched.conversation_key))
        is_enough = sum(hit.is_found for hit in inside) >= min(LEAST_RESULTS, request.limit)
        if searched.is_alone or is_enough or len(inside) >= request.limit:
            return inside[: request.limit], False
        outside = find_candidates(session, sources, wanted, beyond)
        return merge_hits([*inside, *outside])[: request.limit], True


def recipe_of(tuning: Tuning) -> Recipe:
    """Return how results are ranked under a tuning."""
    if tuning.formula is RankingFormula.WEIGHTED:
        return WeightedRecipe(tuning.alpha, tuning.beta, tuning.gamma)
    return SIGNALS


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
            self._taken[name] = self._taken.get(name, 0.0) + 1000 * (perf_counter() - begun)

    def stop(self) -> dict[str, float]:
        """Return what each stage took, and all of it as ``total``."""
        return self._taken | {"total": 1000 * (perf_counter() - self._begun)}


def _speakers(session: Session, app_id: str, found: Sequence[Posting], searched: _Searched) -> frozenset[str]:
    """Return who speaks where the question's words stand, and next to it, as words in lower case.

    Of each word a few places are enough: those who speak there are those a question names.
    """
    within, doc_ids = SearchScope(conversations=searched.conversations), set[int]()
    for one in found:
        if one.doc_ids is not None:
            held = one.doc_ids[within.holds(one.doc_ids)]
            if len(held) > _SAMPLED:
                held = np.concatenate([held[: _SAMPLED // 2], held[-_SAMPLED // 2 :]])
            doc_ids.update(held.tolist())
    names = search_queries.names_at(session, app_id, sorted({doc_id + step for doc_id in doc_ids for step in (0, 1)}))
    return frozenset(word for name in names for word in name.lower().split())


def _conversations(
    session: Session, app_id: str, app: SearchedApp, request: SearchRequest, user_id: str | None
) -> NDArray[np.int64] | None:
    """Return the keys of the conversations that may be looked in, ascending; None for all of the app's."""
    is_of_everybody = request.is_of_everybody and request.conversation_id is None
    allowed = search_queries.conversations_for(session, app_id, app, user_id, is_of_everybody)
    if not request.filters.conversation_ids:
        return allowed
    named = search_queries.keys_of(session, app_id, request.filters.conversation_ids)
    return named if allowed is None else np.intersect1d(named, allowed)


def _sources(hits: Sequence[SearchHit], conversation_key: int | None) -> dict[str, int]:
    """Return how many results each way of finding brought."""
    dense = [conversation_of(hit.ranked.candidate.doc_id) == conversation_key for hit in hits if hit.by_vector]
    return {
        "conversationDense": sum(dense),
        "appDense": len(dense) - sum(dense),
        "words": sum(hit.by_words for hit in hits),
        "summaries": 0,
        "profile": 0,
    }
