"""How versions of recorded sessions go: pruned by hand, kept by number or days, aged by rule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field, model_validator
from sqlalchemy.orm import Session

from loop.api.dependencies import ProjectInPath, Reads, RequestContext, SessionsAppId, Writes, as_write
from loop.api.policy import OF_APP_IN_QUERY, under
from loop.api.routes.projects import shown
from loop.api.schema import Flag, RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.queries import get_installed_app, lock_app
from shared.base.audit import BY_HAND
from shared.base.errors import Conflict
from shared.contracts.values import FILE_ID_PATTERN
from shared.sessions.models import Project
from shared.sessions.queries import get_project, last_run, lock_project
from shared.sessions.retention import runs
from shared.sessions.retention.rules import AutoDecay, PruningRules, Retention, VersionRemoval

_SessionId = Annotated[str, Field(pattern=FILE_ID_PATTERN)]


class NamedVersion(RequestModel):
    """A version."""

    session_id: _SessionId
    version_id: str = Field(pattern=r"^v[0-9]{3,9}$", examples=["v002"])


class PruneVersions(PruningRules):
    """Removes versions: those named, or those that meet all the rules given."""

    model_config = ConfigDict(populate_by_name=False, json_schema_extra={"examples": [{"superseded": True}]})
    dry_run: Flag = Field(True, description="Only says what would go.")
    versions: Annotated[list[NamedVersion], Field(max_length=1000)] | None = Field(
        None, description="These, instead of rules; one that is in use is refused."
    )

    @model_validator(mode="after")
    def _says_something(self) -> PruneVersions:
        by_rule = self.says_anything
        if by_rule == (self.versions is not None):
            raise ValueError("give either versions, or at least one of unused, superseded, olderThanDays")
        return self


class VersionDecision(ResponseModel):
    """What becomes of a version, and why."""

    session_id: str
    version_id: str
    tokens: int
    created_at: datetime
    last_used: datetime | None
    uses: int
    used_in: list[str] = Field(description="Names of the compositions that use it.")
    reason: str

    @classmethod
    def of(cls, one: VersionRemoval) -> VersionDecision:
        return cls.model_validate(one.shown() | {"uses": one.version.row.uses})


class Pruned(ResponseModel):
    """What went, or would go."""

    dry_run: bool
    removed: list[VersionDecision] = Field(description="What went; of a dry run, what would.")
    kept: list[VersionDecision] = Field(description="What meets the rules and stays, and why.")
    tokens: int = Field(description="Of what went.")
    warnings: list[str]


class ChangeAgeing(RequestModel):
    """Changes the rules of a project; what is left out stays, null takes it back to what the app says."""

    retention: Retention | None = None
    auto_decay: AutoDecay | None = None


class RunAgeing(RequestModel):
    """Ages a project now."""

    dry_run: Flag = Field(True, description="Only writes the plan down; rules that changed must be run so first.")


class PlanAnswer(ResponseModel):
    """What a run did, or would do."""

    at: datetime
    dry_run: bool
    by: str
    plan: dict[str, Any] = Field(description="compress, remove, keep; each entry with its reason, and counts of all.")


class AgeingAnswer(ResponseModel):
    """How a project's versions age."""

    project_id: str
    retention: Retention = Field(description="What is in force.")
    auto_decay: AutoDecay = Field(description="What is in force.")
    own_rules: dict[str, Any] = Field(
        description="`compressionRetention` and `autoDecay` as the project says them itself; else the app's hold."
    )
    shown: bool = Field(description="Whether what these rules would do was shown; the next run then carries it out.")
    last_run: datetime | None = Field(description="When the rules were last followed or tried.")
    last_plan: PlanAnswer | None = Field(description="The last run that had anything to say.")


class AgeingDone(ResponseModel):
    """A run."""

    project_id: str
    dry_run: bool
    plan: dict[str, Any]


router = APIRouter(prefix="/api/memory/projects/{projectId}", tags=["Ageing"], route_class=under(OF_APP_IN_QUERY))


@router.post("/prune", response_model=Pruned, summary="Prune versions")
@as_write
def prune_versions(
    ctx: Writes, session: Session, app_id: SessionsAppId, project_id: ProjectInPath, body: PruneVersions
) -> WriteResult:
    """Remove versions nobody needs, or say which would go; what a composition uses is never removed."""
    lock_app(session, app_id)
    project = lock_project(session, app_id, project_id)
    if body.versions is None:
        plan = runs.by_rules(session, project, body, ctx.now())
    else:
        plan = runs.by_name(session, project, [(one.session_id, one.version_id) for one in body.versions])
    shown = Pruned(
        dry_run=body.dry_run,
        removed=[VersionDecision.of(one) for one in plan.remove],
        kept=[VersionDecision.of(one) for one in plan.stay],
        tokens=sum(one.version.row.output_tokens for one in plan.remove),
        warnings=list(plan.warnings),
    )
    if body.dry_run:
        return WriteResult(shown)
    if body.versions is not None:
        # Before anything goes: versions that are named go all or none.
        _refuse_held(plan.stay)
    done = runs.remove_chosen(session, project, plan, ctx.cause(BY_HAND))
    return WriteResult(shown, about=app_id, then=lambda: _settle(ctx, app_id, project_id, done))


@router.get("/ageing", summary="Show how versions age")
def show_ageing(ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath) -> AgeingAnswer:
    """Show the rules of a project, and what the last run did or would have done."""
    with ctx.read() as session:
        return _shown(session, get_project(session, app_id, project_id))


@router.put("/ageing", response_model=AgeingAnswer, summary="Change how versions age")
@as_write
def change_ageing(
    ctx: Writes, session: Session, app_id: SessionsAppId, project_id: ProjectInPath, body: ChangeAgeing
) -> WriteResult:
    """Change the rules. The first run after that only shows what it would do; the next one does it."""
    lock_app(session, app_id)
    project = lock_project(session, app_id, project_id)
    given = {name: getattr(body, name) for name in body.model_fields_set}
    runs.change_rules(session, project, ctx.cause(BY_HAND), given)
    return WriteResult(_shown(session, project), about=app_id, then=lambda: shown(ctx, app_id, project_id))


@router.post("/ageing/run", response_model=AgeingDone, summary="Age versions now")
@as_write
def run_ageing(
    ctx: Writes, session: Session, app_id: SessionsAppId, project_id: ProjectInPath, body: RunAgeing | None = None
) -> WriteResult:
    """Follow the rules now: write the plan down, or carry it out; versions to be made are asked for as jobs."""
    is_dry = (body or RunAgeing()).dry_run
    app = lock_app(session, app_id)
    get_installed_app(session, app_id)
    project = lock_project(session, app_id, project_id)
    done = runs.run_ageing(session, app, project, ctx.cause(BY_HAND), ctx.loop.settings, is_dry)
    shown = AgeingDone(project_id=project_id, dry_run=is_dry, plan=done.plan.shown())
    return WriteResult(shown, about=app_id, then=lambda: _settle(ctx, app_id, project_id, done))


def _refuse_held(stay: Sequence[VersionRemoval]) -> None:
    """Raises: Conflict for versions that were named and are in use; then none goes."""
    if stay:
        staying = [(one.version.recorded.session_id, one.version.row.version_id, one.why) for one in stay]
        named = "; ".join(f"{session_id} {version_id} ({why})" for session_id, version_id, why in staying)
        raise Conflict(
            f"Not removed: {named}. Remove those compositions first, or leave these versions out.",
            code="version_in_use",
            details={"versions": [[session_id, version_id] for session_id, version_id, _ in staying]},
        )


def _settle(ctx: RequestContext, app_id: str, project_id: str, done: runs.AgeingResult) -> None:
    done.settle(ctx.loop.database, ctx.loop.store, ctx.loop.metrics, app_id, project_id)
    ctx.loop.ticker.wake()


def _shown(session: Session, project: Project) -> AgeingAnswer:
    rules, last = runs.rules_of(session, project), last_run(session, project)
    plan = last and PlanAnswer(at=last.at, dry_run=last.after["dryRun"], by=last.actor, plan=last.after["plan"])
    return AgeingAnswer(
        project_id=project.project_id,
        retention=rules.retention,
        auto_decay=rules.auto_decay,
        own_rules=runs.own_rules(project),
        shown=runs.has_been_shown(session, project, rules),
        last_run=project.tended_at,
        last_plan=plan,
    )
