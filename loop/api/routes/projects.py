"""Projects of recorded sessions: opened, changed, looked through and removed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.dependencies import AppAsked, CursorInQuery, Desk, LimitInQuery, ProjectInPath, Reads, Writes
from loop.api.schemas.projects import (
    ChangeLine,
    ChangeList,
    ChangeProject,
    OpenProject,
    ProjectItem,
    ProjectList,
    ScanAnswer,
    Unregistered,
)
from loop.api.writes import Done
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.causes import BY_HAND
from shared.sessions import manifest, queries
from shared.sessions.models import Project
from shared.sessions.registry import projects
from shared.sessions.registry.registration import remove_project_files, remove_project_with_sessions
from shared.sessions.registry.scan import FolderScanner

router = APIRouter(prefix="/api/memory/projects", tags=["Projects"])
_PROJECTS, _CHANGES = "projects", "session-changes"
_FOLDERS = "name folders on the machine of the service"
_SHOWN_AT_ONCE = 50
"""Sessions of a project whose manifest is written before a request is answered."""
_MOST_FILES = 100
"""Taken in by one request."""


@router.get("", response_model=ProjectList, summary="List projects")
def list_projects(desk: Reads, app_id: AppAsked, limit: LimitInQuery = 50, cursor: CursorInQuery = None) -> ProjectList:
    """List an app's projects, newest first."""
    before = cursors.decode_number(_PROJECTS, cursor)
    with desk.read() as session:
        get_app(session, app_id)
        rows, more = cursors.page(queries.list_projects(session, app_id, limit + 1, before), limit)
        counted = queries.count_sessions(session, [one.key for one in rows])
        items = [ProjectItem.of(one, counted.get(one.key, 0)) for one in rows]
        return ProjectList(projects=items, cursor=cursors.encode(_PROJECTS, rows[-1].key) if more else None)


@router.post("", status_code=201, response_model=ProjectItem, summary="Open a project")
def open_project(desk: Writes, app_id: AppAsked, body: OpenProject) -> Response:
    """Open a project for a folder; registering a session of one that is not there opens it as well."""
    if body.source_folder is not None:
        desk.require_admin(_FOLDERS)

    def work(session: Session) -> Done:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        cause = desk.cause(BY_HAND)
        project = projects.create_project(session, app_id, body.original_path, cause, display_name=body.display_name)
        project.settings = project.settings | body.settings.changed()
        project.source_folder = body.source_folder
        return Done(_item(session, project), 201, app_id, then=lambda: shown(desk, app_id, project.project_id))

    return desk.write(work)


@router.get("/{projectId}", response_model=ProjectItem, summary="Show a project")
def show_project(desk: Reads, app_id: AppAsked, project_id: ProjectInPath) -> ProjectItem:
    """Show a project, with the files of its folder that could not be taken in."""
    with desk.read() as session:
        return _item(session, queries.get_project(session, app_id, project_id))


@router.patch("/{projectId}", response_model=ProjectItem, summary="Change a project")
def change_project(desk: Writes, app_id: AppAsked, project_id: ProjectInPath, body: ChangeProject) -> Response:
    """Change a project's name, settings or folder."""
    if body.names_folder:
        desk.require_admin(_FOLDERS)

    def work(session: Session) -> Done:
        lock_app(session, app_id)
        project = queries.lock_project(session, app_id, project_id)
        projects.change_project(session, project, body.wanted(), desk.cause(BY_HAND))
        return Done(_item(session, project), about=app_id, then=lambda: shown(desk, app_id, project_id))

    return desk.write(work)


@router.delete("/{projectId}", response_model=Unregistered, summary="Remove a project")
def remove_project(
    desk: Writes,
    app_id: AppAsked,
    project_id: ProjectInPath,
    force: Annotated[bool, Query(description="With its sessions, where no composition uses one.")] = False,
) -> Response:
    """Remove a project that is empty. Originals outside of the store are never touched."""

    def work(session: Session) -> Done:
        left = remove_project_with_sessions(session, app_id, project_id, desk.cause(BY_HAND), force)
        answer = Unregistered(project_id=project_id, sessions=[one.session_id for one in left])

        def clear() -> None:
            remove_project_files(desk.loop.database, desk.loop.store, app_id, project_id)

        return Done(answer, about=app_id, then=clear)

    return desk.write(work)


@router.post("/{projectId}/scan", response_model=ScanAnswer, summary="Look through a project's folder")
def scan_project(desk: Writes, app_id: AppAsked, project_id: ProjectInPath) -> Response:
    """Register what is new in a project's folder and sync what is known, some files at a time."""
    desk.require_admin("have a folder looked through")
    scanner = FolderScanner(desk.loop.database, desk.loop.store, desk.loop.registrar)
    scan = scanner.scan(app_id, project_id, desk.cause(BY_HAND), _MOST_FILES)
    desk.loop.metrics.sessions_registered.labels("scan").inc(len(scan.registered))
    desk.loop.metrics.session_files_refused.inc(len(scan.refused))
    shown(desk, app_id, project_id)
    return desk.write(lambda _: Done(ScanAnswer.of(project_id, scan), about=app_id))


@router.get("/{projectId}/changes", response_model=ChangeList, summary="Show what was done to a project")
def list_project_changes(
    desk: Reads, app_id: AppAsked, project_id: ProjectInPath, limit: LimitInQuery = 50, cursor: CursorInQuery = None
) -> ChangeList:
    """List who did what to a project and what belongs to it, newest first; also of one that was removed."""
    before = cursors.decode_number(_CHANGES, cursor)
    with desk.read() as session:
        get_app(session, app_id)
        rows, more = cursors.page(queries.changes_of(session, app_id, project_id, limit + 1, before), limit)
        if not rows and before is None:
            queries.get_project(session, app_id, project_id)
        following = cursors.encode(_CHANGES, rows[-1].key) if more else None
        return ChangeList(changes=[ChangeLine.of(one) for one in rows], cursor=following)


def shown(desk: Desk, app_id: str, project_id: str) -> None:
    """Have the store show what was committed; of a large project, and where that does not succeed, the loop does it.

    A manifest holds the whole project; writing it after each of a thousand registrations would take longer than they.
    """
    loop = desk.loop
    with desk.read() as session:
        created_at = get_app(session, app_id).created_at
        project = queries.find_project(session, app_id, project_id)
        sessions = 0 if project is None else queries.count_sessions(session, [project.key]).get(project.key, 0)
    if sessions <= _SHOWN_AT_ONCE:
        manifest.write(loop.database, loop.store, app_id, project_id)
    model = loop.settings.model or "extractive"
    manifest.write_configuration(loop.store, app_id, created_at, loop.settings.sessions_cache_mb, model)


def _item(session: Session, project: Project) -> ProjectItem:
    counted = queries.count_sessions(session, [project.key])
    return ProjectItem.of(project, counted.get(project.key, 0))
