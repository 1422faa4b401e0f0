"""The command ``afterthought``: its groups, and what an error becomes.

Exit status: 0 done, 1 failed or found something wrong, 2 wrong usage or a wrong setting.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import loop.cli.ageing
import loop.cli.compositions
import loop.cli.semantic
import loop.cli.session_search
import loop.cli.versions  # noqa: F401 - its commands are of the group of sessions
from loop.cli.answers import group as answers
from loop.cli.apps import group as apps
from loop.cli.archives import add_to as add_archives
from loop.cli.conversations import group as conversations
from loop.cli.doctor import add_to as add_doctor
from loop.cli.energy import add_to as add_energy
from loop.cli.erasure import add_to as add_erasing
from loop.cli.erasure import users
from loop.cli.events import group as events
from loop.cli.facts import group as facts
from loop.cli.ingesting import add_to as add_ingesting
from loop.cli.jobs import group as jobs
from loop.cli.memories import group as memories
from loop.cli.output import complain
from loop.cli.processes import add_to as add_processes
from loop.cli.profiles import group as profile
from loop.cli.search import add_search
from loop.cli.search import group as index
from loop.cli.sessions import group as sessions
from loop.cli.summaries import group as summaries
from loop.cli.tuning import group as tuning
from loop.cli.webhooks import group as webhooks
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
for add in (add_processes, add_doctor, add_energy, add_erasing, add_archives, add_ingesting, add_search):
    add(program)
for name, group in (
    ("apps", apps), ("users", users), ("conversations", conversations), ("answers", answers),
    ("memories", memories), ("facts", facts),
    ("summaries", summaries), ("profile", profile), ("tuning", tuning),
    ("jobs", jobs), ("events", events), ("webhooks", webhooks), ("index", index),
    ("sessions", sessions),
):  # fmt: skip
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
