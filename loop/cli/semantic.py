"""``afterthought sessions``: what a project's sessions teach, and a project as one file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from loop.cli.events import follow
from loop.cli.invocation import AppArgument, Invocation, LimitOption, command
from loop.cli.output import Columns, card, progress_terminal, table
from loop.cli.sessions import NeededProject, group, memory
from shared.errors import Configuration

MemoryArgument = Annotated[str, typer.Argument(metavar="MEMORY", help="The semantic memory's id.")]
_ARCHIVE_TYPE = "application/zip"
_COLUMNS: Columns = {
    "memory": "id",
    "type": "type",
    "content": "content",
    "confidence": lambda row: f"{row['confidence']:.2f}",
    "verdict": "verdict",
    "sessions": lambda row: len({source["sessionId"] for source in row["sources"]}),
    "by": "agent",
}


class Judged(StrEnum):
    """Verdicts, as an option takes them."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


@command(group, "learn", "Learning")
def learn(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Ask for it and come back at once.")] = False,
) -> None:
    """Look for patterns, decisions, preferences and facts in a project's sessions."""
    asked = call.service.post(memory("projects", project, "semantic", "learn"), appId=app)
    job_id = asked["job"]["jobId"]
    if no_wait or call.output.as_json:
        call.output.done(asked, f"Job {job_id} is asked for.")
        return
    follow(call, app, job_id, f"learning from {project}")
    _show(call, app, project, None, 50)


@command(group, "learnt", "Learning")
def list_learnt(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    verdict: Annotated[Judged | None, typer.Option(help="Only those judged so.")] = None,
    limit: LimitOption = 50,
) -> None:
    """List what a project's sessions taught, newest first."""
    _show(call, app, project, verdict, limit)


@command(group, "confirm", "Learning")
def confirm_memory(call: Invocation, app: AppArgument, semantic: MemoryArgument) -> None:
    """Say that a semantic memory holds; it stays whatever becomes of its sessions."""
    _judge(call, app, semantic, Judged.CONFIRMED)


@command(group, "reject", "Learning")
def reject_memory(call: Invocation, app: AppArgument, semantic: MemoryArgument) -> None:
    """Say that a semantic memory does not hold; it is not proposed again."""
    _judge(call, app, semantic, Judged.REJECTED)


@command(group, "export", "Moving projects")
def export_project(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    file: Annotated[Path, typer.Option("-o", "--output", help="Where to; it must not be there yet.")],
) -> None:
    """Write a project with its sessions, versions and compositions into one file."""
    pieces = call.service.pieces(memory("projects", project, "export"), appId=app)
    first = next(pieces, b"")  # Where it is refused, no file is made.
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    with ExitStack() as undo:
        undo.callback(file.unlink, missing_ok=True)
        written = _write(descriptor, chain([first], pieces))
        undo.pop_all()  # It is whole.
    call.output.done({"file": str(file), "bytes": written}, f"{project} is in {file}, readable by you only.")


@command(group, "import", "Moving projects")
def import_project(
    call: Invocation,
    app: AppArgument,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `sessions export` wrote.")],
    name: Annotated[str | None, typer.Option("--as", help="Another id for the project.")] = None,
) -> None:
    """Take in a project that was exported; it is checked first, and nothing that is there is written over."""
    answer = call.service.upload(memory("projects", "import"), file, _ARCHIVE_TYPE, appId=app, projectId=name)
    call.output.show(answer, lambda: card(answer))


def _show(call: Invocation, app: str, project: str, verdict: Judged | None, limit: int) -> None:
    path = memory("projects", project, "semantic")
    found = list(call.service.listing(path, "memories", limit, appId=app, verdict=verdict))
    call.output.show(found, lambda: table(found, _COLUMNS, f"Nothing was learnt from {project} yet."))


def _judge(call: Invocation, app: str, memory_id: str, verdict: Judged) -> None:
    judged = call.service.patch(memory("semantic", memory_id), {"verdict": verdict.value}, appId=app)
    call.output.done(judged, f"{memory_id} is {verdict}.")


def _write(descriptor: int, pieces: Iterable[bytes]) -> int:
    """Write an archive as it arrives, under a bar; return its bytes."""
    terminal = progress_terminal()
    columns = (TextColumn("exporting"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    written = 0
    with (
        os.fdopen(descriptor, "wb") as file,
        Progress(*columns, console=terminal, disable=not terminal.is_terminal, transient=True) as progress,
    ):
        bar = progress.add_task("", total=None)
        for piece in pieces:
            written += file.write(piece)
            progress.update(bar, completed=written)
    return written
