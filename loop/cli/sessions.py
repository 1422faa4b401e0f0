"""``afterthought sessions``: recorded sessions, what is marked in them, finding and linking them, moving projects."""

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

from loop.cli.output import card, columns, complain, moment, plain, progress, remark, table
from loop.cli.table import APP, PAGE, Answer, Command, Invocation, needed_option
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from shared.base.choices import DecayLevel
from shared.base.errors import Configuration, Invalid

SESSION = arg("session_id", "SESSION", "The session's id.")
PROJECT = needed_option("project_id", "The project's id.", "--project")
OF_PROJECT = opt("project_id", "The project's id.", "--project")
AppArgument = Annotated[str, APP.info]
SessionArgument = Annotated[str, SESSION.info]
NeededProject = Annotated[str, PROJECT.info]
ProjectOption = Annotated[str | None, OF_PROJECT.info]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would come of it.")]
_NOT_SEEN_THERE = {"denied", "no_such_file", "unreadable"}
"""Why a service that cannot read a path is sent the file instead."""
_SHOWN_CHARACTERS = 100
_COUNT = TextColumn("{task.completed:.0f}")
_FIGURES = (
    "session sessionId | project projectId | from (UTC) @firstTimestamp | to (UTC) @lastTimestamp"
    " | tokens originalTokens | messages originalMessages"
)
_COLUMNS = columns(
    f"{_FIGURES} | marked markers | versions | topics *",
    **{"*": lambda row: row["metadata"].get("primaryTopics", [])[:4]},
)
_FORESEEN = columns(
    f"{_FIGURES} | bytes sizeBytes | marked markerWeights | not well marked *",
    **{"*": lambda row: len(row["markerProblems"]) or None},
)
_CARD = columns(
    "session sessionId | project projectId | original original | from (UTC) @firstTimestamp | to (UTC) @lastTimestamp"
    " | synced (UTC) @syncedAt | bytes sizeBytes | tokens originalTokens | messages originalMessages | branch"
    " metadata.gitBranch | recorded by metadata.claudeVersion | models metadata.models | topics metadata.primaryTopics"
    " | counted counts | marked markers | last used @usedAt | in the store *",
    **{"*": lambda row: _storage(row["storage"]), "original": lambda row: row["originalFile"] or "uploaded"},
)
_PROJECT_CARD = columns(
    "project projectId | name displayName | worked in originalPath | sessions | in the store * | changed (UTC)"
    " @lastModified | settings | folder sourceFolder | not taken in refused",
    **{
        "*": lambda row: _storage(row["storage"]),
        "refused": lambda row: [f"{one['file']}: {one['reason']}" for one in row["refusedFiles"]],
    },
)
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
_KEEPITS = columns(
    "marker markerId | weight weight:.2f | written writtenWeight:.2f | survived in survivedIn"
    " | summarised in summarizedIn | content * | before before | after after",
    **{
        "*": lambda row: short(row["content"]),
        "before": lambda row: one_line(row["before"]),
        "after": lambda row: one_line(row["after"]),
    },
)
_CHANGES = columns("when (UTC) @at | who actor | why reason | before | after")


def show_settings(
    call: Invocation,
    app_id: AppArgument,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="What to change, named as shown; an empty value takes it back."),
    ] = None,
    project_id: Annotated[str | None, typer.Option("--project", help="Of this project; else of all the app's.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Who changed what.")] = False,
) -> None:
    """Show or change what holds for an app's sessions, or for those of a project that differs."""
    client = call.client
    if history:
        if project_id is None:
            listed = call.entries(client.iter_session_settings_changes, app_id=app_id)
        else:
            listed = call.entries(client.iter_project_changes, project_id, app_id=app_id)
        call.show(listed, lambda rows: table(rows, _CHANGES, "Nothing was changed."))
        return
    body: Answer = {}
    for one in changes or []:
        _assign(body, one)
    if project_id is not None:
        if changes:
            found = call.invoke(client.change_project, project_id, settings=body, app_id=app_id)["settings"]
        else:
            found = call.invoke(client.show_project, project_id, app_id=app_id)["settings"]
    elif changes:
        names = {"keepitDecay": "keepit_decay"}
        found = call.invoke(client.change_session_settings, app_id=app_id,
                         **{names.get(name, name): value for name, value in body.items()})  # fmt: skip
    else:
        found = call.invoke(client.show_session_settings, app_id=app_id)
    call.show_card(found, {name: name for name in _leaves(found)})


def register_sessions(
    call: Invocation,
    app_id: AppArgument,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="Transcripts, as recorded.")
    ],
    project_id: ProjectOption = None,
    upload: Annotated[bool, typer.Option("--upload", help="Send the files; else the service reads them.")] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Register transcripts; each is copied, and its original never written. The file's name becomes the session's id.

    A service that cannot read the files is sent them. Leaves with status 1 if any was refused.
    """
    from afterthought_client import ApiError  # heavy, and not needed for --help

    registered: list[Answer] = []
    refused: list[dict[str, str]] = []
    with progress("registering", len(files), _COUNT) as update:
        for file in files:
            project = project_id or _project_of(file)
            try:
                registered.append(_register(call, project, file, app_id, upload, dry_run))
            except ApiError as error:
                refused.append({"file": str(file), "reason": call.reason(error)})
            update(advance=1)
    answer = {"sessions": registered, "refused": refused}
    shown = _FORESEEN if dry_run else _COLUMNS
    over = [plain(note) for one in registered if (note := _passed_over(one))]
    call.show(answer, lambda answer: Group(table(answer["sessions"], shown, "None registered."), *over))
    for one in refused:
        complain(f"{one['file']}: {one['reason']}")
    if refused:
        raise typer.Exit(1)


def _register(call: Invocation, project: str, file: Path, app_id: str, upload: bool, dry_run: bool) -> Any:
    from afterthought_client import ApiError  # heavy, and not needed for --help

    client, dry = call.slow_client, dry_run or None
    if not upload:
        try:
            return call.invoke(
                client.register_session, project, file.stem, path=str(file.resolve()), dry_run=dry, app_id=app_id
            )
        except ApiError as error:
            if error.code not in _NOT_SEEN_THERE:
                raise
    with file.open("rb") as content:
        return call.invoke(client.register_session, project, file.stem, content=content, dry_run=dry, app_id=app_id)


def sync_session(
    call: Invocation,
    app_id: AppArgument,
    session_id: SessionArgument,
    file: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help="What was uploaded, longer.")] = None,
) -> None:
    """Take in what was added to a session since it was registered or synced."""
    with ExitStack() as opened:
        content = None if file is None else opened.enter_context(file.open("rb"))
        synced = call.invoke(call.slow_client.sync_session, session_id, content, app_id=app_id)
    passed_over = _passed_over(synced["session"])
    over = f" {passed_over}" if passed_over else ""
    call.done(synced, f"{session_id}: {synced['addedBytes']} bytes were added.{over}")


def scan_project(
    call: Invocation, app_id: AppArgument, project_id: NeededProject, dry_run: DryRunOption = False
) -> None:
    """Look through a project's folder until everything in it is registered and synced."""
    lists = ["registered", "synced", *(["foreseen", "refused"] if dry_run else [])]
    total: Answer = {name: [] for name in lists} | {"unchanged": 0, "cursor": None}
    with progress("looking through", None, _COUNT) as update:
        while True:
            further = {"dry_run": True, "cursor": total["cursor"]} if dry_run else {}
            scan = call.invoke(call.slow_client.scan_project, project_id, app_id=app_id, **further)
            unchanged = scan["unchanged"] + (total["unchanged"] if dry_run else 0)
            total = scan | {name: total[name] + scan[name] for name in lists} | {"unchanged": unchanged}
            update(advance=len(scan["registered"]) + len(scan["synced"]))
            is_idle = not scan["left"] or not (scan["registered"] or scan["synced"])
            if scan["cursor"] is None if dry_run else is_idle:
                break
    if dry_run:
        view = table(total["foreseen"], _FORESEEN, "Everything in the folder is registered.")
        call.show(total, lambda total: Group(view, plain(""), _scanned(total, "would be ")))
    else:
        call.show(total, _scanned)


def _unregistered(call: Invocation, answer: Answer) -> None:
    kept = [one for one in answer["sessions"] if not one["deleted"]]
    for one in kept:
        complain(call.in_commands(one["message"], one.get("details", {})))
    if kept:
        raise typer.Exit(1)


def list_keepits(call: Invocation, app_id: AppArgument, session_id: SessionArgument) -> None:
    """List what is marked in a session, and what is not well marked."""
    found: list[Answer] = []
    cursor = None
    while call.limit is None or len(found) < call.limit:
        most = PAGE if call.limit is None else min(call.limit - len(found), PAGE)
        page = call.invoke(call.client.list_keepits, session_id, limit=most, cursor=cursor, app_id=app_id)
        found += page["keepits"]
        if (cursor := page["cursor"]) is None:
            break
    call.show(found, lambda rows: table(rows, _KEEPITS, f"Nothing is marked in {session_id}."))
    for problem in page["problems"]:
        remark(f"{problem['written'] or 'a marker'} in {problem['messageUuid']}: {problem['reason']}")


def _weighed(given: dict[str, Any]) -> dict[str, Any]:
    weight = given.pop("weight")
    try:
        return given | {"weight": None if weight == "written" else float(weight)}
    except ValueError:
        return given | {"preset": weight.upper()}


def _survivors(seen: Answer) -> RenderableType:
    always = f"{seen['pinnedWeight']:.2f} always does"
    threshold = plain(f"What weighs {seen['threshold']:g} or more survives; {always}.")
    shown = columns("marker markerId | weight weight:.2f | survives")
    return Group(threshold, table(seen["markers"], shown, "Nothing is marked."))


def export_project(
    call: Invocation,
    app_id: AppArgument,
    project_id: NeededProject,
    file: Annotated[Path, typer.Option("-o", "--output", help="Where to; it must not be there yet.")],
) -> None:
    """Write a project with its sessions, versions and compositions into one file."""
    pieces = call.slow_client.export_project_in_pieces(project_id, app_id=app_id)
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
    call.done({"file": str(file), "bytes": written}, f"{project_id} is in {file}, readable by you only.")


def import_project(
    call: Invocation,
    app_id: AppArgument,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `sessions export` wrote.")],
    project_id: Annotated[str | None, typer.Option("--as", help="Another id for the project.")] = None,
) -> None:
    """Take in a project that was exported; it is checked first, and nothing that is there is written over."""
    with file.open("rb") as content:
        call.show_card(call.invoke(call.slow_client.import_project, content, project_id=project_id, app_id=app_id))


def _scanned(total: Answer, would: str = "") -> RenderableType:
    done = (f"{len(total[name])} {would if name == 'registered' else ''}{name}" for name in ("registered", "synced"))
    refused = table(total["refused"], columns("refused file | why reason"), "Nothing was refused.")
    return Group(plain(f"{', '.join(done)}, {total['unchanged']} unchanged."), refused)


def _passed_over(row: Answer) -> str:
    """Return what of a transcript was passed over, and how often, where something was."""
    found = [f"{row['counts'][name]} {what}" for name, what in _PASSED_OVER.items() if row["counts"].get(name)]
    return f"{row['sessionId']}: passed over {', '.join(found)}." if found else ""


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


def _assign(body: Answer, written: str) -> None:
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


def _leaves(value: Answer, above: str = "") -> Iterator[str]:
    """Yield the names of all values, as ``outer.inner``."""
    for name, one in value.items():
        if isinstance(one, dict):
            yield from _leaves(one, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _message(one: Answer) -> RenderableType:
    who = " ".join(filter(None, (f"#{one['position']} {one['speaker']}", one["tool"], moment(one["at"]))))
    marked = [f"[{mark['markerId']} {mark['weight']:.2f}: {mark['start']}-{mark['end']}]" for mark in one["markers"]]
    return plain("\n".join((who, *marked, one["text"], "")))


def _storage(taken: Answer) -> str:
    versions = f"{taken['versions']} versions of {taken['versionBytes']}"
    composed = f" of {taken['compositionBytes']}" if taken["compositionBytes"] is not None else ""
    return f"{taken['originalBytes']} bytes of originals, {versions}, {taken['compositions']} compositions{composed}"


def one_line(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


def short(text: str) -> str:
    """Return a text as one line, its end cut off where it is long."""
    line = one_line(text)
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"


def _project(shown: Answer) -> RenderableType:
    sessions = table(shown["sessionList"]["sessions"], _COLUMNS, "It has no sessions yet.")
    return Group(card(shown, _PROJECT_CARD), plain(""), sessions)


def _session(shown: Answer) -> RenderableType:
    files = table(shown["files"], columns("file path | times touches | changed"), "It touched no files.")
    return Group(card(shown, _CARD), plain(""), files)


def _opened(given: dict[str, Any]) -> dict[str, Any]:
    auto, folder = given.pop("auto", None), given.pop("folder", None)
    given |= {"settings": {} if auto is None else {"autoRegisterNewSessions": auto}}
    return given | ({} if folder is None else {"source_folder": str(folder.absolute())})


COMMANDS = (
    Command(
        name="sessions projects", operation="list_projects", part="Sessions", limit=50, arguments=(APP,),
        help="List an app's projects, newest first.", nothing="{app_id} has no projects yet.",
        columns=columns("project projectId | name displayName | sessions | changed (UTC) @lastModified"
                        " | registers by itself settings.autoRegisterNewSessions | folder sourceFolder"),
    ),
    Command(
        name="sessions project", operation="show_project", part="Sessions", arguments=(APP, PROJECT), view=_project,
        help="Show a project, what it takes in the store, and the latest of its sessions.",
    ),
    Command(
        name="sessions open", operation="open_project", part="Sessions", prepare=_opened,
        help="Open a project for a working folder; registering a session does that as well.",
        arguments=(
            APP, arg("original_path", "PATH", "The folder that was worked in."),
            opt("folder", "Look through this folder of transcripts.", kind=Path),
            opt("display_name", "What to call it.", "--name"),
            opt("auto", "Whether new sessions of the folder register by themselves.", "--auto/--no-auto", kind=bool),
        ),
        done="Project {answer[projectId]} is open.",
    ),
    Command(
        name="sessions settings", operation="show_session_settings", part="Sessions", limit=None, run=show_settings,
        also=dict.fromkeys(("change_session_settings", "change_project", "list_project_changes"), ""),
    ),
    Command(
        name="sessions list", operation="list_sessions", part="Sessions", limit=50, columns=_COLUMNS,
        help="List an app's sessions, those registered last first.", nothing="{app_id} has no such sessions.",
        arguments=(APP, OF_PROJECT, opt("file", "Only those that touched this file."),
                   opt("marked", "Only with, or without, markers.", "--marked/--unmarked", kind=bool)),
    ),
    Command(
        name="sessions show", operation="show_session", part="Sessions", arguments=(APP, SESSION), view=_session,
        help="Show a session: where it is from, what was counted in it, and the files it touched most.",
    ),
    Command(
        name="sessions read", operation="read_original", part="Sessions", limit=50,
        help="Read what was said in a session, message by message, with who said it and what is marked. It counts as a "
             "use.",
        arguments=(APP, SESSION, opt("message_uuid", "Begin with this message, by its uuid.", "--from")),
        rows=lambda messages: Group(*map(_message, messages)),
    ),
    Command(name="sessions register", operation="register_session", part="Sessions", run=register_sessions),
    Command(name="sessions sync", operation="sync_session", part="Sessions", run=sync_session),
    Command(name="sessions scan", operation="scan_project", part="Sessions", run=scan_project),
    Command(
        name="sessions unregister", operation="delete_sessions", part="Sessions", after=_unregistered,
        help="Take sessions out of the registry, with their versions. Originals stay where they are.",
        arguments=(APP, arg("session_ids", "SESSION...", "The sessions' ids.", list[str])),
        question=lambda given: f"Remove {len(given['session_ids'])} sessions and their versions from "
                               f"{given['app_id']}?",
        done=lambda answer, _: f"{sum(one['deleted'] for one in answer['sessions'])} sessions are unregistered.",
    ),
    Command(name="sessions keepits", operation="list_keepits", part="Marked parts", limit=50, run=list_keepits),
    Command(
        name="sessions weigh", operation="weigh_keepit", part="Marked parts", prepare=_weighed,
        help="Give a marked part another weight; the transcript stays as it is, and so do versions that are there.",
        arguments=(APP, SESSION, arg("marker_id", "MARKER", "The marker's id."),
                   arg("weight", "WEIGHT", "As 0.80, a preset as IMPORTANT, or `written` to take it back.")),
        done="{marker_id} weighs {answer[weight]:.2f}; {answer[writtenWeight]:.2f} is written.",
    ),
    Command(
        name="sessions preview", operation="preview_decay", part="Marked parts", view=_survivors,
        help="Show which marked parts a compression would keep word for word.",
        arguments=(
            APP, SESSION,
            opt("compression_ratio", "How far it is compressed, as 30 for 30:1.", "--ratio", kind=int, default=10,
                min=1, max=100),
            opt("aggressiveness", "How readily marked parts are given up.", "--level", kind=DecayLevel,
                default=DecayLevel.MODERATE),
            opt("session_distance", "How many sessions ago it was.", "--distance", kind=int, default=1, min=0),
        ),
    ),
    Command(name="sessions export", operation="export_project", part="Moving projects", run=export_project),
    Command(name="sessions import", operation="import_project", part="Moving projects", run=import_project),
)  # fmt: skip
