"""The command ``afterthought``: its groups, and what an error becomes.

Exit status: 0 done, 1 failed or found something wrong, 2 wrong usage or a wrong setting.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import loop.cli.compositions
import loop.cli.session_search
import loop.cli.versions  # noqa: F401 - its commands are of the group of sessions
from loop.cli.apps import export_app, import_app
from loop.cli.apps import group as apps
from loop.cli.conversations import answers, summaries
from loop.cli.conversations import group as conversations
from loop.cli.erasure import group as erase
from loop.cli.erasure import purge, users
from loop.cli.events import group as events
from loop.cli.events import webhooks
from loop.cli.facts import group as facts
from loop.cli.ingestion import ingest
from loop.cli.invocation import command
from loop.cli.jobs import energy
from loop.cli.jobs import group as jobs
from loop.cli.memories import group as memories
from loop.cli.output import complain
from loop.cli.processes import doctor, migrate, run_loop, run_worker, up
from loop.cli.profiles import group as profile
from loop.cli.search import group as index
from loop.cli.search import search, tuning
from loop.cli.sessions import group as sessions
from loop.release import release
from shared.errors import AfterthoughtError, Configuration

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
program.command("up")(up)
program.command("loop")(run_loop)
program.command("worker", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(run_worker)
program.command("migrate")(migrate)
command(program, "doctor")(doctor)
command(program, "energy")(energy)
command(program, "purge")(purge)
command(program, "export")(export_app)
command(program, "import")(import_app)
command(program, "ingest")(ingest)
command(program, "search")(search)
for name, group in {
    "erase": erase, "apps": apps, "users": users, "conversations": conversations, "answers": answers,
    "memories": memories, "facts": facts, "summaries": summaries, "profile": profile, "tuning": tuning, "jobs": jobs,
    "events": events, "webhooks": webhooks, "index": index, "sessions": sessions,
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
