"""What the store shows of the rows: ``manifest.json``, ``versions.json`` and ``config.json``, in the seed's fields.

They are for people and other tools; nothing here reads them. They are written after a commit, and by the loop where
that did not come about. Source: seed 004, "Manifest Schema", "Session Versions Metadata", "Global Configuration".
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.base.errors import AfterthoughtError
from shared.base.settings import Settings
from shared.db.base import Transactions
from shared.sessions import models, queries
from shared.sessions.compose.documents import LINES_FILE, MARKDOWN_FILE, RECORD_FILE
from shared.sessions.compose.queries import ComponentRow, rows_of
from shared.sessions.registry.projects import configuration_of, settings_of
from shared.sessions.store import Store, as_json
from shared.telemetry.logging import get_logger

SCHEMA_VERSION = "1.0.0"
_OF_THE_ORIGINAL = ("sessionId", "originalFile", "originalTokens", "originalMessages")
_METADATA = ("gitBranch", "projectName", "claudeVersion", "primaryTopics")


def write(database: Transactions, store: Store, app_id: str, project_id: str) -> bool:
    """Write what a project's rows say to its folder; False where that did not succeed, or the project is gone.

    Never raises: what was committed stands, and the loop writes again what is not shown yet.
    """
    try:
        # From the reading on, so that whoever writes last has read last.
        with store.manifest_lock(app_id, project_id):
            with database.read() as session:
                project = queries.find_project(session, app_id, project_id)
                if project is None:
                    return False
                shown = _manifest(session, project)
            for session_id, entry in shown["sessions"].items():
                path = store.versions_folder(app_id, project_id, session_id) / "versions.json"
                if entry["compressions"]:
                    versions = {name: entry[name] for name in _OF_THE_ORIGINAL} | {"versions": entry["compressions"]}
                    _write_changed(store, path, versions)
                elif path.exists():
                    # Its last version is gone, and the file would go on speaking of it.
                    store.remove(path)
            for made in shown["compositions"].values():
                _write_changed(store, store.composition_folder(app_id, project_id, made["name"]) / RECORD_FILE, made)
            store.write_json(store.manifest(app_id, project_id), shown)
            with database.write() as session:
                # After the files, and no further than was read: what changed meanwhile is shown by the next writing.
                mine = (models.Project.key == project.key, models.Project.written_revision < project.revision)
                session.execute(update(models.Project).where(*mine).values(written_revision=project.revision))
        return True
    except (OSError, AfterthoughtError) as error:
        get_logger().warning("manifest_not_written", app_id=app_id, project_id=project_id, error=type(error).__name__)
        return False


def session_entry(
    recorded: models.RecordedSession, markers: Iterable[dict[str, Any]], versions: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "sessionId": recorded.session_id,
        "originalFile": recorded.original_file or f"originals/{recorded.session_id}.jsonl",
        "originalTokens": recorded.original_tokens,
        "originalMessages": recorded.original_messages,
        "firstTimestamp": as_text(recorded.first_timestamp),
        "lastTimestamp": as_text(recorded.last_timestamp),
        "registeredAt": as_text(recorded.registered_at),
        "lastAccessed": as_text(recorded.last_accessed),
        "metadata": {name: recorded.details[name] for name in _METADATA if recorded.details.get(name)},
        "keepitMarkers": list(markers),
        "compressions": list(versions),
    }


def marker_entry(marker: models.KeepitMarker, survived: list[str], summarised: list[str]) -> dict[str, Any]:
    """Return a marked part as manifests show it; its weight is the one in force."""
    return {
        "markerId": marker.marker_id,
        "messageUuid": marker.message_uuid,
        "weight": marker.weight_in_force / 100,
        "content": marker.content,
        "position": {"start": marker.start, "end": marker.end},
        "context": marker.context,
        "createdAt": as_text(marker.said_at),
        "survivedIn": survived,
        "summarizedIn": summarised,
    }


def version_entry(version: models.SessionVersion) -> dict[str, Any]:
    """Return a version as manifests and ``versions.json`` show it."""
    shown = {
        "versionId": version.version_id,
        "file": version.file,
        "createdAt": as_text(version.created_at),
        "settings": {name: value for name, value in version.settings.items() if value is not None},
        "outputTokens": version.output_tokens,
        "outputMessages": version.output_messages,
        "compressionRatio": round(version.ratio, 2),
        "keepitStats": version.keepit_stats,
    }
    return (
        shown if version.source_number is None else shown | {"sourceVersion": models.version_id(version.source_number)}
    )


def composition_entry(composition: models.Composition, components: Iterable[ComponentRow]) -> dict[str, Any]:
    is_lines = composition.digests and "md" not in composition.digests
    return {
        "compositionId": composition.composition_id,
        "name": composition.name,
        "createdAt": as_text(composition.created_at),
        "components": [_component(one) for one in components],
        "outputFile": f"composed/{composition.name}/{LINES_FILE if is_lines else MARKDOWN_FILE}",
        "totalTokens": composition.total_tokens,
        "totalMessages": composition.total_messages,
        "usedInSessions": list(composition.used_in_sessions),
    }


def as_text(at: datetime | None) -> str | None:
    """Return a time as the seed writes it, UTC with a Z."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _component(row: ComponentRow) -> dict[str, Any]:
    component, version = row.component, row.compression
    shown = {
        "sessionId": row.recorded.session_id,
        "versionId": "original" if version is None else version.version_id,
        "order": component.position,
        "tokenContribution": component.tokens,
    }
    return shown if component.recompress is None else shown | {"recompress": component.recompress}


def _manifest(session: Session, project: models.Project) -> dict[str, Any]:
    recorded = queries.sessions_of(session, project.key)
    keys = [one.key for one in recorded]
    versions = queries.versions_by_session(session, keys, models.BuildState.READY)
    marked: defaultdict[int, list[models.KeepitMarker]] = defaultdict(list)
    for marker in queries.markers_of_all(session, keys):
        marked[marker.session_key].append(marker)
    entries = marker_entries(session, [one for some in marked.values() for one in some])
    made = queries.ready_compositions(session, project.key)
    parts = rows_of(session, [one.key for one in made])
    return {
        "version": SCHEMA_VERSION,
        "projectId": project.project_id,
        "originalPath": project.original_path,
        "displayName": project.display_name,
        "createdAt": as_text(project.created_at),
        "lastModified": as_text(project.last_modified),
        "sessions": {
            one.session_id: session_entry(
                one, [entries[marker.key] for marker in marked[one.key]], map(version_entry, versions[one.key])
            )
            for one in recorded
        },
        "compositions": {one.composition_id: composition_entry(one, parts[one.key]) for one in made},
        "settings": settings_of(session, project).model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def marker_entries(session: Session, markers: Sequence[models.KeepitMarker]) -> dict[int, dict[str, Any]]:
    """Return marked parts as manifests show them, by their keys, with the versions in which each survived or not."""
    versions = queries.versions_by_session(session, {one.session_key for one in markers}, models.BuildState.READY)
    names = {version.key: version.version_id for some in versions.values() for version in some}
    outcomes: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for outcome in sorted(queries.outcomes_of(session, names), key=lambda one: names[one.compression_key]):
        outcomes[outcome.marker_key, outcome.survived].append(names[outcome.compression_key])
    return {one.key: marker_entry(one, outcomes[one.key, True], outcomes[one.key, False]) for one in markers}


def _write_changed(store: Store, path: Path, value: Any) -> None:
    if not path.exists() or path.read_bytes() != as_json(value).encode():
        store.write_json(path, value)


def write_configuration(database: Transactions, store: Store, app_id: str, settings: Settings) -> None:
    """Write the ``config.json`` of an app that has projects, where it does not say what is in force. Never raises."""
    path = store.config(app_id)
    try:
        with store.manifest_lock(app_id, path.name):
            with database.read() as session:
                app = session.get(App, app_id)
                if app is None or not queries.list_projects(session, app_id, 1):
                    return
            shown = {"version": SCHEMA_VERSION, "createdAt": as_text(app.created_at)}
            _write_changed(store, path, shown | configuration_of(app, settings).model_dump(mode="json", by_alias=True))
    except (OSError, AfterthoughtError) as error:
        get_logger().warning("configuration_not_written", app_id=app_id, error=type(error).__name__)
