"""``afterthought conversations``, ``summaries`` and ``answers``: what was said, and what the loop would answer."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, ConversationArgument, Invocation, command
from loop.cli.jobs import JOB_COLUMNS
from loop.cli.output import Columns, Row, at, card, plain, table
from loop.cli.routes import given, route

group = typer.Typer(help="Look at an app's conversations and end them.", no_args_is_help=True)
summaries = typer.Typer(help="Read the summaries of conversations, and ask for one.", no_args_is_help=True)
answers = typer.Typer(help="Look at the loop's answers, approve and reject them.", no_args_is_help=True)
AnswerArgument = Annotated[str, typer.Argument(metavar="ANSWER", help="The answer's id.")]
_COLUMNS: Columns = {
    "conversation": "conversationId",
    "state": "state",
    "messages": "messageCount",
    "user": "userId",
    "begun (UTC)": at("createdAt"),
    "waits since": at("unansweredSince"),
    "ended": at("endedAt"),
}
_CARD: Columns = {
    "conversation": "conversationId",
    "app": "appId",
    "user": "userId",
    "state": "state",
    "messages": "messageCount",
    "begun (UTC)": at("createdAt"),
    "waits for an answer since": at("unansweredSince"),
    "answer to approve": "pendingAnswerId",
    "snoozed until": at("snoozedUntil"),
    "came back": at("wokenAt"),
    "ended": at("endedAt"),
    "why": "endReason",
    "energy spent": "energySpent",
    "energy budget": "energyBudget",
    "budget": "budgetStatus",
    "metadata": "metadata",
}
_MESSAGE_COLUMNS: Columns = {
    "at (UTC)": at("createdAt"), "role": "role", "name": "name", "said": lambda row: _whole_text(row)
}  # fmt: skip
_SUMMARY_COLUMNS: Columns = {
    "made (UTC)": at("createdAt"),
    "messages": lambda row: f"{row['fromPosition']}-{row['toPosition']}",
    "tokens": "tokens",
    "by": "agent",
    "vector": "embedded",
    "content": "content",
}
_ANSWER_COLUMNS: Columns = {
    "answer": "answerId",
    "conversation": "conversationId",
    "state": "state",
    "thought out (UTC)": at("createdAt"),
    "by": "model",
    "decided": at("decidedAt"),
    "why": "reason",
    "answer waits with": "content",
}


@command(group, "list", limit=50)
def list_conversations(
    call: Invocation,
    app: AppArgument,
    ended: Annotated[bool | None, typer.Option("--ended/--open", help="Only ended, or only open ones.")] = None,
    unanswered: Annotated[
        bool | None, typer.Option("--unanswered/--answered", help="Only those that wait for an answer, or that do not.")
    ] = None,
) -> None:
    """List an app's conversations, newest first."""
    path, nothing = route("apps", app, "conversations"), f"{app} has no such conversations."
    call.show_listing(path, "conversations", _COLUMNS, nothing, ended=ended, unanswered=unanswered)


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
    call.show(found, _conversation)


@command(group, "end")
def end_conversation(
    call: Invocation,
    app: AppArgument,
    conversation: ConversationArgument,
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
) -> None:
    """End a conversation and ask for its memory; again, show the same jobs."""
    answer = call.service.post(route("apps", app, "conversations", conversation, "end"), {"reason": reason})
    call.show(answer, lambda answer: table(answer["jobs"], JOB_COLUMNS))


@command(group, "extract")
def extract_facts(call: Invocation, app: AppArgument, conversation: ConversationArgument) -> None:
    """Ask for the facts of what was said since they were last extracted; while that is under way, show its job."""
    answer = call.service.post(route("apps", app, "conversations", conversation, "extract"))
    call.show(answer, lambda answer: table([answer["job"]], JOB_COLUMNS))


@command(summaries, "list", limit=20)
def list_summaries(call: Invocation, app: AppArgument, conversation: ConversationArgument) -> None:
    """List a conversation's summaries, newest first."""
    path, nothing = _summaries_route(app, conversation), f"{conversation} has not been summarised yet."
    call.show_listing(path, "summaries", _SUMMARY_COLUMNS, nothing)


@command(summaries, "make")
def make_summary(call: Invocation, app: AppArgument, conversation: ConversationArgument) -> None:
    """Ask for a summary of what was said since the last; while one is under way, show its job."""
    answer = call.service.post(_summaries_route(app, conversation))
    call.show(answer, lambda answer: table([answer["job"]], JOB_COLUMNS))


@command(answers, "list", limit=50)
def list_answers(
    call: Invocation,
    app: AppArgument,
    state: Annotated[str | None, typer.Option(help="Only those in this state, for example pending.")] = None,
) -> None:
    """List an app's answers, newest first."""
    path, nothing = route("apps", app, "answers"), f"{app} has no such answers."
    call.show_listing(path, "answers", _ANSWER_COLUMNS, nothing, state=state)


@command(answers, "approve")
def approve_answer(
    call: Invocation,
    app: AppArgument,
    answer: AnswerArgument,
    content: Annotated[str | None, typer.Option(help="Send this instead.")] = None,
) -> None:
    """Send an answer that waits for approval."""
    sent = call.service.post(route("apps", app, "answers", answer, "approve"), given({"content": content}))
    call.done(sent, f"Answer {answer} is sent to {sent['conversationId']}.")


@command(answers, "reject")
def reject_answer(
    call: Invocation,
    app: AppArgument,
    answer: AnswerArgument,
    reason: Annotated[str | None, typer.Option(help="Why; the loop is told when it thinks again.")] = None,
) -> None:
    """Refuse an answer that waits for approval."""
    refused = call.service.post(route("apps", app, "answers", answer, "reject"), given({"reason": reason}))
    call.done(refused, f"Answer {answer} is rejected; the loop thinks about it again.")


def _summaries_route(app: str, conversation: str) -> str:
    return route("apps", app, "conversations", conversation, "summaries")


def _conversation(found: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [card(found, _CARD)]
    if found.get("jobs"):
        parts += [plain(""), table(found["jobs"], JOB_COLUMNS)]
    if "messages" in found:
        parts += [plain(""), table(found["messages"], _MESSAGE_COLUMNS, "Nothing was said.")]
    return Group(*parts)


def _whole_text(message: Row) -> str:
    from shared.conversations.chat_message import text_of, unspoken  # what checks messages is not needed for --help

    sent = dict(message)
    return "\n".join(filter(None, [text_of(sent), *unspoken(sent)]))
