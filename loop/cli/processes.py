"""``afterthought up``, ``loop``, ``worker``, ``migrate`` and ``doctor``: an installation on this machine."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import asdict

import typer
from rich.console import Group

from loop.cli.invocation import Invocation, JsonOption
from loop.cli.output import Columns, plain, remark, table
from shared.base.errors import Transient

_FINDING_COLUMNS: Columns = {
    "": lambda row: "ok" if row["health"] == "ok" else row["health"].upper(),
    "what": "what",
    "found": "found",
    "how to mend it": "mend",
}


def up() -> None:
    """Start everything on this machine (Redis, loop, worker) and keep it running until Ctrl-C."""
    from loop.up import run_up  # brings the client of Redis
    from shared.base.settings import names_given, unread_names  # as above

    settings = Invocation().settings
    for name, advice in unread_names(names_given()):
        remark(f"{name} is no setting. {advice}")
    raise typer.Exit(run_up(settings))


def run_loop() -> None:
    """Run the loop alone: the HTTP interface and the tick. Needs REDIS_URL."""
    _become("loop")


def run_worker(context: typer.Context) -> None:
    """Run one worker alone. Needs REDIS_URL; further arguments go to Celery's worker."""
    _become("worker", *context.args)


def migrate(as_json: JsonOption = False) -> None:
    """Bring the database's schema to this release's."""
    # All of it brings the database's tools, which --help does without.
    from sqlalchemy.exc import SQLAlchemyError

    from shared.db.engine import Database  # as above
    from shared.db.schema import current_revision, migrate

    call = Invocation(as_json)
    database = Database(call.settings.database, pool_size=1)
    try:
        before = current_revision(database)
        migrate(call.settings.database)
        after = current_revision(database)
    except SQLAlchemyError as error:
        raise Transient(f"DATABASE_URL: the database did not answer ({str(error).splitlines()[0][:300]}).") from None
    finally:
        database.dispose()
    sentence = f"The schema is current ({after})." if before == after else f"From {before or 'nothing'} to {after}."
    call.done({"before": before, "after": after}, sentence)


def doctor(call: Invocation) -> None:
    """Check every dependency and say how to mend what is not well; status 1 if anything fails."""
    from loop.cli.checks import examine  # brings the clients of everything there is, which --help does without

    findings = [asdict(finding) for finding in examine(call)]
    counts = Counter(str(finding["health"]) for finding in findings)
    verdict = "All is well."
    if counts["fail"]:
        verdict = f"{counts['fail']} to mend, {counts['warn']} to look at."
    elif counts["warn"]:
        verdict = f"All works; {counts['warn']} to look at."
    answer = {"findings": findings, "counts": counts}
    call.show(answer, lambda _: Group(table(findings, _FINDING_COLUMNS), plain(""), plain(verdict)))
    if counts["fail"]:
        raise typer.Exit(1)


def _become(module: str, *arguments: str) -> None:
    """Turn this process into ``python -m module``; a wrong setting is told here, before."""
    from loop.up import own_code_only  # brings the database's tools

    Invocation().settings  # noqa: B018
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, **own_code_only()})
