"""The installation itself: its energy, its health, its metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import LoopNow, Reads, Writes, as_write
from loop.api.health import Live, Ready, look
from loop.api.policy import OF_ADMIN, OF_ANYBODY, OF_SCRAPER, OF_TOKEN, Trait, Whose, policy, under
from loop.api.schema import ResponseModel, Success
from loop.api.writes import WriteResult, answer
from loop.gauges import StateGauges
from shared.apps import queries
from shared.apps.models import Grant
from shared.apps.queries import Rights
from shared.base.errors import NotFound
from shared.base.settings import values_set
from shared.db.queries import table_sizes
from shared.energy.budget import BudgetStatus, Status, to_units
from shared.energy.history import HourOfEnergy, hours_of_energy
from shared.telemetry.exposition import gathered, scrape


class EnergyAnswer(ResponseModel):
    """The energy of the installation."""

    level: float = Field(description="0..100, with a floor of -50.")
    percentage: float
    status: Status
    replenish_per_second: float
    gate_percent: float = Field(description="Memory work starts only above this.")
    reserved: float = Field(description="Set aside for model calls under way.")
    deferred_jobs: int
    memory_share: float | None = Field(description="Share of memory work in 24 hours, 0..1; null when nothing was.")
    seconds_until_open: float | None = Field(description="Until memory work may start; null: never.")


class HourAnswer(ResponseModel):
    """What an hour cost. Amounts in units."""

    hour: datetime = Field(description="When it began, UTC.")
    lowest_level: float = Field(description="Reckoned from the calls of each minute; never higher than it was.")
    calls: int
    model_calls: int = Field(description="Of them those of models; the others were made by the built-in agent.")
    spent: float
    by_kind: dict[str, float]
    by_app: dict[str, float] = Field(description="Of the ten apps that spent most in all these hours.")


class EnergyHistory(ResponseModel):
    """The last hours, the present one last; those without a call too."""

    hours: list[HourAnswer]


class AppEnergy(ResponseModel):
    """What an app has spent."""

    app_id: str
    total: float
    last24h: float = Field(alias="last24h")
    last1h: float = Field(alias="last1h")
    last1min: float = Field(alias="last1min")
    by_kind: dict[str, float]
    hourly_budget: float | None
    hourly_status: BudgetStatus | None
    daily_budget: float | None
    daily_status: BudgetStatus | None
    held_until: datetime | None = Field(description="Until when a budget holds the app's work back; null: it does not.")


class SizeOfTable(ResponseModel):
    """What a table takes."""

    table: str
    rows: int | None = Field(description="An estimate on PostgreSQL; null for the word index.")
    size_bytes: int | None = Field(description="With its indexes; null where SQLite was built without dbstat.")
    oldest: datetime | None = Field(description="When its first row was written, where rows have a time.")


class Storage(ResponseModel):
    """What the database holds."""

    size_bytes: int
    tables: list[SizeOfTable] = Field(description="The largest first.")


class TokenRights(ResponseModel):
    """What the token of a request opens."""

    name: str = Field(description="Recorded with every change: admin, reader, or token: and its id.")
    app_id: str | None = Field(description="The only app it opens; null: all of them.")
    user_id: str | None = Field(description="Whose own it is: it opens what is theirs in the app; null: nobody's.")
    rights: Rights = Field(description="all, or read.")
    grants: list[Grant] = Field(
        description="What it may do beside working with data: issue and revoke tokens, uninstall the app, change who "
        "answers. An admin's that may do all has them all."
    )


class LoginMade(ResponseModel):
    """A login that was made; its secret is shown this once and kept nowhere."""

    login: str | None = Field(description="The secret; null when this answer repeats one under an Idempotency-Key.")
    ends_at: datetime


class DoctorFinding(ResponseModel):
    """What the doctor found about one thing."""

    what: str
    health: Literal["ok", "warn", "fail"]
    found: str
    mend: str | None = Field(description="What to do about it; null where it is well.")


class DoctorFindings(ResponseModel):
    """What `afterthought doctor` finds where the service runs."""

    findings: list[DoctorFinding]
    settings: dict[str, str] = Field(
        description="What the service runs with that is not at its default, by environment variable: no secret, and "
        "not where it lives."
    )


router = APIRouter(route_class=under(OF_ADMIN))
_APPS_SHOWN = 10


@router.get("/token", tags=["Apps"], summary="Show what your token opens")
@policy(OF_TOKEN, whose=Whose.BY_ROUTE)
def show_token(ctx: Reads) -> TokenRights:
    """Show what the token of this request opens."""
    granted = [grant for grant in Grant if ctx.caller.has(grant) and ctx.caller.rights is Rights.ALL]
    return TokenRights.from_row(ctx.caller, grants=granted)


@router.post("/logins", status_code=201, response_model=LoginMade, tags=["Apps"], summary="Log in")
@policy(OF_TOKEN, Trait.READS, whose=Whose.BY_ROUTE)
@as_write
def make_login(ctx: Writes, session: Session, request: Request) -> WriteResult:
    """Make a login: a secret that is sent like the token of this request, and opens the same for as long as that does.

    It is for a browser, which need not keep the token itself. It ends after a week, or when it is ended. A login makes
    no other one, and a token has at most its newest fifty.
    """
    digest: str = request.state.token_digest
    login, secret = queries.log_in(session, digest, ctx.now())
    kept = LoginMade(login=None, ends_at=login.ends_at)
    return WriteResult(kept.model_copy(update={"login": secret}), 201, kept=kept)


@router.delete("/logins", response_model=Success, tags=["Apps"], summary="Log out")
@policy(OF_TOKEN, Trait.READS, whose=Whose.BY_ROUTE)
@as_write
def end_login(ctx: Writes, session: Session, request: Request) -> WriteResult:
    """End the login that this request was sent with."""
    digest: str = request.state.token_digest
    if not queries.log_out(session, digest):
        raise NotFound("This request was sent with a token and not with a login; there is nothing to end.")
    return WriteResult(Success())


@router.get("/energy", tags=["Energy"], summary="Show the energy")
def show_energy(ctx: Reads) -> EnergyAnswer:
    """Show the energy level and what it holds back."""
    regulator = ctx.loop.regulator
    # Before the transaction: it may wait a moment for a reading in a thread of its own.
    share = regulator.memory_share()
    with ctx.read() as session:
        return EnergyAnswer(**asdict(regulator.reading(session)), memory_share=share)


@router.get("/energy/history", tags=["Energy"], summary="Show the energy of the last hours")
def show_energy_history(ctx: Reads, hours: Annotated[int, Query(ge=1, le=24)] = 24) -> EnergyHistory:
    """Show by hours (UTC) how low the level went and what was spent, by kind and app. Needs the admin token.

    Costs no energy.
    """
    refill = ctx.loop.settings.energy_refill_per_second
    with ctx.read() as session:
        found = hours_of_energy(session, hours, refill, ctx.now())
    most = sum((one.by_app for one in found), Counter()).most_common(_APPS_SHOWN)
    return EnergyHistory(hours=[_hour(one, {app_id for app_id, _ in most}) for one in found])


def _hour(one: HourOfEnergy, apps: set[str]) -> HourAnswer:
    return HourAnswer(
        hour=one.hour,
        lowest_level=to_units(one.lowest),
        calls=one.calls,
        model_calls=one.model_calls,
        spent=to_units(one.by_kind.total()),
        by_kind={kind: to_units(micro) for kind, micro in one.by_kind.items()},
        by_app={app_id: to_units(micro) for app_id, micro in one.by_app.items() if app_id in apps},
    )


@router.get("/storage", tags=["Health"], summary="Show what the tables take")
def show_storage(ctx: Reads) -> Storage:
    """Show rows and bytes by table, and how far back each reaches. Needs the admin token; on SQLite it reads it all."""
    with ctx.read() as session:
        sizes = table_sizes(session)
    return Storage(
        size_bytes=sum(one.size_bytes or 0 for one in sizes), tables=[SizeOfTable(**asdict(one)) for one in sizes]
    )


@router.get("/doctor", tags=["Health"], summary="Look at the installation")
def show_findings(ctx: Reads) -> DoctorFindings:
    """Look at the service's machine, its settings, stores and models, as `afterthought doctor` does.

    Needs the admin token; asks the model's server and Redis, and takes up to some seconds.
    """
    # Only here: it loads what commands need.
    from loop.cli.checks import check_dependencies, check_installation, check_python

    found = [check_python(), *check_installation(ctx.loop.settings, ctx.now())]
    found += check_dependencies(look(ctx.loop).model_dump())
    findings = [DoctorFinding(**asdict(one)) for one in found]
    return DoctorFindings(findings=findings, settings=values_set(ctx.loop.settings))


@router.get("/health/live", response_model=Live, tags=["Health"], summary="Whether the process answers")
@policy(OF_ANYBODY)
async def show_liveness() -> Live:
    """Answer. Asks nothing of anything; needs no token."""
    return Live()


@router.get(
    "/health/ready",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Something needed is not there; dependencies says what."}},
    tags=["Health"],
    summary="Whether the loop can serve",
)
@policy(OF_ANYBODY)
def show_readiness(loop: LoopNow) -> Response:
    """Look at each dependency. Needs no token."""
    ready = look(loop)
    return answer(ready, 200 if ready.ready else 503)


@router.get(
    "/metrics",
    tags=["Health"],
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text."}},
)
@policy(OF_SCRAPER)
def show_metrics(ctx: Reads) -> Response:
    """Add up what all processes counted, and read the present state. Needs the admin token, or that for metrics.

    Totals are up to a minute old, or more where counting them takes seconds; `afterthought_totals_age_seconds` says.
    """
    registry = gathered(ctx.loop.settings.metrics_path)
    registry.register(StateGauges(ctx.loop))
    return Response(scrape(registry), media_type=CONTENT_TYPE_LATEST)
