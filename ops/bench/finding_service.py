"""The service's own search over a corpus: a database, its indexes, and the finder, as they serve."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from prometheus_client import CollectorRegistry
from sqlalchemy.orm import Session

from ops.bench.finding_corpora import CorpusMessage, FindingQuestion
from ops.bench.finding_ways import Index, Way
from shared.apps.queries import install
from shared.base.search_settings import Tuning
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, say, start
from shared.conversations.models import Conversation
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.llm.calls import Meter
from shared.llm.embedding import Vectors
from shared.search.models import MessageVector, SetState, VectorSet, conversation_of, doc_id_of, position_of
from shared.search.query import without_names
from shared.search.ranking import RankedCandidate
from shared.search.search import MessageSearch, SearchRequest
from shared.search.statistics import Recorder
from shared.search.vectors import VectorMatrices, pack
from shared.search.view import QueryEmbedders
from shared.telemetry.metrics import Metrics
from tests.support.meters import Calls

MODEL = "bench"
LIMIT = 40
_APP = "bench"


class At:
    """A clock that shows when the questions are asked."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now


class Known:
    """Hands out the vectors that were made before; a question's with or without names, as it is asked for."""

    name = MODEL
    same_meaning = 0.8

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return the vectors of texts. Shape: ``(len(texts), dim)``."""
        return np.stack([self._vectors[text] for text in texts])


def by_service(index: Index, folder: Path) -> Way:
    """Put a corpus into a database as one app and search it there."""
    url = f"sqlite:///{folder / f'{index.corpus.name}.db'}"
    migrate(url)
    database = Database(url)
    clock = At(index.corpus.now)
    doc_ids = _fill(database, index)
    metrics = Metrics(CollectorRegistry())
    finder = MessageSearch(
        database, clock, QueryEmbedders(lambda _: Known(_vectors(index))), VectorMatrices(10**8), Recorder(),
        lambda _: Calls(), Tuning(), metrics, index.likeness,
    )  # fmt: skip

    def find(asked: FindingQuestion) -> list[RankedCandidate]:
        found = finder.find(_APP, SearchRequest(asked.text, LIMIT))
        return [_there(hit.ranked, doc_ids) for hit in found.hits if not hit.ranked.candidate.part]

    return find


def _vectors(index: Index) -> dict[str, np.ndarray]:
    names = {part for name in index.corpus.speakers for part in name.lower().split()}
    return index.plain | {without_names(text, names): vector for text, vector in index.nameless.items()}


def _there(ranked: RankedCandidate, doc_ids: dict[int, int]) -> RankedCandidate:
    """Return a result with the place it has in the corpus."""
    candidate = ranked.candidate
    return RankedCandidate(candidate._replace(doc_id=doc_ids[candidate.doc_id]), ranked.score, ranked.parts)


def _fill(database: Database, index: Index) -> dict[int, int]:
    """Say everything; return where in the corpus each place of the database is."""
    at: dict[int, int] = {}
    began = datetime(2020, 1, 1, tzinfo=UTC)
    with database.write() as session:
        install(session, _APP, "Bench", {}, began)
        vectors = VectorSet(
            app_id=_APP, model=MODEL, dimensions=index.vectors.shape[1], state=SetState.SERVING, erasures=0,
            filled_to=0, fill_total=0, fill_done=0, created_at=began, completed_at=began,
        )  # fmt: skip
        session.add(vectors)
        session.flush()
        numbered = enumerate(index.corpus.messages)
        for name, said in itertools.groupby(numbered, key=lambda one: conversation_of(one[1].doc_id)):
            conversation = start(session, _APP, NewConversation(f"c{name}"), began)
            at |= _say(session, conversation, list(said), index, vectors.key)
    return at


def _say(
    session: Session,
    conversation: Conversation,
    said: Sequence[tuple[int, CorpusMessage]],
    index: Index,
    set_key: int,
) -> dict[int, int]:
    messages = [
        NewMessage(Role(one.role), one.content or " ", name=one.name, created_at=one.created_at) for _, one in said
    ]
    say(session, conversation, messages, said[0][1].created_at)
    at = {doc_id_of(conversation.key, position_of(one.doc_id)) or 0: one.doc_id for _, one in said}
    rows = [
        {"set_key": set_key, "doc_id": doc_id, "part": 0, "vector": pack(index.vectors[nth])}
        for doc_id, (nth, _) in zip(at, said, strict=True)
    ]
    session.execute(sa.insert(MessageVector), rows)
    return at
