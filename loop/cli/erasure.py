"""``afterthought purge``, ``erase`` and ``users``: who there is, and deleting for good, with a receipt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, ConversationArgument, Invocation, UserOption, YesOption, command, confirm
from loop.cli.output import Columns, at, complain, moment, plain, remark, table
from loop.cli.routes import in_commands, or_null, route

group = typer.Typer(help="Erase one thing and everything derived from it.", no_args_is_help=True)
users = typer.Typer(
    help="See whom an app remembers, set their time zone; `afterthought erase user` forgets one.", no_args_is_help=True
)
_USER_COLUMNS: Columns = {
    "user": "userId",
    "conversations": "conversations",
    "messages": "messages",
    "memories": "memories",
    "facts": "facts",
    "profile": "hasProfile",
    "last active (UTC)": at("lastActiveAt"),
    "time zone": "timeZone",
}
UserArgument = Annotated[str, typer.Argument(help="The user's id, as the app calls them.")]
_EverythingOption = Annotated[
    bool, typer.Option("--everything", help="Not only memories: conversations, jobs and all else of the app.")
]


def purge(
    call: Invocation,
    app: AppArgument,
    everything: _EverythingOption = False,
    user: UserOption = None,
    yes: YesOption = False,
) -> None:
    """Erase the memories of an app or of one user, or everything, for good, and print the receipt."""
    what = "everything" if everything else "all memories"
    confirm(f"Erase {what} of {app if user is None else f'{user} in {app}'} for good? This cannot be taken back.", yes)
    if everything:
        answer = call.service.delete(route("apps", app, *(() if user is None else ("users", user)), "data"))
    else:
        answer = call.service.delete(route("apps", app, "memories"), userId=user)
    show_receipt(call, answer)


@command(group, "user")
def erase_user(
    call: Invocation,
    app: AppArgument,
    user: UserArgument,
    yes: YesOption = False,
) -> None:
    """Erase everything an app holds of one user, and print the receipt."""
    purge(call, app, everything=True, user=user, yes=yes)


@command(group, "conversation")
def erase_conversation(
    call: Invocation, app: AppArgument, conversation: ConversationArgument, yes: YesOption = False
) -> None:
    """Erase a conversation and everything derived from it, and print the receipt."""
    confirm(f"Erase conversation {conversation} of {app} and all that came of it for good?", yes)
    show_receipt(call, call.service.delete(route("apps", app, "conversations", conversation)))


@command(users, "list", limit=50)
def list_users(call: Invocation, app: AppArgument) -> None:
    """List everybody an app holds something of; a row without a user stands for what names nobody."""
    call.show_listing(route("apps", app, "users"), "users", _USER_COLUMNS, f"{app} holds nothing of anybody.")


@command(users, "update")
def update_user(
    call: Invocation,
    app: AppArgument,
    user: UserArgument,
    time_zone: Annotated[
        str | None, typer.Option(help="Whose days are meant by what they say, as Europe/Lisbon; `none`: not known.")
    ] = None,
) -> None:
    """Set a user's time zone, or take it back."""
    changes = or_null({"timeZone": time_zone})
    if not changes:
        raise typer.BadParameter("give what to change, for example --time-zone Europe/Lisbon")
    call.show_card(call.service.patch(route("apps", app, "users", user), changes), _USER_COLUMNS)


def show_receipt(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Print what was erased, and store by store what is left; leave with status 1 where something is."""
    call.show(answer, _receipt)
    leave_if_incomplete(answer)


def leave_if_incomplete(answer: Mapping[str, Any]) -> None:
    """Leave with status 1 when the receipt says that something is left."""
    left = answer["receipt"]["left"]
    remaining = [f"{store} ({count})" for store, count in left.items() if count]
    unknown = [store for store, count in left.items() if count is None]
    if unknown:
        remark(f"Could not be looked at: {', '.join(unknown)}.")
    if remaining:
        note = in_commands(answer.get("note") or "Ask for it once more.")
        complain(f"Something is left: {', '.join(remaining)}. {note}")
        raise typer.Exit(1)


def _receipt(answer: Mapping[str, Any]) -> RenderableType:
    receipt = answer["receipt"]
    erased, left = receipt["erased"], receipt["left"]
    stores = [
        {
            "store": store,
            "erased": erased.get(store),
            "left": "unknown" if left.get(store, 0) is None else left.get(store),
        }
        for store in dict.fromkeys([*erased, *left])
    ]
    whose = f"{receipt['userId']} in {receipt['appId']}" if receipt.get("userId") else receipt["appId"]
    head = f"Receipt {receipt['receiptId']}: {receipt['scope']} of {whose}, {moment(receipt['at'])} UTC"
    parts = [plain(head), table(stores, {"store": "store", "erased": "erased", "left": "left"})]
    # A purge of memories does not reach what else is remembered; it is easily taken for that.
    remembered = answer.get("stillRemembered") or {}
    counts = [f"{number} {store}" for store, number in remembered.items() if isinstance(number, int) and number]
    if counts:
        reach = "`afterthought erase` and `afterthought purge --everything` reach them."
        parts.append(plain(f"Still remembered: {', '.join(counts)}. {reach}"))
    return Group(*parts)
