"""``afterthought users``: who an app holds something of."""

from __future__ import annotations

import typer

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, command, route
from loop.cli.output import Columns, at, table

group = typer.Typer(help="See whom an app remembers; `afterthought erase user` forgets one.", no_args_is_help=True)


@command(group, "list")
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
