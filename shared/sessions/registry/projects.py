"""Projects: opened on their own or with their first session, changed, and removed once they are empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.errors import Conflict
from shared.sessions import queries
from shared.sessions.compressions.asking import TierPreset
from shared.sessions.models import Project
from shared.sessions.registry.changes import ChangeKind, note, touch
from shared.sessions.registry.naming import display_name_of, sanitise, with_hash

ALREADY_REGISTERED = "already_registered"


class ProjectSettings(BaseModel):
    """What holds for all sessions of a project."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    default_compression_preset: TierPreset = TierPreset.STANDARD
    auto_register_new_sessions: bool = Field(False, description="Whether its folder is looked through for sessions.")
    keepit_decay_enabled: bool = True

    @classmethod
    def of(cls, project: Project) -> ProjectSettings:
        """Return the settings of a project, defaults written out."""
        return cls.model_validate(project.settings)


@dataclass(frozen=True)
class ProjectChange:
    """What is to be changed of a project; None leaves a thing as it is."""

    display_name: str | None = None
    settings: dict[str, Any] | None = None
    """By their names on the wire, only those that change."""
    source_folder: str | None = None
    forgets_folder: bool = False


def create(
    session: Session, app_id: str, path: str, cause: Cause, *, display_name: str | None = None, project_id: str = ""
) -> Project:
    """Open a project of a locked app. Raises: Conflict where the path has one, Invalid."""
    name = project_id or sanitise(path)
    known = queries.find_project(session, app_id, name)
    if known is not None and not project_id and known.original_path != path:
        name = with_hash(name, path)
        known = queries.find_project(session, app_id, name)
    if known is not None:
        raise Conflict(f"{known.original_path} is project {name} already.", code=ALREADY_REGISTERED)
    project = Project(
        app_id=app_id,
        project_id=name,
        original_path=path,
        display_name=display_name or display_name_of(path),
        settings=ProjectSettings().model_dump(mode="json", by_alias=True),
        refused_files={},
        created_at=cause.at,
        last_accessed=cause.at,
        last_modified=cause.at,
    )
    session.add(project)
    session.flush()
    note(session, project, name, ChangeKind.CREATED, cause)
    return project


def change(session: Session, project: Project, wanted: ProjectChange, cause: Cause) -> None:
    """Change a locked project; its settings one by one."""
    before = _shown(project)
    if wanted.display_name is not None:
        project.display_name = wanted.display_name
    if wanted.settings:
        project.settings = project.settings | wanted.settings
    if wanted.source_folder is not None or wanted.forgets_folder:
        project.source_folder, project.refused_files, project.scanned_at = wanted.source_folder, {}, None
    after = _shown(project)
    if after != before:
        touch(project, cause.at)
        note(session, project, project.project_id, ChangeKind.CHANGED, cause, before, after)


def remove(session: Session, project: Project, cause: Cause) -> None:
    """Remove a locked project that holds nothing any more. Raises: Conflict."""
    held = queries.count_sessions(session, [project.key]).get(project.key, 0)
    composed = queries.count_compositions(session, project.key)
    if held or composed:
        raise Conflict(
            f"Project {project.project_id} holds {held} sessions and {composed} compositions; remove them first, or "
            "ask with force=true for what is in no composition.",
            code="project_not_empty",
            details={"sessions": held, "compositions": composed},
        )
    note(session, project, project.project_id, ChangeKind.REMOVED, cause)
    session.delete(project)
    session.flush()


def _shown(project: Project) -> dict[str, Any]:
    folder = {"sourceFolder": project.source_folder is not None}
    return {"displayName": project.display_name, "settings": dict(project.settings)} | folder
