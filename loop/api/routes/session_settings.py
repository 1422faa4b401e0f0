"""What holds for all recorded sessions of an app: shown as ``config.json`` shows it, changed, and who changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, CursorInQuery, LimitInQuery, Reads, Writes
from loop.api.policy import OF_APP, under
from loop.api.routes.projects import SessionChangeList, changes_page
from loop.api.writes import WriteResult
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.audit import BY_HAND
from shared.sessions import manifest
from shared.sessions.registry.configuration import (
    EVERY_PROJECT,
    SessionsConfiguration,
    change_configuration,
    configuration_of,
    patch_of,
)

if TYPE_CHECKING:
    ChangeSessionSettings = BaseModel
else:
    ChangeSessionSettings = patch_of(SessionsConfiguration)
router = APIRouter(prefix="/apps/{appId}/session-settings", tags=["Projects"], route_class=under(OF_APP))


@router.get("", summary="Show the settings of an app's sessions")
def show_session_settings(ctx: Reads, app_id: AppInPath) -> SessionsConfiguration:
    """Show what is in force for all of an app's projects, unless they say otherwise."""
    with ctx.read() as session:
        return configuration_of(get_app(session, app_id), ctx.loop.settings)


@router.patch("", response_model=SessionsConfiguration, summary="Change the settings of an app's sessions")
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


@router.get("/changes", summary="Show who changed the settings of an app's sessions")
def list_session_settings_changes(
    ctx: Reads, app_id: AppInPath, limit: LimitInQuery = 50, cursor: CursorInQuery = None
) -> SessionChangeList:
    """List who changed what holds for all of an app's projects, newest first: what was set before and after."""
    with ctx.read() as session:
        return changes_page(session, app_id, EVERY_PROJECT, limit, cursor)
