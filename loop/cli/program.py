"""The command ``afterthought``: its groups, and what an error becomes.

Exit status: 0 done, 1 failed or found something wrong, 2 wrong usage or a wrong setting.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import loop.cli.apps as apps
import loop.cli.compositions
import loop.cli.conversations as conversations
import loop.cli.erasure as erasure
import loop.cli.events as events
import loop.cli.facts as facts
import loop.cli.imports as imports
import loop.cli.jobs as jobs
import loop.cli.mcp as mcp
import loop.cli.memories as memories
import loop.cli.processes as processes
import loop.cli.profiles as profiles
import loop.cli.search as search
import loop.cli.session_search
import loop.cli.sessions as sessions
import loop.cli.versions  # noqa: F401 - its commands are of the group of sessions
from loop.cli.invocation import command
from loop.cli.output import complain
from loop.release import release
from shared.base.errors import AfterthoughtError, Configuration

FAILED = 1
MISUSED = 2

program = typer.Typer(
    name="afterthought",
    help="A memory service for language-model apps, governed by an energy budget.",
    epilog="Exit status: 0 done, 1 failed or found something wrong, 2 wrong usage or a wrong setting.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
program.command("up")(processes.up)
program.command("loop")(processes.run_loop)
program.command("worker", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    processes.run_worker
)
program.command("migrate")(processes.migrate)
program.command("mcp")(mcp.mcp)
command(program, "doctor")(processes.doctor)
command(program, "energy")(jobs.energy)
command(program, "purge")(erasure.purge)
command(program, "export")(apps.export_app)
command(program, "import")(imports.import_file)
command(program, "search")(search.search)
for name, group in {
    "erase": erasure.group, "apps": apps.group, "users": erasure.users, "conversations": conversations.group,
    "answers": conversations.answers, "memories": memories.group, "facts": facts.group,
    "summaries": conversations.summaries, "profile": profiles.group, "tuning": search.tuning, "jobs": jobs.group,
    "events": events.group, "webhooks": events.webhooks, "index": search.group, "sessions": sessions.group,
}.items():  # fmt: skip
    program.add_typer(group, name=name)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"afterthought {release()}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    try:
        program(args=None if arguments is None else list(arguments), prog_name="afterthought")
    except AfterthoughtError as error:
        complain(error.message)
        sys.exit(MISUSED if isinstance(error, Configuration) else FAILED)
