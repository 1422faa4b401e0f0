"""Makes the vectors of an app's messages: of those said lately, and of all while another model is to take over.

Round after round: read, embed with no transaction open, write. The write keeps the vectors of messages that still
stand and still wait, and strikes them off in the same transaction, so that a message erased meanwhile leaves no vector
and a job that is killed leaves nothing undone that the next does not do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.base.clock import Clock
from shared.base.errors import Configuration, Transient
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.ledger import LedgerAccount
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, confirm
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder
from shared.llm.providers import make_embedder_by_name
from shared.search import index_queries
from shared.search.index import with_doc_ids
from shared.search.models import SetState, Unembedded, VectorSet
from shared.search.vectors import (
    PartVectors,
    advance_fill,
    arrange_sets,
    clear_retired,
    insert_vectors,
    live_sets,
    needed_set_change,
    start_serving,
)
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import WorkerContainer, end

LONGEST_SECONDS = 20.0
"""After this a job gives way to the other work of its app; and sooner where the energy is no longer high."""
TEXTS_PER_MESSAGE = 4
"""Texts embedded in one round, for each message of a batch: a long message has many passages."""
NOTHING = "every message has its vectors"
EmbedderOf = Callable[[str], Embedder | None]
"""Returns the embedder that calls itself so; None where it cannot be had here."""


@dataclass(frozen=True)
class Text:
    """A text to embed: a message as a whole (part 0), or one of its passages."""

    doc_id: int
    part: int
    content: str


@dataclass(frozen=True)
class FillBatch:
    """The next messages of a fill."""

    set_key: int
    filled_to: int
    up_to: int
    messages: int
    keys: dict[int, int]
    """The key of each message by its place."""
    texts: tuple[Text, ...]
    is_last: bool

    def before(self, unfinished: Collection[int]) -> FillBatch:
        """Return what there was time for: the messages before the first, by key, that is not finished."""
        if not unfinished:
            return self
        first = min(self.keys[doc_id] for doc_id in unfinished)
        done = [key for key in self.keys.values() if key < first]
        return replace(self, up_to=max(done, default=self.filled_to), messages=len(done), is_last=False)


@dataclass(eq=False)
class EmbedMessages:
    """The pipeline of ``embed_messages`` jobs."""

    database: Database
    clock: Clock
    embedder: Embedder
    accountant: Accountant
    metrics: Metrics
    batch: int
    embedder_of: EmbedderOf = lambda _: None
    elapsed: Callable[[], float] = perf_counter

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or NOTHING. Raises what an attempt records."""
        until, did, rounds = self.elapsed() + LONGEST_SECONDS, True, 0

        def is_over() -> bool:
            # Other apps' thinking waits for the level, and what is not embedded yet is found by its words.
            return self.elapsed() >= until or not self.accountant.is_plentiful()

        meter = self.accountant.meter(LedgerAccount(claim.app_id, claim.job_id, None))
        # One round at least, however late the job begins.
        while did and (rounds == 0 or not is_over()):
            with self.database.read() as session:
                change = needed_set_change(session, claim.app_id, self.embedder.name)
            if change:
                with self.database.write() as session:
                    self._lock(session, claim)
                    arrange_sets(session, claim.app_id, self.embedder.name, self.clock.now())
            # Some of each in every round, so that a long fill does not keep what was just said waiting.
            did = any(
                [self._embed_new(claim, meter, is_over), self._fill(claim, meter, is_over), self._clear_retired(claim)]
            )
            rounds += did
        state, reason = (JobState.DONE, None) if rounds else (JobState.NOTHING, NOTHING)
        with self.database.write() as session:
            end(session, claim, state, self.clock.now(), reason)
        get_logger().info("messages_embedded", job_id=claim.job_id, app_id=claim.app_id, state=state)
        return state

    def _lock(self, session: Session, claim: Claim) -> None:
        """Raises: LeaseLost."""
        lock_app(session, claim.app_id)
        confirm(session, claim)

    def _embed_new(self, claim: Claim, meter: Meter, is_over: Callable[[], bool]) -> bool:
        """Embed some messages; of those there is no time for, however long, what was begun is kept for the next job."""
        with self.database.read() as session:
            doc_ids, texts = self._next_batch(session, claim.app_id)
            models = {one.model: one.key for one in live_sets(session, claim.app_id)}
            kept = {key: index_queries.parts_kept(session, key, doc_ids) for key in models.values()}
        if not doc_ids:
            return False
        vectors: dict[int, PartVectors] = {}
        unfinished: set[int] = set()
        for model, key in models.items():
            # What an earlier job had time for was kept, and is not embedded again.
            lacking = [one for one in texts if one.part not in kept[key].get(one.doc_id, ())]
            vectors[key], left = self._vectors(model, lacking, meter, is_over)
            unfinished |= {one.doc_id for one in left}
        finished = [doc_id for doc_id in doc_ids if doc_id not in unfinished]
        with self.database.write() as session:
            self._lock(session, claim)
            # A message erased meanwhile must leave no vector; one that was embedded meanwhile needs none.
            waiting = index_queries.still_unembedded(session, claim.app_id, doc_ids)
            for one in live_sets(session, claim.app_id):
                # The sets as they are now: of one that was added meanwhile there are no vectors yet.
                insert_vectors(session, one, _of_places(vectors.get(one.key, {}), waiting))
            mine = (Unembedded.app_id == claim.app_id, Unembedded.doc_id.in_(finished))
            session.execute(delete(Unembedded).where(*mine))
        self.metrics.messages_embedded.inc(len(waiting - unfinished))
        return True

    def _next_batch(self, session: Session, app_id: str) -> tuple[list[int], list[Text]]:
        """Return messages of one round by place, and the texts of those that can be embedded."""
        waiting = index_queries.unembedded(session, app_id, self.batch)
        messages = [one for one in waiting.values() if one is not None]
        texts = _texts(session, messages)
        taken: list[Text] = []
        left_out: set[int] = set()
        for doc_id in waiting:
            mine = texts.get(doc_id, [])
            # The first is taken however many passages it has, or it would never be.
            if taken and len(taken) + len(mine) > self.batch * TEXTS_PER_MESSAGE:
                left_out.add(doc_id)
            else:
                taken += mine
        return [doc_id for doc_id in waiting if doc_id not in left_out], taken

    def _vectors(
        self, model: str, texts: Sequence[Text], meter: Meter, is_over: Callable[[], bool]
    ) -> tuple[PartVectors, Sequence[Text]]:
        """Return the vectors of texts by one model, and the texts there was no time for.

        Neither while a model is away that is about to be replaced.
        """
        if model == self.embedder.name:
            return self._embed_until(self.embedder, texts, meter, is_over)
        former = self.embedder_of(model)
        try:
            return ({}, ()) if former is None else self._embed_until(former, texts, meter, is_over)
        except (Transient, Configuration) as error:
            get_logger().warning("former_embedder_away", embedder=model, why=error.code)
            self.metrics.embedding_failures.inc()
            return {}, ()

    def _embed_until(
        self, embedder: Embedder, texts: Sequence[Text], meter: Meter, is_over: Callable[[], bool]
    ) -> tuple[PartVectors, Sequence[Text]]:
        found: PartVectors = {}
        for start in range(0, len(texts), self.batch):
            # Some at least, or a job that begins late, or with little energy, would come to nothing, again and again.
            if start and is_over():
                return found, texts[start:]
            found = {**found, **_embed(embedder, texts[start : start + self.batch], meter)}
        return found, ()

    def _fill(self, claim: Claim, meter: Meter, is_over: Callable[[], bool]) -> bool:
        with self.database.read() as session:
            batch = self._next_of_fill(session, claim.app_id)
        if batch is None:
            return False
        vectors, left = self._embed_until(self.embedder, batch.texts, meter, is_over)
        batch = batch.before({one.doc_id for one in left})
        with self.database.write() as session:
            self._lock(session, claim)
            filling = _filling(session, claim.app_id, self.embedder.name)
            if filling is None or (filling.key, filling.filled_to) != (batch.set_key, batch.filled_to):
                # The sets were changed while it thought: what was embedded belongs to no place any more.
                return True
            present = index_queries.standing_messages(session, list(batch.keys.values()))
            doc_ids = {doc_id for doc_id, key in batch.keys.items() if key in present}
            insert_vectors(session, filling, _of_places(vectors, doc_ids))
            advance_fill(session, filling, batch.up_to, batch.messages)
            if batch.is_last:
                start_serving(session, filling, self.clock.now())
        self.metrics.messages_filled_in.labels("vectors").inc(min(len(doc_ids), batch.messages))
        return True

    def _next_of_fill(self, session: Session, app_id: str) -> FillBatch | None:
        filling = _filling(session, app_id, self.embedder.name)
        if filling is None:
            return None
        until = filling.fill_until or 0
        found = index_queries.messages_between(session, app_id, filling.filled_to, until, self.batch)
        texts = _texts(session, found)
        kept = index_queries.parts_kept(session, filling.key, list(texts))
        lacking = {
            doc_id: [one for one in all_ if one.part not in kept.get(doc_id, ())] for doc_id, all_ in texts.items()
        }
        return FillBatch(
            set_key=filling.key,
            filled_to=filling.filled_to,
            up_to=found[-1].key if found else filling.filled_to,
            messages=len(found),
            keys={doc_id: one.key for doc_id, one in with_doc_ids(found)},
            texts=tuple(one for all_ in lacking.values() for one in all_),
            is_last=len(found) < self.batch,
        )

    def _clear_retired(self, claim: Claim) -> bool:
        with self.database.read() as session:
            if all(one.state != SetState.RETIRED for one in index_queries.sets_of(session, claim.app_id)):
                return False
        with self.database.write() as session:
            self._lock(session, claim)
            return clear_retired(session, claim.app_id)


def _filling(session: Session, app_id: str, model: str) -> VectorSet | None:
    sets = live_sets(session, app_id)
    return next((one for one in sets if one.model == model and one.state == SetState.FILLING), None)


def _texts(session: Session, messages: Sequence[index_queries.IndexedMessage]) -> dict[int, list[Text]]:
    """Return the texts of messages by place: each as a whole, then its passages. Blank ones have none."""
    passages = index_queries.passages_of_messages(session, [one.key for one in messages])
    found: dict[int, list[Text]] = {}
    for doc_id, one in with_doc_ids(messages):
        parts = passages.get(one.key, ())
        spans = [Text(doc_id, part.part, one.content[part.start : part.start + part.length]) for part in parts]
        found[doc_id] = [Text(doc_id, 0, one.content), *spans]
    return found


def _embed(embedder: Embedder, texts: Sequence[Text], meter: Meter) -> PartVectors:
    if not texts:
        return {}
    rows = embedder.embed([one.content for one in texts], meter)
    return {(one.doc_id, one.part): row for one, row in zip(texts, rows, strict=True)}


def _of_places(vectors: PartVectors, doc_ids: set[int]) -> PartVectors:
    return {(doc_id, part): row for (doc_id, part), row in vectors.items() if doc_id in doc_ids}


def build(container: WorkerContainer) -> EmbedMessages:
    settings = container.settings

    @cache
    def former(name: str) -> Embedder | None:
        return make_embedder_by_name(name, settings, settings.model_timeout_seconds, in_background=True)

    return EmbedMessages(
        container.database,
        container.clock,
        container.agents.embedder,
        container.accountant,
        container.metrics,
        settings.embed_batch,
        former,
    )
