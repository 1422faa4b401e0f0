"""``afterthought sessions``: composing contexts of several sessions, reading them, and saying who used them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, YesOption, command, confirm
from loop.cli.output import Columns, at, card, moment, plain, progress_terminal, table
from loop.cli.sessions import NeededProject, ProjectOption, group, memory
from shared.errors import Conflict, Invalid

CompositionArgument = Annotated[str, typer.Argument(metavar="COMPOSITION", help="The composition's id, or its name.")]
NoWaitOption = Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is there.")]
_POLL_SECONDS = 0.3
_COLUMNS: Columns = {
    "name": "name",
    "composition": "compositionId",
    "state": "state",
    "tokens": lambda row: f"{row['totalTokens']} of {row['tokenBudget']}",
    "sessions": lambda row: len(row["components"]),
    "uses": "uses",
    "made (UTC)": at("createdAt"),
    "why": "failure",
}
_COMPONENT_COLUMNS: Columns = {
    "session": "sessionId",
    "version": "versionId",
    "allocated": "allocation",
    "tokens": "tokenContribution",
    "left out": "leftOut",
    "stale": "stale",
}
_FORESEEN_COLUMNS: Columns = {
    "session": "sessionId",
    "as": lambda row: row["versionId"] or row["way"],
    "allocated": "allocation",
    "original": "originalTokens",
    "ratio": lambda row: (row["settings"] or {}).get("compactionRatio"),
    "stale": "stale",
    "why": "reason",
}


class Strategy(StrEnum):
    """How a budget is shared."""

    EQUAL = "equal"
    PROPORTIONAL = "proportional"
    RECENT_FIRST = "recent-first"


class Documents(StrEnum):
    """What is written."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    BOTH = "both"


class Shape(StrEnum):
    """How a composition is printed."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"


@command(group, "compose", "Compositions")
def compose(
    call: Invocation,
    app: AppArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it; also its folder's name.")],
    sessions: Annotated[
        list[str],
        typer.Argument(metavar="SESSION...", help="Sessions; SESSION=v002 or SESSION=original names a version."),
    ],
    project: ProjectOption = None,
    budget: Annotated[int, typer.Option(min=100, help="Most tokens it may take.")] = 16_000,
    strategy: Annotated[Strategy, typer.Option(help="How the budget is shared.")] = Strategy.EQUAL,
    tokens: Annotated[
        list[str] | None, typer.Option(help="SESSION=3000; once for each, instead of a strategy.")
    ] = None,
    documents: Annotated[Documents, typer.Option("--format", help="What is written.")] = Documents.BOTH,
    as_given: Annotated[
        bool, typer.Option("--as-given", help="Keep the order given; else the oldest comes first.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Who compresses where that is needed.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of one that has the name.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Only show who would get what.")] = False,
    no_wait: NoWaitOption = False,
) -> None:
    """Compose a context of several sessions within a token budget; versions it lacks are made first.

    It belongs to the project of the first session, unless another is named.
    """
    body = _components(sessions, tokens or [], strategy) | {
        "totalTokenBudget": budget,
        "outputFormat": documents.value,
        "order": "as-given" if as_given else "oldest-first",
    }
    body |= {} if model is None else {"model": model}
    path = memory("projects", project or _project_of(call, app, sessions[0]), "compositions")
    if preview:
        seen = call.service.post(f"{path}/preview", body | {"name": name}, appId=app)
        call.output.show(seen, lambda: _foreseen(seen))
        return
    made = call.service.post(path, body | {"name": name, "replace": replace}, appId=app)
    _finish(call, app, made, no_wait)


@command(group, "compose-again", "Compositions")
def compose_again(
    call: Invocation,
    app: AppArgument,
    composition: CompositionArgument,
    name: Annotated[str | None, typer.Option(help="Of the new one; unless given, it takes this one's place.")] = None,
    no_wait: NoWaitOption = False,
) -> None:
    """Compose the same over what there is now."""
    body = {} if name is None else {"name": name}
    made = call.service.post(memory("compositions", _id_of(call, app, composition), "again"), body, appId=app)
    _finish(call, app, made, no_wait)


@command(group, "compositions", "Compositions")
def list_compositions(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    state: Annotated[str | None, typer.Option(help="Only those: working, ready or failed.")] = None,
    session: Annotated[str | None, typer.Option(help="Only those with this session.")] = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """List a project's compositions, newest first."""
    path = memory("projects", project, "compositions")
    wanted = None if all_ else limit
    listed = call.service.listing(path, "compositions", wanted, appId=app, state=state, sessionId=session)
    found = list(listed)
    call.output.show(found, lambda: table(found, _COLUMNS, f"Project {project} has no compositions yet."))


@command(group, "composition", "Compositions")
def show_composition(
    call: Invocation,
    app: AppArgument,
    composition: CompositionArgument,
    content: Annotated[Shape | None, typer.Option("--content", help="Print what it says, in this form.")] = None,
) -> None:
    """Show what a composition is made of, or print what it says; that counts as a use."""
    path = memory("compositions", _id_of(call, app, composition))
    if content is not None:
        for piece in call.service.pieces(path, appId=app, format=content.value):
            typer.echo(piece, nl=False)
        return
    shown = call.service.get(path, appId=app)
    call.output.show(shown, lambda: _card(shown))


@command(group, "delete-composition", "Compositions")
def remove_composition(
    call: Invocation, app: AppArgument, composition: CompositionArgument, yes: YesOption = False
) -> None:
    """Remove a composition; its sessions and their versions stay."""
    identity = _id_of(call, app, composition)
    confirm(f"Remove composition {composition}?", yes)
    gone = call.service.delete(memory("compositions", identity), appId=app)
    call.output.done(gone, f"Composition {composition} is removed.")


@command(group, "used", "Compositions")
def use_composition(
    call: Invocation,
    app: AppArgument,
    composition: CompositionArgument,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session that began with it.")],
) -> None:
    """Say that a session began with a composition."""
    path = memory("compositions", _id_of(call, app, composition), "used")
    shown = call.service.post(path, {"sessionId": session}, appId=app)
    count = len(shown["usedInSessions"])
    call.output.done(shown, f"Composition {shown['name']} was used in {count} session{'s' if count != 1 else ''}.")


def _id_of(call: Invocation, app: str, composition: str) -> str:
    """Return a composition's id; a name is looked up in all projects. Raises: Invalid where it is not exactly one's."""
    try:
        return str(UUID(composition))
    except ValueError:
        named = list(_named(call, app, composition))
    if len(named) == 1:
        return named[0]
    if not named:
        raise Invalid(
            f"No composition of {app} is called {composition}; `afterthought sessions compositions` lists them."
        )
    raise Invalid(f"Several compositions are called {composition}; name one by its id: {', '.join(named)}.")


def _named(call: Invocation, app: str, name: str) -> Iterator[str]:
    for project in call.service.listing(memory("projects"), "projects", None, appId=app):
        path = memory("projects", project["projectId"], "compositions")
        for one in call.service.listing(path, "compositions", None, appId=app):
            if one["name"] == name:
                yield str(one["compositionId"])


def _project_of(call: Invocation, app: str, session: str) -> str:
    found = call.service.get(memory("sessions", session.partition("=")[0]), appId=app)
    return str(found["projectId"])


def _components(sessions: Sequence[str], tokens: Sequence[str], strategy: Strategy) -> dict[str, Any]:
    given = dict(_pair(one, "--tokens") for one in tokens)
    components: list[dict[str, Any]] = []
    for one in sessions:
        session, _, version = one.partition("=")
        component: dict[str, Any] = {"sessionId": session} | ({"versionId": version} if version else {})
        if tokens:
            component["allocation"] = _allocated(given, session)
        components.append(component)
    if given:
        raise Invalid(f"--tokens: {', '.join(given)} is not among the sessions.")
    return {"components": components, "strategy": "custom" if tokens else strategy.value}


def _allocated(given: dict[str, int], session: str) -> int:
    if session not in given:
        raise Invalid(f"--tokens: say how many {session} is to have as well.")
    return given.pop(session)


def _pair(written: str, option: str) -> tuple[str, int]:
    name, _, number = written.partition("=")
    if not name or not number.isdecimal():
        raise Invalid(f"{option}: write SESSION=NUMBER, as {name or 'SESSION'}=3000.")
    return name, int(number)


def _finish(call: Invocation, app: str, made: dict[str, Any], no_wait: bool) -> None:
    composition = made["composition"]
    if no_wait or call.output.as_json:
        said = f"Composition {composition['compositionId']} is being made by job {made['job']['jobId']}."
        call.output.done(made, said)
        return
    done = _follow(call, app, composition)
    call.output.show(done, lambda: _card(done))


def _follow(call: Invocation, app: str, composition: dict[str, Any]) -> dict[str, Any]:
    """Wait until a composition is whole, counting the versions it has. Raises: Conflict where it fails."""
    bars = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    terminal, path = progress_terminal(), memory("compositions", composition["compositionId"])
    with Progress(*bars, console=terminal, disable=not terminal.is_terminal, transient=True) as progress:
        bar = progress.add_task(f"composing {composition['name']}", total=len(composition["components"]) + 1)
        while composition["state"] == "working":
            there = sum(one["versionState"] in (None, "ready") for one in composition["components"])
            progress.update(bar, completed=there)
            time.sleep(_POLL_SECONDS)
            composition = call.patient_service.get(path, appId=app)
    if composition["state"] != "ready":
        raise Conflict(f"Composition {composition['name']} failed: {composition['failure']}")
    return composition


def _card(shown: dict[str, Any]) -> RenderableType:
    fields = card({
        "composition": shown["compositionId"],
        "name": shown["name"],
        "state": shown["state"],
        "why": shown["failure"],
        "tokens": f"{shown['totalTokens']} of {shown['tokenBudget']}",
        "messages": shown["totalMessages"],
        "made (UTC)": moment(shown["createdAt"]),
        "used": f"{shown['uses']} times, in sessions: {', '.join(shown['usedInSessions']) or 'none'}",
    })  # fmt: skip
    return Group(fields, plain(""), table(shown["components"], _COMPONENT_COLUMNS, "No sessions."))


def _foreseen(seen: dict[str, Any]) -> RenderableType:
    said = f"{seen['allocated']} of {seen['tokenBudget']} tokens; {seen['compressions']} versions would be made."
    return Group(table(seen["components"], _FORESEEN_COLUMNS), plain(said))
