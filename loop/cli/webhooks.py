"""``afterthought webhooks``: addresses of an app's own that are told of its events."""

from __future__ import annotations

from typing import Annotated

import typer

from loop.cli.invocation import AppArgument, Invocation, command, route
from loop.cli.output import Columns, at, card, table

group = typer.Typer(help="Have addresses of your own told of an app's events.", no_args_is_help=True)
WebhookArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The webhook's id.")]
_COLUMNS: Columns = {
    "webhook": "webhookId",
    "address": "url",
    "kinds": lambda row: row["kinds"] or "all",
    "enabled": "enabled",
    "last told (UTC)": at("triedAt"),
    "outcome": "outcome",
    "status": "status",
    "why disabled": "disabledWhy",
}


@command(group, "add")
def add_webhook(
    call: Invocation,
    app: AppArgument,
    address: Annotated[str, typer.Argument(metavar="URL", help="The address to tell.")],
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only events of this kind; may be repeated.")] = None,
) -> None:
    """Add a webhook. Its secret is shown this once."""
    added = call.service.post(route("apps", app, "webhooks"), {"url": address, "kinds": kind or []})
    shown = {"webhook": added["webhookId"], "address": added["url"], "secret (shown once)": added["secret"]}
    call.output.show(added, lambda: card(shown))


@command(group, "list")
def list_webhooks(call: Invocation, app: AppArgument) -> None:
    """List an app's webhooks, and how telling each of them last went."""
    webhooks = list(call.service.listing(route("apps", app, "webhooks"), "webhooks", None))
    call.output.show(webhooks, lambda: table(webhooks, _COLUMNS, "No webhooks."))


@command(group, "remove")
def remove_webhook(call: Invocation, app: AppArgument, webhook: WebhookArgument) -> None:
    """Remove a webhook."""
    answer = call.service.delete(route("apps", app, "webhooks", webhook))
    call.output.done(answer, f"Webhook {webhook} is told nothing more.")


@command(group, "test")
def try_webhook(call: Invocation, app: AppArgument, webhook: WebhookArgument) -> None:
    """Send a webhook an event of kind webhook.test now."""
    job = call.service.post(route("apps", app, "webhooks", webhook, "test"))
    call.output.done(job, f"On its way; see how it went: afterthought jobs show {job['jobId']}")
