"""Searching what was said in an app.

The tuning of retrieval and summaries, for all apps and for one; changed while it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, StrictInt, create_model
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, Reads, RequestContext, Writes, as_write
from loop.api.policy import OF_ADMIN, OF_APP, Trait, Whose, policy, under
from loop.api.schema import Flag, From, RequestModel, ResponseModel
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.choices import RankingFormula
from shared.base.settings import AppTuning, Tuning, meaning_of
from shared.contracts.values import Id, Moment, UserId, Words
from shared.conversations.lifecycle import Role
from shared.search.models import EVERYWHERE, HitKind
from shared.search.ranking import SearchHit
from shared.search.tuning import NAMES, TuningInForce, TuningSource, change_tuning, tuning_in_force, tuning_of
from shared.search.view import MessageFilters, SearchRequest

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
    role: Annotated[Role, From("ranked.candidate.role")]
    name: Annotated[str | None, From("ranked.candidate.name")]
    content: str
    created_at: Annotated[datetime, From("ranked.candidate.created_at")]
    score: float
    kind: HitKind
    part: Annotated[int, From("ranked.candidate.part")] = Field(
        description="Which passage of the message; 0 is the whole."
    )
    language: str | None = Field(description="Of code, where its fence names it.")
    times: int = Field(description="How often the same was said by the same speaker; this is the one that fits best.")
    last_at: datetime = Field(description="When it was said last.")
    explanation: dict[str, float] | None = Field(None, description="What each signal added to the score.")

    @classmethod
    def of(cls, hit: SearchHit, explain: bool) -> SearchResult:
        # Adding 0.0 makes of -0.0 a plain 0.
        parts = {name: round(value, 6) + 0.0 for name, value in hit.ranked.parts.items()} if explain else None
        return cls.from_row(hit, score=round(hit.ranked.score, 6), explanation=parts)


class SearchAnswer(ResponseModel):
    """What was found, best first."""

    results: list[SearchResult]
    widened: bool = Field(description="Whether other conversations than the one named were looked in.")
    degraded: list[str] = Field(
        description="Parts that had to be done without: words, vectors (none are made yet), embedding (of the query)."
    )


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
@policy(OF_APP, Trait.COSTLY, Trait.READS, whose=Whose.BY_ROUTE)
def search_messages(ctx: Reads, app_id: AppInPath, body: AskSearch) -> Response:
    """Find messages, and passages of long ones, by their words and their meaning; never any of another app.

    Where neither a user nor a conversation is named, all of the app's are searched, and each result says whose it is.
    """
    user_id = ctx.user_meant(body.user_id, body.conversation_id)
    request = SearchRequest(
        text=body.query,
        limit=body.limit,
        conversation_id=body.conversation_id,
        user_id=user_id or None,
        all_users=user_id is None,
        filters=body.filters.as_filters(),
    )
    finder = ctx.loop.searching.finder
    search = finder.find(app_id, request)
    finder.record(search)
    results = [SearchResult.of(hit, body.explain) for hit in search.hits]
    return answer(SearchAnswer.from_row(search, results=results))


_Value = TypeVar("_Value")
_Body = TypeVar("_Body", bound=BaseModel)


class Valued(ResponseModel, Generic[_Value]):
    """A value in force."""

    value: _Value
    source: TuningSource = Field(
        description="What it comes from: the settings, a change for all apps, or one for this app."
    )


# Named, because a generic class has neither a plain name nor a text in the description of the interface.
class Switch(Valued[bool]):
    """Something on or off, in force."""


class WholeNumber(Valued[int]):
    """A whole number in force."""


class Weight(Valued[float]):
    """A weight in force, from 0 to 1."""


class Formula(Valued[RankingFormula]):
    """A formula in force, by which results are ranked."""


_BACK = "null takes the change back."
_ANSWERED: dict[Any, Any] = {bool: Switch, int: WholeNumber, float: Weight, RankingFormula: Formula}
# Strict, as JSON is. A whole number may lie out of its bounds, and is brought within them.
_TAKEN: dict[Any, Any] = {
    bool: Flag,
    int: Annotated[StrictInt, Field(ge=-(10**9), le=10**9)],
    float: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)],
    RankingFormula: RankingFormula,
}
_BY_WEIGHTS = "The formula is weighted now, so that the weights have effect; set formula to signals to go back."


def _with_fields(fields: dict[str, Any]) -> Callable[[type[_Body]], type[_Body]]:
    return lambda shape: create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **fields)


def _changed_of(group: type[AppTuning]) -> dict[str, Any]:
    return {
        name: (_TAKEN[field.annotation] | None, Field(None, description=f"{meaning_of(name)}. {_BACK}"))
        for name, field in group.model_fields.items()
    }


@_with_fields({name: _ANSWERED[field.annotation] for name, field in Tuning.model_fields.items()})
class TuningValues(ResponseModel):
    """The values in force."""


class TuningAnswer(TuningValues):
    """How retrieval and summaries work."""

    clamped: list[str] = Field([], description="What was brought within its bounds by this change.")
    note: str | None = Field(None, description="What this change changed beside what was given.")

    @classmethod
    def of(cls, in_force: TuningInForce, clamped: tuple[str, ...] = (), note: str | None = None) -> TuningAnswer:
        values = {name: {"value": getattr(in_force.tuning, name), "source": in_force.sources[name]} for name in NAMES}
        names = [cls.model_fields[name].alias or name for name in clamped]
        return cls.model_validate({**values, "clamped": names, "note": note})


class Changes(RequestModel):
    """Values to change."""

    @property
    def given(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.model_fields_set}


@_with_fields(_changed_of(AppTuning))
class TuneApp(Changes):
    """What to change for one app. What is left out stays as it is; null takes a change back.

    A weight that is given selects the formula weighted, unless a formula is given too.
    """


@_with_fields(_changed_of(Tuning))
class TuneAll(Changes):
    """What to change for all apps. What is left out stays as it is; null takes a change back.

    A weight that is given selects the formula weighted, unless a formula is given too.
    """


tuning_router = APIRouter(tags=["Retrieval settings"], route_class=under(OF_APP))


@tuning_router.get("/api/memory/settings", summary="Show the retrieval settings of all apps")
@policy(OF_ADMIN)
def show_tuning(ctx: Reads) -> TuningAnswer:
    """Show what is in force for apps that have nothing of their own."""
    with ctx.read() as session:
        return TuningAnswer.of(tuning_in_force(session, _defaults(ctx), None))


@tuning_router.patch(
    "/api/memory/settings", response_model=TuningAnswer, summary="Change the retrieval settings of all apps"
)
@policy(OF_ADMIN)
def tune_all(ctx: Writes, body: TuneAll) -> Response:
    """Change how retrieval works for all apps, at once and without a restart. Numbers out of bounds are clamped."""
    return ctx.write(lambda session: _change(ctx, session, EVERYWHERE, body))


@tuning_router.get("/apps/{appId}/retrieval-settings", summary="Show an app's retrieval settings")
def show_app_tuning(ctx: Reads, app_id: AppInPath) -> TuningAnswer:
    """Show what is in force for an app, and where each value comes from."""
    with ctx.read() as session:
        get_app(session, app_id)
        return TuningAnswer.of(tuning_in_force(session, _defaults(ctx), app_id))


@tuning_router.patch(
    "/apps/{appId}/retrieval-settings", response_model=TuningAnswer, summary="Change an app's retrieval settings"
)
@as_write
def tune_app(ctx: Writes, session: Session, app_id: AppInPath, body: TuneApp) -> WriteResult:
    """Change how retrieval works for an app, at once and without a restart. Numbers out of bounds are clamped."""
    lock_app(session, app_id)
    get_installed_app(session, app_id)
    return _change(ctx, session, app_id, body)


def _change(ctx: RequestContext, session: Session, scope: str, body: Changes) -> WriteResult:
    done = change_tuning(session, _defaults(ctx), scope, body.given, ctx.caller.name, ctx.now())
    return WriteResult(TuningAnswer.of(done.in_force, done.clamped, _BY_WEIGHTS if done.selects_weighted else None))


def _defaults(ctx: RequestContext) -> Tuning:
    return tuning_of(ctx.loop.settings)
