"""``afterthought profile``: what a user agreed to have kept, whether they agree, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, YesOption, command, confirm, route
from loop.cli.output import Columns, at, card, moment, plain, table

group = typer.Typer(help="Read and write profiles, and the consent they stand on.", no_args_is_help=True)
_User = Annotated[str, typer.Option("--user", help="A user of the app; leave it out where it names none.")]
_Lines = Annotated[list[str] | None, typer.Option(help="May be given more than once.")]
_COLUMNS: Columns = {
    "at (UTC)": at("at"),
    "user": "userId",
    "what": "kind",
    "by": "actor",
    "times": "count",
    "last (UTC)": at("lastAt"),
}


@command(group, "show")
def show_profile(call: Invocation, app: AppArgument, user: _User = "") -> None:
    """Show a user's profile, if they agree to having one."""
    found = call.service.get(route("apps", app, "profile"), userId=user)
    call.output.show(found, lambda: _card(found))


@command(group, "set")
def set_profile(
    call: Invocation,
    app: AppArgument,
    user: _User = "",
    style: Annotated[str | None, typer.Option(help="How the user likes code.")] = None,
    language: _Lines = None,
    framework: _Lines = None,
    goals: Annotated[str | None, typer.Option(help="What the user works towards.")] = None,
    domain: Annotated[str | None, typer.Option(help="The field they work in.")] = None,
    constraints: Annotated[str | None, typer.Option(help="What limits them.")] = None,
    notes: Annotated[str | None, typer.Option(help="Anything else, in free words.")] = None,
) -> None:
    """Write what is given into a user's profile; the rest of it stays."""
    path = route("apps", app, "profile")
    present = call.service.get(path, userId=user)["profile"] or {"preferences": {}, "context": {}, "freeformNotes": ""}
    preferences = {"codingStyle": style, "preferredLanguages": language, "frameworkExperience": framework}
    context = {"projectGoals": goals, "domain": domain, "constraints": constraints}
    body = {
        "preferences": present["preferences"] | _given(preferences),
        "context": present["context"] | _given(context),
        "freeformNotes": present["freeformNotes"] if notes is None else notes,
    }
    written = call.service.put(path, body, userId=user)
    call.output.show(written, lambda: _card(written))


@command(group, "clear")
def clear_profile(call: Invocation, app: AppArgument, user: _User = "", yes: YesOption = False) -> None:
    """Erase a user's profile for good; their consent stays as it is."""
    confirm(f"Erase the profile of {_named(user)} in {app}? This cannot be taken back.", yes)
    answer = call.service.delete(route("apps", app, "profile"), userId=user)
    call.output.done(answer, f"The profile is erased. Receipt: {answer['receipt']['receiptId']}.")


@command(group, "consent")
def change_consent(
    call: Invocation,
    app: AppArgument,
    user: _User = "",
    give: Annotated[bool | None, typer.Option("--give/--withdraw", help="Change it; else it is shown.")] = None,
    yes: YesOption = False,
) -> None:
    """Show whether a user agrees to having a profile, or change that. Withdrawing erases the profile at once."""
    if give is None:
        found = call.service.get("/api/memory/consent", appId=app, userId=user)
    else:
        if not give:
            confirm(f"Erase the profile of {_named(user)} in {app}, and keep none from now on?", yes)
        body = {"appId": app, "userId": user, "consent": give}
        found = call.service.put("/api/memory/consent", body)
    call.output.show(found, lambda: _consent_card(found))


@command(group, "audit")
def show_audit(
    call: Invocation,
    app: AppArgument,
    user: Annotated[str | None, typer.Option("--user", help="Only of this user.")] = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """Show who agreed, wrote, used, was refused and erased, newest first."""
    path = route("apps", app, "profile", "audit")
    lines = list(call.service.listing(path, "audit", None if all_ else limit, userId=user))
    call.output.show(lines, lambda: table(lines, _COLUMNS, "Nothing has happened yet."))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _named(user: str) -> str:
    return f"user {user}" if user else "the only user"


def _card(found: dict[str, Any]) -> RenderableType:
    if not found["consent"]:
        return plain(f"No consent: {_named(found['userId'])} has not agreed to having a profile.")
    profile = found["profile"]
    if profile is None:
        return plain("The user agrees to having a profile; nothing is written in it yet.")
    said = {**profile["preferences"], **profile["context"], "notes": profile["freeformNotes"]}
    told = {name: value or None for name, value in said.items()}
    return card({"user": found["userId"] or None, **told, "changed (UTC)": moment(profile["updatedAt"])})


def _consent_card(found: dict[str, Any]) -> RenderableType:
    receipt = found["receipt"]
    return card(
        {
            "user": found["userId"] or None,
            "agrees": found["consent"],
            "since (UTC)": moment(found["changedAt"]) or None,
            "said by": found["changedBy"],
            "receipt": None if receipt is None else receipt["receiptId"],
            "note": found["note"],
        }
    )
