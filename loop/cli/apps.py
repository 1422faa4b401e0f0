"""``afterthought apps``, ``users``, ``profile``, ``export``, ``purge`` and ``erase``: who there is, and erasing it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.output import card, columns, complain, moment, plain, remark, table
from loop.cli.table import APP, CONVERSATION, USER, Answer, Command, Invocation, YesOption, confirm, given, or_null
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from shared.base.errors import Configuration

_AppArgument = Annotated[str, APP.info]
_UserOption = Annotated[str | None, USER.info]
_BUDGET = "Most energy units per {}; `none` lifts the limit."
_BEHAVIOUR = (
    opt("answered_by", "Who answers its conversations: `loop`, when a model is set, or `app`."),
    opt("approve_answers", "Whether a person approves each answer of the loop's.", "--approve-answers/--send-answers",
        kind=bool),
    opt("weight", "Its share of the work beside other apps', 1..100.", kind=int),
    opt("shared_memory", "Whether what names no user is recalled for every user.",
        "--shared-memory/--no-shared-memory", kind=bool),
    opt("time_zone", "Whose days are meant where nothing else says, as Europe/Lisbon; `none`: UTC's."),
)  # fmt: skip
_USER_COLUMNS = columns(
    "user userId | conversations | messages | memories | facts | profile hasProfile | last active (UTC) @lastActiveAt"
    " | time zone timeZone"
)
_CARD = columns(
    "app appId | name | installed | memories | open conversations openConversations | ended conversations"
    " endedConversations | answered by answeredBy | answers approved approveAnswers | weight | shared memory"
    " sharedMemory | time zone timeZone | hourly budget hourlyBudget | daily budget dailyBudget | config"
    " | since (UTC) @createdAt"
)
_USER = arg("user_id", "USER", "The user's id, as the app calls them.")
_PROFILE_USER = opt("user_id", "A user of the app; leave it out where it names none.", "--user", default="")
_OfUser = Annotated[str, _PROFILE_USER.info]
_Lines = Annotated[list[str] | None, typer.Option(help="May be given more than once.")]
_CONSENT = columns(
    "user userId | agrees consent | since (UTC) @changedAt | said by changedBy | receipt receipt.receiptId | note"
)


def export_app(
    call: Invocation,
    app_id: _AppArgument,
    user_id: _UserOption = None,
    file: Annotated[Path | None, typer.Option("-o", "--output", help="Where to; else standard output.")] = None,
) -> None:
    """Write everything of an app, or of one user, as JSON: conversations, memories, facts, history.

    Recorded sessions go by project: `afterthought sessions export`.
    """
    archive = call.invoke(call.client.export_app, app_id=app_id, user_id=user_id)
    text = json.dumps(archive, ensure_ascii=False, indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    try:
        # A new file is for nobody else to read, from its first byte on.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            # One that was there keeps its mode, which may be everybody's; a device is not ours to close to others.
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                # Before it is emptied: where it is somebody else's it stays as it was.
                os.fchmod(descriptor, 0o600)
                os.ftruncate(descriptor, 0)
            opened.write(text)
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    remark(f"{app_id} is in {file}, readable by you only.")


def purge(
    call: Invocation,
    app_id: _AppArgument,
    everything: Annotated[
        bool, typer.Option("--everything", help="Not only memories: conversations, jobs and all else of the app.")
    ] = False,
    user_id: _UserOption = None,
    yes: YesOption = False,
) -> None:
    """Erase the memories of an app or of one user, or everything, for good, and print the receipt."""
    what = "everything" if everything else "all memories"
    whose = app_id if user_id is None else f"{user_id} in {app_id}"
    confirm(f"Erase {what} of {whose} for good? This cannot be taken back.", yes)
    if not everything:
        answer = call.invoke(call.client.purge_memories, app_id=app_id, user_id=user_id)
    elif user_id is None:
        answer = call.invoke(call.client.erase_app_data, app_id=app_id)
    else:
        answer = call.invoke(call.client.erase_user_data, user_id, app_id=app_id)
    show_receipt(call, answer)


def set_profile(
    call: Invocation,
    app_id: _AppArgument,
    user_id: _OfUser = "",
    style: Annotated[str | None, typer.Option(help="How the user likes code.")] = None,
    language: _Lines = None,
    framework: _Lines = None,
    goals: Annotated[str | None, typer.Option(help="What the user works towards.")] = None,
    domain: Annotated[str | None, typer.Option(help="The field they work in.")] = None,
    constraints: Annotated[str | None, typer.Option(help="What limits them.")] = None,
    notes: Annotated[str | None, typer.Option(help="Anything else, in free words.")] = None,
) -> None:
    """Write what is given into a user's profile; the rest of it stays."""
    found = call.invoke(call.client.show_profile, app_id=app_id, user_id=user_id)
    present = found["profile"] or {"preferences": {}, "context": {}, "freeformNotes": ""}
    preferences = given(codingStyle=style, preferredLanguages=language, frameworkExperience=framework)
    answer = call.invoke(
        call.client.write_profile, app_id=app_id, user_id=user_id, preferences=present["preferences"] | preferences,
        context=present["context"] | given(projectGoals=goals, domain=domain, constraints=constraints),
        freeform_notes=present["freeformNotes"] if notes is None else notes,
    )  # fmt: skip
    call.show(answer, _profile)


def consent(
    call: Invocation,
    app_id: _AppArgument,
    user_id: _OfUser = "",
    consent: Annotated[bool | None, typer.Option("--give/--withdraw", help="Change it; else it is shown.")] = None,
    yes: YesOption = False,
) -> None:
    """Show whether a user agrees to having a profile, or change that. Withdrawing erases the profile at once."""
    if consent is None:
        found = call.invoke(call.client.show_consent, app_id=app_id, user_id=user_id)
    else:
        if not consent:
            confirm(f"Erase the profile of {_named(user_id)} in {app_id}, and keep none from now on?", yes)
        found = call.invoke(call.client.change_consent, consent, app_id=app_id, user_id=user_id)
    call.show_card(found, _CONSENT)


def show_receipt(call: Invocation, answer: Answer) -> None:
    """Print what was erased, and store by store what is left; leave with status 1 where something is."""
    call.show(answer, receipt)
    leave_if_incomplete(call, answer)


def leave_if_incomplete(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Leave with status 1 when the receipt says that something is left."""
    left = (answer.get("receipt") or {"left": {}})["left"]
    remaining = [f"{store} ({count})" for store, count in left.items() if count]
    unknown = [store for store, count in left.items() if count is None]
    if unknown:
        remark(f"Could not be looked at: {', '.join(unknown)}.")
    if remaining:
        note = str(answer.get("note") or "Ask for it once more.")
        again = f"the receipt of another `afterthought purge {answer['receipt'].get('appId')} --everything`"
        # The note names where receipts are listed over HTTP; here another erasure shows its own.
        note = note.replace(f"the receipt under /apps/{answer['receipt'].get('appId')}/erasures", again)
        complain(f"Something is left: {', '.join(remaining)}. {note}")
        raise typer.Exit(1)


def receipt(answer: Answer) -> RenderableType:
    """Return a receipt as people read it."""
    receipt = answer["receipt"]
    erased, left = receipt["erased"], receipt["left"]
    stores = [
        {"store": store, "erased": erased.get(store),
         "left": "unknown" if left.get(store, 0) is None else left.get(store)}
        for store in dict.fromkeys([*erased, *left])
    ]  # fmt: skip
    whose = f"{receipt['userId']} in {receipt['appId']}" if receipt.get("userId") else receipt["appId"]
    head = f"Receipt {receipt['receiptId']}: {receipt['scope']} of {whose}, {moment(receipt['at'])} UTC"
    parts = [plain(head), table(stores, columns("store | erased | left"))]
    # A purge of memories does not reach what else is remembered; it is easily taken for that.
    remembered = answer.get("stillRemembered") or {}
    counts = [f"{number} {store}" for store, number in remembered.items() if isinstance(number, int) and number]
    if counts:
        reach = "`afterthought erase` and `afterthought purge --everything` reach them."
        parts.append(plain(f"Still remembered: {', '.join(counts)}. {reach}"))
    return Group(*parts)


def _is_uninstalled(answer: Answer, given: dict[str, Any]) -> str | RenderableType:
    if answer.get("receipt"):
        return receipt(answer)
    return f"App {given['app_id']} is uninstalled; {answer.get('memoriesKept', 0)} memories are kept."


def _named(user: str) -> str:
    return f"user {user}" if user else "the only user"


def _profile(found: Answer) -> RenderableType:
    if not found["consent"]:
        return plain(f"No consent: {_named(found['userId'])} has not agreed to having a profile.")
    profile = found["profile"]
    if profile is None:
        return plain("The user agrees to having a profile; nothing is written in it yet.")
    written = {**profile["preferences"], **profile["context"], "notes": profile["freeformNotes"]}
    return card({"user": found["userId"], **written, "changed (UTC)": moment(profile["updatedAt"])})


def _with_budgets(given: dict[str, Any]) -> dict[str, Any]:
    return {name: _units(value) if name.endswith("_budget") else value for name, value in _with_zone(given).items()}


def _units(written: str) -> float | None:
    try:
        return None if written.lower() == "none" else float(written)
    except ValueError:
        raise typer.BadParameter(f"{written} is neither a number of units nor `none`") from None


_with_zone = or_null("time_zone")
COMMANDS = (
    Command(
        name="apps list", operation="list_apps", limit=50, help="List the apps.",
        columns=columns("app appId | name | installed | hourly budget hourlyBudget | daily budget dailyBudget"
                        " | since (UTC) @createdAt"),
        nothing="No app is installed. Install one: afterthought apps install APP",
    ),
    Command(name="apps show", operation="show_app", help="Show an app and how much it holds.", arguments=(APP,),
            card=_CARD),
    Command(
        name="apps install", operation="install_app", help="Install an app, or one that was uninstalled again.",
        arguments=(APP, opt("name", "Its name as people read it; else its id."), *_BEHAVIOUR),
        prepare=lambda given: {"name": given["app_id"]} | _with_zone(given),
        done="App {app_id} is installed. Give it a token: afterthought apps token {app_id}",
    ),
    Command(
        name="apps update", operation="change_app", card=_CARD, prepare=_with_budgets,
        help="Change an app's name or budgets, who answers its conversations, its weight, or what its users share.",
        arguments=(APP, opt("name", "Its new name."), opt("hourly_budget", _BUDGET.format("hour")),
                   opt("daily_budget", _BUDGET.format("day")), *_BEHAVIOUR),
        needs="give what to change, for example --name, --hourly-budget or --answered-by",
    ),
    Command(
        name="apps uninstall", operation="uninstall_app", done=_is_uninstalled, after=leave_if_incomplete,
        help="Uninstall an app and revoke its tokens; what it remembers stays unless asked.",
        arguments=(APP, opt("purge_memories", "Erase its memories as well.", "--purge-memories", kind=bool,
                            default=False)),
        question=lambda given: f"Uninstall {given['app_id']} "
                               f"{'and erase its memories' if given['purge_memories'] else '(its memories stay)'}?",
    ),
    Command(
        name="apps token", operation="issue_token", help="Issue a token for an app; it is shown this once.",
        arguments=(APP, opt("label", "What it is for, so that it can be told from others.", default=""),
                   opt("grants", "What it may do beside: tokens, uninstall or answers; may be repeated.", "--grant",
                       kind=list[str]),
                   opt("user_id", "Whose own it is to be: it opens what is this user's, and nothing else.", "--user")),
        done="{answer[token]}",
    ),
    Command(
        name="apps tokens", operation="list_tokens", help="List an app's tokens, without the tokens themselves.",
        arguments=(APP,), limit=50, nothing="{app_id} has no tokens.",
        columns=columns("token tokenId | label | whose userId | grants | issued by parentId | issued (UTC) @createdAt"
                        " | revoked @revokedAt"),
    ),
    Command(name="apps revoke", operation="revoke_token", help="Revoke a token of an app.",
            arguments=(APP, arg("token_id", "TOKEN_ID", "The token's id.")), done="Token {token_id} is revoked."),
    Command(
        name="users list", operation="list_users", arguments=(APP,), limit=50, columns=_USER_COLUMNS,
        help="List everybody an app holds something of; a row without a user stands for what names nobody.",
        nothing="{app_id} holds nothing of anybody.",
    ),
    Command(
        name="users update", operation="change_user", help="Set a user's time zone, or take it back.",
        arguments=(APP, _USER, opt("time_zone", "Whose days are meant by what they say, as Europe/Lisbon; `none`: not "
                                   "known.")),
        prepare=_with_zone, needs="give what to change, for example --time-zone Europe/Lisbon", card=_USER_COLUMNS,
    ),
    Command(name="profile show", operation="show_profile", help="Show a user's profile, if they agree to having one.",
            arguments=(APP, _PROFILE_USER), view=_profile),
    Command(name="profile set", operation="write_profile", run=set_profile),
    Command(
        name="profile clear", operation="erase_profile", arguments=(APP, _PROFILE_USER),
        help="Erase a user's profile for good; their consent stays as it is.",
        question=lambda given: f"Erase the profile of {_named(given['user_id'])} in {given['app_id']}? This cannot be "
                               "taken back.",
        done="The profile is erased. Receipt: {answer[receipt][receiptId]}.",
    ),
    Command(name="profile consent", operation="change_consent", also={"show_consent": ""}, run=consent),
    Command(
        name="profile audit", operation="list_profile_changes", limit=50, nothing="Nothing has happened yet.",
        help="Show who agreed, wrote, used, was refused and erased, newest first.",
        arguments=(APP, opt("user_id", "Only of this user.", "--user")),
        columns=columns("at (UTC) @at | user userId | what kind | by actor | times count | last (UTC) @lastAt"),
    ),
    Command(name="purge", operation="purge_memories", also={"erase_app_data": "--everything"}, run=purge),
    Command(name="export", operation="export_app", run=export_app),
    Command(
        name="erase user", operation="erase_user_data", arguments=(APP, _USER), view=receipt, after=leave_if_incomplete,
        help="Erase everything an app holds of one user, and print the receipt.",
        question="Erase everything of {user_id} in {app_id} for good? This cannot be taken back.",
    ),
    Command(
        name="erase conversation", operation="erase_conversation", arguments=(APP, CONVERSATION), view=receipt,
        after=leave_if_incomplete, help="Erase a conversation and everything derived from it, and print the receipt.",
        question="Erase conversation {conversation_id} of {app_id} and all that came of it for good?",
    ),
)  # fmt: skip
