"""Makes a version of a recorded session.

The session is read and divided, its chunks are condensed one by one, and what each came to is kept at once; so a job
that is killed, or gives way to other work, goes on where it was. Then the whole is assembled and its files are written,
and the transaction that ends the job lists the version. Nothing half is ever listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from sqlalchemy.orm import Session

from shared.apps.queries import get_app, lock_app
from shared.base.clock import Clock
from shared.base.errors import Configuration, Conflict, LeaseLost, NotYet
from shared.contracts.jobs import VersionPayload
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, confirm
from shared.llm.calls import EXTRACTIVE
from shared.sessions import manifest
from shared.sessions.blocks import markdown_lines
from shared.sessions.compose.compositions import wake_waiting
from shared.sessions.compress import queries
from shared.sessions.compress.plan import MarkerDecision
from shared.sessions.compress.run import Chunk, CompressionRun, CondensedChunk, condensed_of
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.sources import CompressionOrigin, read_task
from shared.sessions.compress.versions import WrittenVersion, drop_parts, file_name, finish_version
from shared.sessions.models import BuildState as State
from shared.sessions.models import KeepitMarker, Project, RecordedSession, SessionVersion, VersionPart
from shared.sessions.queries import lock_project_by_key, markers_of, project_by_key
from shared.sessions.recording import RecordOrigin, line_of, records_of
from shared.sessions.store import Store
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, agent_kind
from worker.agent.gates import line_gate
from worker.agent.protocol import CompressionAgent
from worker.pipelines.attempt import WorkerContainer, end, payload_of, unpurged
from worker.pipelines.fallback import Admission, JobAgent

LONGEST_SECONDS = 20.0
"""After this a job gives way to the other work of its app."""
AgentOf = Callable[[str], CompressionAgent | None]
"""Returns the agent of a name, or None where it is not set up here."""


@dataclass(frozen=True)
class CompressionRows:
    """The rows a compression needs, read in one transaction."""

    project: Project
    recorded: RecordedSession
    compression: SessionVersion
    source: SessionVersion | None
    markers: Sequence[KeepitMarker]
    had: frozenset[str]
    """Markers that stood in what the source was made from."""
    parts: dict[int, VersionPart]

    @property
    def origin(self) -> CompressionOrigin:
        """The text to compress: the original, or an earlier version."""
        return CompressionOrigin(
            app_id=self.recorded.app_id,
            project_id=self.project.project_id,
            session_id=self.recorded.session_id,
            sha256=self.compression.source_sha256,
            size_bytes=self.compression.source_bytes,
            version=self.source,
            markers=self.markers,
        )


@dataclass(frozen=True)
class CompressSession:
    """The pipeline of ``compress_session`` jobs."""

    database: Database
    clock: Clock
    agent_of: AgentOf
    store: Store
    accountant: Accountant
    metrics: Metrics
    elapsed: Callable[[], float] = perf_counter
    rules: CompressionAgent | None = None

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE. Raises: LeaseLost, Purged, and NotYet when more is left."""
        began = self.elapsed()
        self._resume_failed(claim)
        rows = self._read(claim)
        wanted = str(rows.compression.settings.get("model"))
        agent = self.agent_of(wanted)
        if agent is None:
            raise Configuration(f"No agent {wanted} is set up; set AFTERTHOUGHT_MODEL, or cancel the job.")
        worker = JobAgent(agent, self.rules, claim, self.accountant)
        written = worker.do(lambda one: self._make(worker, one, began))
        worker.conclude()
        return self._end(worker, rows, written)

    def _make(self, worker: JobAgent[CompressionAgent], agent: CompressionAgent, began: float) -> WrittenVersion:
        """Have a whole version made by one agent; what another one made of it, which divides otherwise, is dropped."""
        claim = worker.claim
        rows = self._read(claim)
        settings = CompressionSettings.model_validate(rows.compression.settings)
        run = CompressionRun(read_task(self.store, rows.origin, settings), agent.chunk_tokens)
        parts = self._condense(worker, rows, run, agent, began)
        version = run.finish(parts)
        names = (rows.recorded.app_id, rows.project.project_id, rows.recorded.session_id)
        folder = self.store.versions_folder(*names)
        file = file_name(rows.compression, run.task.settings.label, version.output_tokens)
        with self.database.write() as session:
            self._held(session, claim, rows.compression.key)  # Who was overtaken must not write over its successor's.
        origin = RecordOrigin.of(rows.recorded.session_id, run.task.cache_key, rows.recorded.details)
        lines = map(line_of, records_of(version.blocks, origin, version.heading))
        digests = {
            "md": self.store.write_text(folder / f"{file}.md", markdown_lines(version.blocks, version.heading)),
            "jsonl": self.store.write_text(folder / f"{file}.jsonl", lines),
        }
        # Markers that the source version had summarised already are in no plan, and stay summarised.
        gone = rows.had - {decision.marker_id for decision in version.plan.decisions}
        summarised = tuple(
            MarkerDecision(marker.marker_id, marker.weight_in_force, False)
            for marker in rows.markers
            if marker.marker_id in gone
        )
        # Where nothing was to be condensed nobody was asked, and the version is made of what stood there.
        author = agent.name if run.chunks else EXTRACTIVE
        return WrittenVersion(version, author, self.elapsed() - began, file, digests, summarised)

    def _resume_failed(self, claim: Claim) -> None:
        """Set a version that had failed to working again, where its job was replayed."""
        with self.database.read() as session:
            if self._compression(session, claim).state == State.WORKING:
                return
        with self.database.write() as session:
            unpurged(lock_app(session, claim.app_id), claim)
            confirm(session, claim)
            compression = self._compression(session, claim)
            if compression.state == State.FAILED:
                other = queries.working_of(session, compression.session_key)
                if other is not None:
                    raise Conflict(f"Version {other.version_id} is being made meanwhile.", code="compression_running")
                compression.state, compression.finished_at = State.WORKING, None

    def _read(self, claim: Claim) -> CompressionRows:
        with self.database.read() as session:
            unpurged(get_app(session, claim.app_id), claim)
            compression = self._compression(session, claim)
            if compression.state != State.WORKING:
                raise LeaseLost(f"Version {compression.version_id} is {compression.state} already.")
            recorded = session.get_one(RecordedSession, compression.session_key)
            source = None
            if compression.source_number is not None:
                source = queries.version_by_number(session, compression.session_key, compression.source_number)
                if source is None or source.state != State.READY:
                    raise Conflict(
                        "The version it was to be made from is gone; ask for one from the original.", code="source_gone"
                    )
            return CompressionRows(
                project_by_key(session, recorded.project_key),
                recorded,
                compression,
                source,
                markers_of(session, recorded.key),
                frozenset() if source is None else queries.decided_markers(session, source.key),
                queries.parts_of(session, compression.key),
            )

    def _compression(self, session: Session, claim: Claim) -> SessionVersion:
        found = queries.version_by_key(session, payload_of(claim, VersionPayload).compression)
        if found is None:
            raise LeaseLost(f"The version of job {claim.job_id} was removed.")
        return found

    def _condense(
        self,
        worker: JobAgent[CompressionAgent],
        rows: CompressionRows,
        run: CompressionRun,
        agent: CompressionAgent,
        began: float,
    ) -> list[CondensedChunk]:
        claim = worker.claim
        key, chunking_hash = rows.compression.key, {"outline": run.chunking_hash, "by": agent.name}
        # Parts made of the session as it is divided now, by this agent; others are of no use.
        parts = {
            position: condensed_of(part.content[1:])
            for position, part in rows.parts.items()
            if part.content[0] == chunking_hash
        }
        if len(parts) < len(rows.parts) or rows.compression.parts_total != len(run.chunks):
            with self.database.write() as session:
                compression = self._held(session, claim, key)
                compression.parts_total = len(run.chunks)
                if len(parts) < len(rows.parts):
                    drop_parts(session, compression)
                    compression.parts_done = 0
        for chunk in run.chunks:
            if chunk.position in parts:
                continue
            # What the rules began in a model's stead they end at once: the next attempt asks the model first.
            if parts and agent is not self.rules and self.elapsed() - began > LONGEST_SECONDS:
                raise NotYet("Parts of the session are left; other work of the app comes first.", self.clock.now())
            part = _admitted(agent.condense(chunk, worker.meter), chunk, worker.admission)
            with self.database.write() as session:
                compression = self._held(session, claim, key)
                content = [chunking_hash, *part.as_rows()]
                session.add(VersionPart(compression_key=key, position=chunk.position, content=content))
                compression.parts_done += 1
            parts[chunk.position] = part
        return [parts[chunk.position] for chunk in run.chunks]

    def _held(self, session: Session, claim: Claim, key: int) -> SessionVersion:
        """Return the version, locked and still to be made by this job."""
        unpurged(lock_app(session, claim.app_id), claim)
        confirm(session, claim)
        compression = queries.lock_version(session, key)
        if compression is None or compression.state != State.WORKING:
            raise LeaseLost(f"The version of job {claim.job_id} is not being made any more.")
        return compression

    def _end(self, agent: JobAgent[CompressionAgent], rows: CompressionRows, written: WrittenVersion) -> JobState:
        claim = agent.claim
        with self.database.write() as session:
            now = self.clock.now()
            unpurged(lock_app(session, claim.app_id), claim)
            project = lock_project_by_key(session, rows.project.key)
            recorded = queries.lock_session_by_key(session, rows.recorded.key)
            if recorded is None:
                raise LeaseLost(f"The session of job {claim.job_id} was unregistered.")
            compression = self._held(session, claim, rows.compression.key)
            finish_version(session, project, recorded, compression, written, markers_of(session, recorded.key), now)
            wake_waiting(session, compression, now)
            end(session, claim, JobState.DONE, now, agent.job_reason())
        version, metrics = written.version, self.metrics
        metrics.sessions_compressed.labels(agent_kind(written.agent)).inc()
        metrics.session_tokens.labels("input").inc(version.plan.input_tokens)
        metrics.session_tokens.labels("output").inc(version.output_tokens)
        preserved = sum(decision.survived for decision in written.decisions)
        metrics.markers_decided.labels("preserved").inc(preserved)
        metrics.markers_decided.labels("summarised").inc(len(written.decisions) - preserved)
        get_logger().info(
            "session_compressed",
            job_id=claim.job_id,
            app_id=claim.app_id,
            input_tokens=version.plan.input_tokens,
            output_tokens=version.output_tokens,
        )
        manifest.write(self.database, self.store, claim.app_id, rows.project.project_id)
        return JobState.DONE


def _admitted(part: CondensedChunk, chunk: Chunk, admission: Admission) -> CondensedChunk:
    """Leave out lines of an agent's own words that the record does not bear; what is kept of it stays as it is."""
    if not part.lines:
        return part
    gate = line_gate(chunk)
    judged = ((line, admission.admit(line.text, gate)) for line in part.lines)
    return replace(part, lines=tuple(replace(line, text=text) for line, text in judged if text is not None))


def build(container: WorkerContainer) -> CompressSession:
    agents = container.agents.sessions
    return CompressSession(
        container.database,
        container.clock,
        agents.get,
        container.store,
        container.accountant,
        container.metrics,
        rules=container.rules.sessions,
    )
