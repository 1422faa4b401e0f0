"""Facts: listed, written by hand, changed, pinned, deleted, cleared, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Self

from fastapi import APIRouter, Path, Query, Response
from pydantic import AliasChoices, Field, model_validator
from sqlalchemy.orm import Session

from loop.api import cursors, erasures
from loop.api.dependencies import AppInPath, PageOf50, PageOf200, Reads, RequestContext, UserInQuery, Writes, as_write
from loop.api.erasures import Receipt
from loop.api.policy import OF_APP, Whose, policy, under
from loop.api.schema import Flag, From, NamedUser, RequestModel, ResponseModel, Success
from loop.api.writes import WriteResult, answer
from shared.apps.models import Erasure
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.choices import Category, FactState
from shared.base.errors import Invalid
from shared.base.subjects import subject_of
from shared.contracts.values import LARGEST_INTEGER, Moment, UserId
from shared.erasure.erasing import clear_facts
from shared.facts import editing, queries
from shared.facts.editing import MAX_CHARS
from shared.facts.mentions import FactLearning
from shared.facts.models import SLOTS, Fact, FactChangeKind
from shared.facts.queries import FactFilter
from shared.telemetry.metrics import AgentKind, FactRemoval, MergedBy
from shared.text.lines import clean

Statement = Annotated[str, Field(min_length=1, max_length=MAX_CHARS, examples=["User lives in Copenhagen."])]
FactId = Annotated[int, Field(strict=True, ge=1, le=LARGEST_INTEGER)]


class WriteFact(RequestModel):
    """A fact written by hand."""

    fact: Statement
    category: Category | None = Field(None, description="Left out: found by its words.")
    pinned: Flag = False
    user_id: UserId | None = None
    said_at: Moment | None = Field(
        None, description="When it was said, which orders facts about one thing; left out: now."
    )


class EditFact(RequestModel):
    """Changes a fact; what is left out, or null, stays."""

    fact: Statement | None = None
    category: Category | None = None
    pinned: Flag | None = None


class BulkAction(StrEnum):
    """What is done to many facts at once."""

    DELETE = "delete"
    MOVE = "move"
    PIN = "pin"
    UNPIN = "unpin"


class ChangeFacts(RequestModel):
    """Changes many facts, all or none."""

    action: BulkAction
    ids: Annotated[list[FactId], Field(min_length=1, max_length=SLOTS)]
    category: Category | None = Field(None, description="Where to; needed to move, and only then.")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if len(set(self.ids)) < len(self.ids):
            raise ValueError("names a fact twice")
        if (self.action is BulkAction.MOVE) != (self.category is not None):
            raise ValueError("a category is needed to move, and only then")
        return self


class FactSourceAnswer(ResponseModel):
    """One place where a fact was said."""

    conversation_id: str | None = Field(description="Null: by a person's hand.")
    message_ids: list[str]
    fact: str = Field(validation_alias=AliasChoices("fact", "statement"), description="As it was understood there.")
    agent: str
    mentions: int
    said_at: datetime = Field(description="When it was last said there.")
    first_seen: datetime
    last_seen: datetime


class FactAnswer(ResponseModel):
    """A fact."""

    id: Annotated[int, From("fact_id")]
    fact: Annotated[str, From("statement")]
    category: Category
    state: FactState
    confidence: float = Field(ge=0, le=1)
    mention_count: int
    said_at: datetime = Field(description="When it was last said: the order of facts about one thing.")
    first_seen: datetime
    last_seen: datetime = Field(description="When it was last heard of here: the clock of expiry.")
    last_seen_conversation_id: str | None
    pinned: bool
    updates_fact_id: int | None = Field(description="The fact it contradicted and replaced.")
    user_id: NamedUser
    by_hand: bool = Field(description="Whether a person wrote it first.")
    agent: str = Field(description="Who wrote the present text: extractive, a model, admin or a token.")
    version: int
    updated_at: datetime
    undo_until: datetime | None = Field(description="Until when its deletion can be taken back.")
    sources: list[FactSourceAnswer]


class FactList(ResponseModel):
    """Facts: pinned ones first, then by category, confidence and how lately they were said."""

    facts: list[FactAnswer]
    total: int = Field(description="On all pages.")
    cursor: str | None
    clear_undo_until: datetime | None = Field(
        None, description="Until when the last clear of the facts asked for can be taken back; null: none can."
    )


class WrittenFact(FactAnswer):
    """A fact that was written by hand, and what came of it."""

    merged: bool = Field(False, description="A fact that stood already says it; its confidence grew.")
    evicted: list[int] = Field(default_factory=list, description="Facts that went because there were too many.")


class ChangedFact(Success):
    """A fact after a change."""

    fact: FactAnswer


class DeletedFact(Success):
    """A fact is deleted."""

    id: int
    undo_until: datetime


class ClearedFacts(Success):
    """All facts, or all of one user's, are deleted, and can be taken back for a moment."""

    user_id: str | None = Field(description="Whose; null: the app's.")
    deleted_count: int
    undo_until: datetime
    clear_id: str
    receipt: Receipt | None = Field(None, description="Of a clear before this one, which is final now.")


class RestoredFacts(Success):
    """Clearing was taken back."""

    restored_count: int


class FactOutcome(ResponseModel):
    """What became of one of many facts."""

    id: int
    undo_until: datetime | None = None
    fact: FactAnswer | None = Field(None, description="As it is now; null for a deleted one.")


class ChangedFacts(Success):
    """What became of each, in the order in which they were named."""

    results: list[FactOutcome]


class FactChangeAnswer(ResponseModel):
    """One thing that happened to a fact."""

    change_id: int
    fact_id: int
    user_id: NamedUser = Field(description="Whose fact it is, or was.")
    kind: FactChangeKind
    actor: str
    reason: str
    before: str | None
    after: str | None
    related_fact_id: int | None
    job_id: str | None
    at: datetime


class FactChangeList(ResponseModel):
    """Changes: of one fact oldest first, of an app newest first."""

    changes: list[FactChangeAnswer]
    cursor: str | None


router = APIRouter(prefix="/apps/{appId}/facts", tags=["Facts"], route_class=under(OF_APP))
FactInPath = Annotated[int, Path(alias="factId", ge=1, le=LARGEST_INTEGER)]
_FACTS = "facts"


@router.get("", response_model=FactList, summary="List facts")
@policy(OF_APP, whose=Whose.IN_QUERY)
def list_facts(
    ctx: Reads,
    page: PageOf200,
    app_id: AppInPath,
    state: Annotated[FactState, Query(description="Which facts to list.")] = FactState.STANDING,
    category: Annotated[Category | None, Query(description="Only of this category.")] = None,
    pinned: Annotated[bool | None, Query(description="Only pinned ones, or only others.")] = None,
    user_id: UserInQuery = None,
) -> Response:
    """List facts: pinned ones first, then by category, confidence and how lately they were said. Costs no energy."""
    start = cursors.decode_number(_FACTS, page.cursor) or 0
    fact_filter = FactFilter(state, category, pinned, user_id)
    with ctx.read() as session:
        get_app(session, app_id)
        rows, more = page.cut(queries.list_facts(session, app_id, fact_filter, page.limit + 1, start))
        following = cursors.encode(_FACTS, start + page.limit) if more else None
        total = queries.count_listed(session, app_id, fact_filter)
        clear = queries.open_clear(session, app_id, user_id)
        undo_until = clear.undo_until if clear is not None and clear.undo_until > ctx.now() else None
        listed = FactList(facts=_answers(session, rows), total=total, cursor=following, clear_undo_until=undo_until)
        return answer(listed)


@router.post(
    "",
    status_code=201,
    response_model=WrittenFact,
    responses={200: {"model": WrittenFact, "description": "It was known already and has one source more."}},
    summary="Write a fact by hand",
)
@policy(OF_APP, whose=Whose.BY_ROUTE)
def write_fact(ctx: Writes, app_id: AppInPath, body: WriteFact) -> Response:
    """Write a fact by hand. One that says the same already is said again instead, and answered with 200."""
    subject, statement = subject_of(app_id, ctx.user_meant(body.user_id)), _statement(body.fact)

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        cause, more = ctx.cause("written by hand"), (body.category, body.pinned, body.said_at)
        fact, learning = editing.write(session, subject, statement, cause, *more)
        is_merged, evicted = fact.fact_id not in learning.learned, list(learning.evicted)
        made = WrittenFact(**dict(_answer(session, fact)), merged=is_merged, evicted=evicted)
        return WriteResult(made, 200 if is_merged else 201, about=app_id, then=lambda: _count(ctx, learning))

    return ctx.write(work)


@router.delete("", response_model=ClearedFacts, operation_id="clearFacts", summary="Clear all facts")
@policy(OF_APP, whose=Whose.IN_QUERY)
@as_write
def clear_all_facts(ctx: Writes, session: Session, app_id: AppInPath, user_id: UserInQuery = None) -> WriteResult:
    """Delete all facts, or all of one user's. For some seconds that can be taken back; then they are erased.

    A receipt says so.
    """
    cause, seconds = ctx.cause("all facts were cleared"), ctx.loop.settings.fact_clear_seconds
    opened, former = clear_facts(session, app_id, cause, seconds, user_id)
    cleared = ClearedFacts(
        user_id=user_id, deleted_count=opened.count, undo_until=opened.undo_until, clear_id=opened.clear_id
    )
    if former is None:
        return WriteResult(cleared)
    erasures.open_receipt(session, former)

    def receipted(erasure: Erasure) -> ClearedFacts:
        return cleared.model_copy(update={"receipt": Receipt.model_validate(erasure)})

    return WriteResult(receipted(former), then=lambda: receipted(erasures.complete(ctx, former)))


@router.post("/undo", response_model=RestoredFacts, summary="Take back clearing all facts")
@policy(OF_APP, whose=Whose.IN_QUERY)
@as_write
def undo_clearing_facts(ctx: Writes, session: Session, app_id: AppInPath, user_id: UserInQuery = None) -> WriteResult:
    """Bring back everything the last clear of the app's facts, or of that user's, deleted, as it was."""
    lock_app(session, app_id)
    restored = editing.undo_clear(session, app_id, ctx.cause("taken back"), user_id)
    return WriteResult(RestoredFacts(restored_count=restored))


@router.post("/bulk", response_model=ChangedFacts, summary="Change many facts")
@policy(OF_APP, whose=Whose.BY_ROUTE)
@as_write
def change_facts(ctx: Writes, session: Session, app_id: AppInPath, body: ChangeFacts) -> WriteResult:
    """Delete, move, pin or unpin many facts, all or none."""
    lock_app(session, app_id)
    for fact_id in body.ids:
        ctx.require_own(session, {"factId": fact_id})
    facts = [queries.get_standing(session, app_id, fact_id) for fact_id in body.ids]
    untils = [_change(ctx, session, fact, body) for fact in facts]
    deleted = body.action is BulkAction.DELETE
    shown = [None] * len(facts) if deleted else _answers(session, facts)
    results = [
        FactOutcome(id=fact.fact_id, undo_until=until, fact=now)
        for fact, until, now in zip(facts, untils, shown, strict=True)
    ]
    return WriteResult(ChangedFacts(results=results), about=app_id)


def _change(ctx: RequestContext, session: Session, fact: Fact, body: ChangeFacts) -> datetime | None:
    match body.action:
        case BulkAction.DELETE:
            cause, seconds = ctx.cause("deleted by hand"), ctx.loop.settings.fact_undo_seconds
            return editing.delete(session, fact, cause, seconds)
        case BulkAction.MOVE:
            if body.category is not None:
                editing.move(session, fact, body.category, ctx.cause("moved by hand"))
        case BulkAction.PIN:
            editing.pin(session, fact, ctx.cause("pinned by hand"))
        case BulkAction.UNPIN:
            editing.unpin(session, fact, ctx.cause("unpinned by hand"))
    return None


@router.get("/changes", summary="List what happened to an app's facts")
@policy(OF_APP, whose=Whose.IN_QUERY)
def list_fact_changes(ctx: Reads, page: PageOf50, app_id: AppInPath, user_id: UserInQuery = None) -> FactChangeList:
    """List every change to facts, newest first: which went, why, and by whom."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered(
            "fact-changes", partial(queries.changes_of_app, session, app_id, user_id=user_id), "change_id"
        )
        return FactChangeList(changes=[FactChangeAnswer.model_validate(change) for change in rows], cursor=following)


@router.get("/{factId}", summary="Show a fact")
@policy(OF_APP, whose=Whose.IN_PATH)
def show_fact(ctx: Reads, app_id: AppInPath, fact_id: FactInPath) -> FactAnswer:
    """Show one fact, whether it stands, was replaced, or was deleted a moment ago."""
    with ctx.read() as session:
        return _answer(session, queries.get_fact(session, app_id, fact_id))


@router.patch("/{factId}", response_model=ChangedFact, summary="Change a fact")
@policy(OF_APP, whose=Whose.IN_PATH)
def edit_fact(ctx: Writes, app_id: AppInPath, fact_id: FactInPath, body: EditFact) -> Response:
    """Change a fact by hand; what it was stays in its history."""
    statement = None if body.fact is None else _statement(body.fact)

    def work(session: Session) -> WriteResult:
        cause = ctx.cause("edited by hand")

        def edit(fact: Fact) -> None:
            if statement is not None:
                editing.reword(session, fact, statement, cause)
            if body.category is not None:
                editing.move(session, fact, body.category, cause)
            if body.pinned is not None:
                (editing.pin if body.pinned else editing.unpin)(session, fact, cause)

        return _changed(session, app_id, fact_id, edit)

    return ctx.write(work)


@router.delete("/{factId}", response_model=DeletedFact, summary="Delete a fact")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def delete_fact(ctx: Writes, session: Session, app_id: AppInPath, fact_id: FactInPath) -> WriteResult:
    """Delete a fact. For a while that can be taken back; then it is gone with the text of its history."""
    lock_app(session, app_id)
    fact = queries.get_standing(session, app_id, fact_id)
    cause, seconds = ctx.cause("deleted by hand"), ctx.loop.settings.fact_undo_seconds
    return WriteResult(DeletedFact(id=fact_id, undo_until=editing.delete(session, fact, cause, seconds)))


@router.post("/{factId}/pin", response_model=ChangedFact, summary="Pin a fact")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def pin_fact(ctx: Writes, session: Session, app_id: AppInPath, fact_id: FactInPath) -> WriteResult:
    """Exempt a fact from eviction and expiry; at most ten of a user are."""
    cause = ctx.cause("pinned by hand")
    return _changed(session, app_id, fact_id, lambda fact: editing.pin(session, fact, cause))


@router.post("/{factId}/unpin", response_model=ChangedFact, summary="Unpin a fact")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def unpin_fact(ctx: Writes, session: Session, app_id: AppInPath, fact_id: FactInPath) -> WriteResult:
    """Let a fact be evicted and expire again."""
    cause = ctx.cause("unpinned by hand")
    return _changed(session, app_id, fact_id, lambda fact: editing.unpin(session, fact, cause))


@router.post("/{factId}/undo", response_model=ChangedFact, summary="Take back a deletion")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def undo_deleting_fact(ctx: Writes, session: Session, app_id: AppInPath, fact_id: FactInPath) -> WriteResult:
    """Bring back a fact that was deleted a moment ago."""
    lock_app(session, app_id)
    fact = editing.undo(session, app_id, fact_id, ctx.cause("taken back"))
    return WriteResult(ChangedFact(fact=_answer(session, fact)), about=app_id)


@router.get("/{factId}/history", summary="Show a fact's history")
@policy(OF_APP, whose=Whose.IN_PATH)
def show_fact_history(ctx: Reads, page: PageOf200, app_id: AppInPath, fact_id: FactInPath) -> FactChangeList:
    """Show everything that happened to a fact, oldest first, whether it still stands or not."""
    with ctx.read() as session:
        history = queries.history_in_app(session, app_id, fact_id)
        rows, following = page.part("fact-history", history)
        return FactChangeList(changes=[FactChangeAnswer.model_validate(change) for change in rows], cursor=following)


def _changed(session: Session, app_id: str, fact_id: int, change: Callable[[Fact], None]) -> WriteResult:
    lock_app(session, app_id)
    fact = queries.get_standing(session, app_id, fact_id)
    change(fact)
    return WriteResult(ChangedFact(fact=_answer(session, fact)), about=app_id)


def _statement(text: str) -> str:
    statement = clean(text)
    if not statement:
        raise Invalid("fact: it has no visible character.")
    return statement


def _count(ctx: RequestContext, learning: FactLearning) -> None:
    metrics = ctx.loop.metrics
    metrics.facts_learned.labels(AgentKind.BY_HAND).inc(len(learning.learned))
    metrics.fact_merges.labels(MergedBy.TEXT).inc(learning.merged.total())
    metrics.fact_conflicts.inc(len(learning.replaced))
    metrics.facts_removed.labels(FactRemoval.EVICTED).inc(len(learning.evicted))


def _answer(session: Session, fact: Fact) -> FactAnswer:
    return _answers(session, [fact])[0]


def _answers(session: Session, facts: Sequence[Fact]) -> list[FactAnswer]:
    session.flush()
    sources = queries.sources_by_fact(session, [fact.fact_id for fact in facts]) if facts else {}
    answers = []
    for fact in facts:
        own = sources.get(fact.fact_id, [])
        from_conversations = [one for one in own if one.conversation_id is not None]
        # Of several heard at once the last: they stand in the order in which they were heard first.
        latest = max(reversed(from_conversations), key=lambda one: one.last_seen, default=None)
        where, is_pinned = latest and latest.conversation_id, fact.pin_slot is not None
        answers.append(FactAnswer.from_row(fact, last_seen_conversation_id=where, pinned=is_pinned, sources=own))
    return answers
