"""Reads a project's rows into what its archive says about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from shared.sessions.ageing.running import rules_of
from shared.sessions.archive import queries as own_queries
from shared.sessions.archive.document import (
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
)
from shared.sessions.compressions.asking import CompressionSettings
from shared.sessions.models import Composition, Compression, KeepitMarker, Project, RecordedSession
from shared.sessions.queries import (
    components_of_all,
    fates_of,
    markers_of_all,
    ready_compositions,
    ready_versions,
    sessions_of,
)
from shared.sessions.registry.projects import ProjectSettings
from shared.sessions.semantic.queries import sources_of


def gather(session: Session, project: Project) -> ProjectArchive:
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
        changes=[_change(one) for one in own_queries.changes_of(session, project.app_id, project.project_id)],
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
    for fate in fates_of(session, [one.key for one in rows]):
        fates[fate.compression_key][marker_ids[fate.marker_key]] = fate.survived
    found: dict[int, list[ArchivedVersion]] = defaultdict(list)
    for one in rows:
        found[one.session_key].append(_version(one, dict(sorted(fates[one.key].items()))))
    return found


def _version(one: Compression, fates: dict[str, bool]) -> ArchivedVersion:
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
    rows = own_queries.memories_of(session, project_key)
    sources: dict[int, list[ArchivedSource]] = defaultdict(list)
    for source, session_id in sources_of(session, [one.key for one in rows]):
        sources[source.memory_key].append(
            ArchivedSource(session_id=session_id, message_uuid=source.message_uuid, excerpt=source.excerpt)
        )
    simple = [name for name in ArchivedMemory.model_fields if name != "sources"]
    return [ArchivedMemory(sources=sources[one.key], **{name: getattr(one, name) for name in simple}) for one in rows]


def _change(one: Any) -> ArchivedChange:
    return ArchivedChange(**{name: getattr(one, name) for name in ArchivedChange.model_fields})
