"""``afterthought conversations``: looking at conversations and ending them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, command, route
from loop.cli.jobs import JOB_COLUMNS
from loop.cli.output import Columns, at, card, moment, plain, table

group = typer.Typer(help="Look at an app's conversations and end them.", no_args_is_help=True)
ConversationArgument = Annotated[str, typer.Argument(metavar="CONVERSATION", help="The conversation's id.")]


@command(group, "list")
def list_conversations(
    call: Invocation,
    app: AppArgument,
    ended: Annotated[bool | None, typer.Option("--ended/--open", help="Only ended, or only open ones.")] = None,
    unanswered: Annotated[
        bool | None, typer.Option("--unanswered/--answered", help="Only those that wait for an answer, or that do not.")
    ] = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """List an app's conversations, newest first."""
    path = route("apps", app, "conversations")
    most = None if all_ else limit
    found = list(call.service.listing(path, "conversations", most, ended=ended, unanswered=unanswered))
    columns: Columns = {
        "conversation": "conversationId",
        "state": "state",
        "messages": "messageCount",
        "user": "userId",
        "begun (UTC)": at("createdAt"),
        "waits since": at("unansweredSince"),
        "ended": at("endedAt"),
    }
    call.output.show(found, lambda: table(found, columns, f"{app} has no such conversations."))


@command(group, "show")
def show_conversation(
    call: Invocation,
    app: AppArgument,
    conversation: ConversationArgument,
    messages: Annotated[bool, typer.Option("--messages", help="Show what was said as well.")] = False,
) -> None:
    """Show a conversation, what it has cost and the jobs it gave rise to."""
    path = route("apps", app, "conversations", conversation)
    found = call.service.get(path)
    if messages:
        found["messages"] = list(call.service.listing(f"{path}/messages", "messages", None))
    call.output.show(found, lambda: Group(*_parts(found)))


@command(group, "end")
def end_conversation(
    call: Invocation,
    app: AppArgument,
    conversation: ConversationArgument,
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
) -> None:
    """End a conversation and ask for its memory; again, show the same jobs."""
    answer = call.service.post(route("apps", app, "conversations", conversation, "end"), {"reason": reason})
    call.output.show(answer, lambda: table(answer["jobs"], JOB_COLUMNS))


@command(group, "extract")
def extract_facts(call: Invocation, app: AppArgument, conversation: ConversationArgument) -> None:
    """Ask for the facts of what was said since they were last extracted; while that is under way, show its job."""
    asked = call.service.post(route("apps", app, "conversations", conversation, "extract"))
    call.output.show(asked, lambda: table([asked["job"]], JOB_COLUMNS))


def _parts(found: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = [_card(found)]
    if found.get("jobs"):
        parts += [plain(""), table(found["jobs"], JOB_COLUMNS)]
    if "messages" in found:
        columns: Columns = {"at (UTC)": at("createdAt"), "role": "role", "name": "name", "said": _said}
        parts += [plain(""), table(found["messages"], columns, "Nothing was said.")]
    return parts


def _said(message: Mapping[str, Any]) -> str:
    from shared.conversations.chat_message import text_of, unspoken  # what checks messages is not needed for --help

    sent = dict(message)
    return "\n".join(filter(None, [text_of(sent), *unspoken(sent)]))


def _card(found: dict[str, Any]) -> RenderableType:
    return card(
        {
            "conversation": found["conversationId"],
            "app": found["appId"],
            "user": found.get("userId"),
            "state": found["state"],
            "messages": found["messageCount"],
            "begun (UTC)": moment(found["createdAt"]),
            "waits for an answer since": moment(found.get("unansweredSince")) or None,
            "answer to approve": found.get("pendingAnswerId"),
            "snoozed until": moment(found.get("snoozedUntil")) or None,
            "came back": moment(found.get("wokenAt")) or None,
            "ended": moment(found.get("endedAt")) or None,
            "why": found.get("endReason"),
            "energy spent": found.get("energySpent"),
            "energy budget": found.get("energyBudget"),
            "budget": found.get("budgetStatus"),
            "metadata": found.get("metadata") or None,
        }
    )
