"""Recorded sessions: registered from a file or an upload, listed, synced and taken out of the registry."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from sqlalchemy.orm import Session

from loop.api import bodies
from loop.api.bodies import STREAMED_TYPES, is_streamed
from loop.api.dependencies import (
    PageOf50,
    ProjectInPath,
    Reads,
    RequestContext,
    SearchInQuery,
    SessionInPath,
    SessionsAppId,
    Writes,
    as_write,
)
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.projects import DryRunInQuery, ServerPath, Unregistered, shown
from loop.api.routes.session_items import (
    SessionForeseen,
    SessionItem,
    SessionList,
    StorageFigures,
    session_items,
    session_page,
    session_page_by_time,
)
from loop.api.schema import RequestModel, ResponseModel
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, get_installed_app
from shared.base.audit import BY_HAND
from shared.base.errors import AfterthoughtError, Conflict, Invalid, Limit, NotFound
from shared.contracts.values import Moment
from shared.sessions import queries
from shared.sessions.models import RecordedSession
from shared.sessions.queries import SessionFilter
from shared.sessions.registry.intake import Intake, explained, from_path, from_upload, in_place
from shared.sessions.registry.registration import (
    ORIGINAL_CHANGED,
    SessionPlace,
    SessionWork,
    refuse_known,
    remove_session_files,
    unregister,
)


class RegisterByPath(RequestModel):
    """Where a session's transcript lies."""

    path: ServerPath


class TouchedFileItem(ResponseModel):
    """A file that a session touched."""

    path: str
    touches: int
    changed: bool = Field(description="Whether it was written, not only read.")


class SessionDetail(SessionItem):
    """A registered session with the files it touched most."""

    files: list[TouchedFileItem]
    storage: StorageFigures


class Synced(ResponseModel):
    """What a sync took in."""

    session: SessionItem
    added_bytes: int


class DeleteSessions(RequestModel):
    """Sessions to take out of the registry."""

    session_ids: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=200)]


class DeletedSession(ResponseModel):
    """What became of one session."""

    session_id: str
    deleted: bool
    code: str | None = Field(None, description="Why not, as the error of a single request would say it.")
    message: str | None = None
    details: dict[str, Any] = Field(default_factory=dict, description="As those of an error.")


class DeletedSessions(ResponseModel):
    """What became of each session."""

    sessions: list[DeletedSession]


router = APIRouter(prefix="/api/memory", tags=["Sessions"], route_class=under(OF_APP_IN_QUERY))
_MOST_FILES = 200
_TRANSCRIPT = {"schema": {"type": "string", "format": "binary"}}
_REGISTERED_FROM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": RegisterByPath.model_json_schema(by_alias=True)},
            STREAMED_TYPES[0]: _TRANSCRIPT,
        },
    }
}
_SYNCED_FROM: dict[str, Any] = {"requestBody": {"required": False, "content": {STREAMED_TYPES[0]: _TRANSCRIPT}}}


@router.get("/projects/{projectId}/sessions", summary="List a project's sessions")
def list_project_sessions(
    ctx: Reads,
    page: PageOf50,
    app_id: SessionsAppId,
    project_id: ProjectInPath,
    order: Annotated[
        Literal["registered", "time"], Query(description="Those that were registered, or went on, last come first.")
    ] = "registered",
) -> SessionList:
    """List the sessions of a project, those registered last first, or those that went on last."""
    with ctx.read() as session:
        project = queries.get_project(session, app_id, project_id)
        if order == "time":
            return session_page_by_time(session, project.key, page)
        return session_page(session, app_id, SessionFilter(project_id), page)


@router.get("/sessions", summary="List sessions")
def list_sessions(
    ctx: Reads,
    page: PageOf50,
    app_id: SessionsAppId,
    project_id: Annotated[str | None, Query(alias="projectId", max_length=200)] = None,
    file: Annotated[str | None, Query(max_length=500, description="Only those that touched this file.")] = None,
    since: Annotated[Moment | None, Query(description="Only those that went on then or later.")] = None,
    until: Annotated[Moment | None, Query(description="Only those that had begun then.")] = None,
    marked: Annotated[bool | None, Query(description="Only those with, or without, marked parts.")] = None,
    search: SearchInQuery = None,
) -> SessionList:
    """List an app's sessions, those registered last first."""
    with ctx.read() as session:
        get_app(session, app_id)
        return session_page(session, app_id, SessionFilter(project_id, file, since, until, marked, search), page)


@router.get("/sessions/{sessionId}", summary="Show a session")
def show_session(ctx: Reads, app_id: SessionsAppId, session_id: SessionInPath) -> SessionDetail:
    """Show a session, with the files it touched most."""
    with ctx.read() as session:
        recorded = queries.get_session(session, app_id, session_id)
        files = [TouchedFileItem.model_validate(one) for one in queries.files_of(session, recorded.key, _MOST_FILES)]
        [item] = session_items(session, [recorded])
        compositions = len(queries.compositions_using(session, [recorded.key]))
    storage = StorageFigures(
        original_bytes=item.size_bytes,
        versions=item.versions,
        version_bytes=ctx.loop.store.bytes_below(ctx.loop.store.versions_folder(app_id, item.project_id, session_id)),
        compositions=compositions,
        composition_bytes=None,
    )
    return SessionDetail(**dict(item), files=files, storage=storage)


@router.post(
    "/projects/{projectId}/sessions/{sessionId}",
    status_code=201,
    response_model=SessionItem,
    responses={200: {"model": SessionForeseen, "description": "What would be registered; nothing was written."}},
    summary="Register a session",
    openapi_extra=_REGISTERED_FROM,
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.TAKES_FILE)
async def register_session(
    request: Request,
    ctx: Writes,
    app_id: SessionsAppId,
    project_id: ProjectInPath,
    session_id: SessionInPath,
    dry_run: DryRunInQuery = False,
) -> Response:
    """Register a session: its transcript as the body, or as JSON the path of a file, which only an admin may give.

    The file is copied and never written. A project that is not there is opened. With `dryRun` only say what the
    transcript holds.
    """
    if is_streamed(request.scope, request.headers):
        await run_sync(_refuse_early, ctx, app_id, session_id)
        upload = await _received(request, ctx, app_id)
        ctx, source = bodies.keyed(ctx, request, upload), "upload"
        taking = from_upload(ctx.loop.store, upload.path, upload.sha256, session_id, ctx.loop.settings)
    else:
        path = FilePath(_path_in(await request.body()))
        ctx.require_admin("register a file by its path; upload it instead")
        with explained(path):
            path = FilePath(os.path.realpath(path)) if path.is_symlink() else path
        taking, source = from_path(ctx.loop.store, app_id, session_id, path, ctx.loop.settings), "path"
        # Read where it lies, without a copy in the store.
        taking = in_place(path, session_id, ctx.loop.settings) if dry_run else taking
    if dry_run:
        return await run_sync(_foresee, ctx, (app_id, project_id, session_id), taking)
    return await run_sync(_register, ctx, (app_id, project_id, session_id), taking, source)


@router.post(
    "/sessions/{sessionId}/sync",
    response_model=Synced,
    summary="Take in what was added to a session",
    openapi_extra=_SYNCED_FROM,
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.TAKES_FILE)
async def sync_session(request: Request, ctx: Writes, app_id: SessionsAppId, session_id: SessionInPath) -> Response:
    """Take in what was added to a session's original, or to the whole transcript that is sent as the body."""
    if not is_streamed(request.scope, request.headers):
        return await run_sync(_sync, ctx, app_id, session_id, None)
    upload = await _received(request, ctx, app_id)
    try:
        return await run_sync(_sync, bodies.keyed(ctx, request, upload), app_id, session_id, upload.path)
    finally:
        upload.remove()


@router.delete(
    "/projects/{projectId}/sessions/{sessionId}", response_model=Unregistered, summary="Unregister a session"
)
@as_write
def unregister_session(
    ctx: Writes, session: Session, app_id: SessionsAppId, project_id: ProjectInPath, session_id: SessionInPath
) -> WriteResult:
    """Take a session out of the registry, with its versions; refused while a composition uses it."""
    left = unregister(session, app_id, session_id, ctx.cause(BY_HAND), project_id)
    answer = Unregistered(project_id=project_id, sessions=[session_id])
    return WriteResult(answer, about=app_id, then=lambda: _clear(ctx, [left]))


@router.post("/sessions/delete", response_model=DeletedSessions, summary="Unregister several sessions")
@as_write
def delete_sessions(ctx: Writes, session: Session, app_id: SessionsAppId, body: DeleteSessions) -> WriteResult:
    """Take several sessions out of the registry and say of each what became of it."""
    left: list[SessionPlace] = []
    outcomes = [_outcome(ctx, session, app_id, one, left) for one in dict.fromkeys(body.session_ids)]
    return WriteResult(DeletedSessions(sessions=outcomes), about=app_id, then=lambda: _clear(ctx, left))


def _register(
    ctx: RequestContext, named: tuple[str, str, str], taking: AbstractContextManager[Intake], source: str
) -> Response:
    registrar = ctx.loop.registrar
    with _refusals_counted(ctx), taking as intake:

        def carry(work: SessionWork) -> Response:
            return ctx.write(lambda session: _registered(ctx, session, work(session), named[1], source))

        return registrar.register(registrar.locate(*named), intake, ctx.cause(BY_HAND), carry)


def _foresee(ctx: RequestContext, named: tuple[str, str, str], taking: AbstractContextManager[Intake]) -> Response:
    app_id, project_id, session_id = named
    ctx.loop.store.original(*named)  # Refuses what cannot name a file.
    with taking as intake:
        with ctx.read() as session:
            get_installed_app(session, app_id)
            refuse_known(session, app_id, session_id)
        return answer(SessionForeseen.of(intake, project_id, session_id))


def _registered(
    ctx: RequestContext, session: Session, recorded: RecordedSession, project_id: str, source: str
) -> WriteResult:
    def notify() -> None:
        ctx.loop.metrics.sessions_registered.labels(source).inc()
        ctx.loop.metrics.session_bytes_synced.inc(recorded.size_bytes)
        shown(ctx, recorded.app_id, project_id)

    return WriteResult(session_items(session, [recorded])[0], 201, recorded.app_id, then=notify)


def _sync(ctx: RequestContext, app_id: str, session_id: str, uploaded: FilePath | None) -> Response:
    with ctx.read() as session:
        before = queries.get_session(session, app_id, session_id).size_bytes

    def carry(work: SessionWork) -> Response:
        return ctx.write(lambda session: _synced(ctx, session, work(session), before))

    with _refusals_counted(ctx):
        return ctx.loop.registrar.sync(app_id, session_id, uploaded, ctx.cause(BY_HAND), carry)


def _synced(ctx: RequestContext, session: Session, recorded: RecordedSession, before: int) -> WriteResult:
    item, added = session_items(session, [recorded])[0], recorded.size_bytes - before

    def notify() -> None:
        ctx.loop.metrics.session_bytes_synced.inc(max(0, added))
        shown(ctx, recorded.app_id, item.project_id)

    return WriteResult(Synced(session=item, added_bytes=added), about=recorded.app_id, then=notify)


def _outcome(
    ctx: RequestContext, session: Session, app_id: str, session_id: str, left: list[SessionPlace]
) -> DeletedSession:
    try:
        left.append(unregister(session, app_id, session_id, ctx.cause(BY_HAND)))
    except (NotFound, Conflict) as error:
        message, details = ctx.route_words.of(error)
        return DeletedSession(session_id=session_id, deleted=False, code=error.code, message=message, details=details)
    return DeletedSession(session_id=session_id, deleted=True)


def _clear(ctx: RequestContext, left: Sequence[SessionPlace]) -> None:
    remove_session_files(ctx.loop.database, ctx.loop.store, left)
    for app_id, project_id in dict.fromkeys((one.app_id, one.project_id) for one in left):
        shown(ctx, app_id, project_id)


async def _received(request: Request, ctx: RequestContext, app_id: str) -> bodies.Upload:
    limits = await run_sync(bodies.limits_of, ctx, app_id, ctx.loop.settings.sessions_max_bytes)
    return await bodies.receive(request, ctx.loop.store, app_id, limits)


def _refuse_early(ctx: RequestContext, app_id: str, session_id: str) -> None:
    """Refuse an upload before it is sent, unless it repeats one under its key. Raises: NotFound, Conflict."""
    with ctx.read() as session:
        get_app(session, app_id)
        if ctx.idempotent.key is None:
            refuse_known(session, app_id, session_id)


def _path_in(body: bytes) -> str:
    try:
        return RegisterByPath.model_validate_json(body).path
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            kind = STREAMED_TYPES[0]
            message = f"Send the transcript with the header Content-Type: {kind}, or as JSON the path of a file."
            raise Invalid(message) from None
        raise RequestValidationError([one | {"loc": ("body", *one["loc"])} for one in error.errors()]) from None


@contextmanager
def _refusals_counted(ctx: RequestContext) -> Iterator[None]:
    try:
        yield
    except AfterthoughtError as error:
        if isinstance(error, Invalid | Limit) or error.code == ORIGINAL_CHANGED:
            ctx.loop.metrics.session_files_refused.inc()
        raise
