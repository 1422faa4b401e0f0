"""Composes a context from sessions once every version it needs is there.

Sessions are read and files written with no transaction open; the composition is listed only by the transaction that
ends the job, and its files are in place before that. A job that is killed begins anew and writes the same bytes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from sqlalchemy.orm import Session

from shared.apps.queries import get_app, lock_app
from shared.base.audit import Cause
from shared.base.choices import OutputFormat
from shared.base.clock import Clock
from shared.base.errors import AfterthoughtError, Invalid, LeaseLost, NotFound, NotYet
from shared.base.settings import Settings
from shared.contracts.jobs import CompositionPayload
from shared.db.engine import Database
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, confirm
from shared.sessions import manifest
from shared.sessions.blocks import Block, mask_block
from shared.sessions.compose import compositions, documents
from shared.sessions.compose.plan import shared_beginnings
from shared.sessions.compose.queries import ComponentRow, composition_by_key, rows_of
from shared.sessions.models import BuildState, Composition, KeepitMarker, Project
from shared.sessions.queries import lock_project_by_key, markers_of
from shared.sessions.recording import blocks_in
from shared.sessions.store import Store
from shared.sessions.transcripts.contents import read_blocks, repeated_records
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import WorkerContainer, end, payload_of, unpurged

SHORTEST_WAIT, LONGEST_WAIT = timedelta(seconds=5), timedelta(seconds=60)
ACTOR, REASON = "rule:compose", "composed as asked"
_WAITED_PER_WAIT = 4


class Missing(AfterthoughtError):
    """A part of the composition is missing from the store; the message says what to do."""

    code = "source_missing"


@dataclass(frozen=True)
class ComposeContext:
    """The pipeline of ``compose_context`` jobs."""

    database: Database
    clock: Clock
    store: Store
    metrics: Metrics
    settings: Settings

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or DEAD. Raises: NotYet, LeaseLost, Purged."""
        try:
            self._replan(claim)
            composition, project, sources = self._read(claim)
            composed = documents.compose_documents(composition.name, sources, composition.budget)
            digests = self._write(claim, project, composition, composed)
        except (Missing, Invalid, NotFound) as error:
            # End the job as a dead letter; of the composition only its row stays, with the reason.
            why = f"{error.code}: {error.message}"
            with self.database.write() as session:
                cause = self._cause(claim)
                unpurged(lock_app(session, claim.app_id), claim)
                composition = _composition(session, claim)
                project = lock_project_by_key(session, composition.project_key)
                compositions.fail_composition(session, project, composition, why, cause)
                end(session, claim, JobState.DEAD, cause.at, why)
            folder = self.store.composition_folder(claim.app_id, project.project_id, composition.name)
            self.store.remove(folder)
            return JobState.DEAD
        return self._complete(claim, composed, digests)

    def _replan(self, claim: Claim) -> None:
        """Plan again where a failed composition is retried, or a version that another request had begun is ready."""
        with self.database.read() as session:
            if not _wants_replanning(_composition(session, claim), _rows(session, claim)):
                return
        with self.database.write() as session:
            app = unpurged(lock_app(session, claim.app_id), claim)
            confirm(session, claim)
            composition = _composition(session, claim)
            project = lock_project_by_key(session, composition.project_key)
            asked = compositions.CompositionRequest.model_validate(composition.request)
            composition.state, composition.failure = BuildState.WORKING, None
            foreseen = compositions.plan_composition(session, project, composition.name, asked)
            compositions.write_components(session, app, composition, foreseen, self._cause(claim), self.settings)

    def _read(self, claim: Claim) -> tuple[Composition, Project, list[documents.CompositionSource]]:
        with self.database.read() as session:
            composition = _composition(session, claim)
            rows = _rows(session, claim)
            self._check_versions(claim, rows)
            project = session.get_one(Project, composition.project_key)
            sources: list[documents.CompositionSource] = []
            originals = {row.recorded.session_id: self._original(row) for row in rows}
            for row, alike in zip(rows, shared_beginnings([row.recorded for row in rows]), strict=True):
                begins_as = alike.session_id if alike else None
                earlier = originals[begins_as] if begins_as else None
                read = self._reader(row, markers_of(session, row.recorded.key), earlier)
                of, allocation = documents.named_beside(row.project, project), row.component.allocation
                sources.append(
                    documents.CompositionSource(row.recorded, row.compression, of, allocation, read, begins_as)
                )
            return composition, project, sources

    def _check_versions(self, claim: Claim, rows: Sequence[ComponentRow]) -> None:
        """Raises: Missing for a version that failed, NotYet while one is being made."""
        versions = [(row.recorded.session_id, row.compression) for row in rows if row.compression is not None]
        for session_id, version in versions:
            if version.state == BuildState.FAILED:
                raise Missing(
                    f"version {version.version_id} of session {session_id} failed; see why in its job "
                    f"{version.job_id}, then ask for the composition again"
                )
        waiting = [version.version_id for _, version in versions if version.state == BuildState.WORKING]
        if waiting:
            now = self.clock.now()
            # The longer it has waited, the less often it looks.
            pause = min(LONGEST_WAIT, max(SHORTEST_WAIT, (now - claim.created_at) / _WAITED_PER_WAIT))
            raise NotYet(f"It waits for {len(waiting)} versions that are being made.", now + pause)

    def _original(self, row: ComponentRow) -> tuple[Path, int]:
        names = (row.recorded.app_id, row.project.project_id, row.recorded.session_id)
        return self.store.original(*names), row.recorded.size_bytes

    def _reader(
        self, row: ComponentRow, markers: Iterable[KeepitMarker], earlier: tuple[Path, int] | None
    ) -> documents.ReadBlocks:
        """Return what reads a session's part, without the records that an original before it holds as well."""
        names = (row.recorded.app_id, row.project.project_id, row.recorded.session_id)
        original = path, size_bytes = self._original(row)
        marked: defaultdict[str, list[KeepitMarker]] = defaultdict(list)
        for marker in markers:
            marked[marker.message_uuid].append(marker)
        is_original = row.compression is None
        if row.compression is not None:
            path = self.store.versions_folder(*names) / f"{row.compression.file}.jsonl"

        # Read after the transaction, so it holds values only.
        repeated = cache(lambda: repeated_records(original, earlier) if earlier else frozenset())

        def read() -> Iterable[Block]:
            for needed in (path, original[0], earlier[0]) if earlier else (path,):
                if not needed.is_file():
                    raise Missing(
                        f"{needed.name} is not in the store any more; make that version anew, or register the session "
                        "again."
                    )
            # Versions too: one that was made when secrets were not masked yet may hold some.
            masked = map(mask_block, read_blocks(path, size_bytes) if is_original else blocks_in(path))
            blocks = documents.paired_blocks(masked, marked) if is_original else masked
            return (one for one in blocks if not one.sources or not repeated().issuperset(one.sources))

        return read

    def _write(
        self, claim: Claim, project: Project, composition: Composition, composed: documents.ComposedContext
    ) -> dict[str, str]:
        folder = self.store.composition_folder(claim.app_id, project.project_id, composition.name)
        wanted = compositions.CompositionRequest.model_validate(composition.request).output_format
        with self.database.write() as session:
            confirm(session, claim)  # Who was overtaken must not write over its successor's files.
        digests = {}
        if wanted is not OutputFormat.JSONL:
            digests["md"] = self.store.write_text(folder / documents.MARKDOWN_FILE, composed.markdown())
        if wanted is not OutputFormat.MARKDOWN:
            lines = composed.lines(composition.composition_id)
            digests["jsonl"] = self.store.write_text(folder / documents.LINES_FILE, lines)
        for ending in documents.FILES.keys() - digests:
            self.store.remove(folder / documents.FILES[ending])  # Of the one it replaces.
        return digests

    def _complete(self, claim: Claim, composed: documents.ComposedContext, digests: dict[str, str]) -> JobState:
        with self.database.write() as session:
            cause = self._cause(claim)
            unpurged(lock_app(session, claim.app_id), claim)
            composition = _composition(session, claim)
            project = lock_project_by_key(session, composition.project_key)
            compositions.complete_composition(session, project, composition, composed, digests, cause)
            end(session, claim, JobState.DONE, cause.at)
        self.metrics.contexts_composed.inc()
        get_logger().info(
            "context_composed",
            job_id=claim.job_id,
            app_id=claim.app_id,
            tokens=composed.tokens,
            budget=composition.budget,
        )
        manifest.write(self.database, self.store, claim.app_id, project.project_id)
        return JobState.DONE

    def _cause(self, claim: Claim) -> Cause:
        return Cause(ACTOR, REASON, self.clock.now(), claim.job_id)


def _composition(session: Session, claim: Claim) -> Composition:
    unpurged(get_app(session, claim.app_id), claim)
    found = composition_by_key(session, claim.app_id, payload_of(claim, CompositionPayload).composition_key)
    if found is None:
        raise LeaseLost(f"The composition of job {claim.job_id} was removed.")
    return found


def _rows(session: Session, claim: Claim) -> list[ComponentRow]:
    key = payload_of(claim, CompositionPayload).composition_key
    return rows_of(session, [key])[key]


def _wants_replanning(composition: Composition, rows: Sequence[ComponentRow]) -> bool:
    if composition.state == BuildState.FAILED:
        return True
    joined = [row.compression for row in rows if (row.component.recompress or {}).get("joined")]
    is_over = [version is None or version.state != BuildState.WORKING for version in joined]
    return bool(joined) and all(is_over)


def build(container: WorkerContainer) -> ComposeContext:
    return ComposeContext(container.database, container.clock, container.store, container.metrics, container.settings)
