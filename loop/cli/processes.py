"""``afterthought up``, ``loop``, ``worker`` and ``migrate``: the processes of an installation."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from loop.cli.invocation import Invocation, JsonOption
from loop.cli.output import remark
from shared.errors import Transient

if TYPE_CHECKING:
    from shared.settings import Settings

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(program: typer.Typer) -> None:
    """Add the commands."""
    program.command("up")(up)
    program.command("loop")(run_loop)
    program.command("worker", context_settings=_PASS_ON)(run_worker)
    program.command("migrate")(migrate)


def up() -> None:
    """Start everything on this machine (Redis, loop, worker) and keep it running until Ctrl-C."""
    from loop.cli.checks import check_names, names_given  # brings the settings
    from loop.up import run_up  # brings the database's tools

    settings = Invocation().settings
    for finding in check_names(names_given()):
        remark(f"{finding.found}. {finding.mend}")
    raise typer.Exit(run_up(settings))


def run_loop() -> None:
    """Run the loop alone: the HTTP interface and the tick. Needs REDIS_URL."""
    _become("loop")


def run_worker(context: typer.Context) -> None:
    """Run one worker alone. Needs REDIS_URL; further arguments go to Celery's worker."""
    _become("worker", *context.args)


def migrate(as_json: JsonOption = False) -> None:
    """Bring the database's schema to this release's."""
    call = Invocation(as_json)
    before, after = _migrate(call.settings)
    answer = {"before": before, "after": after}
    sentence = f"The schema is current ({after})." if before == after else f"From {before or 'nothing'} to {after}."
    call.output.done(answer, sentence)


def _become(module: str, *arguments: str) -> None:
    """Turn this process into ``python -m module``; a wrong setting is told here, before."""
    from loop.up import own_code_only  # brings the database's tools

    Invocation().settings  # noqa: B018
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, **own_code_only()})


def _migrate(settings: Settings) -> tuple[str | None, str | None]:
    # All of it brings the database's tools, which --help does without.
    from sqlalchemy.exc import SQLAlchemyError

    from shared.db.engine import Database  # as above
    from shared.db.schema import current_revision, migrate

    database = Database(settings.database, pool_size=1)
    try:
        before = current_revision(database)
        migrate(settings.database)
        return before, current_revision(database)
    except SQLAlchemyError as error:
        raise Transient(f"DATABASE_URL: the database did not answer ({str(error).splitlines()[0][:300]}).") from None
    finally:
        database.dispose()
