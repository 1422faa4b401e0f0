"""A real worker with fault points: ``python -m tests.support.faulty_worker``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from celery import signals

import worker.wiring
from shared.base.settings import Settings
from shared.contracts.jobs import JobKind, JobMessage
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder, Vectors
from shared.sessions.compose.documents import MARKDOWN_FILE
from shared.sessions.compress.run import Chunk, CondensedChunk
from shared.sessions.compress.versions import WrittenVersion
from shared.sessions.store import Store
from tests.support.faultpoints import Point, reach
from worker.__main__ import main
from worker.agent.protocol import (
    Agents,
    CompressionAgent,
)
from worker.pipelines import compose_context, compress_session, embed_messages
from worker.pipelines.attempt import Attempts, Pipeline
from worker.pipelines.compose_context import ComposeContext
from worker.pipelines.compress_session import CompressSession
from worker.pipelines.embed_messages import EmbedMessages


class WithPoints:
    """An agent of the settings, with a point before and after it thinks."""

    def __init__(self, agent: Any, thinks: str, before: Point, after: Point) -> None:
        self._agent, self._thinks, self._before, self._after = agent, thinks, before, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._agent, name)
        return self._think if name == self._thinks else found

    def _think(self, *what: Any) -> Any:
        reach(self._before)
        found = getattr(self._agent, self._thinks)(*what)
        reach(self._after)
        return found


class FaultyEmbedder:
    """The embedder of the settings as the vectors of messages are made by it, with points around each batch."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.same_meaning = embedder.name, embedder.same_meaning
        self.batches = 0

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        reach(Point.BETWEEN_BATCHES if self.batches else Point.BEFORE_EMBEDDING)
        vectors = self._embedder.embed(texts, meter)
        self.batches += 1
        reach(Point.AFTER_EMBEDDING)
        return vectors


class FaultyEmbedMessages:
    """The pipeline that makes vectors, each job with an embedder that has points."""

    def __init__(self, database: Any, clock: Any, embedder: Embedder, *more: Any) -> None:
        self._embedder = FaultyEmbedder(embedder)
        self._pipeline = EmbedMessages(database, clock, self._embedder, *more)

    def __call__(self, claim: Claim) -> JobState:
        self._embedder.batches = 0
        return self._pipeline(claim)


class FaultyCompressionAgent(CompressionAgent):
    """An agent for recorded sessions, with a point before each part but the first."""

    def __init__(self, agent: CompressionAgent) -> None:
        self._agent = agent

    @property
    def name(self) -> str:
        return self._agent.name

    @property
    def chunk_tokens(self) -> int:
        return self._agent.chunk_tokens

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        if chunk.position:
            reach(Point.BETWEEN_PARTS)
        return self._agent.condense(chunk, meter)


class FaultyCompression(CompressSession):
    """The pipeline that compresses, with points around its files."""

    def __init__(self, database: Any, clock: Any, agent_of: Any, store: Store, *more: Any, **named: Any) -> None:
        super().__init__(database, clock, agent_of, VersionStore(store.root), *more, **named)

    def _make(self, *what: Any) -> WrittenVersion:
        written = super()._make(*what)
        reach(Point.VERSION_WRITTEN)
        return written


class VersionStore(Store):
    """The store, with a point behind the first file of a version."""

    def write_text(self, path: Path, chunks: Iterable[str]) -> str:
        digest = super().write_text(path, chunks)
        if path.suffix == ".md":
            reach(Point.HALF_WRITTEN)
        return digest


class FaultyComposition(ComposeContext):
    """The pipeline that composes, with points around its documents."""

    def __init__(self, database: Any, clock: Any, store: Store, *more: Any) -> None:
        super().__init__(database, clock, FaultyStore(store.root), *more)

    def _write(self, *what: Any) -> dict[str, str]:
        digests = super()._write(*what)
        reach(Point.DOCUMENTS_WRITTEN)
        return digests


class FaultyStore(Store):
    """The store, with points around the first document of a composition."""

    def write_text(self, path: Path, chunks: Iterable[str]) -> str:
        is_first = path.name == MARKDOWN_FILE
        if is_first:
            reach(Point.BEFORE_COMPOSING)
        digest = super().write_text(path, chunks)
        if is_first:
            reach(Point.HALF_COMPOSED)
        return digest


class FaultyAttempts:
    """Attempts with a point after the result is committed and one before the message is acknowledged."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts

    def run(self, message: JobMessage, kind: JobKind, pipeline: Pipeline) -> None:
        def with_point(claim: Claim) -> JobState:
            state = pipeline(claim)
            reach(_AFTER_COMMIT[kind])
            return state

        self._attempts.run(message, kind, with_point)
        if _AFTER_COMMIT[kind] is Point.AFTER_COMMIT:
            reach(Point.BEFORE_ACK)


_AFTER_COMMIT = dict.fromkeys(JobKind, Point.AFTER_COMMIT) | {
    JobKind.EXTRACT_FACTS: Point.AFTER_FACTS,
    JobKind.EMBED_MESSAGES: Point.AFTER_VECTORS,
    JobKind.SUMMARISE: Point.SUMMARY_KEPT,
    JobKind.COMPRESS_SESSION: Point.COMPRESSED,
    JobKind.COMPOSE_CONTEXT: Point.COMPOSED,
}


def _install() -> None:
    build_agents = worker.wiring.build_agents

    def build_faulty_agents(settings: Settings) -> Agents:
        agents = build_agents(settings)
        return dataclasses.replace(
            agents,
            memories=WithPoints(agents.memories, "create", Point.BEFORE_CALL, Point.AFTER_CALL),
            facts=WithPoints(agents.facts, "extract", Point.BEFORE_EXTRACTION, Point.AFTER_EXTRACTION),
            summaries=WithPoints(agents.summaries, "summarise", Point.BEFORE_SUMMARY, Point.AFTER_SUMMARY),
            sessions={name: FaultyCompressionAgent(one) for name, one in agents.sessions.items()},
        )

    worker.wiring.build_agents = build_faulty_agents
    embed_messages.EmbedMessages = FaultyEmbedMessages  # type: ignore[misc]
    compress_session.CompressSession = FaultyCompression  # type: ignore[misc]
    compose_context.ComposeContext = FaultyComposition  # type: ignore[misc]
    from worker.celery_app import process  # reads the settings when imported

    @signals.worker_process_init.connect(weak=False)
    def wrap(**_: Any) -> None:
        prepared = process.services
        process.prepared = dataclasses.replace(prepared, attempts=FaultyAttempts(prepared.attempts))  # type: ignore[arg-type]


if __name__ == "__main__":
    _install()
    sys.exit(main())
