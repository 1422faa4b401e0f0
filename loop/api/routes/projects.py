"""Projects of recorded sessions: opened, changed, looked through and removed.

What holds for all recorded sessions of an app: shown as ``config.json`` shows it, changed, and who changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, model_validator
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.cursors import PageRequest
from loop.api.dependencies import (
    AppInPath,
    CursorInQuery,
    PageOf50,
    ProjectInPath,
    Reads,
    RequestContext,
    SearchInQuery,
    SessionsAppId,
    Writes,
    as_write,
)
from loop.api.policy import OF_APP, OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.session_items import SessionForeseen, SessionList, StorageFigures, session_page
from loop.api.schema import RequestModel, ResponseModel
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.audit import BY_HAND
from shared.sessions import manifest, queries
from shared.sessions.models import Project
from shared.sessions.queries import SessionFilter
from shared.sessions.registry import projects
from shared.sessions.registry.projects import (
    EVERY_PROJECT,
    ProjectSettings,
    SessionsConfiguration,
    change_configuration,
    configuration_of,
    own_settings,
    patch_of,
    refuse_unknown_model,
    settings_of,
)
from shared.sessions.registry.registration import lock_place, remove_project_files, remove_project_with_sessions
from shared.sessions.registry.scan import FolderScan, FolderScanner

# Made at run time, which a type checker cannot follow: to it any model will do.
if TYPE_CHECKING:
    ChangeSessionSettings = BaseModel
else:
    ChangeSessionSettings = patch_of(SessionsConfiguration)


_ABSOLUTE = r"^/[^\x00-\x1f\x7f]*$"
ServerPath = Annotated[
    str, Field(pattern=_ABSOLUTE, max_length=4000, description="An absolute path on the machine of the service.")
]
_Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


if TYPE_CHECKING:
    SettingsChange = BaseModel
else:
    SettingsChange = patch_of(ProjectSettings)


class OpenProject(RequestModel):
    """A working folder whose sessions are to be registered."""

    original_path: str = Field(
        min_length=1,
        max_length=4000,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        examples=["/home/dac/github/myapp"],
        description="The folder that was worked in; it need not be on this machine.",
    )
    display_name: _Name | None = None
    source_folder: ServerPath | None = Field(None, description="A folder of transcripts; only an admin may name one.")
    settings: SettingsChange = Field(default_factory=SettingsChange)


class ChangeProject(RequestModel):
    """What to change of a project."""

    display_name: _Name | None = None
    source_folder: ServerPath | None = Field(None, description="null forgets it; only an admin may name one.")
    settings: SettingsChange | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ChangeProject:
        if not self.model_fields_set:
            raise ValueError("give displayName, sourceFolder or settings")
        return self


class RefusedFile(ResponseModel):
    """A file that was not taken in."""

    file: str
    reason: str


class ProjectItem(ResponseModel):
    """A project."""

    project_id: str = Field(examples=["-home-dac-github-myapp"])
    original_path: str
    display_name: str
    created_at: datetime
    last_accessed: datetime
    last_modified: datetime
    sessions: int
    settings: ProjectSettings = Field(description="What is in force.")
    own_settings: dict[str, Any] = Field(description="What the project says itself; the rest is as its app says.")
    source_folder: str | None
    scanned_at: datetime | None
    refused_files: list[RefusedFile] = Field(description="Files of its folder that could not be taken in.")


class ProjectList(ResponseModel):
    """Projects, newest first."""

    projects: list[ProjectItem]
    cursor: str | None


class ScanAnswer(ResponseModel):
    """What became of the files of a folder."""

    project_id: str
    registered: list[str]
    synced: list[str]
    unchanged: int
    refused: list[RefusedFile] = Field(description="These are tried again once they change.")
    left: int = Field(description="Files that were not looked at yet; ask again.")
    foreseen: list[SessionForeseen] = Field(
        default_factory=list, description="Of a dry run: what is not registered yet, and would be."
    )
    cursor: str | None = Field(None, description="Of a dry run: goes on with the files that were not looked at.")

    @classmethod
    def of(cls, project_id: str, scan: FolderScan) -> ScanAnswer:
        return cls.from_row(
            scan,
            project_id=project_id,
            refused=[RefusedFile(file=name, reason=why) for name, why in scan.refused.items()],
            foreseen=[SessionForeseen.of(one, project_id, session_id) for session_id, one in scan.foreseen.items()],
            cursor=None if scan.last is None else cursors.encode_id(_FOLDER, scan.last),
        )


class ProjectDetail(ProjectItem):
    """A project with its sessions."""

    storage: StorageFigures
    session_list: SessionList = Field(
        description="The first of its sessions; its cursor goes on under /api/memory/projects/PROJECT/sessions."
    )


class Unregistered(ResponseModel):
    """What was taken out of the registry; the originals are where they were."""

    success: bool = True
    project_id: str
    sessions: list[str]


class ChangeLine(ResponseModel):
    """What was done: who, why, before and after."""

    subject: str
    session_id: str | None
    kind: str
    actor: str
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]
    at: datetime


class SessionChangeList(ResponseModel):
    """What was done to a project, newest first."""

    changes: list[ChangeLine]
    cursor: str | None


router = APIRouter(prefix="/api/memory/projects", tags=["Projects"], route_class=under(OF_APP_IN_QUERY))
_FOLDER = "folder"
DryRunInQuery = Annotated[bool, Query(alias="dryRun", description="Only say what would come of it.")]
_FOLDERS = "name folders on the machine of the service"
_SHOWN_AT_ONCE = 50
"""Sessions of a project whose manifest is written before a request is answered."""
_MOST_FILES = 100
"""Taken in by one request."""


@router.get("", summary="List projects")
def list_projects(ctx: Reads, page: PageOf50, app_id: SessionsAppId, search: SearchInQuery = None) -> ProjectList:
    """List an app's projects, newest first."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered("projects", partial(queries.list_projects, session, app_id, search=search))
        return ProjectList(projects=_items(session, rows), cursor=following)


@router.post("", status_code=201, response_model=ProjectItem, summary="Open a project")
def open_project(ctx: Writes, app_id: SessionsAppId, body: OpenProject) -> Response:
    """Open a project for a folder; registering a session of one that is not there opens it as well."""
    if body.source_folder is not None:
        ctx.require_admin(_FOLDERS)
    settings = projects.overlaid({}, _changed(ctx, body.settings))

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        cause = ctx.cause(BY_HAND)
        project = projects.create_project(session, app_id, body.original_path, cause, display_name=body.display_name)
        project.settings = settings
        project.source_folder = None if body.source_folder is None else projects.led_to(body.source_folder)
        opened = _items(session, [project])[0]
        return WriteResult(opened, 201, app_id, then=lambda: shown(ctx, app_id, project.project_id))

    return ctx.write(work)


@router.get("/{projectId}", summary="Show a project")
def show_project(ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath) -> ProjectDetail:
    """Show a project with its sessions, what it takes in the store, and files that could not be taken in."""
    folder = ctx.loop.store.project_folder(app_id, project_id)
    # Before the transaction, as the folders are gone through file by file.
    version_bytes, composition_bytes = (ctx.loop.store.bytes_below(folder / one) for one in ("summaries", "composed"))
    with ctx.read() as session:
        project = queries.get_project(session, app_id, project_id)
        sessions = queries.sessions_of(session, project.key)
        storage = StorageFigures(
            original_bytes=sum(one.size_bytes for one in sessions),
            versions=sum(queries.count_versions(session, [one.key for one in sessions]).values()),
            version_bytes=version_bytes,
            compositions=queries.count_compositions(session, project.key),
            composition_bytes=composition_bytes,
        )
        listed = session_page(session, app_id, SessionFilter(project_id), PageRequest())
        return ProjectDetail(**dict(_items(session, [project])[0]), storage=storage, session_list=listed)


@router.patch("/{projectId}", response_model=ProjectItem, summary="Change a project")
def change_project(ctx: Writes, app_id: SessionsAppId, project_id: ProjectInPath, body: ChangeProject) -> Response:
    """Change a project's name, settings or folder."""
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    if "source_folder" in changes:
        ctx.require_admin(_FOLDERS)
    if body.settings is not None:
        changes["settings"] = _changed(ctx, body.settings)

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        project = queries.lock_project(session, app_id, project_id)
        projects.change_project(session, project, changes, ctx.cause(BY_HAND))
        return WriteResult(_items(session, [project])[0], about=app_id, then=lambda: shown(ctx, app_id, project_id))

    return ctx.write(work)


@router.delete("/{projectId}", response_model=Unregistered, summary="Remove a project")
@as_write
def remove_project(
    ctx: Writes,
    session: Session,
    app_id: SessionsAppId,
    project_id: ProjectInPath,
    force: Annotated[bool, Query(description="With its sessions, where no composition uses one.")] = False,
) -> WriteResult:
    """Remove a project that is empty. Originals outside of the store are never touched."""
    left = remove_project_with_sessions(session, app_id, project_id, ctx.cause(BY_HAND), force)
    answer = Unregistered(project_id=project_id, sessions=[one.session_id for one in left])

    def clear() -> None:
        remove_project_files(ctx.loop.database, ctx.loop.store, app_id, project_id)

    return WriteResult(answer, about=app_id, then=clear)


@router.post("/{projectId}/scan", response_model=ScanAnswer, summary="Look through a project's folder")
@policy(OF_APP_IN_QUERY, Trait.COSTLY)
def scan_project(
    ctx: Writes,
    app_id: SessionsAppId,
    project_id: ProjectInPath,
    dry_run: DryRunInQuery = False,
    limit: Annotated[int, Query(ge=1, le=200, description="Most files a dry run reads; it may read fewer.")] = 50,
    cursor: CursorInQuery = None,
) -> Response:
    """Register what is new in a project's folder and sync what is known, some files at a time.

    With `dryRun` only say which files would be registered, and what is in them.
    """
    ctx.require_admin("have a folder looked through")
    scanner = FolderScanner(ctx.loop.database, ctx.loop.store, ctx.loop.registrar)
    if dry_run:
        after = cursors.decode_id(_FOLDER, cursor) or ""
        return answer(ScanAnswer.of(project_id, scanner.foresee(app_id, project_id, after, limit)))
    begun = ctx.loop.registrar.locate(app_id, project_id, "")
    scan = scanner.scan(app_id, project_id, ctx.cause(BY_HAND), _MOST_FILES)
    ctx.loop.metrics.sessions_registered.labels("scan").inc(len(scan.registered))
    ctx.loop.metrics.session_files_refused.inc(len(scan.refused))
    shown(ctx, app_id, project_id)

    def work(session: Session) -> WriteResult:
        lock_place(session, begun)  # What was erased since is not to be remembered as an answer.
        return WriteResult(ScanAnswer.of(project_id, scan), about=app_id)

    return ctx.write(work)


@router.get("/{projectId}/changes", summary="Show what was done to a project")
def list_project_changes(
    ctx: Reads, page: PageOf50, app_id: SessionsAppId, project_id: ProjectInPath
) -> SessionChangeList:
    """List who did what to a project and what belongs to it, newest first; also of one that was removed."""
    with ctx.read() as session:
        listed = changes_page(session, app_id, project_id, page)
        if not listed.changes and page.cursor is None:
            queries.get_project(session, app_id, project_id)
        return listed


def _changed(ctx: RequestContext, settings: SettingsChange) -> dict[str, Any]:
    """Return what was given, by its name on the wire. Raises: Invalid for a model that is not set up."""
    changed = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    refuse_unknown_model(changed.get("model"), ctx.loop.settings.model)
    return changed


def changes_page(session: Session, app_id: str, project_id: str, page: PageRequest) -> SessionChangeList:
    """Return what was done to a project, or to what holds for all of an app's. Raises: NotFound."""
    get_app(session, app_id)
    rows, following = page.numbered("session-changes", partial(queries.changes_of, session, app_id, project_id))
    return SessionChangeList(changes=[ChangeLine.model_validate(one) for one in rows], cursor=following)


def shown(ctx: RequestContext, app_id: str, project_id: str) -> None:
    """Have the store show what was committed; of a large project, and where that does not succeed, the loop does it.

    A manifest holds the whole project; writing it after each of a thousand registrations would take longer than they.
    """
    loop = ctx.loop
    with ctx.read() as session:
        project = queries.find_project(session, app_id, project_id)
        sessions = 0 if project is None else queries.count_sessions(session, [project.key]).get(project.key, 0)
    if sessions <= _SHOWN_AT_ONCE:
        manifest.write(loop.database, loop.store, app_id, project_id)
    manifest.write_configuration(loop.database, loop.store, app_id, loop.settings)


def _items(session: Session, rows: Sequence[Project]) -> list[ProjectItem]:
    counted = queries.count_sessions(session, [one.key for one in rows])
    return [
        ProjectItem.from_row(
            one,
            sessions=counted.get(one.key, 0),
            settings=settings_of(session, one),
            own_settings=own_settings(one),
            refused_files=[RefusedFile(file=name, reason=why["reason"]) for name, why in one.refused_files.items()],
        )
        for one in rows
    ]


session_settings_router = APIRouter(
    prefix="/apps/{appId}/session-settings", tags=["Projects"], route_class=under(OF_APP)
)


@session_settings_router.get("", summary="Show the settings of an app's sessions")
def show_session_settings(ctx: Reads, app_id: AppInPath) -> SessionsConfiguration:
    """Show what is in force for all of an app's projects, unless they say otherwise."""
    with ctx.read() as session:
        return configuration_of(get_app(session, app_id), ctx.loop.settings)


@session_settings_router.patch(
    "", response_model=SessionsConfiguration, summary="Change the settings of an app's sessions"
)
def change_session_settings(ctx: Writes, app_id: AppInPath, body: ChangeSessionSettings) -> Response:
    """Change what holds for all of an app's projects, at once; versions that are there stay as they are."""

    def work(session: Session) -> WriteResult:
        app = lock_app(session, app_id)
        get_installed_app(session, app_id)
        wanted = body.model_dump(mode="json", by_alias=True, exclude_unset=True)
        change_configuration(session, app, wanted, ctx.loop.settings, ctx.cause(BY_HAND))
        return WriteResult(configuration_of(app, ctx.loop.settings), about=app_id, then=show)

    def show() -> None:
        manifest.write_configuration(ctx.loop.database, ctx.loop.store, app_id, ctx.loop.settings)
        ctx.loop.ticker.wake()

    return ctx.write(work)


@session_settings_router.get("/changes", summary="Show who changed the settings of an app's sessions")
def list_session_settings_changes(ctx: Reads, page: PageOf50, app_id: AppInPath) -> SessionChangeList:
    """List who changed what holds for all of an app's projects, newest first: what was set before and after."""
    with ctx.read() as session:
        return changes_page(session, app_id, EVERY_PROJECT, page)
