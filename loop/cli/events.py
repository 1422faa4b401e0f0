"""``afterthought events`` and ``webhooks``: what happens in an app, as it happens, here or at an address of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from loop.cli.invocation import AppArgument, Invocation, command
from loop.cli.output import Columns, at, moment
from loop.cli.routes import route
from shared.base.errors import Transient

group = typer.Typer(help="See what happens in an app.", no_args_is_help=True)
webhooks = typer.Typer(help="Have addresses of your own told of an app's events.", no_args_is_help=True)
KindsOption = Annotated[str | None, typer.Option("--kinds", help="Only these kinds, by commas.")]
ConversationOption = Annotated[str | None, typer.Option("--conversation", help="Only those of this conversation.")]
WebhookArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The webhook's id.")]
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
_WEBHOOK_COLUMNS: Columns = {
    "webhook": "webhookId",
    "address": "url",
    "kinds": lambda row: row["kinds"] or "all",
    "enabled": "enabled",
    "last told (UTC)": at("triedAt"),
    "outcome": "outcome",
    "status": "status",
    "failing since (UTC)": at("failingSince"),
    "why disabled": "disabledWhy",
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
    call.show_table(call.service.get(route("apps", app, "events"), **asked)["events"], _COLUMNS, "No such events.")


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
        if call.as_json:
            typer.echo(json.dumps(event, ensure_ascii=False))
        else:
            parts = (moment(event.get("at")), event["kind"], *map(event.get, ("conversationId", "subject", "content")))
            told = "  ".join(str(part) for part in (event.get("position"), *parts) if part not in (None, ""))
            call.done(event, told)
        if number == count:
            return
        last = event.get("position", last)
    again = "" if last is None else f" with --after {last}"
    raise Transient(f"The stream ended, because the service stops or the app or token is gone; follow it again{again}.")


@command(webhooks, "add")
def add_webhook(
    call: Invocation,
    app: AppArgument,
    address: Annotated[str, typer.Argument(metavar="URL", help="The address to tell.")],
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only events of this kind; may be repeated.")] = None,
) -> None:
    """Add a webhook. Its secret is shown this once."""
    added = call.service.post(route("apps", app, "webhooks"), {"url": address, "kinds": kind or []})
    call.show_card(added, {"webhook": "webhookId", "address": "url", "secret (shown once)": "secret"})


@command(webhooks, "list")
def list_webhooks(call: Invocation, app: AppArgument) -> None:
    """List an app's webhooks, and how the last delivery to each of them went."""
    call.show_listing(route("apps", app, "webhooks"), "webhooks", _WEBHOOK_COLUMNS, "No webhooks.")


@command(webhooks, "remove")
def remove_webhook(call: Invocation, app: AppArgument, webhook: WebhookArgument) -> None:
    """Remove a webhook."""
    call.done(call.service.delete(route("apps", app, "webhooks", webhook)), f"Webhook {webhook} is told nothing more.")


@command(webhooks, "test")
def try_webhook(call: Invocation, app: AppArgument, webhook: WebhookArgument) -> None:
    """Send a webhook an event of kind webhook.test now."""
    job = call.service.post(route("apps", app, "webhooks", webhook, "test"))
    call.done(job, f"On its way; see how it went: afterthought jobs show {job['jobId']}")


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream as server-sent events are written: their kind, then their data."""
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield {"kind": kind, **json.loads(value)}
