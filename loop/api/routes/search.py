"""Searching what was said in an app."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field, StrictInt

from loop.api.dependencies import AppInPath, Reads
from loop.api.policy import OF_APP, Trait, policy, under
from loop.api.schema import Flag, RequestModel, ResponseModel
from loop.api.writes import answer
from shared.contracts.values import Id, Moment, UserId, Words
from shared.conversations.lifecycle import Role
from shared.search.candidates import HitKind, MessageFilters, SearchHit
from shared.search.models import Asker
from shared.search.search import Findings, SearchRequest

MOST_QUERY_CHARS = 4_000
_Name = Annotated[Words, Field(min_length=1, max_length=200)]
_Tag = Annotated[Words, Field(min_length=1, max_length=200)]


class SearchFilters(RequestModel):
    """Narrows a search; what is left out narrows nothing, and a list that is given must name something."""

    roles: Annotated[list[Role], Field(min_length=1, max_length=4)] | None = Field(
        None, description="Of user and assistant: what systems and tools said is never a result."
    )
    names: Annotated[list[_Name], Field(min_length=1, max_length=50)] | None = Field(
        None, description="Speakers, as your app named them."
    )
    since: Moment | None = Field(None, description="Results were said at this time or later.")
    until: Moment | None = Field(None, description="Results were said before this time.")
    conversation_ids: Annotated[list[Id], Field(min_length=1, max_length=200)] | None = Field(
        None, description="Only these conversations; an id that is not known finds nothing."
    )
    kinds: Annotated[list[HitKind], Field(min_length=1, max_length=3)] | None = Field(
        None, description="Whole messages, or passages of long ones: prose, code."
    )
    tags: Annotated[list[_Tag], Field(min_length=1, max_length=20)] | None = Field(
        None, description="Tags under metadata.tags of the conversation; it must have all of them."
    )

    def as_filters(self) -> MessageFilters:
        """Return them as the domain takes them."""
        return MessageFilters(
            roles=frozenset(role.value for role in self.roles or ()),
            names=frozenset(self.names or ()),
            since=self.since,
            until=self.until,
            conversation_ids=frozenset(self.conversation_ids or ()),
            tags=frozenset(self.tags or ()),
            kinds=frozenset(self.kinds or ()),
        )


class AskSearch(RequestModel):
    """Searches what was said in an app's conversations."""

    query: Annotated[Words, Field(min_length=1, max_length=MOST_QUERY_CHARS, examples=["When did we choose SQLite?"])]
    conversation_id: Id | None = Field(
        None,
        description="Looked in first, and its user's others, or those that name nobody if it does, only where it has "
        "fewer than three results.",
    )
    user_id: UserId | Literal[""] | None = Field(
        None,
        description="Only this user's conversations, and those that name nobody where the app shares these (empty: "
        "only those that name nobody); without it and without a conversation, all of the app's.",
    )
    limit: Annotated[StrictInt, Field(ge=1, le=200, description="Most results.")] = 10
    filters: SearchFilters = Field(default_factory=SearchFilters)
    explain: Flag = Field(False, description="Whether each result says how its score came about.")


class SearchResult(ResponseModel):
    """A message, or a passage of one."""

    message_id: str
    conversation_id: str
    user_id: str | None = Field(description="Whose conversation it is; null where it names nobody.")
    role: Role
    name: str | None
    content: str
    created_at: datetime
    score: float
    kind: HitKind
    part: int = Field(description="Which passage of the message; 0 is the whole.")
    language: str | None = Field(description="Of code, where its fence names it.")
    times: int = Field(description="How often the same was said by the same speaker; this is the one that fits best.")
    last_at: datetime = Field(description="When it was said last.")
    explanation: dict[str, float] | None = Field(None, description="What each signal added to the score.")

    @classmethod
    def of(cls, hit: SearchHit, explain: bool) -> SearchResult:
        """Return a result as it goes over the wire."""
        one = hit.ranked.candidate
        parts = {name: round(value, 6) + 0.0 for name, value in hit.ranked.parts.items()} if explain else None
        return cls.from_row(
            hit,
            role=one.role,
            name=one.name,
            created_at=one.created_at,
            score=round(hit.ranked.score, 6),
            part=one.part,
            explanation=parts,
        )


class SearchAnswer(ResponseModel):
    """What was found, best first."""

    results: list[SearchResult]
    widened: bool = Field(description="Whether other conversations than the one named were looked in.")
    degraded: list[str] = Field(
        description="Parts that had to be done without: words, vectors (none are made yet), embedding (of the query)."
    )

    @classmethod
    def of(cls, findings: Findings, explain: bool) -> SearchAnswer:
        """Return what was found as it goes over the wire."""
        return cls.from_row(findings, results=[SearchResult.of(hit, explain) for hit in findings.hits])


class DebugResult(ResponseModel):
    """One result with where it came from."""

    content: str
    score: float
    source: str = Field(
        description=(
            "dense, fts or both; neighbour: found by what stands next to it. Of a summary dense or recency, "
            "of a profile consent."
        )
    )
    type: str = Field(description="message, chunk, summary or profile.")
    message_id: str | None
    conversation_id: str | None
    explanation: dict[str, float]


class DebugAnswer(ResponseModel):
    """A retrieval taken apart."""

    query: str
    results: list[DebugResult]
    metrics: dict[str, float] = Field(description="Durations: totalMs, embedMs, ftsMs, denseMs, rerankMs.")
    top_similarities: list[float] = Field(description="Cosines of the three results most like the question.")
    sources: dict[str, int]
    flags: dict[str, Any]
    degraded: list[str]


router = APIRouter(prefix="/apps/{appId}", tags=["Search"], route_class=under(OF_APP))


@router.post("/search", response_model=SearchAnswer, summary="Search old messages")
@policy(OF_APP, Trait.COSTLY, Trait.READS)
def search_messages(ctx: Reads, app_id: AppInPath, body: AskSearch) -> Response:
    """Find messages, and passages of long ones, by their words and their meaning; never any of another app.

    Where neither a user nor a conversation is named, all of the app's are searched, and each result says whose it is.
    """
    wanted = SearchRequest(
        text=body.query,
        limit=body.limit,
        conversation_id=body.conversation_id,
        user_id=body.user_id or None,
        is_of_everybody=body.user_id is None,
        filters=body.filters.as_filters(),
    )
    finder = ctx.loop.searching.finder
    findings = finder.find(app_id, wanted)
    finder.record(app_id, findings, Asker.SEARCH)
    return answer(SearchAnswer.of(findings, body.explain))
