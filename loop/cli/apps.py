"""``afterthought apps``: installing, changing and uninstalling apps, and their tokens."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from loop.cli.erasure import leave_if_incomplete, show_receipt
from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, YesOption, command, confirm, route
from loop.cli.output import Columns, at, card, moment, table

group = typer.Typer(help="Install, change and uninstall apps, and issue their tokens.", no_args_is_help=True)
_BUDGET = "Most energy units per {}; `none` lifts the limit."
AnsweredByOption = Annotated[
    str | None, typer.Option(help="Who answers its conversations: `loop`, when a model is set, or `app`.")
]
ApproveOption = Annotated[
    bool | None,
    typer.Option("--approve-answers/--send-answers", help="Whether a person approves each answer of the loop's."),
]
SharedOption = Annotated[
    bool | None,
    typer.Option("--shared-memory/--no-shared-memory", help="Whether what names no user is recalled for every user."),
]
WeightOption = Annotated[int | None, typer.Option(help="Its share of the work beside other apps', 1..100.")]


@command(group, "list")
def list_apps(call: Invocation, limit: LimitOption = 50, all_: AllOption = False) -> None:
    """List the apps."""
    apps = list(call.service.listing("/apps", "apps", None if all_ else limit))
    call.output.show(apps, lambda: _table(apps))


@command(group, "show")
def show_app(call: Invocation, app: AppArgument) -> None:
    """Show an app and how much it holds."""
    found = call.service.get(route("apps", app))
    call.output.show(found, lambda: _card(found))


@command(group, "install")
def install_app(
    call: Invocation,
    app: AppArgument,
    name: Annotated[str | None, typer.Option(help="Its name as people read it; else its id.")] = None,
    answered_by: AnsweredByOption = None,
    approve_answers: ApproveOption = None,
    weight: WeightOption = None,
    shared_memory: SharedOption = None,
) -> None:
    """Install an app, or one that was uninstalled again."""
    behaviour = _behaviour(answered_by, approve_answers, weight, shared_memory)
    made = call.service.post("/apps", {"appId": app, "name": name or app} | behaviour)
    call.output.done(made, f"App {app} is installed. Give it a token: afterthought apps token {app}")


@command(group, "update")
def update_app(
    call: Invocation,
    app: AppArgument,
    name: Annotated[str | None, typer.Option(help="Its new name.")] = None,
    hourly_budget: Annotated[str | None, typer.Option(help=_BUDGET.format("hour"))] = None,
    daily_budget: Annotated[str | None, typer.Option(help=_BUDGET.format("day"))] = None,
    answered_by: AnsweredByOption = None,
    approve_answers: ApproveOption = None,
    weight: WeightOption = None,
    shared_memory: SharedOption = None,
) -> None:
    """Change an app's name or budgets, who answers its conversations, its weight, or what its users share."""
    changes: dict[str, Any] = {} if name is None else {"name": name}
    changes |= _behaviour(answered_by, approve_answers, weight, shared_memory)
    for field, given in (("hourlyBudget", hourly_budget), ("dailyBudget", daily_budget)):
        if given is not None:
            changes[field] = _units(given)
    if not changes:
        raise typer.BadParameter("give what to change, for example --name, --hourly-budget or --answered-by")
    changed = call.service.patch(route("apps", app), changes)
    call.output.show(changed, lambda: _card(changed))


@command(group, "uninstall")
def uninstall_app(
    call: Invocation,
    app: AppArgument,
    purge_memories: Annotated[bool, typer.Option("--purge-memories", help="Erase its memories as well.")] = False,
    yes: YesOption = False,
) -> None:
    """Uninstall an app and revoke its tokens; what it remembers stays unless asked."""
    what = "and erase its memories" if purge_memories else "(its memories stay)"
    confirm(f"Uninstall {app} {what}?", yes)
    answer = call.service.delete(route("apps", app), purgeMemories=str(purge_memories).lower())
    if answer.get("receipt"):
        show_receipt(call, answer)
        leave_if_incomplete(answer)
        return
    call.output.done(answer, f"App {app} is uninstalled; {answer.get('memoriesKept', 0)} memories are kept.")


@command(group, "token")
def issue_token(
    call: Invocation,
    app: AppArgument,
    label: Annotated[str, typer.Option(help="What it is for, so that it can be told from others.")] = "",
) -> None:
    """Issue a token for an app; it is shown this once."""
    made = call.service.post(route("apps", app, "tokens"), {"label": label})
    call.output.done(made, str(made["token"]))


@command(group, "tokens")
def list_tokens(call: Invocation, app: AppArgument, limit: LimitOption = 50, all_: AllOption = False) -> None:
    """List an app's tokens, without the tokens themselves."""
    tokens = list(call.service.listing(route("apps", app, "tokens"), "tokens", None if all_ else limit))
    columns: Columns = {
        "token": "tokenId",
        "label": "label",
        "issued (UTC)": at("createdAt"),
        "revoked": at("revokedAt"),
    }
    call.output.show(tokens, lambda: table(tokens, columns, f"{app} has no tokens."))


@command(group, "revoke")
def revoke_token(
    call: Invocation, app: AppArgument, token_id: Annotated[str, typer.Argument(help="The token's id.")]
) -> None:
    """Revoke a token of an app."""
    answer = call.service.delete(route("apps", app, "tokens", token_id))
    call.output.done(answer, f"Token {token_id} is revoked.")


def _behaviour(
    answered_by: str | None, approve_answers: bool | None, weight: int | None, shared_memory: bool | None
) -> dict[str, Any]:
    wanted = {
        "answeredBy": answered_by,
        "approveAnswers": approve_answers,
        "weight": weight,
        "sharedMemory": shared_memory,
    }
    return {field: value for field, value in wanted.items() if value is not None}


def _units(given: str) -> float | None:
    try:
        return None if given.lower() == "none" else float(given)
    except ValueError:
        raise typer.BadParameter(f"{given} is neither a number of units nor `none`") from None


def _table(apps: list[dict[str, Any]]) -> RenderableType:
    columns: Columns = {
        "app": "appId",
        "name": "name",
        "installed": "installed",
        "hourly budget": "hourlyBudget",
        "daily budget": "dailyBudget",
        "since (UTC)": at("createdAt"),
    }
    return table(apps, columns, "No app is installed. Install one: afterthought apps install APP")


def _card(app: dict[str, Any]) -> RenderableType:
    return card(
        {
            "app": app["appId"],
            "name": app["name"],
            "installed": app["installed"],
            "memories": app.get("memories"),
            "open conversations": app.get("openConversations"),
            "ended conversations": app.get("endedConversations"),
            "answered by": app.get("answeredBy"),
            "answers approved": app.get("approveAnswers"),
            "weight": app.get("weight"),
            "shared memory": app.get("sharedMemory"),
            "hourly budget": app.get("hourlyBudget"),
            "daily budget": app.get("dailyBudget"),
            "config": app.get("config") or None,
            "since (UTC)": moment(app["createdAt"]),
        }
    )
