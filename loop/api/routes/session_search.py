"""Searching recorded sessions, suggesting them, and linking them between projects."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.dependencies import AppAsked, CursorInQuery, LimitInQuery, ProjectInPath, Reads, Writes
from loop.api.schemas.session_search import (
    AskSessions,
    AskSuggestions,
    FoundSession,
    FoundSessions,
    LinkItem,
    LinkList,
    MakeLink,
    SuggestedSession,
    Suggestions,
)
from loop.api.schemas.wire import Success
from loop.api.writes import Done, answer
from shared.apps.queries import get_app
from shared.contracts.values import ID_PATTERN
from shared.sessions.queries import get_project
from shared.sessions.search.links import LinkedSession, link_session, unlink_session
from shared.sessions.search.queries import links_of
from shared.sessions.search.query import find_sessions
from shared.sessions.search.suggestions import past_sessions, suggest

router = APIRouter(prefix="/api/memory", tags=["Recorded sessions"])
_FOUND, _LINKS = "found-sessions", "links"
LinkInPath = Annotated[str, Path(alias="linkId", pattern=ID_PATTERN)]


@router.post("/sessions/search", response_model=FoundSessions, summary="Search all sessions of an app")
def search_sessions(desk: Reads, app_id: AppAsked, body: AskSessions) -> Response:
    """Find sessions and versions by what they say, the files they touched, topics, dates and marked parts."""
    return _search(desk, app_id, None, body)


@router.post("/projects/{projectId}/search", response_model=FoundSessions, summary="Search a project's sessions")
def search_project(desk: Reads, app_id: AppAsked, project_id: ProjectInPath, body: AskSessions) -> Response:
    """Find sessions and versions of a project, and those linked to it."""
    return _search(desk, app_id, project_id, body)


@router.post(
    "/projects/{projectId}/suggest", response_model=Suggestions, summary="Suggest sessions for the work at hand"
)
def suggest_sessions(desk: Reads, app_id: AppAsked, project_id: ProjectInPath, body: AskSuggestions) -> Response:
    """Say which sessions would help, in which form, within a token budget. Nothing is made."""
    situation = body.as_situation()
    with desk.read() as session:
        project = get_project(session, app_id, project_id)
        pasts = past_sessions(session, app_id, project, situation.text, situation.files)
    found = suggest(situation, pasts, desk.now())
    return answer(
        Suggestions(
            suggestions=[SuggestedSession.of(one) for one in found],
            suggested_tokens=sum(one.tokens for one in found),
            token_budget=situation.budget,
        )
    )


@router.get("/projects/{projectId}/links", response_model=LinkList, summary="List a project's links")
def list_links(
    desk: Reads, app_id: AppAsked, project_id: ProjectInPath, limit: LimitInQuery = 50, cursor: CursorInQuery = None
) -> LinkList:
    """List the sessions of other projects that this one may use, the oldest link first."""
    with desk.read() as session:
        project = get_project(session, app_id, project_id)
        found = [
            LinkedSession(one, source, recorded, project_id) for one, source, recorded in links_of(session, project.key)
        ]
    rows, following = cursors.slice_of(_LINKS, found, limit, cursor)
    return LinkList(links=[LinkItem.of(one) for one in rows], cursor=following)


@router.post("/projects/{projectId}/links", response_model=LinkItem, status_code=201, summary="Link a session")
def make_link(desk: Writes, app_id: AppAsked, project_id: ProjectInPath, body: MakeLink) -> Response:
    """Let this project use a session of another project of the same app."""

    def work(session: Session) -> Done:
        cause = desk.cause(body.reason)
        made = link_session(session, app_id, project_id, body.source_project, body.source_session, body.reason, cause)
        return Done(LinkItem.of(made), 201, about=app_id)

    return desk.write(work)


@router.delete("/links/{linkId}", response_model=Success, summary="Take a link away")
def remove_link(desk: Writes, app_id: AppAsked, link_id: LinkInPath) -> Response:
    """Take a link away; refused while a composition of the project uses the session."""

    def work(session: Session) -> Done:
        unlink_session(session, app_id, link_id, desk.cause("unlinked"))
        return Done(Success(), about=app_id)

    return desk.write(work)


def _search(desk: Reads, app_id: str, project_id: str | None, body: AskSessions) -> Response:
    offset = cursors.decode_number(_FOUND, body.cursor) or 0
    with desk.read() as session:
        get_app(session, app_id)
        project = None if project_id is None else get_project(session, app_id, project_id)
        hits, more = find_sessions(session, app_id, project, body.as_wanted(offset), desk.now())
        results = [FoundSession.of(one) for one in hits]
    following = cursors.encode(_FOUND, offset + body.limit) if more else None
    return answer(FoundSessions(results=results, cursor=following))
