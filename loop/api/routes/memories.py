"""Memories: listed, written by hand, changed, taken back, purged.

How often room was made among an app's memories: per day and outcome, from their history.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import erasures
from loop.api.dependencies import (
    AppInPath,
    MemoryInPath,
    PageOf50,
    PageOf200,
    Reads,
    RequestContext,
    UserInQuery,
    Writes,
    as_write,
)
from loop.api.erasures import PurgedMemories
from loop.api.policy import OF_APP, Whose, policy, under
from loop.api.schema import From, PartialModel, RequestModel, ResponseModel, Success
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.audit import BY_HAND
from shared.base.errors import Conflict, Invalid
from shared.base.subjects import subject_of
from shared.contracts.values import LARGEST_INTEGER, UserId
from shared.erasure.erasing import erase_memory, purge_memories
from shared.memories import queries
from shared.memories.compaction import Eviction, least_goes
from shared.memories.models import ChangeKind, Memory, MemoryAttributes, MemoryText
from shared.memories.queries import compactions_since
from shared.memories.writing import InsertedMemory, NewMemory, edit, insert_memory, remove, restore
from shared.telemetry.metrics import AgentKind, CompactionOutcome, CompactionReason
from shared.text.lines import clean


class WriteMemory(RequestModel, MemoryAttributes, MemoryText):
    """A memory written by hand."""

    user_id: UserId | None = Field(None, description="Whose it is; without it, nobody's in particular.")


class EditMemory(PartialModel, MemoryAttributes, MemoryText):
    """Changes a memory; what is left out, or null, stays."""


class RestoreMemory(RequestModel):
    """Takes back a change, the latest unless one is named."""

    change_id: Annotated[int, Field(strict=True, ge=1, le=LARGEST_INTEGER)] | None = None


class Source(ResponseModel):
    """A conversation whose words stand in a memory."""

    conversation_id: str
    message_ids: list[str]


class MemoryAnswer(ResponseModel):
    """A memory."""

    id: Annotated[int, From("memory_id")]
    user_id: Annotated[str | None, From("subject.named")] = Field(
        description="Whose it is; null where nobody was named."
    )
    content: str
    created_at: datetime = Field(description="When its conversation was held.")
    updated_at: datetime = Field(description="When the newest of it was said, or a person last changed it.")
    updated_on: date = Field(description="The day of updatedAt where its user is.")
    source_conversation_id: str | None
    importance: int = Field(ge=0, le=10)
    tags: list[str]
    pinned: bool
    agent: str = Field(description="Who wrote the present text: extractive, a model, admin or a token.")
    version: int
    sources: list[Source]


class MemoryList(ResponseModel):
    """Memories, last updated first."""

    memories: list[MemoryAnswer]
    cap: int = Field(description="Most memories a user may have; what names nobody counts as one user's.")
    cursor: str | None = None


class MemoryEviction(ResponseModel):
    """How room was made at the cap."""

    memory_id: int
    outcome: CompactionOutcome
    reason: str


class WrittenMemory(MemoryAnswer):
    """A memory, and what went for it."""

    made_room: list[MemoryEviction]


class EditedMemory(Success):
    """A memory after a change."""

    memory: MemoryAnswer


class DeletedMemory(Success):
    """A memory is gone."""

    note: str | None = Field(None, description="What is left to do after an erasure, where something is.")


class RestoredMemory(Success):
    """A memory after a change was taken back, and what went for it."""

    memory: MemoryAnswer
    made_room: list[MemoryEviction]


class ChangeAnswer(ResponseModel):
    """One thing that happened to a memory."""

    change_id: int
    memory_id: int
    kind: ChangeKind
    actor: str
    reason: str
    before: str | None
    after: str | None
    related_memory_id: int | None
    job_id: str | None
    at: datetime


class ChangeList(ResponseModel):
    """Changes: of one memory oldest first, of an app newest first."""

    changes: list[ChangeAnswer]
    cursor: str | None = None


router = APIRouter(prefix="/apps/{appId}/memories", tags=["Memories"], route_class=under(OF_APP))


@router.get("", response_model=MemoryList, summary="List memories")
@policy(OF_APP, whose=Whose.IN_QUERY)
def list_memories(ctx: Reads, page: PageOf200, app_id: AppInPath, user_id: UserInQuery = None) -> Response:
    """List the memories of an app, or of one of its users, last updated first. Costs no energy."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.timed(
            "memories",
            partial(queries.list_memories, session, app_id, user_id),
            lambda memory: (memory.updated_at, memory.memory_id),
        )
        memories = MemoryList(memories=_answers(session, rows), cap=ctx.loop.settings.memory_cap, cursor=following)
    # Written here: FastAPI would check the answer in a second hop to a thread, and this is the most asked-for route.
    return answer(memories)


@router.post("", status_code=201, response_model=WrittenMemory, summary="Write a memory by hand")
@policy(OF_APP, whose=Whose.BY_ROUTE)
def write_memory(ctx: Writes, app_id: AppInPath, body: WriteMemory) -> Response:
    """Write a memory by hand. At the cap the least important that is not pinned goes for it; the answer says which."""
    # The text is judged with no transaction open: what is refused by itself waits for no writer.
    user_id = ctx.user_meant(body.user_id)
    columns = body.model_dump(exclude={"user_id"}) | {"content": _content(ctx, body.content)}

    def work(session: Session) -> WriteResult:
        epoch = lock_app(session, app_id).purge_epoch
        get_installed_app(session, app_id)
        new = NewMemory(**columns, agent=BY_HAND, epoch=epoch)
        subject, cap = subject_of(app_id, user_id), ctx.loop.settings.memory_cap
        inserted = insert_memory(session, subject, new, ctx.cause("written by hand"), cap, rule=least_goes)
        memory = _inserted_memory(session, app_id, inserted)
        written = WrittenMemory(**dict(_answer(session, memory)), made_room=_evictions_of(inserted.evictions))
        return WriteResult(written, 201, about=app_id, then=lambda: _count_written(ctx, inserted))

    return ctx.write(work)


@router.delete("", response_model=PurgedMemories, operation_id="purgeMemories", summary="Purge all memories")
@policy(OF_APP, whose=Whose.IN_QUERY)
@as_write
def purge_all(ctx: Writes, session: Session, app_id: AppInPath, user_id: UserInQuery = None) -> WriteResult:
    """Remove all memories of an app, or of one user, with the text of their history, and stop memory work that was
    asked for before. The answer says what else still remembers, and how to erase it."""
    erasure = purge_memories(session, app_id, ctx.caller.name, ctx.now(), user_id)
    return erasures.purged(ctx, session, erasure, user_id)


@router.get("/changes", summary="List what happened to an app's memories")
@policy(OF_APP, whose=Whose.IN_QUERY)
def list_memory_changes(ctx: Reads, page: PageOf50, app_id: AppInPath, user_id: UserInQuery = None) -> ChangeList:
    """List every change to the memories of an app, or of one user, newest first: which went, why, and by whom."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered(
            "changes", partial(queries.changes_of_app, session, app_id, user_id=user_id), "change_id"
        )
        return ChangeList(changes=[ChangeAnswer.model_validate(change) for change in rows], cursor=following)


@router.get("/{memoryId}", summary="Show a memory")
@policy(OF_APP, whose=Whose.IN_PATH)
def show_memory(ctx: Reads, app_id: AppInPath, memory_id: MemoryInPath) -> MemoryAnswer:
    """Show one memory."""
    with ctx.read() as session:
        return _answer(session, queries.get_memory(session, app_id, memory_id))


@router.patch("/{memoryId}", response_model=EditedMemory, summary="Change a memory")
@policy(OF_APP, whose=Whose.IN_PATH)
def edit_memory(ctx: Writes, app_id: AppInPath, memory_id: MemoryInPath, body: EditMemory) -> Response:
    """Change a memory by hand; what it was stays in its history."""
    columns = body.given()
    if "content" in columns:
        columns["content"] = _content(ctx, body.content)

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        memory = queries.get_memory(session, app_id, memory_id)
        how_edited = (
            "edited by hand"
            if body.pinned is None or body.model_fields_set != {"pinned"}
            else ("pinned by hand" if body.pinned else "unpinned by hand")
        )
        edit(session, memory, columns, ctx.cause(how_edited))
        return WriteResult(EditedMemory(memory=_answer(session, memory)), about=app_id)

    return ctx.write(work)


@router.delete("/{memoryId}", response_model=DeletedMemory, summary="Delete a memory")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def delete_memory(
    ctx: Writes,
    session: Session,
    app_id: AppInPath,
    memory_id: MemoryInPath,
    erase: Annotated[bool, Query(description="Also empty the text of its history, for good.")] = False,
) -> WriteResult:
    """Delete a memory. Its history can bring it back, unless it is erased."""
    lock_app(session, app_id)
    memory = queries.get_memory(session, app_id, memory_id)
    if not erase:
        remove(session, memory, ctx.cause("deleted by hand"))
        return WriteResult(DeletedMemory(), about=app_id)
    erasure = erase_memory(session, memory, ctx.cause("erased by hand"))
    erasures.open_receipt(session, erasure)
    return WriteResult(
        DeletedMemory(), then=lambda: DeletedMemory(note=erasures.note_on(erasures.complete(ctx, erasure)))
    )


@router.get("/{memoryId}/history", summary="Show a memory's history")
@policy(OF_APP, whose=Whose.IN_PATH)
def show_memory_history(ctx: Reads, page: PageOf200, app_id: AppInPath, memory_id: MemoryInPath) -> ChangeList:
    """Show everything that happened to a memory, oldest first, whether it still stands or not."""
    with ctx.read() as session:
        queries.get_origin(session, app_id, memory_id)
        rows, following = page.part("history", queries.history_of(session, memory_id))
        return ChangeList(changes=[ChangeAnswer.model_validate(change) for change in rows], cursor=following)


@router.post("/{memoryId}/restore", response_model=RestoredMemory, summary="Take back a change")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def restore_memory(
    ctx: Writes, session: Session, app_id: AppInPath, memory_id: MemoryInPath, body: RestoreMemory | None = None
) -> WriteResult:
    """Take back the latest change of a memory, or the one named; one that was removed gets a place again."""
    change_id = body.change_id if body is not None else None
    lock_app(session, app_id)
    cap = ctx.loop.settings.memory_cap
    inserted = restore(session, app_id, memory_id, ctx.cause("restored by hand"), cap, change_id)
    memory = _inserted_memory(session, app_id, inserted)
    restored = RestoredMemory(memory=_answer(session, memory), made_room=_evictions_of(inserted.evictions))
    return WriteResult(restored, about=app_id, then=lambda: _count_evictions(ctx, inserted))


def _content(ctx: RequestContext, text: str) -> str:
    limit, content = ctx.loop.settings.memory_max_chars, clean(text)
    if not content:
        raise Invalid("content: it has no visible character.")
    if len(content) > limit:
        raise Invalid(f"content: it has {len(content)} characters; the most is {limit}.", details={"limit": limit})
    return content


def _inserted_memory(session: Session, app_id: str, inserted: InsertedMemory) -> Memory:
    """Return a memory that was given a place. Raises: Conflict when there was none, so that nothing is written."""
    if not inserted.is_stored:
        raise Conflict(
            f"Every memory of this user of app {app_id} is pinned, so there is no place; unpin or delete one first.",
            code="all_pinned",
        )
    return queries.get_memory(session, app_id, inserted.memory_id)


def _evictions_of(evictions: Sequence[Eviction]) -> list[MemoryEviction]:
    return [
        MemoryEviction(memory_id=eviction.removed_id, outcome=eviction.outcome, reason=eviction.reason)
        for eviction in evictions
    ]


def _count_written(ctx: RequestContext, inserted: InsertedMemory) -> None:
    ctx.loop.metrics.memories_created.labels(AgentKind.BY_HAND).inc()
    _count_evictions(ctx, inserted)


def _count_evictions(ctx: RequestContext, inserted: InsertedMemory) -> None:
    for eviction in inserted.evictions:
        ctx.loop.metrics.compactions.labels(eviction.outcome, CompactionReason.BY_HAND).inc()


def _answer(session: Session, memory: Memory) -> MemoryAnswer:
    return _answers(session, [memory])[0]


def _answers(session: Session, memories: Sequence[Memory]) -> list[MemoryAnswer]:
    ids = [memory.memory_id for memory in memories]
    origins = queries.origins_of(session, ids) if ids else {}
    linked = queries.sources_by_memory(session, ids) if ids else {}
    zones = queries.zones_of(session, memories)
    return [
        MemoryAnswer.from_row(
            memory,
            updated_on=zones[memory.memory_id].local(memory.updated_at).date(),
            source_conversation_id=origins[memory.memory_id].conversation_id,
            sources=[Source(conversation_id=name, message_ids=ids) for name, ids in linked.get(memory.memory_id, [])],
        )
        for memory in memories
    ]


compactions_router = APIRouter(prefix="/apps/{appId}/compactions", tags=["Memories"], route_class=under(OF_APP))


class CompactionDay(ResponseModel):
    """How room was made on a day, by outcome."""

    day: date = Field(description="UTC.")
    compactions: int
    outcomes: dict[CompactionOutcome, int]


class CompactionDays(ResponseModel):
    """How room was made, day by day, the oldest first; days on which none was made too."""

    app_id: str
    user_id: str | None = Field(description="Null: of all of the app's memories.")
    compactions: int
    days: list[CompactionDay]


@compactions_router.get("", summary="Count compactions by day")
def list_compactions(
    ctx: Reads,
    app_id: AppInPath,
    days: Annotated[int, Query(ge=1, le=365, description="So many days, today the last.")] = 30,
    user_id: UserInQuery = None,
) -> CompactionDays:
    """Count how often room was made for a memory, day by day (UTC) and by what went. Costs no energy."""
    today = ctx.now().astimezone(UTC).date()
    shown = [today - timedelta(days=before) for before in range(days - 1, -1, -1)]
    with ctx.read() as session:
        get_app(session, app_id)
        counted = compactions_since(session, app_id, datetime.combine(shown[0], time(), UTC), user_id)
    of_days = [{outcome: counted.get((day, outcome), 0) for outcome in CompactionOutcome} for day in shown]
    return CompactionDays(
        app_id=app_id,
        user_id=user_id,
        compactions=sum(counted.values()),
        days=[
            CompactionDay(day=day, compactions=sum(outcomes.values()), outcomes=outcomes)
            for day, outcomes in zip(shown, of_days, strict=True)
        ],
    )
