"""``afterthought jobs``: background work, where it stands, and having it done again or not at all."""

from __future__ import annotations

from typing import Annotated

import typer

from loop.cli.invocation import AllOption, Invocation, LimitOption, command, route
from loop.cli.output import Columns, at, card, moment, table

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


@command(group, "list")
def list_jobs(
    call: Invocation,
    state: Annotated[str | None, typer.Option(help="Only those in this state, for example dead.")] = None,
    app: Annotated[str | None, typer.Option("--app", help="Only those of this app.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only those of this kind.")] = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """List jobs, newest first."""
    jobs = list(call.service.listing("/jobs", "jobs", None if all_ else limit, state=state, appId=app, kind=kind))
    call.output.show(jobs, lambda: table(jobs, JOB_COLUMNS, "No such jobs."))


@command(group, "show")
def show_job(call: Invocation, job: JobArgument) -> None:
    """Show a job."""
    found = call.service.get(route("jobs", job))
    titles = {
        "jobId": "job", "kind": "kind", "appId": "app", "conversationId": "conversation", "state": "state",
        "reason": "why", "attempts": "tries", "maxAttempts": "most tries",
    }  # fmt: skip
    times = {"createdAt": "asked (UTC)", "dueAt": "due", "deferredSince": "deferred since",
             "expectedAt": "expected to start", "startedAt": "started", "finishedAt": "finished"}  # fmt: skip
    fields = {title: found.get(field) for field, title in titles.items()}
    fields |= {title: moment(found.get(field)) or None for field, title in times.items()}
    call.output.show(found, lambda: card(fields))


@command(group, "replay")
def replay_job(call: Invocation, job: JobArgument) -> None:
    """Have a dead or cancelled job done again."""
    answer = call.service.post(route("jobs", job, "replay"))
    call.output.done(answer, f"Job {job} is {answer.get('state', 'pending')} again.")


@command(group, "cancel")
def cancel_job(call: Invocation, job: JobArgument) -> None:
    """Cancel a job that is not finished."""
    answer = call.service.post(route("jobs", job, "cancel"))
    call.output.done(answer, f"Job {job} is {answer.get('state', 'cancelled')}.")
