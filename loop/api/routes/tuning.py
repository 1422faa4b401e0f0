"""The tuning of retrieval and summaries, for all apps and for one; changed while it runs."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, Desk, Reads, Writes
from loop.api.schemas.tuning import TuneAll, TuneApp, TuningAnswer
from loop.api.writes import Done
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.search.models import EVERYWHERE
from shared.search.tuning import Tuning, change_tuning, tuning_in_force, tuning_of

router = APIRouter(tags=["Retrieval settings"])
_BY_WEIGHTS = "The formula is weighted now, so that the weights have effect; set formula to signals to go back."


@router.get("/api/memory/settings", response_model=TuningAnswer, summary="Show the retrieval settings of all apps")
def show_tuning(desk: Reads) -> TuningAnswer:
    """Show what is in force for apps that have nothing of their own."""
    with desk.read() as session:
        return TuningAnswer.of(tuning_in_force(session, _defaults(desk), None))


@router.patch("/api/memory/settings", response_model=TuningAnswer, summary="Change the retrieval settings of all apps")
def tune(desk: Writes, body: TuneAll) -> Response:
    """Change how retrieval works for all apps, at once and without a restart. Numbers out of bounds are clamped."""
    return desk.write(lambda session: _change(desk, session, EVERYWHERE, body))


@router.get("/apps/{appId}/retrieval-settings", response_model=TuningAnswer, summary="Show an app's retrieval settings")
def show_app_tuning(desk: Reads, app_id: AppInPath) -> TuningAnswer:
    """Show what is in force for an app, and where each value comes from."""
    with desk.read() as session:
        get_app(session, app_id)
        return TuningAnswer.of(tuning_in_force(session, _defaults(desk), app_id))


@router.patch(
    "/apps/{appId}/retrieval-settings", response_model=TuningAnswer, summary="Change an app's retrieval settings"
)
def tune_app(desk: Writes, app_id: AppInPath, body: TuneApp) -> Response:
    """Change how retrieval works for an app, at once and without a restart. Numbers out of bounds are clamped."""

    def work(session: Session) -> Done:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        return _change(desk, session, app_id, body)

    return desk.write(work)


def _change(desk: Desk, session: Session, scope: str, body: TuneApp) -> Done:
    done = change_tuning(session, _defaults(desk), scope, body.wanted, desk.caller.name, desk.now())
    return Done(TuningAnswer.of(done.in_force, done.clamped, _BY_WEIGHTS if done.selects_weighted else None))


def _defaults(desk: Desk) -> Tuning:
    return tuning_of(desk.loop.settings)
