"""The command ``afterthought``: its groups, and what an error becomes.

Exit status: 0 done, 1 failed or found something wrong, 2 wrong usage or a wrong setting.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from loop.cli import apps, compositions, conversations, imports, memories, operations, sessions, versions
from loop.cli.output import complain
from shared.base.errors import AfterthoughtError, Configuration
from shared.base.installation import release

FAILED = 1
MISUSED = 2
COMMANDS = (
    *operations.COMMANDS, *apps.COMMANDS, *imports.COMMANDS, *conversations.COMMANDS, *memories.COMMANDS,
    *sessions.COMMANDS, *versions.COMMANDS, *compositions.COMMANDS,
)  # fmt: skip
_GROUPS = {
    "erase": "Erase one thing and everything derived from it.",
    "apps": "Install, change and uninstall apps, and issue their tokens.",
    "users": "See whom an app remembers, set their time zone; `afterthought erase user` forgets one.",
    "conversations": "Look at an app's conversations and end them.",
    "answers": "Look at the loop's answers, approve and reject them.",
    "memories": "Read, write, change and restore an app's memories.",
    "facts": "Read, write, change and take back an app's facts.",
    "summaries": "Read the summaries of conversations, and ask for one.",
    "profile": "Read and write profiles, and the consent they stand on.",
    "tuning": "Show and change how retrieval and summaries work.",
    "jobs": "Look at background work, replay and cancel it.",
    "events": "See what happens in an app.",
    "webhooks": "Have addresses of your own told of an app's events.",
    "index": "The indexes by which old messages are found.",
    "sessions": "Register recorded coding sessions, compress them into versions and compose contexts of them.",
}
program = typer.Typer(
    name="afterthought",
    help="A memory service for language-model apps, governed by an energy budget.",
    epilog="Exit status: 0 done, 1 failed or found something wrong, 2 wrong usage or a wrong setting.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
program.command("up")(operations.up)
program.command("loop")(operations.run_loop)
program.command("worker", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    operations.run_worker
)
program.command("migrate")(operations.migrate)
program.command("mcp")(operations.mcp)
_of_group = {name: typer.Typer(help=text, no_args_is_help=True) for name, text in _GROUPS.items()}
for one in COMMANDS:
    one.add_to(_of_group.get(one.name.split()[0], program), COMMANDS)
for name, group in _of_group.items():
    program.add_typer(group, name=name)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"afterthought {release()}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@cache
def _command() -> Callable[..., Any]:
    # Typer's own call builds all commands anew each time: half of what a run takes where one process runs many.
    return get_command(program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    try:
        _command()(args=None if arguments is None else list(arguments), prog_name="afterthought")
    except AfterthoughtError as error:
        complain(error.message)
        sys.exit(MISUSED if isinstance(error, Configuration) else FAILED)
