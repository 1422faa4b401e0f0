"""``afterthought profile``: what a user agreed to have kept, whether they agree, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from loop.cli.invocation import AppArgument, Invocation, YesOption, command, confirm
from loop.cli.output import Columns, at, card, moment, plain
from loop.cli.routes import given, route

group = typer.Typer(help="Read and write profiles, and the consent they stand on.", no_args_is_help=True)
ProfileUserOption = Annotated[str, typer.Option("--user", help="A user of the app; leave it out where it names none.")]
LinesOption = Annotated[list[str] | None, typer.Option(help="May be given more than once.")]
_CONSENT_ROUTE = "/api/memory/consent"
_AUDIT_COLUMNS: Columns = {
    "at (UTC)": at("at"),
    "user": "userId",
    "what": "kind",
    "by": "actor",
    "times": "count",
    "last (UTC)": at("lastAt"),
}
_CONSENT_CARD: Columns = {
    "user": "userId",
    "agrees": "consent",
    "since (UTC)": at("changedAt"),
    "said by": "changedBy",
    "receipt": "receipt.receiptId",
    "note": "note",
}


@command(group, "show")
def show_profile(call: Invocation, app: AppArgument, user: ProfileUserOption = "") -> None:
    """Show a user's profile, if they agree to having one."""
    call.show(call.service.get(route("apps", app, "profile"), userId=user), _profile)


@command(group, "set")
def set_profile(
    call: Invocation,
    app: AppArgument,
    user: ProfileUserOption = "",
    style: Annotated[str | None, typer.Option(help="How the user likes code.")] = None,
    language: LinesOption = None,
    framework: LinesOption = None,
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
        "preferences": present["preferences"] | given(preferences),
        "context": present["context"] | given(context),
        "freeformNotes": present["freeformNotes"] if notes is None else notes,
    }
    call.show(call.service.put(path, body, userId=user), _profile)


@command(group, "clear")
def clear_profile(call: Invocation, app: AppArgument, user: ProfileUserOption = "", yes: YesOption = False) -> None:
    """Erase a user's profile for good; their consent stays as it is."""
    confirm(f"Erase the profile of {_named(user)} in {app}? This cannot be taken back.", yes)
    answer = call.service.delete(route("apps", app, "profile"), userId=user)
    call.done(answer, f"The profile is erased. Receipt: {answer['receipt']['receiptId']}.")


@command(group, "consent")
def change_consent(
    call: Invocation,
    app: AppArgument,
    user: ProfileUserOption = "",
    give: Annotated[bool | None, typer.Option("--give/--withdraw", help="Change it; else it is shown.")] = None,
    yes: YesOption = False,
) -> None:
    """Show whether a user agrees to having a profile, or change that. Withdrawing erases the profile at once."""
    if give is None:
        found = call.service.get(_CONSENT_ROUTE, appId=app, userId=user)
    else:
        if not give:
            confirm(f"Erase the profile of {_named(user)} in {app}, and keep none from now on?", yes)
        found = call.service.put(_CONSENT_ROUTE, {"appId": app, "userId": user, "consent": give})
    call.show_card(found, _CONSENT_CARD)


@command(group, "audit", limit=50)
def show_audit(
    call: Invocation,
    app: AppArgument,
    user: Annotated[str | None, typer.Option("--user", help="Only of this user.")] = None,
) -> None:
    """Show who agreed, wrote, used, was refused and erased, newest first."""
    path, nothing = route("apps", app, "profile", "audit"), "Nothing has happened yet."
    call.show_listing(path, "audit", _AUDIT_COLUMNS, nothing, userId=user)


def _named(user: str) -> str:
    return f"user {user}" if user else "the only user"


def _profile(found: dict[str, Any]) -> RenderableType:
    if not found["consent"]:
        return plain(f"No consent: {_named(found['userId'])} has not agreed to having a profile.")
    profile = found["profile"]
    if profile is None:
        return plain("The user agrees to having a profile; nothing is written in it yet.")
    written = {**profile["preferences"], **profile["context"], "notes": profile["freeformNotes"]}
    return card({"user": found["userId"], **written, "changed (UTC)": moment(profile["updatedAt"])})
