"""``afterthought memories``: reading, writing, changing and restoring what an app remembers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType

from loop.cli.erasure import purge
from loop.cli.invocation import AppArgument, Invocation, UserOption, command
from loop.cli.output import Columns, at, card, plain, table
from loop.cli.routes import given, route

group = typer.Typer(help="Read, write, change and restore an app's memories.", no_args_is_help=True)
MemoryArgument = Annotated[int, typer.Argument(metavar="MEMORY", min=1, help="The memory's number.")]
ImportanceOption = Annotated[int | None, typer.Option(min=0, max=10, help="How much it matters, 0 to 10.")]
TagsOption = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given more than once.")]
_COLUMNS: Columns = {
    "memory": "id",
    "user": "userId",
    "of (UTC)": at("createdAt"),
    "matters": "importance",
    "pinned": "pinned",
    "by": "agent",
    "content": "content",
}
_CARD: Columns = {
    "memory": "id",
    "user": "userId",
    "content": "content",
    "matters": "importance",
    "pinned": "pinned",
    "tags": "tags",
    "by": "agent",
    "version": "version",
    "from": lambda row: [source["conversationId"] for source in row["sources"]],
    "made (UTC)": at("createdAt"),
    "changed": at("updatedAt"),
}


@command(group, "list", limit=200)
def list_memories(call: Invocation, app: AppArgument, user: UserOption = None) -> None:
    """List what is remembered for an app, or for one of its users, last updated first."""
    path, nothing = route("apps", app, "memories"), f"{app} remembers nothing yet."
    call.show_listing(path, "memories", _COLUMNS, nothing, userId=user)


@command(group, "show")
def show_memory(call: Invocation, app: AppArgument, memory: MemoryArgument) -> None:
    """Show a memory and where it comes from."""
    call.show_card(call.service.get(route("apps", app, "memories", memory)), _CARD)


@command(group, "add")
def add_memory(
    call: Invocation,
    app: AppArgument,
    content: Annotated[str, typer.Argument(help="What to remember.")],
    importance: ImportanceOption = None,
    tag: TagsOption = None,
    pin: Annotated[bool, typer.Option("--pin", help="No machine may rewrite or remove it.")] = False,
    user: UserOption = None,
) -> None:
    """Write a memory by hand; at the cap the least important that is not pinned goes."""
    body = {"content": content, "importance": importance, "tags": tag or None, "pinned": pin or None, "userId": user}
    added = call.service.post(route("apps", app, "memories"), given(body))
    call.show(added, lambda added: _with_evictions(added, added))


@command(group, "edit")
def edit_memory(
    call: Invocation,
    app: AppArgument,
    memory: MemoryArgument,
    content: Annotated[str | None, typer.Option(help="Its new text.")] = None,
    importance: ImportanceOption = None,
    tag: TagsOption = None,
    pin: Annotated[bool | None, typer.Option("--pin/--unpin", help="Keep machines from rewriting it, or not.")] = None,
) -> None:
    """Change a memory."""
    body = given({"content": content, "importance": importance, "tags": tag or None, "pinned": pin})
    if not body:
        raise typer.BadParameter("give --content, --importance, --tag, --pin or --unpin")
    answer = call.service.patch(route("apps", app, "memories", memory), body)
    call.show(answer, lambda answer: card(answer["memory"], _CARD))


@command(group, "delete")
def delete_memory(
    call: Invocation,
    app: AppArgument,
    memory: MemoryArgument,
    erase: Annotated[bool, typer.Option("--erase", help="Empty its history's text too; no restoring.")] = False,
) -> None:
    """Delete a memory; it can be restored unless --erase is given."""
    answer = call.service.delete(route("apps", app, "memories", memory), erase=erase or None)
    again = "" if erase else f" Take it back: afterthought memories restore {app} {memory}"
    call.done(answer, f"Memory {memory} is {'erased' if erase else 'deleted'}.{again}")


@command(group, "history", limit=50)
def show_memory_history(
    call: Invocation,
    app: AppArgument,
    memory: Annotated[int | None, typer.Argument(metavar="[MEMORY]", min=1, help="Else the app's.")] = None,
    user: UserOption = None,
) -> None:
    """Show what became of a memory, or of all memories of an app or a user."""
    show_changes(call, app, "memory", memory, user)


@command(group, "restore")
def restore_memory(
    call: Invocation,
    app: AppArgument,
    memory: MemoryArgument,
    change: Annotated[int | None, typer.Option(min=1, help="The change to take back; else the latest.")] = None,
) -> None:
    """Take back a change to a memory."""
    answer = call.service.post(route("apps", app, "memories", memory, "restore"), given({"changeId": change}))
    call.show(answer, lambda answer: _with_evictions(answer["memory"], answer))


@command(group, "compactions")
def list_compactions(
    call: Invocation,
    app: AppArgument,
    user: UserOption = None,
    days: Annotated[int, typer.Option(min=1, max=365, help="So many days, today the last.")] = 30,
) -> None:
    """Count how often room was made for a memory, day by day (UTC) and by what went."""
    found = call.service.get(route("apps", app, "compactions"), days=days, userId=user)
    rows = [{"day": one["day"], "in all": one["compactions"], **one["outcomes"]} for one in found["days"]]
    columns: Columns = {name.replace("_", " "): name for name in rows[0]}
    busy = [row for row in rows if row["in all"]]
    call.show(found, lambda _: table(busy, columns, f"No room was made in {days} days."))


command(group, "purge")(purge)


def show_changes(
    call: Invocation, app: str, kind: Literal["memory", "fact"], one: int | None, user: str | None
) -> None:
    """List the history of a memory or a fact, or of all of the app's or of a user's."""
    several = {"memory": "memories", "fact": "facts"}[kind]
    if one is None:
        path, whose = route("apps", app, several, "changes"), user
    else:
        path, whose = route("apps", app, several, one, "history"), None
    columns: Columns = {
        "change": "changeId",
        "at (UTC)": at("at"),
        kind: f"{kind}Id",
        "kind": "kind",
        "by": "actor",
        "why": "reason",
        "before": "before",
        "after": "after",
    }
    call.show_listing(path, "changes", columns, "Nothing has happened yet.", userId=whose)


def _with_evictions(memory: dict[str, Any], answer: dict[str, Any]) -> RenderableType:
    went = (
        plain(f"Memory {one['memoryId']} made room ({one['outcome']}): {one['reason']}")
        for one in answer.get("madeRoom") or []
    )
    return Group(card(memory, _CARD), *went)
