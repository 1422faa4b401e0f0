"""``afterthought events``: what happened in an app, once or as it happens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from loop.cli.invocation import AppArgument, Invocation, command, route
from loop.cli.output import Columns, at, plain, table
from shared.errors import Transient

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
