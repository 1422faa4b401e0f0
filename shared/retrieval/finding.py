"""A search from beginning to end: words first, then the query's vector, then the ranking of what both brought.

Words are looked up before the query is embedded, because names of speakers are left out of what is embedded and are
known only from what the words found. No transaction is open while the query is embedded. A part that is missing is
named and done without. A conversation that is named is looked in first, and the rest of the app only where it has too
few results; nothing leads out of the app, nor from one user's conversations into another's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import get_app
from shared.clock import Clock
from shared.conversations.queries import get_conversation, user_asking
from shared.db.transactions import Transactions
from shared.errors import Configuration, OverBudget, Transient
from shared.indexing.places import conversation_of
from shared.indexing.queries import serving_set
from shared.indexing.word_index import look, postings_in
from shared.llm.calls import Meter
from shared.retrieval import search
from shared.retrieval.covering import Likeness
from shared.retrieval.embedders import Embedded, Embedders
from shared.retrieval.figures import TOP
from shared.retrieval.filters import Filters
from shared.retrieval.gathering import Asked, Hit, gather, merged
from shared.retrieval.lexical import Posting, rarity
from shared.retrieval.matrix import Matrices, Matrix
from shared.retrieval.models import Asker
from shared.retrieval.questions import Question, read_question, without_names
from shared.retrieval.ranking import SIGNALS, Recipe, Weighted
from shared.retrieval.recording import Figures, QueryMeter, Recorder
from shared.retrieval.scope import Scope
from shared.retrieval.view import Sources
from shared.retrieval.watch import Watch
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.tuning.queries import in_force
from shared.tuning.values import Formula, Tuning

LEAST_RESULTS = 3
"""A conversation with fewer results is not looked in alone. Source: seed 002."""
COMMON = 20_000
"""A word that stands in more messages of an app than this is not looked for, unless no other is left."""
_SAMPLED = 10
_NOWHERE = np.zeros(0, np.int64)
MOST_WORDS = 12
"""Of a long question only so many words are looked for."""


@dataclass(frozen=True)
class Wanted:
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
    filters: Filters = field(default_factory=Filters)
    asker: Asker = Asker.SEARCH


@dataclass(frozen=True)
class Findings:
    """What was found, best first, and how that went; durations in milliseconds."""

    hits: tuple[Hit, ...]
    question: Question
    degraded: tuple[str, ...]
    widened: bool
    tuning: Tuning
    query: Embedded | None
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
class _Words:
    """Where the question's words stand, and in how many messages each does."""

    postings: tuple[Posting, ...] = ()
    standing: Mapping[str, int] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Scene:
    """What is known before the query is embedded."""

    tuning: Tuning
    conversation_key: int | None
    user_id: str | None
    conversations: NDArray[np.int64] | None
    model: str | None
    dimensions: int
    """Of the vectors that are kept; 0 while there are none."""
    words: _Words
    messages: int
    names: frozenset[str]


class Finder:
    """Searches the messages of one app at a time."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        embedders: Embedders,
        matrices: Matrices,
        recorder: Recorder,
        meter: Callable[[str], Meter],
        defaults: Tuning,
        metrics: Metrics,
        likeness: Likeness | None = None,
    ) -> None:
        """``meter``: who pays for the calls of a model for an app; ``likeness``: how alike two words are."""
        self._transactions = transactions
        self._clock = clock
        self._embedders = embedders
        self._matrices = matrices
        self._recorder = recorder
        self._meter = meter
        self._defaults = defaults
        self._metrics = metrics
        self._likeness = likeness

    def find(self, app_id: str, wanted: Wanted) -> Findings:
        """Search, and note how it went.

        Raises: NotFound for an app that is not there or a conversation it does not have; Conflict where that is
        another user's; Transient.
        """
        watch = Watch()
        question = read_question(wanted.text, self._clock.now())
        with watch.stage("words"), self._transactions.read() as session:
            scene = self._scene(session, app_id, wanted, question)
        with watch.stage("embed"):
            query, missing = self._embedded(app_id, question, scene)
        with self._transactions.read() as session:
            with watch.stage("dense"):
                matrix = self._matrices.of(session, app_id) if query is not None else None
            with watch.stage("rank"):
                hits, widened = self._hits(session, app_id, wanted, question, scene, matrix, query)
        degraded = tuple(dict.fromkeys((*scene.words.degraded, *missing)))
        findings = Findings(
            hits=tuple(hits),
            question=question,
            degraded=degraded,
            widened=widened,
            tuning=scene.tuning,
            query=query,
            conversation_key=scene.conversation_key,
            user_id=scene.user_id,
            durations=watch.stop(),
            sources=_sources(hits, scene.conversation_key),
        )
        self._count(findings, wanted.asker)
        return findings

    def tuning(self, session: Session, app_id: str) -> Tuning:
        """Return the values in force for an app."""
        return in_force(session, self._defaults, app_id)

    def note(
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
        self._recorder.note(
            Figures(
                app_id=app_id,
                conversation_key=findings.conversation_key,
                asker=asker,
                at=self._clock.now(),
                results=len(findings.hits),
                top_score=findings.hits[0].ranked.score if findings.hits else None,
                sources=findings.sources | dict(beside or {}),
                durations=findings.durations,
                flags=_flags(findings),
                tokens_used=used,
                token_budget=None if used is None else findings.tuning.token_budget,
                top_similarities=findings.top_similarities,
            )
        )

    def _scene(self, session: Session, app_id: str, wanted: Wanted, question: Question) -> _Scene:
        app = get_app(session, app_id)
        tuning = in_force(session, self._defaults, app_id)
        conversation_key, user_id = None, wanted.user_id
        if wanted.conversation_id is not None:
            conversation = get_conversation(session, app_id, wanted.conversation_id)
            conversation_key, user_id = conversation.key, user_asking(conversation, wanted.user_id)
        conversations = _conversations(session, app, wanted, user_id)
        serving = serving_set(session, app_id)
        found = _no_words() if not tuning.hybrid else self._words(session, app_id, question)
        within = Scope(conversations=conversations)
        return _Scene(
            tuning=tuning,
            conversation_key=conversation_key,
            user_id=user_id,
            conversations=conversations,
            model=None if serving is None else serving.model,
            dimensions=0 if serving is None else serving.dimensions,
            words=found,
            messages=search.count_messages(session, app_id),
            names=_speakers(session, app_id, found.postings, within) if question.names else frozenset(),
        )

    def _words(self, session: Session, app_id: str, question: Question) -> _Words:
        index = look(session, app_id)
        if not index.is_present:
            return _no_words("words")
        found = postings_in(index, question.words, COMMON)
        # One that is not among them stands nowhere in the app, and one without places nearly everywhere.
        standing = {word: _times(found.get(word, _NOWHERE)) for word in question.words}
        known = [Posting(word, places) for word, places in found.items() if places is not None and len(places)]
        known.sort(key=lambda one: standing[one.word])
        return _Words(tuple(known[:MOST_WORDS]), standing)

    def _embedded(self, app_id: str, question: Question, scene: _Scene) -> tuple[Embedded | None, tuple[str, ...]]:
        """Return the query's vector; None, and what is missing, where it cannot be had."""
        if scene.model is None:
            return None, ("vectors",) if scene.messages else ()
        embedder = self._embedders.of(scene.model)
        if embedder is None:
            return None, ("embedding",)
        meter = QueryMeter(app_id, self._recorder, self._meter(app_id))
        try:
            [vector] = embedder.embed([without_names(question.text, scene.names)], meter)
        except (Transient, Configuration, OverBudget) as error:
            get_logger().warning("query_not_embedded", app_id=app_id, embedder=scene.model, why=error.code)
            return None, ("embedding",)
        if scene.dimensions and len(vector) != scene.dimensions:
            get_logger().warning("query_not_comparable", app_id=app_id, embedder=scene.model, dimensions=len(vector))
            return None, ("embedding",)
        return Embedded(scene.model, vector), ()

    def _hits(
        self,
        session: Session,
        app_id: str,
        wanted: Wanted,
        question: Question,
        scene: _Scene,
        matrix: Matrix | None,
        query: Embedded | None,
    ) -> tuple[list[Hit], bool]:
        if matrix is not None and query is not None and matrix.model != query.model:
            # The app changed its model between the two transactions; words alone serve this once.
            matrix = None
        vector = None if query is None else query.vector
        worth = {word: rarity(times, scene.messages) for word, times in scene.words.standing.items()}
        sources = Sources(scene.words.postings, worth, scene.messages, matrix, vector, self._likeness)
        asked = Asked(app_id, question, recipe_of(scene.tuning), wanted.filters, wanted.limit, scene.tuning.chunking)
        beyond = Scope(beyond=scene.conversation_key, conversations=scene.conversations)
        if scene.conversation_key is None or wanted.is_elsewhere:
            return gather(session, sources, asked, beyond), False
        # Three at least, however few are wanted: what only stands beside a result does not count for one.
        nearest = replace(asked, limit=max(LEAST_RESULTS, wanted.limit))
        inside = gather(session, sources, nearest, Scope(within=scene.conversation_key))
        is_enough = sum(hit.is_found for hit in inside) >= min(LEAST_RESULTS, wanted.limit)
        if is_enough or len(inside) >= wanted.limit:
            return inside[: wanted.limit], False
        return merged([*inside, *gather(session, sources, asked, beyond)])[: wanted.limit], True

    def _count(self, findings: Findings, asker: Asker) -> None:
        self._metrics.searches.labels(asker, "true" if findings.hits else "false").inc()
        for part in findings.degraded:
            self._metrics.searches_degraded.labels(part).inc()
        for stage, taken in findings.durations.items():
            self._metrics.search_duration.labels(stage).observe(taken / 1000)


def _no_words(*degraded: str) -> _Words:
    return _Words(degraded=degraded)


def _times(places: NDArray[np.int64] | None) -> int:
    return COMMON + 1 if places is None else len(places)


def recipe_of(tuning: Tuning) -> Recipe:
    """Return how results are ranked under a tuning."""
    return Weighted(tuning.alpha, tuning.beta, tuning.gamma) if tuning.formula is Formula.WEIGHTED else SIGNALS


def _speakers(session: Session, app_id: str, found: Sequence[Posting], within: Scope) -> frozenset[str]:
    """Return who speaks where the question's words stand, and next to it, as words in lower case.

    Of each word a few places are enough: those who speak there are those a question names.
    """
    standing = [one.places[within.holds(one.places)] for one in found if one.places is not None]
    some = [place for places in standing for place in _few(places)]
    names = search.names_at(session, app_id, sorted({place + step for place in some for step in (0, 1)}))
    return frozenset(word for name in names for word in name.lower().split())


def _few(places: NDArray[np.int64]) -> list[int]:
    half = _SAMPLED // 2
    chosen: list[int] = (
        places if len(places) <= _SAMPLED else np.concatenate([places[:half], places[-half:]])
    ).tolist()
    return chosen


def _conversations(session: Session, app: App, wanted: Wanted, user_id: str | None) -> NDArray[np.int64] | None:
    """Return the keys of the conversations that may be looked in, ascending; None for all of the app's."""
    allowed = None
    if not wanted.is_of_everybody or wanted.conversation_id is not None or user_id is not None:
        allowed = search.conversations_for(session, app.app_id, user_id, is_shared=app.shared_memory)
    if not wanted.filters.conversation_ids:
        return allowed
    named = search.keys_of(session, app.app_id, wanted.filters.conversation_ids)
    return named if allowed is None else np.intersect1d(named, allowed)


def _sources(hits: list[Hit], conversation_key: int | None) -> dict[str, int]:
    near = [hit for hit in hits if conversation_of(hit.ranked.candidate.place) == conversation_key]
    return {
        "conversationDense": sum(hit.by_vector for hit in near),
        "appDense": sum(hit.by_vector for hit in hits) - sum(hit.by_vector for hit in near),
        "words": sum(hit.by_words for hit in hits),
        "summaries": 0,
        "profile": 0,
    }


def _flags(findings: Findings) -> dict[str, object]:
    return flags_of(findings.tuning) | {"degraded": list(findings.degraded), "widened": findings.widened}


def flags_of(tuning: Tuning) -> dict[str, object]:
    """Return a tuning as it goes into figures and over the wire."""
    return {
        "hybrid": tuning.hybrid,
        "chunking": tuning.chunking,
        "tokenBudget": tuning.token_budget,
        "formula": tuning.formula.value,
    }
