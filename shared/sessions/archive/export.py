"""Packs a project into one file, part by part, with a checksum of each.

The rows are read in one short transaction. A file that was replaced while it was packed does not have the digest its
row gave, and the whole is refused rather than handed out wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy.orm import Session

from shared.db.transactions import Transactions
from shared.errors import Conflict
from shared.sessions.archive.document import (
    CHECKSUMS,
    DOCUMENT,
    ENDINGS,
    ArchivedChange,
    ArchivedComponent,
    ArchivedComposition,
    ArchivedMemory,
    ArchivedProject,
    ArchivedSession,
    ArchivedSettings,
    ArchivedSource,
    ArchivedVersion,
    ArchivedWeight,
    ProjectArchive,
    as_document,
    composition_member,
    original_member,
    version_member,
)
from shared.sessions.compose.documents import FILES
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.models import Composition, KeepitMarker, Project, RecordedSession, SessionVersion
from shared.sessions.queries import (
    all_changes_of,
    components_of_all,
    get_project,
    markers_of_all,
    outcomes_of,
    ready_compositions,
    ready_versions,
    semantic_memories_of,
    sessions_of,
    sources_of,
)
from shared.sessions.registry.intake import explained
from shared.sessions.registry.projects import ProjectSettings
from shared.sessions.retention.runs import rules_of
from shared.sessions.store import Store, as_json, chunks_of


def gather_archive(session: Session, project: Project) -> ProjectArchive:
    """Return what there is of a project. Compositions that use sessions of other projects stay behind."""
    recorded = sessions_of(session, project.key)
    compositions = _compositions(session, project, {one.session_id for one in recorded})
    return ProjectArchive(
        project=ArchivedProject(
            project_id=project.project_id,
            original_path=project.original_path,
            display_name=project.display_name,
            settings=_settings(project),
            created_at=project.created_at,
        ),
        sessions=_sessions(session, recorded),
        compositions=compositions,
        semantic_memories=_memories(session, project.key),
        changes=[_archived_change(one) for one in all_changes_of(session, project.app_id, project.project_id)],
    )


def _settings(project: Project) -> ArchivedSettings:
    own, rules = ProjectSettings.of(project), rules_of(project)
    return ArchivedSettings(**own.model_dump(), retention=rules.retention, auto_decay=rules.auto_decay)


def _sessions(session: Session, recorded: Sequence[RecordedSession]) -> list[ArchivedSession]:
    keys = [one.key for one in recorded]
    markers: dict[int, list[KeepitMarker]] = defaultdict(list)
    for marker in markers_of_all(session, keys):
        markers[marker.session_key].append(marker)
    versions = _versions(session, keys, {one.key: one.marker_id for some in markers.values() for one in some})
    return [
        ArchivedSession(
            session_id=one.session_id,
            original_file=one.original_file,
            size_bytes=one.size_bytes,
            sha256=one.sha256,
            registered_at=one.registered_at,
            next_version=one.next_version,
            weights=[_weight(marker) for marker in markers[one.key] if marker.override_weight is not None],
            versions=versions[one.key],
        )
        for one in recorded
    ]


def _weight(marker: KeepitMarker) -> ArchivedWeight:
    return ArchivedWeight(
        marker_id=marker.marker_id,
        weight=marker.weight_in_force,
        overridden_by=marker.overridden_by,
        overridden_at=marker.overridden_at,
    )


def _versions(
    session: Session, session_keys: Sequence[int], marker_ids: dict[int, str]
) -> dict[int, list[ArchivedVersion]]:
    rows = ready_versions(session, session_keys)
    fates: dict[int, dict[str, bool]] = defaultdict(dict)
    for fate in outcomes_of(session, [one.key for one in rows]):
        fates[fate.compression_key][marker_ids[fate.marker_key]] = fate.survived
    found: dict[int, list[ArchivedVersion]] = defaultdict(list)
    for one in rows:
        found[one.session_key].append(_version(one, dict(sorted(fates[one.key].items()))))
    return found


def _version(one: SessionVersion, fates: dict[str, bool]) -> ArchivedVersion:
    fields: dict[str, Any] = {
        name: getattr(one, name) for name in ArchivedVersion.model_fields if name not in ("settings", "fates")
    }
    return ArchivedVersion(settings=CompressionSettings.model_validate(one.settings), fates=fates, **fields)


def _compositions(session: Session, project: Project, own_sessions: set[str]) -> list[ArchivedComposition]:
    rows = ready_compositions(session, project.key)
    parts: dict[int, list[ArchivedComponent]] = defaultdict(list)
    for component, session_id, number in components_of_all(session, [one.key for one in rows]):
        parts[component.composition_key].append(
            ArchivedComponent(
                session_id=session_id,
                number=number,
                allocation=component.allocation,
                tokens=component.tokens,
                left_out=component.left_out,
                recompress=component.recompress,
            )
        )
    return [
        _composition(one, parts[one.key])
        for one in rows
        if all(part.session_id in own_sessions for part in parts[one.key])
    ]


def _composition(one: Composition, components: list[ArchivedComponent]) -> ArchivedComposition:
    fields = {name: getattr(one, name) for name in ArchivedComposition.model_fields if name != "components"}
    return ArchivedComposition(components=components, **fields)


def _memories(session: Session, project_key: int) -> list[ArchivedMemory]:
    rows = semantic_memories_of(session, project_key)
    sources: dict[int, list[ArchivedSource]] = defaultdict(list)
    for source, session_id in sources_of(session, [one.key for one in rows]):
        sources[source.memory_key].append(
            ArchivedSource(session_id=session_id, message_uuid=source.message_uuid, excerpt=source.excerpt)
        )
    simple = [name for name in ArchivedMemory.model_fields if name != "sources"]
    return [ArchivedMemory(sources=sources[one.key], **{name: getattr(one, name) for name in simple}) for one in rows]


def _archived_change(one: Any) -> ArchivedChange:
    return ArchivedChange(**{name: getattr(one, name) for name in ArchivedChange.model_fields})


_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""What the format needs; the same project packed twice is the same file."""


@dataclass(frozen=True)
class _Member:
    """A file of the store on its way into an archive."""

    name: str
    path: Path
    sha256: str
    size_bytes: int | None = None
    """How much of it counts; all of it unless said."""


@contextmanager
def packed(database: Transactions, store: Store, app_id: str, project_id: str) -> Iterator[Path]:
    """Pack a project into a file of the cache, which goes with the block. Raises: NotFound, Conflict, Transient."""
    with database.read() as session:
        archive = gather_archive(session, get_project(session, app_id, project_id))
    path = store.unfinished(app_id)
    store.make_folder(path.parent)
    try:
        with explained(path), ZipFile(path, "x", ZIP_DEFLATED) as file:
            path.chmod(0o600)
            _pack(file, archive, _members(store, app_id, archive))
        yield path
    finally:
        path.unlink(missing_ok=True)


def _pack(file: ZipFile, archive: ProjectArchive, members: Iterator[_Member]) -> None:
    text = as_json(as_document(archive)).encode()
    _write_member(file, DOCUMENT, text)
    checksums = {DOCUMENT: sha256(text).hexdigest()}
    for member in members:
        checksums[member.name] = _copy_member(file, member)
    _write_member(file, CHECKSUMS, json.dumps(checksums, indent=1, sort_keys=True).encode())


def _write_member(file: ZipFile, name: str, text: bytes) -> None:
    file.writestr(_info(name), text)


def _copy_member(file: ZipFile, member: _Member) -> str:
    digest = sha256()
    try:
        with member.path.open("rb") as source, file.open(_info(member.name), "w", force_zip64=True) as target:
            size = member.path.stat().st_size if member.size_bytes is None else member.size_bytes
            for chunk in chunks_of(source, size):
                digest.update(chunk)
                target.write(chunk)
    except FileNotFoundError:
        raise _changed(member) from None
    if digest.hexdigest() != member.sha256:
        raise _changed(member)
    return member.sha256


def _changed(member: _Member) -> Conflict:
    return Conflict(
        f"{member.name} is not what it was when it was written: it is being replaced at this moment, or the store was "
        "changed by hand. Try again; if it stays so, make it anew.",
        code="store_changed",
        details={"member": member.name},
    )


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name, _NO_TIME)
    info.compress_type = ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _members(store: Store, app_id: str, archive: ProjectArchive) -> Iterator[_Member]:
    project_id = archive.project.project_id
    for one in archive.sessions:
        path = store.original(app_id, project_id, one.session_id)
        yield _Member(original_member(one.session_id), path, one.sha256, one.size_bytes)
        folder = store.versions_folder(app_id, project_id, one.session_id)
        for version in one.versions:
            for ending in (one for one in ENDINGS if one in version.digests):
                name = version_member(one.session_id, version.file, ending)
                yield _Member(name, folder / f"{version.file}.{ending}", version.digests[ending])
    for composition in archive.compositions:
        folder = store.composition_folder(app_id, project_id, composition.name)
        for ending in (one for one in ENDINGS if one in composition.digests):
            name = composition_member(composition.name, ending)
            yield _Member(name, folder / FILES[ending], composition.digests[ending])
