"""How versions of recorded sessions go: pruned by hand, kept by number or days, aged by rule."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from loop.api.dependencies import AppAsked, Desk, ProjectInPath, Reads, Writes
from loop.api.schemas.ageing import (
    AgeingAnswer,
    AgeingDone,
    ChangeAgeing,
    PlanAnswer,
    Pruned,
    PruneVersions,
    RunAgeing,
)
from loop.api.writes import Done
from shared.apps.queries import get_installed_app, lock_app
from shared.causes import BY_HAND
from shared.errors import Conflict
from shared.sessions import manifest
from shared.sessions.compose.requests import VersionMaking
from shared.sessions.models import Project
from shared.sessions.queries import get_project, last_run, lock_project
from shared.sessions.retention import runs
from shared.sessions.retention.runs import RemovalChoice, by_name, by_rules, remove_chosen

router = APIRouter(prefix="/api/memory/projects/{projectId}", tags=["Ageing"])


@router.post("/prune", response_model=Pruned, summary="Prune versions")
def prune_versions(desk: Writes, app_id: AppAsked, project_id: ProjectInPath, body: PruneVersions) -> Response:
    """Remove versions nobody needs, or say which would go; what a composition uses is never removed."""

    def work(session: Session) -> Done:
        lock_app(session, app_id)
        project = lock_project(session, app_id, project_id)
        choice = _chosen(desk, session, project, body)
        shown = _pruned(choice, body.dry_run)
        if body.dry_run:
            return Done(shown)
        if body.versions is not None:
            _refuse_held(choice)
        done = remove_chosen(session, project, choice, desk.cause(BY_HAND))
        return Done(shown, about=app_id, then=lambda: _settle(desk, app_id, project_id, done))

    return desk.write(work)


@router.get("/ageing", response_model=AgeingAnswer, summary="Show how versions age")
def show_ageing(desk: Reads, app_id: AppAsked, project_id: ProjectInPath) -> AgeingAnswer:
    """Show the rules of a project, and what the last run did or would have done."""
    with desk.read() as session:
        return _shown(session, get_project(session, app_id, project_id))


@router.put("/ageing", response_model=AgeingAnswer, summary="Change how versions age")
def change_ageing(desk: Writes, app_id: AppAsked, project_id: ProjectInPath, body: ChangeAgeing) -> Response:
    """Change the rules. The first run after that only shows what it would do; the next one does it."""

    def work(session: Session) -> Done:
        lock_app(session, app_id)
        project = lock_project(session, app_id, project_id)
        given = {name: getattr(body, name) for name in body.model_fields_set if getattr(body, name) is not None}
        rules = runs.rules_of(project).model_copy(update=given)
        runs.change_rules(session, project, rules, desk.cause(BY_HAND))
        return Done(_shown(session, project), about=app_id)

    return desk.write(work)


@router.post("/ageing/run", response_model=AgeingDone, summary="Age versions now")
def run_ageing(desk: Writes, app_id: AppAsked, project_id: ProjectInPath, body: RunAgeing | None = None) -> Response:
    """Follow the rules now: write the plan down, or carry it out; versions to be made are asked for as jobs."""
    is_dry = (body or RunAgeing()).dry_run

    def work(session: Session) -> Done:
        app = lock_app(session, app_id)
        get_installed_app(session, app_id)
        project = lock_project(session, app_id, project_id)
        settings = desk.loop.settings
        means = VersionMaking(settings.model, settings.job_max_attempts)
        done = runs.run_ageing(session, app, project, desk.cause(BY_HAND), means, is_dry)
        shown = AgeingDone(project_id=project_id, dry_run=is_dry, plan=done.plan.shown())
        return Done(shown, about=app_id, then=lambda: _settle(desk, app_id, project_id, done))

    return desk.write(work)


def _chosen(desk: Desk, session: Session, project: Project, body: PruneVersions) -> RemovalChoice:
    if body.versions is None:
        return by_rules(session, project, body.pruning, desk.now())
    return by_name(session, project, [(one.session_id, one.version_id) for one in body.versions])


def _pruned(choice: RemovalChoice, dry_run: bool) -> Pruned:
    return Pruned.of([one.decision for one in choice.remove], choice.stay, list(choice.warnings), dry_run)


def _refuse_held(choice: RemovalChoice) -> None:
    """Raises: Conflict for versions that were named and are in use; then none goes."""
    if choice.stay:
        held = [f"{one.version.session_id} {one.version.version_id} ({one.why})" for one in choice.stay]
        raise Conflict(
            f"Not removed: {'; '.join(held)}. Remove those compositions first, or leave these versions out.",
            code="version_in_use",
            details={"versions": [[one.version.session_id, one.version.version_id] for one in choice.stay]},
        )


def _settle(desk: Desk, app_id: str, project_id: str, done: runs.AgeingResult) -> None:
    """Bring files and manifest up to what was committed."""
    for what_for, count in done.removed.items():
        desk.loop.metrics.versions_removed.labels(what_for).inc(count)
    done.clear_away(desk.loop.store, app_id, project_id)
    if done.removed:
        manifest.write(desk.loop.database, desk.loop.store, app_id, project_id)
    desk.loop.ticker.wake()


def _shown(session: Session, project: Project) -> AgeingAnswer:
    rules, last = runs.rules_of(project), last_run(session, project)
    return AgeingAnswer(
        project_id=project.project_id,
        retention=rules.retention,
        auto_decay=rules.auto_decay,
        shown=runs.has_been_shown(session, project, rules),
        last_run=project.tended_at,
        last_plan=None if last is None else PlanAnswer.of(last),
    )
