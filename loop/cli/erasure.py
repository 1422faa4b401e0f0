"""``afterthought purge`` and ``erase``: deleting for good, and the receipt that says what is left where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import (
    AllOption,
    AppArgument,
    Invocation,
    LimitOption,
    UserOption,
    YesOption,
    command,
    confirm,
    route,
)
from loop.cli.output import Columns, at, complain, moment, plain, remark, table

group = typer.Typer(help="Erase one thing and everything derived from it.", no_args_is_help=True)
_Everything = Annotated[
    bool, typer.Option("--everything", help="Not only memories: conversations, jobs and all else of the app.")
]


def add_to(program: typer.Typer) -> None:
    """Add the commands."""
    program.add_typer(group, name="erase")
    command(program, "purge")(purge)


def purge(
    call: Invocation,
    app: AppArgument,
    everything: _Everything = False,
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
    leave_if_incomplete(answer)


@command(group, "user")
def erase_user(
    call: Invocation,
    app: AppArgument,
    user: Annotated[str, typer.Argument(help="The user's id, as the app calls them.")],
    yes: YesOption = False,
) -> None:
    """Erase everything an app holds of one user, and print the receipt."""
    purge(call, app, everything=True, user=user, yes=yes)


@command(group, "conversation")
def erase_conversation(
    call: Invocation,
    app: AppArgument,
    conversation: Annotated[str, typer.Argument(help="The conversation's id.")],
    yes: YesOption = False,
) -> None:
    """Erase a conversation and everything derived from it, and print the receipt."""
    confirm(f"Erase conversation {conversation} of {app} and all that came of it for good?", yes)
    answer = call.service.delete(route("apps", app, "conversations", conversation))
    show_receipt(call, answer)
    leave_if_incomplete(answer)


def show_receipt(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Print what was erased, and store by store what is left."""
    call.output.show(answer, lambda: _receipt(answer))


def leave_if_incomplete(answer: Mapping[str, Any]) -> None:
    """Leave with status 1 when the receipt says that something is left."""
    left = answer["receipt"]["left"]
    remaining = [f"{store} ({count})" for store, count in left.items() if count]
    unknown = [store for store, count in left.items() if count is None]
    if unknown:
        remark(f"Could not be looked at: {', '.join(unknown)}.")
    if remaining:
        complain(f"Something is left: {', '.join(remaining)}. {answer.get('note') or 'Ask for it once more.'}")
        raise typer.Exit(1)


def _receipt(answer: Mapping[str, Any]) -> RenderableType:
    receipt = answer["receipt"]
    erased, left = receipt["erased"], receipt["left"]
    stores = [
        {"store": store, "erased": erased.get(store), "left": _left(left, store)}
        for store in dict.fromkeys([*erased, *left])
    ]
    whose = f"{receipt['userId']} in {receipt['appId']}" if receipt.get("userId") else receipt["appId"]
    head = f"Receipt {receipt['receiptId']}: {receipt['scope']} of {whose}, {moment(receipt['at'])} UTC"
    return Group(
        plain(head),
        table(stores, {"store": "store", "erased": "erased", "left": "left"}),
        *_still(answer.get("stillRemembered")),
    )


def _still(remembered: Mapping[str, Any] | None) -> list[RenderableType]:
    """Say what a purge of memories does not reach, where there is anything."""
    counts = {store: number for store, number in (remembered or {}).items() if isinstance(number, int) and number}
    if not counts:
        return []
    known = ", ".join(f"{number} {store}" for store, number in counts.items())
    return [plain(f"Still remembered: {known}. `afterthought erase` and `afterthought purge --everything` reach them.")]


def _left(left: Mapping[str, int | None], store: str) -> str:
    if store not in left:
        return ""
    return "unknown" if left[store] is None else str(left[store])


users = typer.Typer(help="See whom an app remembers; `afterthought erase user` forgets one.", no_args_is_help=True)


@command(users, "list")
def list_users(call: Invocation, app: AppArgument, limit: LimitOption = 50, all_: AllOption = False) -> None:
    """List everybody an app holds something of; a row without a user stands for what names nobody."""
    users = list(call.service.listing(route("apps", app, "users"), "users", None if all_ else limit))
    columns: Columns = {
        "user": "userId",
        "conversations": "conversations",
        "messages": "messages",
        "memories": "memories",
        "facts": "facts",
        "profile": "hasProfile",
        "last active (UTC)": at("lastActiveAt"),
    }
    call.output.show(users, lambda: table(users, columns, f"{app} holds nothing of anybody."))
