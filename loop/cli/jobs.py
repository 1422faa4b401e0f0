"""``afterthought jobs`` and ``energy``: background work, where it stands, and what it may spend."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from loop.cli.invocation import Invocation, YesOption, command, confirm
from loop.cli.output import Columns, at, card, progress
from loop.cli.routes import route
from shared.base.errors import Conflict, Invalid

group = typer.Typer(help="Look at background work, replay and cancel it.", no_args_is_help=True)
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]
JOB_COLUMNS: Columns = {
    "job": "jobId",
    "kind": "kind",
    "app": "appId",
    "conversation": "conversationId",
    "state": "state",
    "tries": "attempts",
    "asked (UTC)": at("createdAt"),
    "finished": at("finishedAt"),
    "why": "reason",
}
_CARD: Columns = {
    "job": "jobId",
    "kind": "kind",
    "app": "appId",
    "conversation": "conversationId",
    "state": "state",
    "why": "reason",
    "tries": "attempts",
    "most tries": "maxAttempts",
    "asked (UTC)": at("createdAt"),
    "due": at("dueAt"),
    "deferred since": at("deferredSince"),
    "expected to start": at("expectedAt"),
    "started": at("startedAt"),
    "finished": at("finishedAt"),
}
_SPENDING_CARD: Columns = {
    "total": "total",
    "last 24 hours": "last24h",
    "last hour": "last1h",
    "last minute": "last1min",
    "by kind": "byKind",
    "hourly budget": "hourlyBudget",
    "daily budget": "dailyBudget",
    "held until (UTC)": at("heldUntil"),
}
POLL_SECONDS = 0.3
SUCCEEDED = {"done", "nothing"}
FINISHED = {*SUCCEEDED, "dead", "cancelled"}


@command(group, "list", limit=50)
def list_jobs(
    call: Invocation,
    state: Annotated[str | None, typer.Option(help="Only those in this state, for example dead.")] = None,
    app: Annotated[str | None, typer.Option("--app", help="Only those of this app.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only those of this kind.")] = None,
) -> None:
    """List jobs, newest first."""
    call.show_listing("/jobs", "jobs", JOB_COLUMNS, "No such jobs.", state=state, appId=app, kind=kind)


@command(group, "show")
def show_job(call: Invocation, job: JobArgument) -> None:
    """Show a job."""
    call.show_card(call.service.get(route("jobs", job)), _CARD)


@command(group, "replay")
def replay_jobs(
    call: Invocation,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="One dead or cancelled job's id.")] = None,
    app: Annotated[str | None, typer.Option("--app", help="The dead ones of this app.")] = None,
    kind: Annotated[str | None, typer.Option(help="The dead ones of this kind.")] = None,
    reason: Annotated[str | None, typer.Option(help="The dead ones whose reason holds this text.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False,
    yes: YesOption = False,
) -> None:
    """Have a dead or cancelled job done again; or dead ones by app, kind and reason, counted first."""
    wanted = {name: value for name, value in (("appId", app), ("kind", kind), ("reason", reason)) if value is not None}
    if (job is not None) + bool(wanted) + everything != 1:
        raise Invalid("Name one JOB; or narrow down with --app, --kind, --reason; or say --all.")
    if job is not None:
        answer = call.service.post(route("jobs", job, "replay"))
        call.done(answer, f"Job {job} is {answer.get('state', 'pending')} again.")
        return
    found = call.service.post("/jobs/replay", {**wanted, "dryRun": True})
    if found["left"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["matching"].items())
        confirm(f"Replay {found['left']} dead jobs ({kinds})?", yes)
        found = _replay_all(call, wanted)
    said = f"{found['replayed']} dead jobs will be done again"
    call.done(found, f"{said}; {found['refused']} stay dead, see their reasons." if found["refused"] else f"{said}.")


def _replay_all(call: Invocation, wanted: dict[str, str]) -> dict[str, Any]:
    """Replay round after round; return what all of them came to."""
    answer: dict[str, Any] = call.patient_service.post("/jobs/replay", wanted)
    total = answer
    while answer["cursor"] is not None:
        answer = call.patient_service.post("/jobs/replay", {**wanted, "cursor": answer["cursor"]})
        counts = {name: total[name] + answer[name] for name in ("replayed", "refused")}
        total = {**total, **counts, "left": answer["left"], "cursor": None}
    return total


@command(group, "cancel")
def cancel_job(call: Invocation, job: JobArgument) -> None:
    """Cancel a job that is not finished."""
    answer = call.service.post(route("jobs", job, "cancel"))
    call.done(answer, f"Job {job} is {answer.get('state', 'cancelled')}.")


def energy(
    call: Invocation, app: Annotated[str | None, typer.Option("--app", help="One app's spending.")] = None
) -> None:
    """Show the energy level, or with --app what an app has spent."""
    if app is None:
        call.show(call.service.get("/energy"), _level)
    else:
        call.show_card(call.service.get(route("apps", app, "energy")), _SPENDING_CARD)


def follow(call: Invocation, app: str, job_id: str, what: str) -> None:
    """Wait until a job about sessions has its result. Raises: Conflict where it ended without one."""
    path = route("api", "memory", "jobs", job_id)
    with progress(what) as update:
        while (job := call.patient_service.get(path, appId=app))["state"] not in FINISHED:
            waits = f" ({job['reason']})" if job.get("reason") else ""
            steps = job["progress"]
            update(completed=steps["done"], total=steps["total"] or None, description=what + waits)
            time.sleep(POLL_SECONDS)
    if job["state"] not in SUCCEEDED:
        raise Conflict(f"{what}: job {job_id} is {job['state']}: {job.get('reason') or 'no reason was given'}")


def _level(found: dict[str, Any]) -> RenderableType:
    share, wait = found.get("memoryShare"), found.get("secondsUntilOpen")
    return card({
        "level": f"{found['level']:.1f} ({found['status']})",
        "reserved": f"{found.get('reserved', 0):g}",
        "refill": f"{found['replenishPerSecond']:g} units per second",
        "memory work starts above": f"{found.get('gatePercent', 20):g} %",
        "deferred jobs": found["deferredJobs"],
        "memory work's share, 24 h": None if share is None else f"{share:.1%}",
        "memory work may start": "now" if wait == 0 else "never" if wait is None else f"in {wait:.0f} s",
    })  # fmt: skip
