"""``afterthought events``: what happened in an app, once or as it happens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from loop.cli.invocation import AppArgument, Invocation, command, route
from loop.cli.output import Columns, at, plain, progress_terminal, table
from shared.errors import Conflict, Transient

group = typer.Typer(help="See what happens in an app.", no_args_is_help=True)
KindsOption = Annotated[str | None, typer.Option("--kinds", help="Only these kinds, by commas.")]
ConversationOption = Annotated[str | None, typer.Option("--conversation", help="Only those of this conversation.")]
_AfterOption = Annotated[int | None, typer.Option("--after", min=0, help="Only events after this position.")]
_COLUMNS: Columns = {
    "position": "position",
    "at (UTC)": at("at"),
    "kind": "kind",
    "conversation": "conversationId",
    "about": "subject",
    "details": "details",
    "content": "content",
}


@command(group, "list")
def list_events(
    call: Invocation,
    app: AppArgument,
    after: _AfterOption = 0,
    kinds: KindsOption = None,
    conversation: ConversationOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Most events to show.")] = 50,
) -> None:
    """List the events of an app that are kept, oldest first."""
    asked = {"after": after, "kinds": kinds, "conversationId": conversation, "limit": limit}
    events = call.service.get(route("apps", app, "events"), **asked)["events"]
    call.output.show(events, lambda: table(events, _COLUMNS, "No such events."))


@command(group, "follow")
def follow_events(
    call: Invocation,
    app: AppArgument,
    after: _AfterOption = None,
    kinds: KindsOption = None,
    conversation: ConversationOption = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Leave after so many events.")] = None,
) -> None:
    """Show the events of an app as they happen, until interrupted; with --json, one object a line."""
    lines = call.service.lines(route("apps", app, "stream"), after=after, kinds=kinds, conversationId=conversation)
    last = after
    for number, event in enumerate(_events(lines), 1):
        if call.output.as_json:
            typer.echo(json.dumps(event, ensure_ascii=False))
        else:
            call.output.show(event, lambda event=event: _line(event))  # type: ignore[misc]
        if number == count:
            return
        last = event.get("position", last)
    again = "" if last is None else f" with --after {last}"
    raise Transient(f"The stream ended, because the service stops or the app or token is gone; follow it again{again}.")


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield {"kind": kind, **json.loads(value)}


def _line(event: dict[str, Any]) -> RenderableType:
    parts = [event.get("position"), at("at")(event), event["kind"], event.get("conversationId"), event.get("subject")]
    parts.append(event.get("content"))
    return plain("  ".join(str(part) for part in parts if part not in (None, "")))


_POLL_SECONDS = 0.3
_FINISHED = {"done", "nothing", "dead", "cancelled"}


def follow(call: Invocation, app: str, job_id: str, what: str) -> dict[str, Any]:
    """Wait for a job and return it. Raises: Conflict where it ended without its result."""
    bars = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    terminal = progress_terminal()
    with Progress(*bars, console=terminal, disable=not terminal.is_terminal, transient=True) as progress:
        bar = progress.add_task(what, total=None)
        while (job := _look(call, app, job_id))["state"] not in _FINISHED:
            how_far = job["progress"]
            waits = f" ({job['reason']})" if job.get("reason") else ""
            progress.update(bar, completed=how_far["done"], total=how_far["total"] or None, description=what + waits)
            time.sleep(_POLL_SECONDS)
    if job["state"] not in ("done", "nothing"):
        raise Conflict(f"{what}: job {job_id} is {job['state']}: {job.get('reason') or 'no reason was given'}")
    return job


def _look(call: Invocation, app: str, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = call.patient_service.get(route("api", "memory", "jobs", job_id), appId=app)
    return found
