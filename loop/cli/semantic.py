"""``afterthought sessions``: what a project's sessions teach, and a project as one file."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import DownloadColumn

from loop.cli.invocation import AppArgument, Invocation, LimitOption, command
from loop.cli.jobs import follow
from loop.cli.output import Columns, progress, rounded
from loop.cli.routes import memory_route
from loop.cli.sessions import NeededProject, group
from shared.choices import SemanticVerdict
from shared.errors import Configuration

MemoryIdArgument = Annotated[str, typer.Argument(metavar="MEMORY", help="The semantic memory's id.")]
_COLUMNS: Columns = {
    "memory": "id",
    "type": "type",
    "content": "content",
    "confidence": rounded("confidence"),
    "verdict": "verdict",
    "sessions": lambda row: len({source["sessionId"] for source in row["sources"]}),
    "by": "agent",
}


@command(group, "learn", "Learning")
def learn(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Ask for it and come back at once.")] = False,
) -> None:
    """Look for patterns, decisions, preferences and facts in a project's sessions."""
    asked = call.service.post(memory_route("projects", project, "semantic", "learn"), appId=app)
    job_id = asked["job"]["jobId"]
    if no_wait or call.as_json:
        call.done(asked, f"Job {job_id} is asked for.")
        return
    follow(call, app, job_id, f"learning from {project}")
    list_learnt(call, app, project)


@command(group, "learnt", "Learning")
def list_learnt(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    verdict: Annotated[SemanticVerdict | None, typer.Option(help="Only those judged so.")] = None,
    limit: LimitOption = 50,
) -> None:
    """List what a project's sessions taught, newest first."""
    found = call.service.listing(
        memory_route("projects", project, "semantic"), "memories", limit, appId=app, verdict=verdict
    )
    call.show_table(found, _COLUMNS, f"Nothing was learnt from {project} yet.")


@command(group, "confirm", "Learning")
def confirm_memory(call: Invocation, app: AppArgument, semantic: MemoryIdArgument) -> None:
    """Say that a semantic memory holds; it stays whatever becomes of its sessions."""
    _judge(call, app, semantic, SemanticVerdict.CONFIRMED)


@command(group, "reject", "Learning")
def reject_memory(call: Invocation, app: AppArgument, semantic: MemoryIdArgument) -> None:
    """Say that a semantic memory does not hold; it is not proposed again."""
    _judge(call, app, semantic, SemanticVerdict.REJECTED)


@command(group, "export", "Moving projects")
def export_project(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    file: Annotated[Path, typer.Option("-o", "--output", help="Where to; it must not be there yet.")],
) -> None:
    """Write a project with its sessions, versions and compositions into one file."""
    pieces = call.service.pieces(memory_route("projects", project, "export"), appId=app)
    first = next(pieces, b"")  # Where it is refused, no file is made.
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    written = 0
    with ExitStack() as undo:
        undo.callback(file.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as opened, progress("exporting", None, DownloadColumn()) as update:
            for piece in chain([first], pieces):
                written += opened.write(piece)
                update(completed=written)
        undo.pop_all()  # It is whole.
    call.done({"file": str(file), "bytes": written}, f"{project} is in {file}, readable by you only.")


@command(group, "import", "Moving projects")
def import_project(
    call: Invocation,
    app: AppArgument,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `sessions export` wrote.")],
    name: Annotated[str | None, typer.Option("--as", help="Another id for the project.")] = None,
) -> None:
    """Take in a project that was exported; it is checked first, and nothing that is there is written over."""
    path = memory_route("projects", "import")
    call.show_card(call.service.upload(path, file, "application/zip", appId=app, projectId=name))


def _judge(call: Invocation, app: str, memory_id: str, verdict: SemanticVerdict) -> None:
    judged = call.service.patch(memory_route("semantic", memory_id), {"verdict": verdict.value}, appId=app)
    call.done(judged, f"{memory_id} is {verdict}.")
