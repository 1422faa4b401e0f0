"""Everything of an app at once: its context, its spending, its archive, and its erasure."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from loop.api import erasures
from loop.api.dependencies import AppInPath, Desk, Reads, UserInQuery, Writes
from loop.api.schemas.apps import units_or_none
from loop.api.schemas.archive import ImportedAnswer
from loop.api.schemas.context import AskContext, ContextAnswer
from loop.api.schemas.energy import AppEnergy
from loop.api.schemas.erasures import Erased
from loop.api.writes import Done, answer
from shared.apps.models import App, Scope
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.apps.registry import install
from shared.archive.document import Archive
from shared.archive.exporting import export_app
from shared.archive.importing import Bounds, import_archive
from shared.context.context import ContextRequest, open_context
from shared.contracts.jobs import Track
from shared.energy.budget import budget_status, to_units
from shared.energy.ledger import spent_by_kind, spent_by_window
from shared.erasure.erasing import erase_app
from shared.errors import NotFound
from shared.outbox.lanes import held

router = APIRouter(prefix="/apps/{appId}")


@router.post("/context", response_model=ContextAnswer, tags=["Context"], summary="Compose a context")
def compose_context(desk: Reads, app_id: AppInPath, body: AskContext | None = None) -> Response:
    """Compose the messages to send to a model: what is recalled, then what was said, as fits.

    Costs no energy but for the vector of what is said now.
    """
    wanted = _wanted(desk, body or AskContext())
    loop = desk.loop
    opening = open_context(loop.database, app_id, wanted, loop.metrics, loop.searching.reach, desk.caller.name)
    return answer(ContextAnswer.of(opening))


def _wanted(desk: Desk, body: AskContext) -> ContextRequest:
    budget = desk.loop.settings.context_token_budget if body.token_budget is None else body.token_budget
    said = None if body.messages is None else [message.as_said() for message in body.messages]
    return ContextRequest(
        token_budget=budget,
        is_capped=body.token_budget is not None,
        said=said,
        conversation_id=body.conversation_id,
        user_id=body.user_id,
        now_said=body.message,
        model=body.model,
        context_window=body.context_window,
        reserve=body.reserve,
    )


@router.get("/energy", response_model=AppEnergy, tags=["Energy"], summary="Show what an app has spent")
def show_app_energy(desk: Reads, app_id: AppInPath) -> AppEnergy:
    """Show what an app has spent in all and lately, and its budgets."""
    with desk.read() as session:
        app = get_app(session, app_id)
        spent = spent_by_window(session, app_id, desk.now())
        hold = held(session, app_id, Track.THOUGHT)
        by_kind = {kind: to_units(micro) for kind, micro in spent_by_kind(session, app_id).items()}
    return AppEnergy(
        app_id=app_id,
        **{name: to_units(micro) for name, micro in spent.items()},
        by_kind=by_kind,
        hourly_budget=units_or_none(app.hourly_budget_micro),
        hourly_status=budget_status(app.hourly_budget_micro, spent["last1h"]),
        daily_budget=units_or_none(app.daily_budget_micro),
        daily_status=budget_status(app.daily_budget_micro, spent["last24h"]),
        held_until=None if hold is None else hold.until,
    )


@router.delete("/data", response_model=Erased, tags=["Memories"], summary="Erase everything of an app")
def erase_all(desk: Writes, app_id: AppInPath) -> Response:
    """Erase everything an app ever held, in every store. The app itself stays, empty."""

    def work(session: Session) -> Done:
        return erasures.erased(desk, session, erase_app(session, app_id, desk.caller.name, desk.now()))

    return desk.write(work)


@router.get("/export", response_model=Archive, tags=["Memories"], summary="Export an app")
def export(desk: Reads, app_id: AppInPath, user_id: UserInQuery = None) -> Response:
    """Take an app out as one JSON document, or what it holds of one user."""
    with desk.read() as session:
        archive = export_app(session, get_app(session, app_id), desk.now(), user_id)
    return answer(archive)


@router.post("/import", response_model=ImportedAnswer, tags=["Memories"], summary="Import an app")
def import_app(desk: Writes, app_id: AppInPath, body: Archive) -> Response:
    """Put an exported document into an app, whole or not at all. An admin token may name an app that is not there."""
    settings = desk.loop.settings
    bounds = Bounds(settings.memory_cap, settings.memory_max_chars, settings.max_message_chars)

    def work(session: Session) -> Done:
        app = _receiving_app(desk, session, app_id, body)
        imported = import_archive(session, app, body, bounds, desk.now())
        return Done(ImportedAnswer.of(imported), about=app_id)

    return desk.write(work)


def _receiving_app(desk: Desk, session: Session, app_id: str, archive: Archive) -> App:
    try:
        lock_app(session, app_id)
    except NotFound:
        if desk.caller.scope is not Scope.ADMIN:
            raise
        app = install(session, app_id, archive.app.name, archive.app.config, desk.now())
        app.hourly_budget_micro = archive.app.hourly_budget_micro
        app.daily_budget_micro = archive.app.daily_budget_micro
        app.shared_memory = archive.app.shared_memory
        return app
    return get_installed_app(session, app_id)
