"""Makes a version of a recorded session.

The session is read and divided, its chunks are condensed one by one, and what each came to is kept at once; so a job
that is killed, or gives way to other work, goes on where it was. Then the whole is woven and its files are written,
and the transaction that ends the job lists the version. Nothing half is ever listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from sqlalchemy.orm import Session

from shared.apps.queries import get_app, lock_app
from shared.clock import Clock
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.ledger import Booking
from shared.errors import Configuration, Conflict, LeaseLost, NotYet
from shared.outbox.models import JobState
from shared.outbox.ownership import Claim, confirm
from shared.sessions import manifest
from shared.sessions.blocks import line_of, markdown_lines, records_of
from shared.sessions.compose.compositions import wake_waiting
from shared.sessions.compress.assembly import Chunk, CondensedChunk, condensed_of
from shared.sessions.compress.plan import MarkerDecision
from shared.sessions.compress.queries import (
    decided_markers,
    lock_session_by_key,
    lock_version,
    parts_of,
    version_by_key,
    version_by_number,
    working_of,
)
from shared.sessions.compress.run import CompressionRun, Version
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.sources import CompressionOrigin, read_task
from shared.sessions.compress.versions import VERSION_PAYLOAD_KEY, WrittenVersion, drop_parts, file_name, finish_version
from shared.sessions.models import BuildState as State
from shared.sessions.models import KeepitMarker, Project, RecordedSession, SessionVersion, VersionPart
from shared.sessions.queries import lock_project_by_key, markers_of, project_by_key
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, agent_kind
from worker.agent.sessions.protocol import CompressionAgent
from worker.pipelines.ending import end, unpurged

LONGEST_SECONDS = 20.0
"""After this a job gives way to the other work of its app."""
AgentOf = Callable[[str], CompressionAgent | None]
"""Returns the agent of a name, or None where it is not set up here."""


@dataclass(frozen=True)
class Rows:
    """What was read of the database."""

    project: Project
    recorded: RecordedSession
    compression: SessionVersion
    source: SessionVersion | None
    markers: Sequence[KeepitMarker]
    had: frozenset[str]
    """Markers that stood in what the source was made from."""
    parts: dict[int, VersionPart]


class CompressSession:
    """The pipeline of ``compress_session`` jobs."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        agent_of: AgentOf,
        store: Store,
        accountant: Accountant,
        metrics: Metrics,
        elapsed: Callable[[], float] = perf_counter,
    ) -> None:
        self._database = database
        self._clock = clock
        self._agent_of = agent_of
        self._store = store
        self._accountant = accountant
        self._metrics = metrics
        self._elapsed = elapsed
        self._log = get_logger()

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE. Raises: LeaseLost, Purged, and NotYet when more is left."""
        began = self._elapsed()
        self._take_up(claim)
        rows = self._read(claim)
        agent = self._agent(rows)
        making = self._begin(rows, agent)
        parts = self._condense(claim, rows, making, agent, began)
        written = self._write(claim, rows, making, making.finish(parts), agent, began)
        return self._end(claim, rows, written)

    def _take_up(self, claim: Claim) -> None:
        """Make a version that had failed one that is being made, where its job was replayed."""
        with self._database.read() as session:
            if self._compression(session, claim).state == State.WORKING:
                return
        with self._database.write() as session:
            unpurged(lock_app(session, claim.app_id), claim)
            confirm(session, claim)
            compression = self._compression(session, claim)
            if compression.state == State.FAILED:
                other = working_of(session, compression.session_key)
                if other is not None:
                    raise Conflict(f"Version {other.version_id} is being made meanwhile.", code="compression_running")
                compression.state, compression.finished_at = State.WORKING, None

    def _read(self, claim: Claim) -> Rows:
        with self._database.read() as session:
            unpurged(get_app(session, claim.app_id), claim)
            compression = self._compression(session, claim)
            if compression.state != State.WORKING:
                raise LeaseLost(f"Version {compression.version_id} is {compression.state} already.")
            recorded = session.get_one(RecordedSession, compression.session_key)
            source = _source(session, compression)
            markers = markers_of(session, recorded.key)
            return Rows(
                project_by_key(session, recorded.project_key),
                recorded,
                compression,
                source,
                markers,
                frozenset() if source is None else decided_markers(session, source.key),
                parts_of(session, compression.key),
            )

    def _compression(self, session: Session, claim: Claim) -> SessionVersion:
        found = version_by_key(session, claim.payload[VERSION_PAYLOAD_KEY])
        if found is None:
            raise LeaseLost(f"The version of job {claim.job_id} was removed.")
        return found

    def _agent(self, rows: Rows) -> CompressionAgent:
        wanted = str(rows.compression.settings.get("model"))
        agent = self._agent_of(wanted)
        if agent is None:
            raise Configuration(f"No agent {wanted} is set up; set AFTERTHOUGHT_MODEL, or cancel the job.")
        return agent

    def _begin(self, rows: Rows, agent: CompressionAgent) -> CompressionRun:
        settings = CompressionSettings.model_validate(rows.compression.settings)
        task = read_task(self._store, _origin(rows), settings)
        return CompressionRun(task, agent.chunk_tokens)

    def _condense(
        self, claim: Claim, rows: Rows, making: CompressionRun, agent: CompressionAgent, began: float
    ) -> list[CondensedChunk]:
        parts = dict(_usable(rows.parts, making.chunking_hash))
        if len(parts) < len(rows.parts) or rows.compression.parts_total != len(making.chunks):
            self._begin_parts(claim, rows.compression.key, making, keep=len(parts) == len(rows.parts))
        meter = self._accountant.meter(Booking(claim.app_id, claim.job_id, None))
        for chunk in making.chunks:
            if chunk.position in parts:
                continue
            if parts and self._elapsed() - began > LONGEST_SECONDS:
                raise NotYet("Parts of the session are left; other work of the app comes first.", self._clock.now())
            part = agent.condense(chunk, meter)
            self._keep(claim, rows.compression.key, chunk, part, making.chunking_hash)
            parts[chunk.position] = part
        return [parts[chunk.position] for chunk in making.chunks]

    def _begin_parts(self, claim: Claim, key: int, making: CompressionRun, keep: bool) -> None:
        with self._database.write() as session:
            compression = self._held(session, claim, key)
            compression.parts_total = len(making.chunks)
            if not keep:
                drop_parts(session, compression)
                compression.parts_done = 0

    def _keep(self, claim: Claim, key: int, chunk: Chunk, part: CondensedChunk, outline: str) -> None:
        with self._database.write() as session:
            compression = self._held(session, claim, key)
            content = [{"outline": outline}, *part.as_rows()]
            session.add(VersionPart(compression_key=key, position=chunk.position, content=content))
            compression.parts_done += 1

    def _held(self, session: Session, claim: Claim, key: int) -> SessionVersion:
        """Return the version, locked and still to be made by this job."""
        unpurged(lock_app(session, claim.app_id), claim)
        confirm(session, claim)
        compression = lock_version(session, key)
        if compression is None or compression.state != State.WORKING:
            raise LeaseLost(f"The version of job {claim.job_id} is not being made any more.")
        return compression

    def _write(
        self, claim: Claim, rows: Rows, making: CompressionRun, made: Version, agent: CompressionAgent, began: float
    ) -> WrittenVersion:
        names = (rows.recorded.app_id, rows.project.project_id, rows.recorded.session_id)
        folder = self._store.versions_folder(*names)
        file = file_name(rows.compression, making.task.settings.label, made.output_tokens)
        with self._database.write() as session:
            self._held(session, claim, rows.compression.key)  # Who was overtaken must not write over its successor's.
        lines = map(line_of, records_of(made.blocks, rows.recorded.session_id, making.task.cache_key))
        digests = {
            "md": self._store.write_text(folder / f"{file}.md", markdown_lines(made.blocks, made.heading)),
            "jsonl": self._store.write_text(folder / f"{file}.jsonl", lines),
        }
        seconds = self._elapsed() - began
        return WrittenVersion(made, agent.name, seconds, file, digests, tuple(_gone(rows, made)))

    def _end(self, claim: Claim, rows: Rows, written: WrittenVersion) -> JobState:
        with self._database.write() as session:
            now = self._clock.now()
            unpurged(lock_app(session, claim.app_id), claim)
            project = lock_project_by_key(session, rows.project.key)
            recorded = lock_session_by_key(session, rows.recorded.key)
            if recorded is None:
                raise LeaseLost(f"The session of job {claim.job_id} was unregistered.")
            compression = self._held(session, claim, rows.compression.key)
            finish_version(session, project, recorded, compression, written, markers_of(session, recorded.key), now)
            wake_waiting(session, compression, now)
            end(session, claim, JobState.DONE, now)
        self._tell(claim, written)
        manifest.write(self._database, self._store, claim.app_id, rows.project.project_id)
        return JobState.DONE

    def _tell(self, claim: Claim, written: WrittenVersion) -> None:
        made, metrics = written.version, self._metrics
        metrics.sessions_compressed.labels(agent_kind(written.agent)).inc()
        metrics.session_tokens.labels("input").inc(made.plan.input_tokens)
        metrics.session_tokens.labels("output").inc(made.output_tokens)
        preserved = sum(fate.survived for fate in written.decisions)
        metrics.markers_decided.labels("preserved").inc(preserved)
        metrics.markers_decided.labels("summarised").inc(len(written.decisions) - preserved)
        self._log.info(
            "session_compressed",
            job_id=claim.job_id,
            app_id=claim.app_id,
            input_tokens=made.plan.input_tokens,
            output_tokens=made.output_tokens,
        )


def _source(session: Session, compression: SessionVersion) -> SessionVersion | None:
    if compression.source_number is None:
        return None
    source = version_by_number(session, compression.session_key, compression.source_number)
    if source is None or source.state != State.READY:
        raise Conflict("The version it was to be made from is gone; ask for one from the original.", code="source_gone")
    return source


def _origin(rows: Rows) -> CompressionOrigin:
    return CompressionOrigin(
        app_id=rows.recorded.app_id,
        project_id=rows.project.project_id,
        session_id=rows.recorded.session_id,
        sha256=rows.compression.source_sha256,
        size_bytes=rows.compression.source_bytes,
        version=rows.source,
        markers=rows.markers,
    )


def _usable(parts: dict[int, VersionPart], outline: str) -> Iterator[tuple[int, CondensedChunk]]:
    """Yield what parts came to that were made of the session divided as it is now."""
    for position, part in parts.items():
        if part.content[0] == {"outline": outline}:
            yield position, condensed_of(part.content[1:])


def _gone(rows: Rows, made: Version) -> Iterator[MarkerDecision]:
    """Yield the fates of markers that the source version had summarised already."""
    present = {fate.marker_id for fate in made.plan.decisions}
    for marker in rows.markers:
        if marker.marker_id in rows.had - present:
            yield MarkerDecision(marker.marker_id, marker.weight_in_force, False)
