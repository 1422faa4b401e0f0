"""``afterthought sessions``: registering recorded sessions, what is marked in them, and a project as one file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.progress import DownloadColumn, TextColumn

from loop.cli.invocation import AppArgument, Invocation, YesOption, command, confirm
from loop.cli.output import Columns, at, card, complain, moment, plain, progress, remark, rounded, table
from loop.cli.routes import given, in_commands, memory_route, route
from shared.base.choices import DecayLevel
from shared.base.errors import Configuration, Invalid

group = typer.Typer(
    help="Register recorded coding sessions, compress them into versions and compose contexts of them.",
    no_args_is_help=True,
)
SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
ProjectOption = Annotated[str | None, typer.Option("--project", help="The project's id.")]
NeededProject = Annotated[str, typer.Option("--project", help="The project's id.", show_default=False)]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would come of it.")]
MEDIA_TYPE = "application/x-ndjson"
_NOT_SEEN_THERE = {"denied", "no_such_file", "unreadable"}
"""Why a service that cannot read a path is sent the file instead."""
_SHOWN_CHARACTERS = 100
_COUNT = TextColumn("{task.completed:.0f}")
_PROJECT_COLUMNS: Columns = {
    "project": "projectId",
    "name": "displayName",
    "sessions": "sessions",
    "changed (UTC)": at("lastModified"),
    "registers by itself": "settings.autoRegisterNewSessions",
    "folder": "sourceFolder",
}
_CHANGE_COLUMNS: Columns = {
    "when (UTC)": at("at"), "who": "actor", "why": "reason", "before": "before", "after": "after",
}  # fmt: skip
_FIGURES: Columns = {
    "session": "sessionId",
    "project": "projectId",
    "from (UTC)": at("firstTimestamp"),
    "to (UTC)": at("lastTimestamp"),
    "tokens": "originalTokens",
    "messages": "originalMessages",
}
_COLUMNS: Columns = {
    **_FIGURES,
    "marked": "markers",
    "versions": "versions",
    "topics": lambda row: row["metadata"].get("primaryTopics", [])[:4],
}
_CARD: Columns = {
    "session": "sessionId",
    "project": "projectId",
    "original": lambda row: row["originalFile"] or "uploaded",
    "from (UTC)": at("firstTimestamp"),
    "to (UTC)": at("lastTimestamp"),
    "synced (UTC)": at("syncedAt"),
    "bytes": "sizeBytes",
    "tokens": "originalTokens",
    "messages": "originalMessages",
    "branch": "metadata.gitBranch",
    "recorded by": "metadata.claudeVersion",
    "models": "metadata.models",
    "topics": "metadata.primaryTopics",
    "counted": "counts",
    "marked": "markers",
    "last used": at("usedAt"),
    "in the store": lambda row: _storage(row["storage"]),
}
_PROJECT_CARD: Columns = {
    "project": "projectId",
    "name": "displayName",
    "worked in": "originalPath",
    "sessions": "sessions",
    "in the store": lambda row: _storage(row["storage"]),
    "changed (UTC)": at("lastModified"),
    "settings": "settings",
    "folder": "sourceFolder",
    "not taken in": lambda row: [f"{one['file']}: {one['reason']}" for one in row["refusedFiles"]],
}
_FORESEEN_COLUMNS: Columns = {
    **_FIGURES,
    "bytes": "sizeBytes",
    "marked": "markerWeights",
    "not well marked": lambda row: len(row["markerProblems"]) or None,
}
_PASSED_OVER = {
    "notJson": "times what is not JSON",
    "cutOff": "records cut off",
    "notAnObject": "times what is no JSON object",
    "notUtf8": "records with bytes that are not UTF-8, each read as \N{REPLACEMENT CHARACTER}",
    "tooLong": "lines too long",
    "tooDeep": "records nested too deep",
    "zeroByteRuns": "runs of zero bytes",
    "repeatedRecords": "records that stand there already",
}
_SURVIVAL_COLUMNS: Columns = {"marker": "markerId", "weight": rounded("weight"), "survives": "survives"}
_KEEPIT_COLUMNS: Columns = {
    "marker": "markerId",
    "weight": rounded("weight"),
    "written": rounded("writtenWeight"),
    "survived in": "survivedIn",
    "summarised in": "summarizedIn",
    "content": lambda row: short(row["content"]),
    "before": lambda row: _line(row["before"]),
    "after": lambda row: _line(row["after"]),
}


@command(group, "projects", "Sessions", limit=50)
def list_projects(call: Invocation, app: AppArgument) -> None:
    """List an app's projects, newest first."""
    path, nothing = memory_route("projects"), f"{app} has no projects yet."
    call.show_listing(path, "projects", _PROJECT_COLUMNS, nothing, appId=app)


@command(group, "project", "Sessions")
def show_project(call: Invocation, app: AppArgument, project: NeededProject) -> None:
    """Show a project, what it takes in the store, and the latest of its sessions."""
    shown = call.service.get(memory_route("projects", project), appId=app)
    sessions = table(shown["sessionList"]["sessions"], _COLUMNS, "It has no sessions yet.")
    call.show(shown, lambda shown: Group(card(shown, _PROJECT_CARD), plain(""), sessions))


@command(group, "open", "Sessions")
def open_project(
    call: Invocation,
    app: AppArgument,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder that was worked in.")],
    folder: Annotated[Path | None, typer.Option(help="Look through this folder of transcripts.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    auto: Annotated[
        bool | None,
        typer.Option("--auto/--no-auto", help="Whether new sessions of the folder register by themselves."),
    ] = None,
) -> None:
    """Open a project for a working folder; registering a session does that as well."""
    body = {"originalPath": path, "settings": given({"autoRegisterNewSessions": auto})}
    body |= given({"displayName": name, "sourceFolder": folder and str(folder.absolute())})
    project = call.service.post(memory_route("projects"), body, appId=app)
    call.done(project, f"Project {project['projectId']} is open.")


@command(group, "settings", "Sessions")
def show_settings(
    call: Invocation,
    app: AppArgument,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="What to change, named as shown; an empty value takes it back."),
    ] = None,
    project: Annotated[str | None, typer.Option("--project", help="Of this project; else of all the app's.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Who changed what.")] = False,
) -> None:
    """Show or change what holds for an app's sessions, or for those of a project that differs."""
    path = route("apps", app, "session-settings") if project is None else memory_route("projects", project)
    scope = {} if project is None else {"appId": app}
    if history:
        call.show_listing(f"{path}/changes", "changes", _CHANGE_COLUMNS, "Nothing was changed.", **scope)
        return
    body: dict[str, Any] = {}
    for one in changes or []:
        _assign(body, one)
    if project is not None:
        body = {"settings": body}
    found = call.service.patch(path, body, **scope) if changes else call.service.get(path, **scope)
    found = found if project is None else found["settings"]
    call.show_card(found, {name: name for name in _leaves(found)})


@command(group, "list", "Sessions", limit=50)
def list_sessions(
    call: Invocation,
    app: AppArgument,
    project: ProjectOption = None,
    file: Annotated[str | None, typer.Option(help="Only those that touched this file.")] = None,
    marked: Annotated[bool | None, typer.Option("--marked/--unmarked", help="Only with, or without, markers.")] = None,
) -> None:
    """List an app's sessions, those registered last first."""
    wanted = {"appId": app, "projectId": project, "file": file, "marked": marked}
    call.show_listing(memory_route("sessions"), "sessions", _COLUMNS, f"{app} has no such sessions.", **wanted)


@command(group, "show", "Sessions")
def show_session(call: Invocation, app: AppArgument, session: SessionArgument) -> None:
    """Show a session: where it is from, what was counted in it, and the files it touched most."""
    shown = call.service.get(memory_route("sessions", session), appId=app)
    files = table(shown["files"], {"file": "path", "times": "touches", "changed": "changed"}, "It touched no files.")
    call.show(shown, lambda shown: Group(card(shown, _CARD), plain(""), files))


@command(group, "read", "Sessions", limit=50)
def read_original(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    begin: Annotated[str | None, typer.Option("--from", help="Begin with this message, by its uuid.")] = None,
) -> None:
    """Read what was said in a session, message by message, with who said it and what is marked. It counts as a use."""
    path = memory_route("sessions", session, "messages")
    said = call.service.listing(path, "messages", call.limit, appId=app, messageUuid=begin)
    call.show(list(said), lambda messages: Group(*map(_message, messages)))


@command(group, "register", "Sessions")
def register_sessions(
    call: Invocation,
    app: AppArgument,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="Transcripts, as recorded.")
    ],
    project: ProjectOption = None,
    upload: Annotated[bool, typer.Option("--upload", help="Send the files; else the service reads them.")] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Register transcripts; each is copied, and its original never written. The file's name becomes the session's id.

    A service that cannot read the files is sent them. Leaves with status 1 if any was refused.
    """
    from loop.cli.service import Refused  # heavy, and not needed for --help

    registered: list[Any] = []
    refused: list[dict[str, str]] = []
    with progress("registering", len(files), _COUNT) as update:
        for file in files:
            path = memory_route("projects", project or _project_of(file), "sessions", file.stem)
            try:
                registered.append(_register(call, path, file, app, upload, dry_run))
            except Refused as error:
                refused.append({"file": str(file), "reason": error.message})
            update(advance=1)
    answer = {"sessions": registered, "refused": refused}
    columns = _FORESEEN_COLUMNS if dry_run else _COLUMNS
    call.show(
        answer,
        lambda answer: Group(
            table(answer["sessions"], columns, "None registered."),
            *(told for one in answer["sessions"] if (told := _passed_over(one)) is not None),
        ),
    )
    for one in refused:
        complain(f"{one['file']}: {one['reason']}")
    if refused:
        raise typer.Exit(1)


@command(group, "sync", "Sessions")
def sync_session(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    file: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help="What was uploaded, longer.")] = None,
) -> None:
    """Take in what was added to a session since it was registered or synced."""
    path = memory_route("sessions", session, "sync")
    if file is None:
        synced = call.service.post_long(path, appId=app)
    else:
        synced = call.service.upload(path, file, MEDIA_TYPE, appId=app)
    passed_over = _passed_over(synced["session"])
    call.done(synced, f"{session}: {synced['addedBytes']} bytes were added.{f' {passed_over}' if passed_over else ''}")


@command(group, "scan", "Sessions")
def scan_project(call: Invocation, app: AppArgument, project: NeededProject, dry_run: DryRunOption = False) -> None:
    """Look through a project's folder until everything in it is registered and synced."""
    path, lists = memory_route("projects", project, "scan"), ["registered", "synced"]
    lists += ["foreseen", "refused"] if dry_run else []
    total: dict[str, Any] = {name: [] for name in lists} | {"unchanged": 0, "cursor": None}
    with progress("looking through", None, _COUNT) as update:
        while True:
            wanted = {"dryRun": True, "cursor": total["cursor"]} if dry_run else {}
            scan = call.service.post_long(path, appId=app, **wanted)
            unchanged = scan["unchanged"] + (total["unchanged"] if dry_run else 0)
            total = scan | {name: total[name] + scan[name] for name in lists} | {"unchanged": unchanged}
            update(advance=len(scan["registered"]) + len(scan["synced"]))
            is_idle = not scan["left"] or not (scan["registered"] or scan["synced"])
            if scan["cursor"] is None if dry_run else is_idle:
                break
    if dry_run:
        view = table(total["foreseen"], _FORESEEN_COLUMNS, "Everything in the folder is registered.")
        call.show(total, lambda total: Group(view, plain(""), _scanned(total, "would be ")))
    else:
        call.show(total, _scanned)


@command(group, "unregister", "Sessions")
def unregister_sessions(
    call: Invocation,
    app: AppArgument,
    sessions: Annotated[list[str], typer.Argument(metavar="SESSION...", help="The sessions' ids.")],
    yes: YesOption = False,
) -> None:
    """Take sessions out of the registry, with their versions. Originals stay where they are."""
    confirm(f"Remove {len(sessions)} sessions and their versions from {app}?", yes)
    answer = call.service.post(memory_route("sessions", "delete"), {"sessionIds": sessions}, appId=app)
    kept = [one for one in answer["sessions"] if not one["deleted"]]
    call.done(answer, f"{len(answer['sessions']) - len(kept)} sessions are unregistered.")
    for one in kept:
        complain(in_commands(one["message"]))
    if kept:
        raise typer.Exit(1)


@command(group, "keepits", "Marked parts", limit=50)
def list_keepits(call: Invocation, app: AppArgument, session: SessionArgument) -> None:
    """List what is marked in a session, and what is not well marked."""
    path = memory_route("sessions", session, "keepits")
    call.show_listing(path, "keepits", _KEEPIT_COLUMNS, f"Nothing is marked in {session}.", appId=app)
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
    try:
        body: dict[str, Any] = {"weight": None if weight == "written" else float(weight)}
    except ValueError:
        body = {"preset": weight.upper()}
    item = call.service.put(memory_route("sessions", session, "keepits", marker), body, appId=app)
    call.done(item, f"{marker} weighs {item['weight']:.2f}; {item['writtenWeight']:.2f} is written.")


@command(group, "preview", "Marked parts")
def preview_decay(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    ratio: Annotated[int, typer.Option(min=1, max=100, help="How far it is compressed, as 30 for 30:1.")] = 10,
    level: Annotated[DecayLevel, typer.Option(help="How readily marked parts are given up.")] = DecayLevel.MODERATE,
    distance: Annotated[int, typer.Option(min=0, help="How many sessions ago it was.")] = 1,
) -> None:
    """Show which marked parts a compression would keep word for word."""
    body = {"sessionId": session, "compressionRatio": ratio, "aggressiveness": level, "sessionDistance": distance}
    seen = call.service.post(memory_route("decay", "preview"), body, appId=app)
    always = f"{seen['pinnedWeight']:.2f} always does"
    threshold = plain(f"What weighs {seen['threshold']:g} or more survives; {always}.")
    call.show(seen, lambda seen: Group(threshold, table(seen["markers"], _SURVIVAL_COLUMNS, "Nothing is marked.")))


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


def _scanned(total: dict[str, Any], would: str = "") -> RenderableType:
    counts = (
        f"{len(total['registered'])} {would}registered, {len(total['synced'])} synced, {total['unchanged']} unchanged."
    )
    refused = table(total["refused"], {"refused": "file", "why": "reason"}, "Nothing was refused.")
    return Group(plain(counts), refused)


def _passed_over(row: dict[str, Any]) -> RenderableType | None:
    """Return what of a transcript was passed over, and how often, where something was."""
    found = [f"{row['counts'][name]} {what}" for name, what in _PASSED_OVER.items() if row["counts"].get(name)]
    return plain(f"{row['sessionId']}: passed over {', '.join(found)}.") if found else None


def _register(call: Invocation, path: str, file: Path, app: str, upload: bool, dry_run: bool) -> Any:
    from loop.cli.service import Refused  # heavy, and not needed for --help

    wanted = {"appId": app, "dryRun": dry_run or None}
    if not upload:
        try:
            return call.service.post_long(path, {"path": str(file.resolve())}, **wanted)
        except Refused as error:
            if error.code not in _NOT_SEEN_THERE:
                raise
    return call.service.upload(path, file, MEDIA_TYPE, **wanted)


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


def _assign(body: dict[str, Any], written: str) -> None:
    """Set what ``outer.inner=value`` says in a body. Raises: Invalid."""
    name, given_value, value = written.partition("=")
    *groups, last = name.split(".")
    if not given_value or not last:
        raise Invalid(f"{written!r}: write NAME=VALUE, as keepitDecay.maxSessionDistance=5.")
    for group_name in groups:
        body = body.setdefault(group_name, {})
        if not isinstance(body, dict):
            raise Invalid(f"{written!r}: {group_name} was given a value of its own.")
    try:
        body[last] = json.loads(value or "null")
    except ValueError:
        body[last] = value


def _leaves(value: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield the names of all values, as ``outer.inner``."""
    for name, one in value.items():
        if isinstance(one, dict):
            yield from _leaves(one, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _message(one: dict[str, Any]) -> RenderableType:
    who = " ".join(filter(None, (f"#{one['position']} {one['speaker']}", one["tool"], moment(one["at"]))))
    marked = [f"[{mark['markerId']} {mark['weight']:.2f}: {mark['start']}-{mark['end']}]" for mark in one["markers"]]
    return plain("\n".join((who, *marked, one["text"], "")))


def _storage(taken: dict[str, Any]) -> str:
    versions = f"{taken['versions']} versions of {taken['versionBytes']}"
    composed = f" of {taken['compositionBytes']}" if taken["compositionBytes"] is not None else ""
    return f"{taken['originalBytes']} bytes of originals, {versions}, {taken['compositions']} compositions{composed}"


def _line(text: str) -> str:
    return " ".join(text.split())


def short(text: str) -> str:
    """Return a text as one line, its end cut off where it is long."""
    line = _line(text)
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
