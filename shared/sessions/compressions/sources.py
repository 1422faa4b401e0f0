"""Reading what a version is made from, out of the store: the original as far as it counts, or another version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.errors import Conflict
from shared.sessions.compressions.asking import CompressionSettings
from shared.sessions.compressions.gathering import Mark, Said, gather, gather_version
from shared.sessions.compressions.making import Task
from shared.sessions.compressions.rendering import segments_in
from shared.sessions.models import Compression, KeepitMarker
from shared.sessions.store import Store
from shared.sessions.transcripts.reading import read_turns


@dataclass(frozen=True)
class Origin:
    """Where what is compressed lies, and what is known of it."""

    app_id: str
    project_id: str
    session_id: str
    sha256: str
    size_bytes: int
    """How much of the original counts."""
    version: Compression | None
    """The version it is made from; None for the original."""
    markers: Sequence[KeepitMarker]


def read_task(store: Store, origin: Origin, settings: CompressionSettings) -> Task:
    """Read what is to be compressed. Raises: Conflict ``source_gone`` where its file is missing."""
    version = None if origin.version is None else origin.version.version_id
    return Task(origin.session_id, settings, origin.sha256, version, _said(store, origin, settings))


def _said(store: Store, origin: Origin, settings: CompressionSettings) -> list[Said]:
    names = (origin.app_id, origin.project_id, origin.session_id)
    marks = [Mark(marker.marker_id, marker.weight_in_force) for marker in origin.markers]
    if origin.version is not None:
        return gather_version(segments_in(_present(version_file(store, origin, origin.version, "jsonl"))), marks)
    turns = read_turns(_present(store.original(*names)), origin.size_bytes)
    return gather(turns, origin.session_id, marks, min(tier.compaction_ratio for tier in settings.tiers))


def version_file(store: Store, origin: Origin, version: Compression, ending: str) -> Path:
    """Return where a version's file lies."""
    return store.versions_folder(origin.app_id, origin.project_id, origin.session_id) / f"{version.file}.{ending}"


def _present(path: Path) -> Path:
    if not path.is_file():
        raise Conflict(
            f"{path.name} is not in the store any more; unregister the session and register it again.",
            code="source_gone",
        )
    return path
