"""A project as one file: what its document says, which files belong to it, and how it is packed, with their checksums.

What is not said here is in no archive, and a file that is not expected makes it one that is refused. The rows are read
in one short transaction; a file that was replaced while it was packed does not have the digest its row gave, and the
whole is refused rather than handed out wrong.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pydantic import Field, field_serializer, field_validator, model_validator
from sqlalchemy.orm import Session

from shared.base.choices import SemanticVerdict
from shared.base.errors import Conflict
from shared.contracts.values import FILE_ID_PATTERN, ID_PATTERN, LARGEST_INTEGER, JsonObject, Moment, Words
from shared.db.base import ArchivePart, Transactions, copied
from shared.sessions import queries
from shared.sessions.compose.compositions import NAME_PATTERN, CompositionRequest
from shared.sessions.compose.documents import FILES
from shared.sessions.compose.queries import ComponentRow, rows_of
from shared.sessions.compress.settings import CompressionSettings, KeepitDecay
from shared.sessions.models import BuildState, Project, RecordedSession, SemanticKind, version_id
from shared.sessions.registry.intake import explained
from shared.sessions.registry.projects import ModelName, Preset
from shared.sessions.retention.rules import KEEPS, AutoDecay, Retention
from shared.sessions.semantic.queries import semantic_memories_of, sources_of
from shared.sessions.store import Store, as_json, chunks_of

DOCUMENT, CHECKSUMS = "archive.json", "checksums.json"
ENDINGS: tuple[Literal["md", "jsonl"], ...] = ("md", "jsonl")
_FILE_PATTERN = r"^v[0-9]{3,9}_[a-z]+-[a-z-]+_[0-9]{1,9}k$"
_SHA = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Size = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
_Name = Annotated[Words, Field(max_length=200)]
_Reason = Annotated[Words, Field(max_length=300)]
_Id = Annotated[str, Field(pattern=ID_PATTERN)]
_Weight = Annotated[int, Field(ge=0, le=100)]


class ArchivedSettings(ArchivePart):
    """What it says itself about its sessions, and how their versions age; null is as the app says it lies in."""

    default_compression_preset: Preset | None = None
    auto_register_new_sessions: bool | None = None
    keepit_decay_enabled: bool | None = None
    model: ModelName | None = None
    keepit_decay: KeepitDecay | None = None
    retention: Retention | None = None
    auto_decay: AutoDecay | None = None

    @field_serializer("keepit_decay", "auto_decay")
    def _own(self, value: KeepitDecay | AutoDecay | None) -> dict[str, Any] | None:
        return None if value is None else value.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ArchivedStats(ArchivePart):
    """What became of the marked parts of a version."""

    preserved: _Count
    summarized: _Count
    weights: dict[Annotated[str, Field(pattern=r"^[01]\.[0-9]{2}$")], _Count]


class ArchivedRecompression(ArchivePart):
    """That a version was made for a composition."""

    settings: CompressionSettings | None = None
    reason: _Reason | None = None
    joined: bool | None = None


class ArchivedProject(ArchivePart):
    """The project itself."""

    project_id: Annotated[str, Field(pattern=FILE_ID_PATTERN)]
    original_path: Annotated[Words, Field(max_length=4096)]
    display_name: _Name
    settings: ArchivedSettings
    created_at: Moment


class ArchivedWeight(ArchivePart):
    """The weight a person gave a marked part."""

    marker_id: Annotated[Words, Field(max_length=40)]
    weight: _Weight
    overridden_by: _Name | None = None
    overridden_at: Moment | None = None


class ArchivedVersion(ArchivePart):
    """A version; its files are beside it."""

    number: Annotated[int, Field(ge=1, le=10**9)]
    settings: CompressionSettings
    source_number: _Count | None = None
    source_sha256: _SHA
    source_bytes: _Size
    asked_by: _Name
    reason: _Reason
    file: Annotated[str, Field(pattern=_FILE_PATTERN)]
    agent: _Name
    input_tokens: _Count
    output_tokens: _Count
    output_messages: _Count
    ratio: Annotated[float, Field(ge=0)]
    keepit_stats: ArchivedStats
    statistics: JsonObject
    digests: dict[Literal["md", "jsonl"], _SHA]
    fates: dict[Annotated[str, Field(max_length=40)], bool]
    """By marker: whether it survived."""
    created_at: Moment
    finished_at: Moment | None = None
    last_used: Moment | None = None
    uses: _Count

    @field_validator("statistics")
    @classmethod
    def _is_told(cls, statistics: JsonObject) -> JsonObject:
        """Of what a version says of itself, only this is told by itself."""
        if not isinstance(statistics.get("why", ""), str):
            raise ValueError("why must be text")
        return statistics


class ArchivedSession(ArchivePart):
    """A session; its copy is beside it."""

    session_id: _Id
    original_file: Annotated[Words, Field(max_length=4096)] | None = None
    size_bytes: _Size
    sha256: _SHA
    registered_at: Moment
    last_accessed: Moment | None = None
    """None in archives that do not say when it was last used."""
    next_version: Annotated[int, Field(ge=1, le=10**9)]
    weights: list[ArchivedWeight]
    versions: list[ArchivedVersion]

    @model_validator(mode="after")
    def _versions_are_whole(self) -> ArchivedSession:
        numbers = [one.number for one in self.versions]
        if len(set(numbers)) < len(numbers) or any(number >= self.next_version for number in numbers):
            raise ValueError(f"session {self.session_id}: its version numbers are not unique and below nextVersion")
        for one in self.versions:
            if not one.file.startswith(f"{version_id(one.number)}_") or set(one.digests) != set(ENDINGS):
                raise ValueError(f"session {self.session_id}: version {one.number} does not have two files of its own")
        return self


class ArchivedComponent(ArchivePart):
    """A session's part in a composition."""

    session_id: _Id
    number: _Count | None = None
    allocation: _Count
    tokens: _Count
    left_out: _Count
    recompress: ArchivedRecompression | None = None


class ArchivedComposition(ArchivePart):
    """A composition; its files are beside it."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    request: CompositionRequest
    budget: _Count
    total_tokens: _Count
    total_messages: _Count
    digests: dict[Literal["md", "jsonl"], _SHA]
    used_in_sessions: list[_Id]
    asked_by: _Name
    created_at: Moment
    finished_at: Moment | None = None
    last_used: Moment | None = None
    uses: _Count
    components: list[ArchivedComponent]


class ArchivedSemanticSource(ArchivePart):
    """Where a semantic memory was found."""

    session_id: _Id
    message_uuid: Annotated[Words, Field(max_length=200)]
    excerpt: Annotated[Words, Field(max_length=2000)]


class ArchivedSemanticMemory(ArchivePart):
    """A semantic memory."""

    kind: SemanticKind
    content: Annotated[Words, Field(min_length=1, max_length=2000)]
    is_standing: bool
    confidence: Annotated[float, Field(ge=0, le=1)]
    verdict: SemanticVerdict
    decided_by: _Name | None = None
    decided_at: Moment | None = None
    agent: _Name
    extracted_at: Moment
    sources: list[ArchivedSemanticSource]


class ArchivedSessionChange(ArchivePart):
    """Something that was done."""

    session_id: _Name | None = None
    subject: _Name
    kind: Annotated[str, Field(max_length=20)]
    actor: _Name
    reason: _Reason
    before: JsonObject
    after: JsonObject
    at: Moment


class ProjectArchive(ArchivePart):
    """Everything about a project but the words of its files."""

    format: Literal["afterthought-project"] = "afterthought-project"
    version: Literal[1] = 1
    project: ArchivedProject
    sessions: list[ArchivedSession]
    compositions: list[ArchivedComposition]
    semantic_memories: list[ArchivedSemanticMemory]
    changes: list[ArchivedSessionChange]

    @model_validator(mode="after")
    def _references_are_whole(self) -> ProjectArchive:
        _once("session", (one.session_id for one in self.sessions))
        _once("composition", (one.name for one in self.compositions))
        versions = {(one.session_id, version.number) for one in self.sessions for version in one.versions}
        sessions = {one.session_id for one in self.sessions}
        for composition in self.compositions:
            for part in composition.components:
                named = (part.session_id, part.number)
                if named not in versions and (part.number is not None or part.session_id not in sessions):
                    raise ValueError(f"composition {composition.name}: {part.session_id} is not in the archive")
        return self

    def members(self) -> Iterator[tuple[str, str]]:
        """Yield every file of it with its SHA-256, by its name in the archive and in the project's folder."""
        for one in self.sessions:
            yield original_member(one.session_id), one.sha256
            for version in one.versions:
                for ending in (ending for ending in ENDINGS if ending in version.digests):
                    yield f"summaries/{one.session_id}/{version.file}.{ending}", version.digests[ending]
        for composition in self.compositions:
            for ending in (ending for ending in ENDINGS if ending in composition.digests):
                yield f"composed/{composition.name}/{FILES[ending]}", composition.digests[ending]


def original_member(session_id: str) -> str:
    """Return the name of a session's copy in an archive."""
    return f"originals/{session_id}.jsonl"


def _once(what: str, names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{what} {twice[0]} is there twice")


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
