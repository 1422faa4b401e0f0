"""``afterthought sessions``: finding recorded sessions, linking them, and what a project's sessions teach."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from loop.cli.invocation import AppArgument, Invocation, LimitOption, command
from loop.cli.jobs import follow
from loop.cli.output import Columns, at, rounded, table
from loop.cli.routes import given, memory_route
from loop.cli.sessions import NeededProject, ProjectOption, SessionArgument, group
from shared.base.choices import SemanticVerdict

FilesOption = Annotated[list[str] | None, typer.Option("--file", help="A file it touched; may be given again.")]
TopicsOption = Annotated[list[str] | None, typer.Option("--topic", help="What it is about; may be given again.")]
_FOUND_COLUMNS: Columns = {
    "session": "sessionId",
    "version": lambda row: row["versionId"] or "original",
    "project": "projectId",
    "to (UTC)": at("lastTimestamp"),
    "score": rounded("score"),
    "found": lambda row: " ".join(row["snippet"]["text"].split()) if row["snippet"] else row["matchedFiles"][:3],
}
_SUGGESTED_COLUMNS: Columns = {
    "session": "sessionId",
    "as": lambda row: row["versionId"] or "a version yet to be made",
    "relevance": rounded("relevanceScore"),
    "tokens": "suggestedTokens",
    "files": lambda row: row["matchedFiles"][:3],
    "topics": lambda row: row["matchedTopics"][:3],
}
_LINK_COLUMNS: Columns = {
    "link": "linkId",
    "session": "sourceSession",
    "of project": "sourceProject",
    "why": "reason",
    "since (UTC)": at("linkedAt"),
}
MemoryIdArgument = Annotated[str, typer.Argument(metavar="MEMORY", help="The semantic memory's id.")]
_LEARNT_COLUMNS: Columns = {
    "memory": "id",
    "type": "type",
    "content": "content",
    "confidence": rounded("confidence"),
    "verdict": "verdict",
    "sessions": lambda row: len({source["sessionId"] for source in row["sources"]}),
    "by": "agent",
}


@command(group, "search", "Finding")
def search_sessions(
    call: Invocation,
    app: AppArgument,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="Words to look for.")] = None,
    project: ProjectOption = None,
    file: FilesOption = None,
    topic: TopicsOption = None,
    since: Annotated[datetime | None, typer.Option(help="Only sessions that went on then or later (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only sessions that had begun then (UTC).")] = None,
    weight: Annotated[float | None, typer.Option(min=0, max=1, help="Only with a marked part this heavy.")] = None,
    limit: LimitOption = 20,
) -> None:
    """Find sessions and versions by their words, files, topics, dates and marked parts."""
    dates = given({"start": since and f"{since.isoformat()}Z", "end": until and f"{until.isoformat()}Z"})
    wanted = {"text": text or None, "files": file or None, "topics": topic or None, "dateRange": dates or None}
    body = given(wanted) | {"limit": min(limit, 200)}
    if weight is not None:
        body["keepitWeight"] = {"min": weight}
    path = memory_route("sessions", "search") if project is None else memory_route("projects", project, "search")
    found = call.service.post(path, body, appId=app)
    call.show(found, lambda found: table(found["results"], _FOUND_COLUMNS, "Nothing was found."))


@command(group, "suggest", "Finding")
def suggest_sessions(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    text: Annotated[str | None, typer.Option(help="What is to be done.")] = None,
    folder: Annotated[str | None, typer.Option(help="The working folder.")] = None,
    file: FilesOption = None,
    topic: TopicsOption = None,
    budget: Annotated[int, typer.Option(min=100, help="Tokens that the suggestions may take together.")] = 16_000,
) -> None:
    """Say which sessions would help, in which form, within a budget."""
    body = {"workingDir": folder, "files": file or [], "topics": topic or [], "text": text, "tokenBudget": budget}
    found = call.service.post(memory_route("projects", project, "suggest"), body, appId=app)
    call.show(found, lambda found: table(found["suggestions"], _SUGGESTED_COLUMNS, "No session would help."))


@command(group, "links", "Finding")
def list_links(call: Invocation, app: AppArgument, project: NeededProject) -> None:
    """List the sessions of other projects that a project may use."""
    path, nothing = memory_route("projects", project, "links"), f"{project} has no links."
    call.show_listing(path, "links", _LINK_COLUMNS, nothing, appId=app)


@command(group, "link", "Finding")
def add_link(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    session: SessionArgument,
    source: Annotated[str, typer.Option("--from", help="The project that the session belongs to.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept.")] = "linked by hand",
) -> None:
    """Let a project use a session of another one."""
    body = {"sourceProject": source, "sourceSession": session, "reason": reason}
    link = call.service.post(memory_route("projects", project, "links"), body, appId=app)
    call.done(link, f"{session} is linked to {project} as {link['linkId']}.")


@command(group, "unlink", "Finding")
def remove_link(
    call: Invocation, app: AppArgument, link: Annotated[str, typer.Argument(metavar="LINK", help="The link's id.")]
) -> None:
    """Take a link away."""
    call.done(call.service.delete(memory_route("links", link), appId=app), f"{link} is gone.")


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
    call.show_table(found, _LEARNT_COLUMNS, f"Nothing was learnt from {project} yet.")


@command(group, "confirm", "Learning")
def confirm_memory(call: Invocation, app: AppArgument, semantic: MemoryIdArgument) -> None:
    """Say that a semantic memory holds; it stays whatever becomes of its sessions."""
    _judge(call, app, semantic, SemanticVerdict.CONFIRMED)


@command(group, "reject", "Learning")
def reject_memory(call: Invocation, app: AppArgument, semantic: MemoryIdArgument) -> None:
    """Say that a semantic memory does not hold; it is not proposed again."""
    _judge(call, app, semantic, SemanticVerdict.REJECTED)


def _judge(call: Invocation, app: str, memory_id: str, verdict: SemanticVerdict) -> None:
    judged = call.service.patch(memory_route("semantic", memory_id), {"verdict": verdict.value}, appId=app)
    call.done(judged, f"{memory_id} is {verdict}.")
