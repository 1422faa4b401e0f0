"""Packs a project into one file, part by part, with a checksum of each.

The rows are read in one short transaction. A file that was replaced while it was packed does not have the digest its
row gave, and the whole is refused rather than handed out wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy.orm import Session

from shared.base.errors import Conflict
from shared.db.base import Transactions, copied
from shared.sessions import queries
from shared.sessions.archive.document import (
    CHECKSUMS,
    DOCUMENT,
    ArchivedComponent,
    ArchivedComposition,
    ArchivedProject,
    ArchivedSemanticMemory,
    ArchivedSemanticSource,
    ArchivedSession,
    ArchivedSessionChange,
    ArchivedSettings,
    ArchivedVersion,
    ArchivedWeight,
    ProjectArchive,
    original_member,
)
from shared.sessions.compose.queries import ComponentRow, rows_of
from shared.sessions.models import BuildState, Project, RecordedSession
from shared.sessions.registry.intake import explained
from shared.sessions.retention.rules import KEEPS, Retention
from shared.sessions.semantic.queries import semantic_memories_of, sources_of
from shared.sessions.store import Store, as_json, chunks_of

_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""What the format needs; the same project packed twice is the same file."""


@contextmanager
def packed(database: Transactions, store: Store, app_id: str, project_id: str) -> Iterator[Path]:
    """Pack a project into a file of the cache, which goes with the block. Raises: NotFound, Conflict, Transient."""
    with database.read() as session:
        archive = gather_archive(session, queries.get_project(session, app_id, project_id))
    path = store.unfinished(app_id)
    store.make_folder(path.parent)
    text = as_json(archive.model_dump(mode="json", by_alias=True, exclude_none=True)).encode()
    checksums = {DOCUMENT: sha256(text).hexdigest()}
    sizes = {original_member(one.session_id): one.size_bytes for one in archive.sessions}
    try:
        with explained(path), ZipFile(path, "x", ZIP_DEFLATED) as file:
            path.chmod(0o600)
            file.writestr(_info(DOCUMENT), text)
            for name, digest in archive.members():
                source = store.project_file(app_id, archive.project.project_id, name)
                _copy_member(file, name, source, digest, sizes.get(name))
                checksums[name] = digest
            file.writestr(_info(CHECKSUMS), json.dumps(checksums, indent=1, sort_keys=True).encode())
        yield path
    finally:
        path.unlink(missing_ok=True)


def gather_archive(session: Session, project: Project) -> ProjectArchive:
    """Return what there is of a project. Compositions that use sessions of other projects stay behind."""
    recorded = queries.sessions_of(session, project.key)
    own = {name: value for name, value in project.settings.items() if name != KEEPS}
    if KEEPS in project.settings:
        own["retention"] = Retention.of(project.settings[KEEPS])
    changes = queries.changes_of(session, project.app_id, project.project_id)
    rows = semantic_memories_of(session, project.key)
    sources: dict[int, list[ArchivedSemanticSource]] = defaultdict(list)
    for source, session_id in sources_of(session, [one.key for one in rows]):
        sources[source.memory_key].append(copied(ArchivedSemanticSource, source, session_id=session_id))
    memories = [copied(ArchivedSemanticMemory, one, sources=sources[one.key]) for one in rows]
    ready = queries.ready_compositions(session, project.key)
    parts = rows_of(session, [one.key for one in ready])
    compositions = [
        copied(ArchivedComposition, one, components=[_component(part) for part in parts[one.key]])
        for one in ready
        if all(part.recorded.project_key == project.key for part in parts[one.key])
    ]
    return ProjectArchive(
        project=copied(ArchivedProject, project, settings=ArchivedSettings.model_validate(own)),
        sessions=_sessions(session, recorded),
        compositions=compositions,
        semantic_memories=memories,
        changes=[copied(ArchivedSessionChange, one) for one in reversed(changes)],
    )


def _sessions(session: Session, recorded: Sequence[RecordedSession]) -> list[ArchivedSession]:
    keys = [one.key for one in recorded]
    weights: dict[int, list[ArchivedWeight]] = defaultdict(list)
    marker_ids: dict[int, str] = {}
    for marker in queries.markers_of_all(session, keys):
        marker_ids[marker.key] = marker.marker_id
        if marker.override_weight is not None:
            weights[marker.session_key].append(copied(ArchivedWeight, marker, weight=marker.weight_in_force))
    rows = queries.versions_by_session(session, keys, BuildState.READY)
    outcomes: dict[int, dict[str, bool]] = defaultdict(dict)
    for outcome in queries.outcomes_of(session, [one.key for some in rows.values() for one in some]):
        outcomes[outcome.compression_key][marker_ids[outcome.marker_key]] = outcome.survived
    versions = {
        key: [copied(ArchivedVersion, row, fates=dict(sorted(outcomes[row.key].items()))) for row in some]
        for key, some in rows.items()
    }
    return [copied(ArchivedSession, one, weights=weights[one.key], versions=versions[one.key]) for one in recorded]


def _component(row: ComponentRow) -> ArchivedComponent:
    number = None if row.compression is None else row.compression.number
    return copied(ArchivedComponent, row.component, session_id=row.recorded.session_id, number=number)


def _copy_member(file: ZipFile, name: str, path: Path, sha: str, size: int | None) -> None:
    """Copy a file of the store, or as much of it as counts. Raises: Conflict where it is not what its row says."""
    digest = sha256()
    try:
        with path.open("rb") as source, file.open(_info(name), "w", force_zip64=True) as target:
            for chunk in chunks_of(source, path.stat().st_size if size is None else size):
                digest.update(chunk)
                target.write(chunk)
    except FileNotFoundError:
        digest = sha256(b"missing")
    if digest.hexdigest() != sha:
        raise Conflict(
            f"{name} is not what it was when it was written: it is being replaced at this moment, or the store was "
            "changed by hand. Try again; if it stays so, make it anew.",
            code="store_changed",
            details={"member": name},
        )


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name, _NO_TIME)
    info.compress_type = ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info
