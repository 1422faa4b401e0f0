"""Gives a checked archive its place: files first, then every row in one transaction; or nothing of it.

What is registered already is never written over: the project must have a name of its own, and no session of it may be
known to the app.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlalchemy import insert
from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.db.transactions import Transactions
from shared.errors import Conflict
from shared.ids import new_id
from shared.sessions.ageing.queries import SUBJECT
from shared.sessions.ageing.rules import Ageing
from shared.sessions.ageing.running import change_rules
from shared.sessions.archive import queries as own
from shared.sessions.archive.checking import Checked
from shared.sessions.archive.document import (
    ArchivedComposition,
    ArchivedMemory,
    ArchivedSession,
    ArchivedVersion,
    ProjectArchive,
    composition_member,
    original_member,
    version_member,
)
from shared.sessions.compositions.record import FILES
from shared.sessions.compositions.requesting import id_of
from shared.sessions.models import (
    Composition,
    CompositionComponent,
    Compression,
    KeepitMarker,
    Making,
    MarkerFate,
    Project,
    RecordedSession,
    SessionChange,
)
from shared.sessions.queries import find_project, markers_of
from shared.sessions.registry import projects
from shared.sessions.registry.changes import ChangeKind, note
from shared.sessions.registry.entering import Place, enter, lock_place
from shared.sessions.registry.projects import ALREADY_REGISTERED
from shared.sessions.semantic.learning import normal_of
from shared.sessions.semantic.models import SemanticMemory, SemanticSource
from shared.sessions.store import Store

_Answer = TypeVar("_Answer")
_OWN_OF_VERSIONS = ("settings", "keepit_stats", "fates")
_OWN_OF_COMPOSITIONS = ("request", "components")
Work = Callable[[Session], Project]


@dataclass(frozen=True)
class Destination:
    """Where an archive goes."""

    app_id: str
    project_id: str
    epoch: int
    """Of the app when this was begun."""
    keeps_origins: bool = False
    """Whether sessions may be synced from the files they say they come from: only where an admin says so, as anybody
    can write the path of any file into an archive."""


@dataclass
class _Keys:
    """Rows that other rows of the archive point at."""

    sessions: dict[str, RecordedSession]
    markers: dict[str, dict[str, KeepitMarker]]
    versions: dict[tuple[str, int], Compression]


def take_in(
    database: Transactions,
    store: Store,
    to: Destination,
    checked: Checked,
    cause: Cause,
    carry: Callable[[Work], _Answer],
) -> _Answer:
    """Give an archive its place. ``carry`` writes its rows in a transaction. Raises: Conflict, Purged, Transient."""
    with store.app_lock(to.app_id):
        with database.read() as session:
            _refuse_known(session, to, checked.archive)
        placed = _place(store, to, checked)
        try:
            return carry(lambda session: _write(session, to, checked, cause))
        finally:
            _take_back(database, store, to, placed)


def _refuse_known(session: Session, to: Destination, archive: ProjectArchive) -> None:
    if find_project(session, to.app_id, to.project_id) is not None:
        raise Conflict(
            f"App {to.app_id} has a project {to.project_id} already; import under another name: ?projectId=NAME.",
            code=ALREADY_REGISTERED,
            details={"projectId": to.project_id},
        )
    known = own.known_sessions(session, to.app_id, [one.session_id for one in archive.sessions])
    if known:
        raise Conflict(
            f"App {to.app_id} has registered {len(known)} of the archive's sessions already, {known[0]} among them; "
            "unregister them first. Nothing was taken in.",
            code=ALREADY_REGISTERED,
            details={"sessions": known[:100]},
        )


def _place(store: Store, to: Destination, checked: Checked) -> list[Path]:
    """Move every file to its place; return where they are now."""
    placed = []
    for member, target in _targets(store, to, checked.archive).items():
        store.place(checked.files[member], target)
        placed.append(target)
    return placed


def _targets(store: Store, to: Destination, archive: ProjectArchive) -> dict[str, Path]:
    found = {}
    for one in archive.sessions:
        found[original_member(one.session_id)] = store.original(to.app_id, to.project_id, one.session_id)
        folder = store.versions_folder(to.app_id, to.project_id, one.session_id)
        for version in one.versions:
            for ending in version.digests:
                found[version_member(one.session_id, version.file, ending)] = folder / f"{version.file}.{ending}"
    for composition in archive.compositions:
        folder = store.composition_folder(to.app_id, to.project_id, composition.name)
        for ending in composition.digests:
            found[composition_member(composition.name, ending)] = folder / FILES[ending]
    return found


def _take_back(database: Transactions, store: Store, to: Destination, placed: list[Path]) -> None:
    """Remove the files again where the rows did not come to be."""
    with database.read() as session:
        if find_project(session, to.app_id, to.project_id) is not None:
            return
    for path in placed:
        store.remove(path)


def _write(session: Session, to: Destination, checked: Checked, cause: Cause) -> Project:
    archive = checked.archive
    lock_place(session, Place(to.app_id, to.project_id, "", to.epoch))
    _refuse_known(session, to, archive)
    kept = archive.project
    project = projects.create(
        session, to.app_id, kept.original_path, cause, display_name=kept.display_name, project_id=to.project_id
    )
    own_settings = kept.settings.model_dump(mode="json", by_alias=True, exclude={"retention", "auto_decay"})
    project.settings = project.settings | own_settings
    change_rules(
        session, project, Ageing(retention=kept.settings.retention, auto_decay=kept.settings.auto_decay), cause
    )
    keys = _Keys({}, {}, {})
    for one in archive.sessions:
        _enter(session, to, checked, one, keys, cause)
    for composition in archive.compositions:
        _compose(session, project, composition, keys)
    for memory in archive.semantic_memories:
        _remember(session, project, memory, keys, cause)
    _tell_history(session, project, archive)
    after = {"sessions": len(archive.sessions), "compositions": len(archive.compositions)}
    note(session, project, project.project_id, ChangeKind.IMPORTED, cause, after=after)
    session.flush()
    return project


def _enter(
    session: Session, to: Destination, checked: Checked, one: ArchivedSession, keys: _Keys, cause: Cause
) -> None:
    origin = one.original_file if to.keeps_origins else None
    intake = replace(checked.intakes[one.session_id], original_file=origin)
    recorded = enter(session, Place(to.app_id, to.project_id, one.session_id, to.epoch), intake, cause)
    recorded.registered_at, recorded.next_version = one.registered_at, one.next_version
    markers = {marker.marker_id: marker for marker in markers_of(session, recorded.key)}
    for weight in one.weights:
        marker = markers[weight.marker_id]
        marker.override_weight, marker.overridden_by = weight.weight, weight.overridden_by
        marker.overridden_at = weight.overridden_at
    keys.sessions[one.session_id], keys.markers[one.session_id] = recorded, markers
    for version in one.versions:
        keys.versions[(one.session_id, version.number)] = _add_version(session, recorded, version, markers)


def _add_version(
    session: Session, recorded: RecordedSession, one: ArchivedVersion, markers: Mapping[str, KeepitMarker]
) -> Compression:
    simple = {name: getattr(one, name) for name in ArchivedVersion.model_fields if name not in _OWN_OF_VERSIONS}
    row = Compression(
        session_key=recorded.key,
        state=Making.READY,
        settings=_json(one.settings),
        keepit_stats=_json(one.keepit_stats),
        **simple,
    )
    session.add(row)
    session.flush()
    fates = [
        {"compression_key": row.key, "marker_key": markers[marker_id].key, "survived": survived}
        for marker_id, survived in one.fates.items()
    ]
    if fates:
        session.execute(insert(MarkerFate), fates)
    return row


def _compose(session: Session, project: Project, one: ArchivedComposition, keys: _Keys) -> None:
    simple = {name: getattr(one, name) for name in ArchivedComposition.model_fields if name not in _OWN_OF_COMPOSITIONS}
    request = _json(one.request)
    row = Composition(
        composition_id=id_of(project, one.name, request),
        request=request,
        app_id=project.app_id,
        project_key=project.key,
        state=Making.READY,
        **simple,
    )
    session.add(row)
    session.flush()
    for position, part in enumerate(one.components):
        version = None if part.number is None else keys.versions[(part.session_id, part.number)]
        session.add(
            CompositionComponent(
                composition_key=row.key,
                position=position,
                session_key=keys.sessions[part.session_id].key,
                compression_key=None if version is None else version.key,
                allocation=part.allocation,
                tokens=part.tokens,
                left_out=part.left_out,
                recompress=None if part.recompress is None else _json(part.recompress),
            )
        )


def _remember(session: Session, project: Project, one: ArchivedMemory, keys: _Keys, cause: Cause) -> None:
    simple = {name: getattr(one, name) for name in ArchivedMemory.model_fields if name != "sources"}
    row = SemanticMemory(
        memory_id=new_id("sem", cause.at),
        app_id=project.app_id,
        project_key=project.key,
        normal=normal_of(one.content),
        **simple,
    )
    session.add(row)
    session.flush()
    for source in one.sources:
        recorded = keys.sessions.get(source.session_id)
        if recorded is not None:
            session.add(
                SemanticSource(
                    memory_key=row.key,
                    session_key=recorded.key,
                    message_uuid=source.message_uuid,
                    excerpt=source.excerpt,
                )
            )


def _tell_history(session: Session, project: Project, archive: ProjectArchive) -> None:
    """Write down what was done to the project where it came from; how it aged there decides nothing here."""
    for one in (one for one in archive.changes if one.subject != SUBJECT):
        fields = one.model_dump(mode="python")
        session.add(SessionChange(app_id=project.app_id, project_id=project.project_id, **fields))


def _json(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)
