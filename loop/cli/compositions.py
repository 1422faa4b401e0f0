"""``afterthought sessions``: composing contexts of several sessions, reading them, and saying who used them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, Invocation, NoWaitOption, YesOption, command, confirm
from loop.cli.jobs import POLL_SECONDS
from loop.cli.output import Columns, at, card, plain, progress, table
from loop.cli.routes import given, memory_route
from loop.cli.sessions import NeededProject, ProjectOption, group
from loop.cli.versions import ContentOption, print_document
from shared.base.choices import AllocationStrategy, OutputFormat
from shared.base.errors import Conflict, Invalid

CompositionArgument = Annotated[str, typer.Argument(metavar="COMPOSITION", help="The composition's id, or its name.")]
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
_CARD: Columns = {
    "composition": "compositionId",
    "name": "name",
    "state": "state",
    "why": "failure",
    "tokens": lambda row: f"{row['totalTokens']} of {row['tokenBudget']}",
    "messages": "totalMessages",
    "made (UTC)": at("createdAt"),
    "used": lambda row: f"{row['uses']} times, in sessions: {', '.join(row['usedInSessions']) or 'none'}",
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
    "ratio": "settings.compactionRatio",
    "stale": "stale",
    "why": "reason",
}


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
    strategy: Annotated[AllocationStrategy, typer.Option(help="How the budget is shared.")] = AllocationStrategy.EQUAL,
    tokens: Annotated[
        list[str] | None, typer.Option(help="SESSION=3000; once for each, instead of a strategy.")
    ] = None,
    documents: Annotated[OutputFormat, typer.Option("--format", help="What is written.")] = OutputFormat.BOTH,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Order them by age; else they stand in the order given.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Who compresses where that is needed.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of one that has the name.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Only show who would get what.")] = False,
    no_wait: NoWaitOption = False,
) -> None:
    """Compose a context of several sessions within a token budget; versions it lacks are made first.

    It belongs to the project of the first session, unless another is named.
    """
    body = given({"name": name, "model": model}) | {
        "components": _components(sessions, tokens or []),
        "strategy": AllocationStrategy.CUSTOM if tokens else strategy,
        "totalTokenBudget": budget,
        "outputFormat": documents,
        "order": "oldest-first" if oldest_first else "as-given",
    }
    if project is None:
        first = sessions[0].partition("=")[0]
        project = str(call.service.get(memory_route("sessions", first), appId=app)["projectId"])
    path = memory_route("projects", project, "compositions")
    if preview:
        seen = call.service.post(f"{path}/preview", body, appId=app)
        counts = f"{seen['allocated']} of {seen['tokenBudget']} tokens; {seen['compressions']} versions would be made."
        call.show(seen, lambda seen: Group(table(seen["components"], _FORESEEN_COLUMNS), plain(counts)))
        return
    _finish(call, app, call.service.post(path, body | {"replace": replace}, appId=app), no_wait)


@command(group, "compose-again", "Compositions")
def compose_again(
    call: Invocation,
    app: AppArgument,
    composition: CompositionArgument,
    name: Annotated[str | None, typer.Option(help="Of the new one; unless given, it takes this one's place.")] = None,
    no_wait: NoWaitOption = False,
) -> None:
    """Compose the same over what there is now."""
    path = _composition_route(call, app, composition, "again")
    _finish(call, app, call.service.post(path, given({"name": name}), appId=app), no_wait)


@command(group, "compositions", "Compositions", limit=50)
def list_compositions(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    state: Annotated[str | None, typer.Option(help="Only those: working, ready or failed.")] = None,
    session: Annotated[str | None, typer.Option(help="Only those with this session.")] = None,
) -> None:
    """List a project's compositions, newest first."""
    wanted = {"appId": app, "state": state, "sessionId": session}
    path, nothing = memory_route("projects", project, "compositions"), f"Project {project} has no compositions yet."
    call.show_listing(path, "compositions", _COLUMNS, nothing, **wanted)


@command(group, "composition", "Compositions")
def show_composition(
    call: Invocation, app: AppArgument, composition: CompositionArgument, content: ContentOption = None
) -> None:
    """Show what a composition is made of, or print what it says; that counts as a use."""
    path = _composition_route(call, app, composition)
    if content is not None:
        print_document(call, path, app, content)
    else:
        call.show(call.service.get(path, appId=app), _composition)


@command(group, "delete-composition", "Compositions")
def remove_composition(
    call: Invocation, app: AppArgument, composition: CompositionArgument, yes: YesOption = False
) -> None:
    """Remove a composition; its sessions and their versions stay."""
    path = _composition_route(call, app, composition)
    confirm(f"Remove composition {composition}?", yes)
    call.done(call.service.delete(path, appId=app), f"Composition {composition} is removed.")


@command(group, "used", "Compositions")
def use_composition(
    call: Invocation,
    app: AppArgument,
    composition: CompositionArgument,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session that began with it.")],
) -> None:
    """Say that a session began with a composition."""
    path = _composition_route(call, app, composition, "used")
    shown = call.service.post(path, {"sessionId": session}, appId=app)
    count = len(shown["usedInSessions"])
    call.done(shown, f"Composition {shown['name']} was used in {count} session{'s' if count != 1 else ''}.")


def _composition_route(call: Invocation, app: str, composition: str, *further: str) -> str:
    """Return the route of a composition; a name is looked up in all projects. Raises: Invalid unless it is one's."""
    try:
        return memory_route("compositions", str(UUID(composition)), *further)
    except ValueError:
        projects = call.service.listing(memory_route("projects"), "projects", None, appId=app)
        paths = [memory_route("projects", project["projectId"], "compositions") for project in projects]
        listed = (one for path in paths for one in call.service.listing(path, "compositions", None, appId=app))
        named = [str(one["compositionId"]) for one in listed if one["name"] == composition]
    if not named:
        raise Invalid(
            f"No composition of {app} is called {composition}; `afterthought sessions compositions` lists them."
        )
    if len(named) > 1:
        raise Invalid(f"Several compositions are called {composition}; name one by its id: {', '.join(named)}.")
    return memory_route("compositions", named[0], *further)


def _components(sessions: Sequence[str], tokens: Sequence[str]) -> list[dict[str, Any]]:
    """Return what is to be composed; where tokens are given, each session needs its own. Raises: Invalid."""
    allocations: dict[str, int] = {}
    for written in tokens:
        name, _, number = written.partition("=")
        if not name or not number.isdecimal():
            raise Invalid(f"--tokens: write SESSION=NUMBER, as {name or 'SESSION'}=3000.")
        allocations[name] = int(number)
    components = []
    for written in sessions:
        session, _, version = written.partition("=")
        if tokens and session not in allocations:
            raise Invalid(f"--tokens: say how many {session} is to have as well.")
        allocation = allocations.pop(session, None)
        components.append(given({"sessionId": session, "versionId": version or None, "allocation": allocation}))
    if allocations:
        raise Invalid(f"--tokens: {', '.join(allocations)} is not among the sessions.")
    return components


def _finish(call: Invocation, app: str, asked: dict[str, Any], no_wait: bool) -> None:
    """Show a composition once it is whole, counting the versions it has. Raises: Conflict where it fails."""
    composition = asked["composition"]
    if no_wait or call.as_json:
        composition_id, job_id = composition["compositionId"], asked["job"]["jobId"]
        call.done(asked, f"Composition {composition_id} is being made by job {job_id}.")
        return
    path = memory_route("compositions", composition["compositionId"])
    with progress(f"composing {composition['name']}", len(composition["components"]) + 1) as update:
        while composition["state"] == "working":
            update(completed=sum(one["versionState"] in (None, "ready") for one in composition["components"]))
            time.sleep(POLL_SECONDS)
            composition = call.patient_service.get(path, appId=app)
    if composition["state"] != "ready":
        raise Conflict(f"Composition {composition['name']} failed: {composition['failure']}")
    call.show(composition, _composition)


def _composition(shown: dict[str, Any]) -> RenderableType:
    return Group(card(shown, _CARD), plain(""), table(shown["components"], _COMPONENT_COLUMNS, "No sessions."))
