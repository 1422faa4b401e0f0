"""``afterthought memories``: reading, writing, changing and restoring what an app remembers."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.erasure import purge
from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, UserOption, command, route
from loop.cli.output import Columns, at, card, moment, plain, table

group = typer.Typer(help="Read, write, change and restore an app's memories.", no_args_is_help=True)
MemoryArgument = Annotated[int, typer.Argument(metavar="MEMORY", min=1, help="The memory's number.")]
_Importance = Annotated[int | None, typer.Option(min=0, max=10, help="How much it matters, 0 to 10.")]
_Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given more than once.")]
_CHANGE_COLUMNS: Columns = {
    "change": "changeId",
    "at (UTC)": at("at"),
    "memory": "memoryId",
    "kind": "kind",
    "by": "actor",
    "why": "reason",
    "before": "before",
    "after": "after",
}


@command(group, "list")
def list_memories(
    call: Invocation, app: AppArgument, user: UserOption = None, limit: LimitOption = 200, all_: AllOption = False
) -> None:
    """List what is remembered for an app, or for one of its users, last updated first."""
    path = route("apps", app, "memories")
    memories = list(call.service.listing(path, "memories", None if all_ else limit, userId=user))
    columns: Columns = {
        "memory": "id",
        "user": "userId",
        "of (UTC)": at("createdAt"),
        "matters": "importance",
        "pinned": "pinned",
        "by": "agent",
        "content": "content",
    }
    call.output.show(memories, lambda: table(memories, columns, f"{app} remembers nothing yet."))


@command(group, "show")
def show_memory(call: Invocation, app: AppArgument, memory: MemoryArgument) -> None:
    """Show a memory and where it comes from."""
    found = call.service.get(route("apps", app, "memories", memory))
    call.output.show(found, lambda: _card(found))


@command(group, "add")
def add_memory(
    call: Invocation,
    app: AppArgument,
    content: Annotated[str, typer.Argument(help="What to remember.")],
    importance: _Importance = None,
    tag: _Tags = None,
    pin: Annotated[bool, typer.Option("--pin", help="No machine may rewrite or remove it.")] = False,
    user: UserOption = None,
) -> None:
    """Write a memory by hand; at the cap the least important that is not pinned goes."""
    body = {"content": content, "importance": importance, "tags": tag or None, "pinned": pin or None, "userId": user}
    made = call.service.post(route("apps", app, "memories"), _given(body))
    call.output.show(made, lambda: _with_room(_card(made), made))


@command(group, "edit")
def edit_memory(
    call: Invocation,
    app: AppArgument,
    memory: MemoryArgument,
    content: Annotated[str | None, typer.Option(help="Its new text.")] = None,
    importance: _Importance = None,
    tag: _Tags = None,
    pin: Annotated[bool | None, typer.Option("--pin/--unpin", help="Keep machines from rewriting it, or not.")] = None,
) -> None:
    """Change a memory."""
    body = _given({"content": content, "importance": importance, "tags": tag or None, "pinned": pin})
    if not body:
        raise typer.BadParameter("give --content, --importance, --tag, --pin or --unpin")
    answer = call.service.patch(route("apps", app, "memories", memory), body)
    call.output.show(answer, lambda: _card(answer["memory"]))


@command(group, "delete")
def delete_memory(
    call: Invocation,
    app: AppArgument,
    memory: MemoryArgument,
    erase: Annotated[bool, typer.Option("--erase", help="Empty its history's text too; no restoring.")] = False,
) -> None:
    """Delete a memory; it can be restored unless --erase is given."""
    path = route("apps", app, "memories", memory)
    answer = call.service.delete(path, erase="true" if erase else None)
    again = "" if erase else f" Take it back: afterthought memories restore {app} {memory}"
    call.output.done(answer, f"Memory {memory} is {'erased' if erase else 'deleted'}.{again}")


@command(group, "history")
def show_history(
    call: Invocation,
    app: AppArgument,
    memory: Annotated[int | None, typer.Argument(metavar="[MEMORY]", min=1, help="Else the app's.")] = None,
    user: UserOption = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """Show what became of a memory, or of all memories of an app or a user."""
    path = route("apps", app, "memories", "changes" if memory is None else memory)
    path = path if memory is None else f"{path}/history"
    whose = {} if memory is not None else {"userId": user}
    changes = list(call.service.listing(path, "changes", None if all_ else limit, **whose))
    call.output.show(changes, lambda: table(changes, _CHANGE_COLUMNS, "Nothing has happened yet."))


@command(group, "restore")
def restore_memory(
    call: Invocation,
    app: AppArgument,
    memory: MemoryArgument,
    change: Annotated[int | None, typer.Option(min=1, help="The change to take back; else the latest.")] = None,
) -> None:
    """Take back a change to a memory."""
    path = route("apps", app, "memories", memory, "restore")
    answer = call.service.post(path, _given({"changeId": change}))
    call.output.show(answer, lambda: _with_room(_card(answer["memory"]), answer))


@command(group, "compactions")
def list_compactions(
    call: Invocation,
    app: AppArgument,
    user: UserOption = None,
    days: Annotated[int, typer.Option(min=1, max=365, help="So many days, today the last.")] = 30,
) -> None:
    """Count how often room was made for a memory, day by day (UTC) and by what went."""
    found = call.service.get(route("apps", app, "compactions"), **_given({"days": days, "userId": user}))
    rows = [{"day": one["day"], "in all": one["compactions"], **one["outcomes"]} for one in found["days"]]
    columns: Columns = {name.replace("_", " "): name for name in rows[0]}
    busy = [row for row in rows if row["in all"]]
    call.output.show(found, lambda: table(busy, columns, f"No room was made in {days} days."))


command(group, "purge")(purge)


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in body.items() if value is not None}


def _card(memory: dict[str, Any]) -> RenderableType:
    return card(
        {
            "memory": memory["id"],
            "user": memory["userId"],
            "content": memory["content"],
            "matters": memory["importance"],
            "pinned": memory["pinned"],
            "tags": memory["tags"] or None,
            "by": memory["agent"],
            "version": memory["version"],
            "from": [source["conversationId"] for source in memory["sources"]] or None,
            "made (UTC)": moment(memory["createdAt"]),
            "changed": moment(memory["updatedAt"]),
        }
    )


def _with_room(shown: RenderableType, answer: dict[str, Any]) -> RenderableType:
    went = [
        plain(f"Memory {one['memoryId']} made room ({one['outcome']}): {one['reason']}")
        for one in answer.get("madeRoom") or []
    ]
    return Group(shown, *went)
