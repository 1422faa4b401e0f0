"""``afterthought summaries``: reading the summaries of a conversation and asking for one."""

from __future__ import annotations

import typer

from loop.cli.conversations import ConversationArgument
from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, command, route
from loop.cli.jobs import JOB_COLUMNS
from loop.cli.output import Columns, at, table

group = typer.Typer(help="Read the summaries of conversations, and ask for one.", no_args_is_help=True)
_COLUMNS: Columns = {
    "made (UTC)": at("createdAt"),
    "messages": lambda row: f"{row['fromPosition']}-{row['toPosition']}",
    "tokens": "tokens",
    "by": "agent",
    "vector": "embedded",
    "content": "content",
}


@command(group, "list")
def list_summaries(
    call: Invocation,
    app: AppArgument,
    conversation: ConversationArgument,
    limit: LimitOption = 20,
    all_: AllOption = False,
) -> None:
    """List a conversation's summaries, newest first."""
    path = route("apps", app, "conversations", conversation, "summaries")
    found = list(call.service.listing(path, "summaries", None if all_ else limit))
    call.output.show(found, lambda: table(found, _COLUMNS, f"{conversation} has not been summarised yet."))


@command(group, "make")
def make_summary(call: Invocation, app: AppArgument, conversation: ConversationArgument) -> None:
    """Ask for a summary of what was said since the last; while one is under way, show its job."""
    asked = call.service.post(route("apps", app, "conversations", conversation, "summaries"))
    call.output.show(asked, lambda: table([asked["job"]], JOB_COLUMNS))
