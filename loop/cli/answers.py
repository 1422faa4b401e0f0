"""``afterthought answers``: what the loop would answer, approved or rejected by a person."""

from __future__ import annotations

from typing import Annotated

import typer

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, command, route
from loop.cli.output import Columns, at, table

group = typer.Typer(help="Look at the loop's answers, approve and reject them.", no_args_is_help=True)
AnswerArgument = Annotated[str, typer.Argument(metavar="ANSWER", help="The answer's id.")]


@command(group, "list")
def list_answers(
    call: Invocation,
    app: AppArgument,
    state: Annotated[str | None, typer.Option(help="Only those in this state, for example pending.")] = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """List an app's answers, newest first."""
    path = route("apps", app, "answers")
    found = list(call.service.listing(path, "answers", None if all_ else limit, state=state))
    columns: Columns = {
        "answer": "answerId",
        "conversation": "conversationId",
        "state": "state",
        "thought out (UTC)": at("createdAt"),
        "by": "model",
        "decided": at("decidedAt"),
        "why": "reason",
        "answer waits with": "content",
    }
    call.output.show(found, lambda: table(found, columns, f"{app} has no such answers."))


@command(group, "approve")
def approve_answer(
    call: Invocation,
    app: AppArgument,
    answer: AnswerArgument,
    content: Annotated[str | None, typer.Option(help="Send this instead.")] = None,
) -> None:
    """Send an answer that waits for approval."""
    body = {} if content is None else {"content": content}
    sent = call.service.post(route("apps", app, "answers", answer, "approve"), body)
    call.output.done(sent, f"Answer {answer} is sent to {sent['conversationId']}.")


@command(group, "reject")
def reject_answer(
    call: Invocation,
    app: AppArgument,
    answer: AnswerArgument,
    reason: Annotated[str | None, typer.Option(help="Why; the loop is told when it thinks again.")] = None,
) -> None:
    """Refuse an answer that waits for approval."""
    body = {} if reason is None else {"reason": reason}
    refused = call.service.post(route("apps", app, "answers", answer, "reject"), body)
    call.output.done(refused, f"Answer {answer} is rejected; the loop thinks about it again.")
