"""``afterthought ingest``: puts a file of chats into an app and says what became of every line."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from loop.cli.invocation import Invocation, command, route
from loop.cli.output import complain, plain, progress_terminal, remark, table

if TYPE_CHECKING:
    from loop.cli.chats import BadLine
    from loop.cli.filling import Filling, Tally
    from loop.cli.service import Service

_SHOWN_BAD_LINES = 20
_POLL_SECONDS = 0.3
_FINISHED = {"done", "nothing", "dead", "cancelled"}


def add_to(program: typer.Typer) -> None:
    """Add the command."""
    command(program, "ingest")(ingest)


def ingest(
    call: Invocation,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, or a JSON array.")],
    app: Annotated[str, typer.Option("--app", help="The app to fill; installed if it is not.")],
    conversation_per: Annotated[
        str, typer.Option(help="What becomes one conversation: auto, day or file.", metavar="auto|day|file")
    ] = "auto",
    user_id: Annotated[str | None, typer.Option(help="The user of every conversation; else the file's.")] = None,
    end: Annotated[bool, typer.Option("--end/--no-end", help="End each conversation: it is thought over.")] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Send nothing if any line is bad.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every conversation was thought over.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Longest to wait, seconds.")] = 3600.0,
) -> None:
    """Put a file of chats into an app: each conversation is opened, filled and ended.

    Takes role/content and ShareGPT conversations, one per line or in a JSON array, and single messages with a
    conversation id. Running it twice adds nothing; a run that was cut off is taken up where it ended.
    """
    run = _Run(call, file, app, conversation_per)
    if strict and (bad := list(run.find_bad())):
        _tell_bad(bad)
        complain(f"{len(bad)} bad lines; nothing was sent.")
        raise typer.Exit(1)
    tally = run.fill(user_id, end)
    states = run.wait(tally, timeout) if wait else None
    answer = {"appId": app, "format": run.shape, **tally.as_json()} | ({} if states is None else {"jobs": dict(states)})
    call.output.show(answer, lambda: _summary(tally, states))
    _tell_bad(tally.bad)
    _tell_undated(tally)
    if run.shape is None and not tally.bad:
        complain(f"{file} holds no conversations.")
        raise typer.Exit(1)
    if tally.bad or (states is not None and set(states) - {"done", "nothing"}):
        raise typer.Exit(1)


class _Run:
    """One file on its way into one app."""

    def __init__(self, call: Invocation, file: Path, app: str, per: str) -> None:
        from loop.cli.chats import Grouping, Per  # what reads files is not needed for --help

        if per not in set(Per):
            raise typer.BadParameter(f"{per} is none of auto, day, file", param_hint="--conversation-per")
        self.shape: str | None = None
        self._service: Service = call.patient_service
        self._file = file
        self._app = app
        self._grouping = Grouping(Per(per), file)

    def find_bad(self) -> Iterator[BadLine]:
        """Yield every bad line, without sending anything."""
        from loop.cli.chats import BadLine, Unusable, read_chats  # as above

        for entry in read_chats(self._file):
            if isinstance(entry, BadLine):
                yield entry
                continue
            try:
                list(self._grouping.portions(entry))
            except Unusable as reason:
                yield BadLine(entry.where, str(reason))

    def fill(self, user_id: str | None, ends: bool) -> Tally:
        """Send the file and return what became of it."""
        from loop.cli.filling import Filling  # as above

        self._install_if_missing()
        filling = Filling(self._service, self._app, user_id, ends)
        with _bar(self._file.stat().st_size) as (progress, task):
            self._pour(filling, progress, task)
            filling.finish()
        return filling.tally

    def wait(self, tally: Tally, timeout_seconds: float) -> Counter[str]:
        """Wait until every job is finished; return how many ended how, ``unfinished`` being those that did not."""
        waiting = deque(dict.fromkeys(tally.job_ids))
        states: Counter[str] = Counter()
        deadline = time.monotonic() + timeout_seconds
        with _counting(len(waiting)) as (progress, task):
            while waiting:
                job = self._service.get(route("jobs", waiting[0]))
                if job["state"] in _FINISHED:
                    states[job["state"]] += 1
                    waiting.popleft()
                    progress.update(task, advance=1, description="thinking")
                elif time.monotonic() > deadline:
                    states["unfinished"] = len(waiting)
                    break
                else:
                    progress.update(task, description=f"{job['state']} {job.get('reason') or ''}".strip())
                    time.sleep(_POLL_SECONDS)
        return states

    def _pour(self, filling: Filling, progress: Progress, task: TaskID) -> None:
        from loop.cli.chats import BadLine, Unusable, read_chats  # as above

        for entry in read_chats(self._file):
            if isinstance(entry, BadLine):
                filling.tally.bad.append(entry)
            else:
                self._tell_shape(entry.shape)
                try:
                    for portion in self._grouping.portions(entry):
                        filling.take(portion, entry.where)
                except Unusable as reason:
                    filling.tally.bad.append(BadLine(entry.where, str(reason)))
            progress.update(task, completed=entry.read_bytes)

    def _tell_shape(self, shape: str) -> None:
        if self.shape is None:
            self.shape = str(shape)
            remark(f"{self._file}: {self.shape}")

    def _install_if_missing(self) -> None:
        from loop.cli.service import Refused  # as above

        try:
            if self._service.get(route("apps", self._app))["installed"]:
                return
        except Refused as error:
            if error.status != 404:
                raise
        self._service.post("/apps", {"appId": self._app, "name": self._app})
        remark(f"App {self._app} is installed.")


@contextmanager
def _bar(size: int) -> Iterator[tuple[Progress, TaskID]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with _progress(*columns, TimeRemainingColumn()) as progress:
        yield progress, progress.add_task("sending", total=size or 1)


@contextmanager
def _counting(total: int) -> Iterator[tuple[Progress, TaskID]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f} of {task.total:.0f}"))
    with _progress(*columns, TimeElapsedColumn()) as progress:
        yield progress, progress.add_task("thinking", total=total)


def _progress(*columns: Any) -> Progress:
    terminal = progress_terminal()
    return Progress(*columns, console=terminal, disable=not terminal.is_terminal, transient=True)


def _summary(tally: Tally, states: Counter[str] | None) -> RenderableType:
    rows = [
        {"": "conversations", "ingested": tally.conversations, "skipped": tally.conversations_skipped},
        {"": "messages", "ingested": tally.messages, "skipped": tally.messages_skipped},
        {"": "bad lines", "ingested": "", "skipped": len(tally.bad)},
    ]
    parts = [table(rows, {name: name for name in rows[0]})]
    if states is not None:
        parts += [plain(""), plain("jobs: " + (", ".join(f"{n} {state}" for state, n in states.items()) or "none"))]
    return Group(*parts)


def _tell_undated(tally: Tally) -> None:
    if tally.undated and tally.messages:
        remark(f'{tally.undated} messages have no time in the file, so they count as said now: their "last year" too.')


def _tell_bad(bad: list[BadLine]) -> None:
    for one in bad[:_SHOWN_BAD_LINES]:
        remark(f"{one.where}: {one.reason}")
    if len(bad) > _SHOWN_BAD_LINES:
        remark(f"... and {len(bad) - _SHOWN_BAD_LINES} more; --json lists them all")
