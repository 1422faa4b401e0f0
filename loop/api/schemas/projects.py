"""Projects of recorded sessions, and the sessions in them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, model_validator

from loop.api.schemas.wire import Answer, Body, Flag
from shared.sessions.compress.settings import TierPreset
from shared.sessions.models import Project, RecordedSession, SessionChange, SessionFile
from shared.sessions.registry.projects import ProjectChange, ProjectSettings
from shared.sessions.registry.scan import FolderScan

_ABSOLUTE = r"^/[^\x00-\x1f\x7f]*$"
_ServerPath = Annotated[
    str, Field(pattern=_ABSOLUTE, max_length=4000, description="An absolute path on the machine of the service.")
]
_Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class SettingsChange(Body):
    """Settings of a project; what is left out stays."""

    default_compression_preset: TierPreset | None = None
    auto_register_new_sessions: Flag | None = None
    keepit_decay_enabled: Flag | None = None

    def changed(self) -> dict[str, Any]:
        """Return what was given, by its name on the wire."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class OpenProject(Body):
    """A working folder whose sessions are to be registered."""

    original_path: str = Field(
        min_length=1,
        max_length=4000,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        examples=["/home/dac/github/myapp"],
        description="The folder that was worked in; it need not be on this machine.",
    )
    display_name: _Name | None = None
    source_folder: _ServerPath | None = Field(None, description="A folder of transcripts; only an admin may name one.")
    settings: SettingsChange = Field(default_factory=SettingsChange)


class ChangeProject(Body):
    """What to change of a project."""

    display_name: _Name | None = None
    source_folder: _ServerPath | None = Field(None, description="null forgets it; only an admin may name one.")
    settings: SettingsChange | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ChangeProject:
        if not self.model_fields_set:
            raise ValueError("give displayName, sourceFolder or settings")
        return self

    @property
    def names_folder(self) -> bool:
        """Whether the folder is to be changed or forgotten."""
        return "source_folder" in self.model_fields_set

    def wanted(self) -> ProjectChange:
        """Return the change."""
        return ProjectChange(
            self.display_name,
            None if self.settings is None else self.settings.changed(),
            self.source_folder,
            self.names_folder and self.source_folder is None,
        )


class RegisterByPath(Body):
    """Where a session's transcript lies."""

    path: _ServerPath


class ProjectItem(Answer):
    """A project."""

    project_id: str = Field(examples=["-home-dac-github-myapp"])
    original_path: str
    display_name: str
    created_at: datetime
    last_accessed: datetime
    last_modified: datetime
    sessions: int
    settings: ProjectSettings
    source_folder: str | None
    scanned_at: datetime | None
    refused_files: list[RefusedFile] = Field(description="Files of its folder that could not be taken in.")

    @classmethod
    def of(cls, project: Project, sessions: int) -> ProjectItem:
        """Return a project as it goes over the wire."""
        refused = project.refused_files.items()
        return cls(
            project_id=project.project_id,
            original_path=project.original_path,
            display_name=project.display_name,
            created_at=project.created_at,
            last_accessed=project.last_accessed,
            last_modified=project.last_modified,
            sessions=sessions,
            settings=ProjectSettings.of(project),
            source_folder=project.source_folder,
            scanned_at=project.scanned_at,
            refused_files=[RefusedFile(file=name, reason=str(one.get("reason"))) for name, one in refused],
        )


class ProjectList(Answer):
    """Projects, newest first."""

    projects: list[ProjectItem]
    cursor: str | None


class RefusedFile(Answer):
    """A file that was not taken in."""

    file: str
    reason: str


class ScanAnswer(Answer):
    """What became of the files of a folder."""

    project_id: str
    registered: list[str]
    synced: list[str]
    unchanged: int
    refused: list[RefusedFile] = Field(description="These are tried again once they change.")
    left: int = Field(description="Files that were not looked at yet; ask again.")

    @classmethod
    def of(cls, project_id: str, scan: FolderScan) -> ScanAnswer:
        """Return a scan as it goes over the wire."""
        return cls(
            project_id=project_id,
            registered=scan.registered,
            synced=scan.synced,
            unchanged=scan.unchanged,
            refused=[RefusedFile(file=name, reason=reason) for name, reason in scan.refused.items()],
            left=scan.left,
        )


class MarkerProblemItem(Answer):
    """Something written like a marker that is none, or not as it is written."""

    message_uuid: str
    written: str
    reason: str


class SessionItem(Answer):
    """A registered session."""

    session_id: str
    project_id: str
    original_file: str | None = Field(description="Where it was copied from; null for an upload.")
    original_tokens: int
    original_messages: int
    first_timestamp: datetime | None
    last_timestamp: datetime | None
    registered_at: datetime
    synced_at: datetime
    last_accessed: datetime
    size_bytes: int
    sha256: str = Field(description="Of those bytes of the original.")
    metadata: dict[str, Any] = Field(description="Branch, version, folder, models, topics.")
    counts: dict[str, int] = Field(description="Lines, prompts, messages, tool uses, tokens by usage, oddities.")
    markers: int
    marker_problems: list[MarkerProblemItem]
    versions: int

    @classmethod
    def of(cls, recorded: RecordedSession, project_id: str, markers: int, versions: int) -> SessionItem:
        """Return a session as it goes over the wire."""
        return cls(
            session_id=recorded.session_id,
            project_id=project_id,
            original_file=recorded.original_file,
            original_tokens=recorded.original_tokens,
            original_messages=recorded.original_messages,
            first_timestamp=recorded.first_timestamp,
            last_timestamp=recorded.last_timestamp,
            registered_at=recorded.registered_at,
            synced_at=recorded.synced_at,
            last_accessed=recorded.last_accessed,
            size_bytes=recorded.size_bytes,
            sha256=recorded.sha256,
            metadata=recorded.details,
            counts=recorded.counts,
            markers=markers,
            marker_problems=[MarkerProblemItem.model_validate(one) for one in recorded.marker_problems],
            versions=versions,
        )


class SessionList(Answer):
    """Sessions, those registered last first."""

    sessions: list[SessionItem]
    cursor: str | None


class TouchedFileItem(Answer):
    """A file that a session touched."""

    path: str
    touches: int
    changed: bool = Field(description="Whether it was written, not only read.")

    @classmethod
    def of(cls, file: SessionFile) -> TouchedFileItem:
        """Return a file as it goes over the wire."""
        return cls(path=file.path, touches=file.touches, changed=file.changed)


class SessionDetail(SessionItem):
    """A registered session with the files it touched most."""

    files: list[TouchedFileItem]


class Synced(Answer):
    """What a sync took in."""

    session: SessionItem
    added_bytes: int


class DeleteSessions(Body):
    """Sessions to take out of the registry."""

    session_ids: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=200)]


class DeletedSession(Answer):
    """What became of one session."""

    session_id: str
    deleted: bool
    code: str | None = Field(None, description="Why not, as the error of a single request would say it.")
    message: str | None = None


class DeletedSessions(Answer):
    """What became of each session."""

    sessions: list[DeletedSession]


class Unregistered(Answer):
    """What was taken out of the registry; the originals are where they were."""

    success: bool = True
    project_id: str
    sessions: list[str]


class ChangeLine(Answer):
    """What was done: who, why, before and after."""

    subject: str
    session_id: str | None
    kind: str
    actor: str
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]
    at: datetime

    @classmethod
    def of(cls, change: SessionChange) -> ChangeLine:
        """Return a change as it goes over the wire."""
        names = ("subject", "session_id", "kind", "actor", "reason", "before", "after", "at")
        return cls(**{name: getattr(change, name) for name in names})


class ChangeList(Answer):
    """What was done to a project, newest first."""

    changes: list[ChangeLine]
    cursor: str | None


ProjectItem.model_rebuild()
