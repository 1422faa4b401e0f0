"""``afterthought apps``, ``export`` and ``import``: apps, their tokens, and everything of an app as one JSON file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from loop.cli.erasure import show_receipt
from loop.cli.invocation import AppArgument, Invocation, UserOption, YesOption, command, confirm
from loop.cli.output import Columns, at, remark
from loop.cli.routes import given, or_null, route
from shared.base.errors import Configuration

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
TimeZoneOption = Annotated[
    str | None, typer.Option(help="Whose days are meant where nothing else says, as Europe/Lisbon; `none`: UTC's.")
]
WeightOption = Annotated[int | None, typer.Option(help="Its share of the work beside other apps', 1..100.")]
_COLUMNS: Columns = {
    "app": "appId",
    "name": "name",
    "installed": "installed",
    "hourly budget": "hourlyBudget",
    "daily budget": "dailyBudget",
    "since (UTC)": at("createdAt"),
}
_CARD: Columns = {
    "app": "appId",
    "name": "name",
    "installed": "installed",
    "memories": "memories",
    "open conversations": "openConversations",
    "ended conversations": "endedConversations",
    "answered by": "answeredBy",
    "answers approved": "approveAnswers",
    "weight": "weight",
    "shared memory": "sharedMemory",
    "time zone": "timeZone",
    "hourly budget": "hourlyBudget",
    "daily budget": "dailyBudget",
    "config": "config",
    "since (UTC)": at("createdAt"),
}
_TOKEN_COLUMNS: Columns = {
    "token": "tokenId",
    "label": "label",
    "grants": lambda row: ", ".join(row["grants"]),
    "issued by": "parentId",
    "issued (UTC)": at("createdAt"),
    "revoked": at("revokedAt"),
}


@command(group, "list", limit=50)
def list_apps(call: Invocation) -> None:
    """List the apps."""
    call.show_listing("/apps", "apps", _COLUMNS, "No app is installed. Install one: afterthought apps install APP")


@command(group, "show")
def show_app(call: Invocation, app: AppArgument) -> None:
    """Show an app and how much it holds."""
    call.show_card(call.service.get(route("apps", app)), _CARD)


@command(group, "install")
def install_app(
    call: Invocation,
    app: AppArgument,
    name: Annotated[str | None, typer.Option(help="Its name as people read it; else its id.")] = None,
    answered_by: AnsweredByOption = None,
    approve_answers: ApproveOption = None,
    weight: WeightOption = None,
    shared_memory: SharedOption = None,
    time_zone: TimeZoneOption = None,
) -> None:
    """Install an app, or one that was uninstalled again."""
    body = {"appId": app, "name": name or app} | _behaviour(answered_by, approve_answers, weight, shared_memory)
    body |= or_null({"timeZone": time_zone})
    call.done(
        call.service.post("/apps", body), f"App {app} is installed. Give it a token: afterthought apps token {app}"
    )


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
    time_zone: TimeZoneOption = None,
) -> None:
    """Change an app's name or budgets, who answers its conversations, its weight, or what its users share."""
    budgets = given({"hourlyBudget": hourly_budget, "dailyBudget": daily_budget})
    changes = given({"name": name}) | _behaviour(answered_by, approve_answers, weight, shared_memory)
    changes |= {field: _units(written) for field, written in budgets.items()} | or_null({"timeZone": time_zone})
    if not changes:
        raise typer.BadParameter("give what to change, for example --name, --hourly-budget or --answered-by")
    call.show_card(call.service.patch(route("apps", app), changes), _CARD)


@command(group, "uninstall")
def uninstall_app(
    call: Invocation,
    app: AppArgument,
    purge_memories: Annotated[bool, typer.Option("--purge-memories", help="Erase its memories as well.")] = False,
    yes: YesOption = False,
) -> None:
    """Uninstall an app and revoke its tokens; what it remembers stays unless asked."""
    confirm(f"Uninstall {app} {'and erase its memories' if purge_memories else '(its memories stay)'}?", yes)
    answer = call.service.delete(route("apps", app), purgeMemories=purge_memories)
    if answer.get("receipt"):
        show_receipt(call, answer)
    else:
        call.done(answer, f"App {app} is uninstalled; {answer.get('memoriesKept', 0)} memories are kept.")


@command(group, "token")
def issue_token(
    call: Invocation,
    app: AppArgument,
    label: Annotated[str, typer.Option(help="What it is for, so that it can be told from others.")] = "",
    grant: Annotated[
        list[str] | None,
        typer.Option("--grant", help="What it may do beside: tokens, uninstall or answers; may be repeated."),
    ] = None,
) -> None:
    """Issue a token for an app; it is shown this once."""
    issued = call.service.post(route("apps", app, "tokens"), {"label": label, "grants": grant or []})
    call.done(issued, str(issued["token"]))


@command(group, "tokens", limit=50)
def list_tokens(call: Invocation, app: AppArgument) -> None:
    """List an app's tokens, without the tokens themselves."""
    call.show_listing(route("apps", app, "tokens"), "tokens", _TOKEN_COLUMNS, f"{app} has no tokens.")


@command(group, "revoke")
def revoke_token(
    call: Invocation, app: AppArgument, token_id: Annotated[str, typer.Argument(help="The token's id.")]
) -> None:
    """Revoke a token of an app."""
    call.done(call.service.delete(route("apps", app, "tokens", token_id)), f"Token {token_id} is revoked.")


def export_app(
    call: Invocation,
    app: AppArgument,
    user: UserOption = None,
    file: Annotated[Path | None, typer.Option("-o", "--output", help="Where to; else standard output.")] = None,
) -> None:
    """Write everything of an app, or of one user, as JSON: conversations, memories, facts, history.

    Recorded sessions go by project: `afterthought sessions export`.
    """
    text = json.dumps(call.service.get(route("apps", app, "export"), userId=user), ensure_ascii=False, indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    remark(f"{app} is in {file}, readable by you only.")


def _behaviour(
    answered_by: str | None, approve_answers: bool | None, weight: int | None, shared_memory: bool | None
) -> dict[str, Any]:
    return given({
        "answeredBy": answered_by, "approveAnswers": approve_answers, "weight": weight, "sharedMemory": shared_memory,
    })  # fmt: skip


def _units(written: str) -> float | None:
    try:
        return None if written.lower() == "none" else float(written)
    except ValueError:
        raise typer.BadParameter(f"{written} is neither a number of units nor `none`") from None
