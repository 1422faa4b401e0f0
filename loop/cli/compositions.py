"""``afterthought sessions``: finding, linking and learning from recorded sessions, and composing contexts of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import or_
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType

from loop.cli.operations import POLL_SECONDS, follow
from loop.cli.output import card, columns, plain, progress, table
from loop.cli.sessions import OF_PROJECT, PROJECT, AppArgument, NeededProject, ProjectOption, one_line
from loop.cli.table import APP, Answer, Command, Invocation, given, needed_option
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from loop.cli.versions import ContentOption, NoWaitOption, print_document
from shared.base.choices import AllocationStrategy, OutputFormat, SemanticVerdict
from shared.base.errors import Conflict, Invalid

_COMPOSITION = arg("composition_id", "COMPOSITION", "The composition's id, or its name.")
_RESOLVED = replace(_COMPOSITION, resolve=lambda call, app_id, written: _composition_id(call, app_id, written))
_CompositionArgument = Annotated[str, _COMPOSITION.info]
_LINK = arg("link_id", "LINK", "The link's id.")
_LEARNT_ONE = arg("semantic_id", "MEMORY", "The semantic memory's id.")
_FILES = opt("files", "A file it touched; may be given again.", "--file", kind=list[str])
_TOPICS = opt("topics", "What it is about; may be given again.", "--topic", kind=list[str])
_LIMIT = opt("limit", "Most entries to show.", "--limit", kind=int, default=50, min=1)
_COMPOSITIONS = columns(
    "name | composition compositionId | state | tokens * | sessions sessions | uses | made (UTC) @createdAt"
    " | why failure",
    **{
        "*": lambda row: f"{row['totalTokens']} of {row['tokenBudget']}",
        "sessions": lambda row: len(row["components"]),
    },
)
_COMPOSITION_CARD = columns(
    "composition compositionId | name | state | why failure | tokens * | messages totalMessages | made (UTC) @createdAt"
    " | used used",
    **{
        "*": lambda row: f"{row['totalTokens']} of {row['tokenBudget']}",
        "used": lambda row: f"{row['uses']} times, in sessions: {', '.join(row['usedInSessions']) or 'none'}",
    },
)
_COMPONENTS = columns(
    "session sessionId | version versionId | allocated allocation | tokens tokenContribution | left out leftOut | stale"
)
_FORESEEN = columns(
    "session sessionId | as * | allocated allocation | original originalTokens | ratio settings.compactionRatio | stale"
    " | why reason",
    **{"*": lambda row: row["versionId"] or row["way"]},
)
_FOUND = columns(
    "session sessionId | version version | project projectId | to (UTC) @lastTimestamp | score score:.2f | found *",
    **{
        "*": lambda row: one_line(row["snippet"]["text"]) if row["snippet"] else row["matchedFiles"][:3],
        "version": lambda row: row["versionId"] or "original",
    },
)
_SUGGESTED = columns(
    "session sessionId | as * | relevance relevanceScore:.2f | tokens suggestedTokens | files files | topics topics",
    **{
        "*": lambda row: row["versionId"] or "a version yet to be made",
        "files": lambda row: row["matchedFiles"][:3],
        "topics": lambda row: row["matchedTopics"][:3],
    },
)
_LEARNT = columns(
    "memory id | type | content | confidence confidence:.2f | verdict | sessions * | by agent",
    **{"*": lambda row: len({source["sessionId"] for source in row["sources"]})},
)


def compose(
    call: Invocation,
    app_id: AppArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it; also its folder's name.")],
    sessions: Annotated[
        list[str],
        typer.Argument(metavar="SESSION...", help="Sessions; SESSION=v002 or SESSION=original names a version."),
    ],
    project_id: ProjectOption = None,
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
    if project_id is None:
        first = sessions[0].partition("=")[0]
        project_id = str(call.invoke(call.client.show_session, first, app_id=app_id)["projectId"])
    request: dict[str, Any] = {
        "components": _components(sessions, tokens or []),
        "total_token_budget": budget,
        "name": name,
        "strategy": AllocationStrategy.CUSTOM if tokens else strategy,
        "output_format": documents,
        "order": "oldest-first" if oldest_first else "as-given",
        "app_id": app_id,
        **given(model=model),
    }
    if preview:
        seen = call.invoke(call.client.preview_composition, project_id, **request)
        counts = f"{seen['allocated']} of {seen['tokenBudget']} tokens; {seen['compressions']} versions would be made."
        call.show(seen, lambda seen: Group(table(seen["components"], _FORESEEN), plain(counts)))
        return
    _finish(call, app_id, call.invoke(call.client.make_composition, project_id, replace=replace, **request), no_wait)


def compose_again(
    call: Invocation,
    app_id: AppArgument,
    composition_id: _CompositionArgument,
    name: Annotated[str | None, typer.Option(help="Of the new one; unless given, it takes this one's place.")] = None,
    no_wait: NoWaitOption = False,
) -> None:
    """Compose the same over what there is now."""
    known = _composition_id(call, app_id, composition_id)
    _finish(call, app_id, call.invoke(call.client.compose_again, known, app_id=app_id, **given(name=name)), no_wait)


def show_composition(
    call: Invocation, app_id: AppArgument, composition_id: _CompositionArgument, content: ContentOption = None
) -> None:
    """Show what a composition is made of, or print what it says; that counts as a use."""
    known = _composition_id(call, app_id, composition_id)
    if content is not None:
        print_document(call.invoke(call.client.show_composition_text, known, content, app_id=app_id))
    else:
        call.show(call.invoke(call.client.show_composition, known, app_id=app_id), _composition)


def _composition_id(call: Invocation, app_id: str, written: str) -> str:
    """Return the id of a composition; a name is looked up in all projects. Raises: Invalid unless it is one's."""
    with suppress(ValueError):
        return str(UUID(written))
    client = call.client
    listed = (
        one
        for project in client.iter_projects(app_id=app_id)
        for one in client.iter_compositions(project.project_id, app_id=app_id)
    )
    named = [str(one.composition_id) for one in listed if one.name == written]
    if not named:
        raise Invalid(
            f"No composition of {app_id} is called {written}; `afterthought sessions compositions` lists them."
        )
    if len(named) > 1:
        raise Invalid(f"Several compositions are called {written}; name one by its id: {', '.join(named)}.")
    return named[0]


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
        components.append(given(sessionId=session, versionId=version or None, allocation=allocation))
    if allocations:
        raise Invalid(f"--tokens: {', '.join(allocations)} is not among the sessions.")
    return components


def _finish(call: Invocation, app_id: str, requested: Answer, no_wait: bool) -> None:
    """Show a composition once it is whole, counting the versions it has. Raises: Conflict where it fails."""
    composition = requested["composition"]
    if no_wait or call.as_json:
        composition_id, job_id = composition["compositionId"], requested["job"]["jobId"]
        call.done(requested, f"Composition {composition_id} is being made by job {job_id}.")
        return
    with progress(f"composing {composition['name']}", len(composition["components"]) + 1) as update:
        while composition["state"] == "working":
            update(completed=sum(one["versionState"] in (None, "ready") for one in composition["components"]))
            time.sleep(POLL_SECONDS)
            composition = call.invoke(call.patient_client.show_composition, composition["compositionId"], app_id=app_id)
    if composition["state"] != "ready":
        raise Conflict(f"Composition {composition['name']} failed: {composition['failure']}")
    call.show(composition, _composition)


def _used(shown: Answer, _: dict[str, Any]) -> str:
    count = len(shown["usedInSessions"])
    return f"Composition {shown['name']} was used in {count} session{'s' if count != 1 else ''}."


def _composition(shown: Answer) -> RenderableType:
    return Group(card(shown, _COMPOSITION_CARD), plain(""), table(shown["components"], _COMPONENTS, "No sessions."))


def _search(given: dict[str, Any]) -> dict[str, Any]:
    days = {
        new: f"{given.pop(old).isoformat()}Z" for old, new in (("since", "start"), ("until", "end")) if old in given
    }
    weight = given.pop("weight", None)
    # The service gives no more at once, and this is one request.
    given |= {"limit": min(given["limit"], 200)} | ({"date_range": days} if days else {})
    given |= {} if weight is None else {"keepit_weight": {"min": weight}}
    return {name: value for name, value in given.items() if value not in ("", [])}


def learn(
    call: Invocation,
    app_id: AppArgument,
    project_id: NeededProject,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Ask for it and come back at once.")] = False,
) -> None:
    """Look for patterns, decisions, preferences and facts in a project's sessions."""
    requested = call.invoke(call.client.learn_from_project, project_id, app_id=app_id)
    job_id = requested["job"]["jobId"]
    if no_wait or call.as_json:
        call.done(requested, f"Job {job_id} is asked for.")
        return
    follow(call, app_id, job_id, f"learning from {project_id}")
    call.limit = 50
    learnt = call.entries(call.client.iter_semantic_memories, project_id, app_id=app_id)
    call.show(learnt, lambda rows: table(rows, _LEARNT, f"Nothing was learnt from {project_id} yet."))


COMMANDS = (
    Command(name="sessions compose", operation="make_composition", also={"preview_composition": "--preview"},
            part="Compositions", run=compose),
    Command(name="sessions compose-again", operation="compose_again", part="Compositions", run=compose_again),
    Command(
        name="sessions compositions", operation="list_compositions", part="Compositions", limit=50,
        help="List a project's compositions, newest first.", nothing="Project {project_id} has no compositions yet.",
        arguments=(APP, PROJECT, opt("state", "Only those: working, ready or failed."),
                   opt("session_id", "Only those with this session.", "--session")),
        columns=_COMPOSITIONS,
    ),
    Command(name="sessions composition", operation="show_composition", part="Compositions", run=show_composition),
    Command(
        name="sessions delete-composition", operation="remove_composition", part="Compositions",
        help="Remove a composition; its sessions and their versions stay.", arguments=(APP, _RESOLVED),
        question="Remove composition {composition_id}?", done="Composition {composition_id} is removed.",
    ),
    Command(
        name="sessions used", operation="use_composition", part="Compositions",
        help="Say that a session began with a composition.",
        arguments=(APP, _RESOLVED, arg("session_id", "SESSION", "The session that began with it.")),
        done=_used,
    ),
    Command(
        name="sessions search", operation="search_sessions", instead=("project_id", "search_project"), part="Finding",
        help="Find sessions and versions by their words, files, topics, dates and marked parts.", prepare=_search,
        arguments=(
            APP, arg("text", "TEXT", "Words to look for.", str | None, default=None), OF_PROJECT, _FILES, _TOPICS,
            opt("since", "Only sessions that went on then or later (UTC).", kind=datetime),
            opt("until", "Only sessions that had begun then (UTC).", kind=datetime),
            opt("weight", "Only with a marked part this heavy.", kind=float, min=0, max=1),
            opt("limit", "Most entries to show.", "--limit", kind=int, default=20, min=1),
        ),
        view=lambda found: table(found["results"], _FOUND, "Nothing was found."),
    ),
    Command(
        name="sessions suggest", operation="suggest_sessions", part="Finding",
        help="Say which sessions would help, in which form, within a budget.",
        arguments=(
            APP, PROJECT, opt("text", "What is to be done."), opt("working_dir", "The working folder.", "--folder"),
            _FILES, _TOPICS, opt("token_budget", "Tokens that the suggestions may take together.", "--budget", kind=int,
                                 default=16_000, min=100),
        ),
        view=lambda found: table(found["suggestions"], _SUGGESTED, "No session would help."),
    ),
    Command(
        name="sessions links", operation="list_links", part="Finding", arguments=(APP, PROJECT),
        help="List the sessions of other projects that a project may use.", nothing="{project_id} has no links.",
        columns=columns("link linkId | session sourceSession | of project sourceProject | why reason | since (UTC)"
                        " @linkedAt"),
    ),
    Command(
        name="sessions link", operation="make_link", part="Finding",
        help="Let a project use a session of another one.",
        arguments=(APP, PROJECT, arg("source_session", "SESSION", "The session's id."),
                   needed_option("source_project", "The project that the session belongs to.", "--from"),
                   opt("reason", "Why; it is kept.", default="linked by hand")),
        done="{source_session} is linked to {project_id} as {answer[linkId]}.",
    ),
    Command(name="sessions unlink", operation="remove_link", part="Finding", help="Take a link away.",
            arguments=(APP, _LINK), done="{link_id} is gone."),
    Command(name="sessions learn", operation="learn_from_project", part="Learning", run=learn),
    Command(
        name="sessions learnt", operation="list_semantic_memories", part="Learning", columns=_LEARNT,
        help="List what a project's sessions taught, newest first.",
        nothing="Nothing was learnt from {project_id} yet.",
        arguments=(APP, PROJECT, opt("verdict", "Only those judged so.", kind=SemanticVerdict), _LIMIT),
    ),
    *(
        Command(
            name=f"sessions {name}", operation="judge_semantic_memory", part="Learning", help=text,
            arguments=(APP, _LEARNT_ONE), done=f"{{semantic_id}} is {verdict}.",
            prepare=partial(or_, {"verdict": verdict}),
        )
        for name, verdict, text in (
            ("confirm", SemanticVerdict.CONFIRMED,
             "Say that a semantic memory holds; it stays whatever becomes of its sessions."),
            ("reject", SemanticVerdict.REJECTED,
             "Say that a semantic memory does not hold; it is not proposed again."),
        )
    ),
)  # fmt: skip
