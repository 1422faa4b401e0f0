"""A project as one file: exported, and imported after it was checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from loop.api import uploads
from loop.api.bodies import ARCHIVE_TYPE, is_streamed
from loop.api.dependencies import ProjectInPath, Reads, RequestContext, SessionsAppId, Writes
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.projects import shown
from loop.api.schema import ResponseModel
from loop.api.writes import WriteResult
from shared.apps.models import Scope
from shared.base.audit import BY_HAND
from shared.base.errors import Invalid
from shared.contracts.values import FILE_ID_PATTERN
from shared.sessions.archive.export import packed
from shared.sessions.archive.restore import (
    CheckedArchive,
    ProjectWork,
    check_archive,
    restore_archive,
)
from shared.sessions.store import chunks_of


class ImportedProject(ResponseModel):
    """A project that was imported, and how much of each it held."""

    project_id: str
    display_name: str
    sessions: int
    versions: int
    compositions: int
    semantic_memories: int


router = APIRouter(prefix="/api/memory/projects", tags=["Projects"], route_class=under(OF_APP_IN_QUERY))
_FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/{projectId}/export",
    summary="Export a project",
    response_class=StreamingResponse,
    responses={200: {"content": {ARCHIVE_TYPE: _FILE}, "description": "A zip file with a checksum of each part."}},
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY)
def export_project(ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath) -> StreamingResponse:
    """Pack a project with its sessions, versions, compositions and history into one file."""
    held = ExitStack()
    path = held.enter_context(packed(ctx.loop.database, ctx.loop.store, app_id, project_id))
    size = path.stat().st_size

    def chunks() -> Iterator[bytes]:
        with held, path.open("rb") as file:
            yield from chunks_of(file, size)

    headers = {"Content-Length": str(size), "Content-Disposition": 'attachment; filename="project.zip"'}
    return StreamingResponse(chunks(), media_type=ARCHIVE_TYPE, headers=headers)


@router.post(
    "/import",
    status_code=201,
    response_model=ImportedProject,
    summary="Import a project",
    openapi_extra={"requestBody": {"required": True, "content": {ARCHIVE_TYPE: _FILE}}},
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.TAKES_FILE, Trait.LARGE_BODY)
async def import_project(
    request: Request,
    ctx: Writes,
    app_id: SessionsAppId,
    project_id: Annotated[
        str | None, Query(alias="projectId", pattern=FILE_ID_PATTERN, description="Another name for it.")
    ] = None,
) -> Response:
    """Take in what export packed, sent as the body: checked whole first, and never over what is there."""
    if not is_streamed(request.scope, request.headers):
        raise Invalid(f"Send the archive as the body, with the header Content-Type: {ARCHIVE_TYPE}.")
    limits = await run_sync(uploads.limits_of, ctx, app_id)
    upload = await uploads.receive(request, ctx.loop.store, app_id, limits)
    try:
        keyed = uploads.keyed(ctx, request, upload)
        return await run_sync(_import, keyed, app_id, project_id, upload.path, limits.cache)
    finally:
        upload.remove()


def _import(ctx: RequestContext, app_id: str, project_id: str | None, path: FilePath, most: int) -> Response:
    loop = ctx.loop
    # Before it is checked: what is erased meanwhile is not brought back.
    begun = loop.registrar.place(app_id, "", "")
    with check_archive(loop.store, app_id, path, loop.settings, most) as found:
        is_admins = ctx.caller.scope is Scope.ADMIN
        place = replace(begun, project_id=project_id or found.archive.project.project_id)

        def carry(work: ProjectWork) -> Response:
            return ctx.write(lambda session: _imported(ctx, session, work, found))

        return restore_archive(loop.database, loop.store, place, found, ctx.cause(BY_HAND), carry, is_admins)


def _imported(ctx: RequestContext, session: Session, work: ProjectWork, found: CheckedArchive) -> WriteResult:
    project = work(session)
    app_id, project_id = project.app_id, project.project_id

    def notify() -> None:
        ctx.loop.metrics.sessions_registered.labels("archive").inc(len(found.archive.sessions))
        shown(ctx, app_id, project_id)

    imported = ImportedProject(
        project_id=project_id,
        display_name=project.display_name,
        sessions=len(found.archive.sessions),
        versions=sum(len(one.versions) for one in found.archive.sessions),
        compositions=len(found.archive.compositions),
        semantic_memories=len(found.archive.semantic_memories),
    )
    return WriteResult(imported, 201, about=app_id, then=notify)
