"""``afterthought sessions``: registering recorded sessions, and looking at them and what is marked in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, YesOption, command, confirm, route
from loop.cli.output import Columns, at, card, complain, moment, plain, progress_terminal, remark, table

group = typer.Typer(
    help="Register recorded coding sessions, compress them into versions and compose contexts of them.",
    no_args_is_help=True,
)
SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
ProjectOption = Annotated[str | None, typer.Option("--project", help="The project's id.")]
NeededProject = Annotated[str, typer.Option("--project", help="The project's id.", show_default=False)]
MEDIA_TYPE = "application/x-ndjson"
_NOT_SEEN_THERE = {"denied", "no_such_file", "unreadable"}
"""Why a service that cannot read a path is sent the file instead."""
_PROJECT_COLUMNS: Columns = {
    "project": "projectId",
    "name": "displayName",
    "sessions": "sessions",
    "changed (UTC)": at("lastModified"),
    "registers by itself": lambda row: row["settings"]["autoRegisterNewSessions"],
    "folder": "sourceFolder",
}
_SESSION_COLUMNS: Columns = {
    "session": "sessionId",
    "project": "projectId",
    "from (UTC)": at("firstTimestamp"),
    "to (UTC)": at("lastTimestamp"),
    "tokens": "originalTokens",
    "messages": "originalMessages",
    "marked": "markers",
    "versions": "versions",
    "topics": lambda row: ", ".join(row["metadata"].get("primaryTopics", [])[:4]),
}
_KEEPIT_COLUMNS: Columns = {
    "marker": "markerId",
    "weight": lambda row: f"{row['weight']:.2f}",
    "written": lambda row: f"{row['writtenWeight']:.2f}",
    "survived in": "survivedIn",
    "summarised in": "summarizedIn",
    "content": lambda row: _short(row["content"]),
}
_SHOWN_CHARACTERS = 100


class Level(StrEnum):
    """How readily marked parts are given up, as options take it."""

    LIGHT = "light"
    MINIMAL = "minimal"
    """What compressions call light."""
    MODERATE = "moderate"
    AGGRESSIVE = "aggressive"


def memory(*parts: str | int) -> str:
    """Return the path of a route about recorded sessions."""
    return route("api", "memory", *parts)


@command(group, "projects", "Sessions")
def list_projects(call: Invocation, app: AppArgument, limit: LimitOption = 50, all_: AllOption = False) -> None:
    """List an app's projects, newest first."""
    found = list(call.service.listing(memory("projects"), "projects", None if all_ else limit, appId=app))
    call.output.show(found, lambda: table(found, _PROJECT_COLUMNS, f"{app} has no projects yet."))


@command(group, "open", "Sessions")
def open_project(
    call: Invocation,
    app: AppArgument,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder that was worked in.")],
    folder: Annotated[Path | None, typer.Option(help="Look through this folder of transcripts.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    auto: Annotated[bool, typer.Option("--auto", help="Register new sessions of the folder by themselves.")] = False,
) -> None:
    """Open a project for a working folder; registering a session does that as well."""
    body: dict[str, Any] = {"originalPath": path, "settings": {"autoRegisterNewSessions": auto}}
    body |= {} if name is None else {"displayName": name}
    body |= {} if folder is None else {"sourceFolder": str(folder.absolute())}
    project = call.service.post(memory("projects"), body, appId=app)
    call.output.done(project, f"Project {project['projectId']} is open.")


@command(group, "list", "Sessions")
def list_sessions(
    call: Invocation,
    app: AppArgument,
    project: ProjectOption = None,
    file: Annotated[str | None, typer.Option(help="Only those that touched this file.")] = None,
    marked: Annotated[bool | None, typer.Option("--marked/--unmarked", help="Only with, or without, markers.")] = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """List an app's sessions, those registered last first."""
    asked = {"appId": app, "projectId": project, "file": file, "marked": marked}
    found = list(call.service.listing(memory("sessions"), "sessions", None if all_ else limit, **asked))
    call.output.show(found, lambda: table(found, _SESSION_COLUMNS, f"{app} has no such sessions."))


@command(group, "show", "Sessions")
def show_session(call: Invocation, app: AppArgument, session: SessionArgument) -> None:
    """Show a session: where it is from, what was counted in it, and the files it touched most."""
    shown = call.service.get(memory("sessions", session), appId=app)
    call.output.show(shown, lambda: _session_card(shown))


@command(group, "register", "Sessions")
def register_sessions(
    call: Invocation,
    app: AppArgument,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="Transcripts, as recorded.")
    ],
    project: ProjectOption = None,
    upload: Annotated[bool, typer.Option("--upload", help="Send the files; else the service reads them.")] = False,
) -> None:
    """Register transcripts; each is copied, and its original never written. The file's name becomes the session's id.

    A service that cannot read the files is sent them. Leaves with status 1 if any was refused.
    """

    def register(file: Path) -> Any:
        path = memory("projects", project or _project_of(file), "sessions", file.stem)
        return _upload(call, path, file, app) if upload else _by_path_or_upload(call, path, file, app)

    _show_done(call, _each(files, register, "registering"), "registered")


@command(group, "sync", "Sessions")
def sync_session(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    file: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help="What was uploaded, longer.")] = None,
) -> None:
    """Take in what was added to a session since it was registered or synced."""
    path = memory("sessions", session, "sync")
    synced = call.service.post_long(path, appId=app) if file is None else _upload(call, path, file, app)
    call.output.done(synced, f"{session}: {synced['addedBytes']} bytes were added.")


@command(group, "scan", "Sessions")
def scan_project(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
) -> None:
    """Look through a project's folder until everything in it is registered and synced."""
    total: dict[str, Any] = {"registered": [], "synced": []}
    with _bar("looking through", None) as advance:
        while True:
            scan = call.service.post_long(memory("projects", project, "scan"), appId=app)
            total = scan | {name: total[name] + scan[name] for name in ("registered", "synced")}
            advance(len(scan["registered"]) + len(scan["synced"]))
            if not scan["left"] or not (scan["registered"] or scan["synced"]):
                break
    call.output.show(total, lambda: _scan_summary(total))


@command(group, "unregister", "Sessions")
def unregister_sessions(
    call: Invocation,
    app: AppArgument,
    sessions: Annotated[list[str], typer.Argument(metavar="SESSION...", help="The sessions' ids.")],
    yes: YesOption = False,
) -> None:
    """Take sessions out of the registry, with their versions. Originals stay where they are."""
    confirm(f"Remove {len(sessions)} sessions and their versions from {app}?", yes)
    answer = call.service.post(memory("sessions", "delete"), {"sessionIds": sessions}, appId=app)
    kept = [one for one in answer["sessions"] if not one["deleted"]]
    call.output.done(answer, f"{len(answer['sessions']) - len(kept)} sessions are unregistered.")
    for one in kept:
        complain(one["message"])
    if kept:
        raise typer.Exit(1)


@command(group, "keepits", "Marked parts")
def list_keepits(
    call: Invocation, app: AppArgument, session: SessionArgument, limit: LimitOption = 50, all_: AllOption = False
) -> None:
    """List what is marked in a session, and what is not well marked."""
    path = memory("sessions", session, "keepits")
    found = list(call.service.listing(path, "keepits", None if all_ else limit, appId=app))
    call.output.show(found, lambda: table(found, _KEEPIT_COLUMNS, f"Nothing is marked in {session}."))
    for problem in call.service.get(path, limit=1, appId=app)["problems"]:
        remark(f"{problem['written'] or 'a marker'} in {problem['messageUuid']}: {problem['reason']}")


@command(group, "weigh", "Marked parts")
def weigh_keepit(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    marker: Annotated[str, typer.Argument(metavar="MARKER", help="The marker's id.")],
    weight: Annotated[str, typer.Argument(help="As 0.80, a preset as IMPORTANT, or `written` to take it back.")],
) -> None:
    """Give a marked part another weight; the transcript stays as it is, and so do versions that are there."""
    item = call.service.put(memory("sessions", session, "keepits", marker), _weight(weight), appId=app)
    call.output.done(item, f"{marker} weighs {item['weight']:.2f}; {item['writtenWeight']:.2f} is written.")


@command(group, "preview", "Marked parts")
def preview_decay(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    ratio: Annotated[int, typer.Option(min=1, max=100, help="How far it is compressed, as 30 for 30:1.")] = 10,
    level: Annotated[Level, typer.Option(help="How readily marked parts are given up.")] = Level.MODERATE,
    distance: Annotated[int, typer.Option(min=0, help="How many sessions ago it was.")] = 1,
) -> None:
    """Show which marked parts a compression would keep word for word."""
    named = Level.LIGHT if level is Level.MINIMAL else level
    body = {"sessionId": session, "compressionRatio": ratio, "aggressiveness": named, "sessionDistance": distance}
    seen = call.service.post(memory("decay", "preview"), body, appId=app)
    columns: Columns = {"marker": "markerId", "weight": lambda row: f"{row['weight']:.2f}", "survives": "survives"}
    threshold = plain(f"What weighs {seen['threshold']:g} or more survives; 1.00 always does.")
    call.output.show(seen, lambda: Group(threshold, table(seen["markers"], columns, "Nothing is marked.")))


def _by_path_or_upload(call: Invocation, path: str, file: Path, app: str) -> Any:
    from loop.cli.service import Refused  # heavy, and not needed for --help

    try:
        return call.service.post_long(path, {"path": str(file.resolve())}, appId=app)
    except Refused as error:
        if error.code not in _NOT_SEEN_THERE:
            raise
    return _upload(call, path, file, app)


def _upload(call: Invocation, path: str, file: Path, app: str) -> Any:
    return call.service.upload(path, file, MEDIA_TYPE, appId=app)


def _each(files: list[Path], work: Callable[[Path], Any], what: str) -> list[tuple[Path, Any, str | None]]:
    """Do something with each file under a progress bar; return the answers, and why some were refused."""
    from loop.cli.service import Refused  # heavy, and not needed for --help

    done: list[tuple[Path, Any, str | None]] = []
    with _bar(what, len(files)) as advance:
        for file in files:
            try:
                done.append((file, work(file), None))
            except Refused as error:
                done.append((file, None, error.message))
            advance(1)
    return done


def _show_done(call: Invocation, done: list[tuple[Path, Any, str | None]], what: str) -> None:
    answers = [answer for _, answer, _ in done if answer is not None]
    refused = [{"file": str(file), "reason": reason} for file, _, reason in done if reason is not None]
    call.output.show(
        {"sessions": answers, "refused": refused}, lambda: table(answers, _SESSION_COLUMNS, f"None {what}.")
    )
    for one in refused:
        complain(f"{one['file']}: {one['reason']}")
    if refused:
        raise typer.Exit(1)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    terminal = progress_terminal()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f}"), TimeElapsedColumn())
    with Progress(*columns, console=terminal, disable=not terminal.is_terminal, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda steps: progress.advance(task, steps)


def _project_of(file: Path) -> str:
    """Return the project of a file: its folder, where a coding agent keeps it, else the folder that was worked in."""
    from shared.sessions.registry.projects import sanitise  # what reads transcripts is not needed for --help
    from shared.sessions.transcripts.contents import read_records  # as above
    from shared.sessions.transcripts.records import Record  # as above

    folder = file.resolve().parent
    if folder.name.startswith("-"):
        return sanitise(folder.name)
    worked_in = (found.word("cwd") for found in read_records(file) if isinstance(found, Record))
    return sanitise(next(filter(None, worked_in), str(folder)))


def _weight(text: str) -> dict[str, Any]:
    if text == "written":
        return {"weight": None}
    try:
        return {"weight": float(text)}
    except ValueError:
        return {"preset": text.upper()}


def _session_card(shown: dict[str, Any]) -> RenderableType:
    metadata = shown["metadata"]
    lines = card(
        {
            "session": shown["sessionId"],
            "project": shown["projectId"],
            "original": shown["originalFile"] or "uploaded",
            "from (UTC)": moment(shown["firstTimestamp"]),
            "to (UTC)": moment(shown["lastTimestamp"]),
            "synced (UTC)": moment(shown["syncedAt"]),
            "bytes": shown["sizeBytes"],
            "tokens": shown["originalTokens"],
            "messages": shown["originalMessages"],
            "branch": metadata.get("gitBranch"),
            "recorded by": metadata.get("claudeVersion"),
            "models": metadata.get("models"),
            "topics": metadata.get("primaryTopics"),
            "counted": shown["counts"],
            "marked": shown["markers"],
            "versions": shown["versions"],
        }
    )
    files: Columns = {"file": "path", "times": "touches", "changed": "changed"}
    return Group(lines, plain(""), table(shown["files"], files, "It touched no files."))


def _scan_summary(scan: dict[str, Any]) -> RenderableType:
    said = f"{len(scan['registered'])} registered, {len(scan['synced'])} synced, {scan['unchanged']} unchanged."
    refused: Columns = {"refused": "file", "why": "reason"}
    return Group(plain(said), table(scan["refused"], refused, "Nothing was refused."))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
