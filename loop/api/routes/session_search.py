"""Searching recorded sessions, suggesting them, and linking them between projects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.dependencies import PageOf50, ProjectInPath, Reads, SessionsAppId, Writes, as_write
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.schema import From, RequestModel, ResponseModel, Success
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app
from shared.base.choices import Aggressiveness
from shared.contracts.values import FILE_ID_PATTERN, ID_PATTERN, Words
from shared.sessions.compose.compositions import ComponentRequest
from shared.sessions.compose.plan import AUTO, ORIGINAL, ComponentForm
from shared.sessions.compress.settings import CompressionMode, CompressionSettings
from shared.sessions.models import SessionVersion, version_id
from shared.sessions.queries import get_project
from shared.sessions.search.queries import LinkedSession, link_session, links_of, unlink_session
from shared.sessions.search.query import (
    SessionHit,
    SessionQuery,
    SessionSuggestion,
    WorkSituation,
    find_sessions,
    past_sessions,
    suggest,
)

_FileId = Annotated[str, Field(pattern=FILE_ID_PATTERN)]


class AskSessions(SessionQuery):
    """Searches recorded sessions; every condition that is given must hold, and one must be given."""

    cursor: Annotated[str, Field(max_length=400)] | None = None


class SessionSnippet(ResponseModel):
    """Why it was found."""

    text: str
    marks: list[tuple[int, int]] = Field(description="Where found words begin and end in the text, characters.")
    kind: str = Field(description="What it is part of: human, assistant, tool_use, keepit, ...")
    message_uuid: str | None
    said_at: datetime | None


class FoundSession(ResponseModel):
    """A session, or a version of one, that was found."""

    session_id: Annotated[str, From("facts.recorded.session_id")]
    project_id: Annotated[str, From("facts.project_id")]
    version_id: str | None = Field(description="None: the original.")
    score: float
    snippet: SessionSnippet | None
    matched_files: Annotated[list[str], From("files")]
    matched_topics: Annotated[list[str], From("topics")]
    topics: Annotated[list[str], From("facts.topics")]
    first_timestamp: Annotated[datetime | None, From("facts.recorded.first_timestamp")]
    last_timestamp: Annotated[datetime | None, From("facts.recorded.last_timestamp")]
    is_linked: Annotated[bool, From("facts.is_linked")] = Field(
        description="Whether it belongs to another project than the one searched."
    )

    @classmethod
    def of(cls, hit: SessionHit) -> FoundSession:
        snippet = (
            None
            if hit.snippet is None or hit.passage is None
            else SessionSnippet.from_row(hit.passage, text=hit.snippet.text, marks=hit.snippet.marks)
        )
        version = None if hit.number is None else version_id(hit.number)
        return cls.from_row(hit, version_id=version, score=round(hit.score, 6), snippet=snippet)


class FoundSessions(ResponseModel):
    """What was found: with a text the best first, else the latest first."""

    results: list[FoundSession]
    cursor: str | None


class AskSuggestions(WorkSituation):
    """Where somebody works and what on; what is left out does not count."""


class SuggestedSession(ResponseModel):
    """A session that may help, in the form that fits."""

    session_id: str
    project_id: str
    version_id: str | None = Field(description="A version, `original`, or None: one would have to be made.")
    relevance_score: float
    parts: dict[str, float] = Field(description="What each part adds to the relevance.")
    matched_topics: list[str]
    matched_files: list[str]
    suggested_tokens: int
    component: ComponentRequest = Field(description="As POST …/compositions takes it among its components.")

    @classmethod
    def of(cls, one: SessionSuggestion) -> SuggestedSession:
        session_id, version, settings = one.past.facts.recorded.session_id, None, None
        if isinstance(one.choice, SessionVersion):
            version = one.choice.version_id
        elif one.choice is ComponentForm.ORIGINAL:
            version = ORIGINAL
        else:
            settings = CompressionSettings(
                mode=CompressionMode.UNIFORM, compaction_ratio=one.ratio, aggressiveness=Aggressiveness.MODERATE
            )
        return cls(
            session_id=session_id,
            project_id=one.past.facts.project_id,
            version_id=version,
            relevance_score=round(one.relevance, 6),
            parts={name: round(value, 6) for name, value in one.parts.items()},
            matched_topics=list(one.topics),
            matched_files=list(one.files),
            suggested_tokens=one.tokens,
            component=ComponentRequest(session_id=session_id, version_id=version or AUTO, recompress_settings=settings),
        )


class Suggestions(ResponseModel):
    """What may help, the most relevant first; together they never take more than the budget."""

    suggestions: list[SuggestedSession]
    suggested_tokens: int
    token_budget: int


class MakeLink(RequestModel):
    """Links a session of another project of the same app."""

    source_project: _FileId
    source_session: _FileId
    reason: Annotated[Words, Field(min_length=1, max_length=300, examples=["shared library"])]


class LinkItem(ResponseModel):
    """A session that another project may find, be suggested and compose."""

    link_id: str
    source_project: str
    source_session: str
    target_project: str
    reason: str
    linked_by: str
    linked_at: datetime

    @classmethod
    def of(cls, one: LinkedSession) -> LinkItem:
        return cls.from_row(
            one.link,
            source_project=one.source_project,
            source_session=one.source_session,
            target_project=one.target_project,
        )


class LinkList(ResponseModel):
    """A project's links, the oldest first."""

    links: list[LinkItem]
    cursor: str | None


router = APIRouter(prefix="/api/memory", tags=["Recorded sessions"], route_class=under(OF_APP_IN_QUERY))
_FOUND = "found-sessions"
LinkInPath = Annotated[str, Path(alias="linkId", pattern=ID_PATTERN)]


@router.post("/sessions/search", response_model=FoundSessions, summary="Search all sessions of an app")
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.READS)
def search_sessions(ctx: Reads, app_id: SessionsAppId, body: AskSessions) -> Response:
    """Find sessions and versions by what they say, the files they touched, topics, dates and marked parts."""
    return _search(ctx, app_id, None, body)


@router.post("/projects/{projectId}/search", response_model=FoundSessions, summary="Search a project's sessions")
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.READS)
def search_project(ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath, body: AskSessions) -> Response:
    """Find sessions and versions of a project, and those linked to it."""
    return _search(ctx, app_id, project_id, body)


@router.post(
    "/projects/{projectId}/suggest", response_model=Suggestions, summary="Suggest sessions for the work at hand"
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.READS)
def suggest_sessions(ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath, body: AskSuggestions) -> Response:
    """Say which sessions would help, in which form, within a token budget. Nothing is made."""
    with ctx.read() as session:
        project = get_project(session, app_id, project_id)
        pasts = past_sessions(session, app_id, project, body)
    found = suggest(body, pasts, ctx.now())
    return answer(
        Suggestions(
            suggestions=[SuggestedSession.of(one) for one in found],
            suggested_tokens=sum(one.tokens for one in found),
            token_budget=body.token_budget,
        )
    )


@router.get("/projects/{projectId}/links", summary="List a project's links")
def list_links(ctx: Reads, page: PageOf50, app_id: SessionsAppId, project_id: ProjectInPath) -> LinkList:
    """List the sessions of other projects that this one may use, the oldest link first."""
    with ctx.read() as session:
        found = links_of(session, get_project(session, app_id, project_id))
    rows, following = page.part("links", found)
    return LinkList(links=[LinkItem.of(one) for one in rows], cursor=following)


@router.post("/projects/{projectId}/links", response_model=LinkItem, status_code=201, summary="Link a session")
@as_write
def make_link(
    ctx: Writes, session: Session, app_id: SessionsAppId, project_id: ProjectInPath, body: MakeLink
) -> WriteResult:
    """Let this project use a session of another project of the same app."""
    cause = ctx.cause(body.reason)
    made = link_session(session, app_id, project_id, body.source_project, body.source_session, body.reason, cause)
    return WriteResult(LinkItem.of(made), 201, about=app_id)


@router.delete("/links/{linkId}", response_model=Success, summary="Take a link away")
@as_write
def remove_link(ctx: Writes, session: Session, app_id: SessionsAppId, link_id: LinkInPath) -> WriteResult:
    """Take a link away; refused while a composition of the project uses the session."""
    unlink_session(session, app_id, link_id, ctx.cause("unlinked"))
    return WriteResult(Success(), about=app_id)


def _search(ctx: Reads, app_id: str, project_id: str | None, body: AskSessions) -> Response:
    # By number: what is found is ranked anew for each page.
    offset = cursors.decode_number(_FOUND, body.cursor) or 0
    with ctx.read() as session:
        get_app(session, app_id)
        project = None if project_id is None else get_project(session, app_id, project_id)
        hits, more = find_sessions(session, app_id, project, body, ctx.now(), offset)
        results = [FoundSession.of(one) for one in hits]
    following = cursors.encode(_FOUND, offset + body.limit) if more else None
    return answer(FoundSessions(results=results, cursor=following))
