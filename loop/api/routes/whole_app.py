"""Everything of an app at once: its context, its spending, its archive, and its erasure.

A project as one file: exported, and imported after it was checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, StrictInt, ValidationError
from sqlalchemy.orm import Session

from loop.api import bodies, erasures
from loop.api.bodies import ARCHIVE_TYPE, is_streamed
from loop.api.dependencies import (
    AppInPath,
    ProjectInPath,
    Reads,
    RequestContext,
    SessionsAppId,
    UserInQuery,
    Writes,
    as_write,
)
from loop.api.erasures import Erased
from loop.api.errors import body_error
from loop.api.policy import OF_APP, OF_APP_IN_QUERY, Trait, Whose, policy, under
from loop.api.routes.apps import units_or_none
from loop.api.routes.conversations import SentMessage
from loop.api.routes.projects import shown
from loop.api.routes.system import AppEnergy
from loop.api.schema import MOST_TOKENS, From, RequestModel, ResponseModel, Success, Tokens
from loop.api.writes import WriteResult, answer
from shared.apps.models import App, Scope
from shared.apps.queries import get_app, get_installed_app, install, lock_app
from shared.archive.document import Archive, export_app
from shared.archive.restore import import_archive
from shared.base.audit import BY_HAND
from shared.base.errors import Invalid, NotFound
from shared.context.context import ContextRequest, Placement, open_context
from shared.context.select import DEFAULT_RESERVE
from shared.context.window import Utterance
from shared.contracts.jobs import WorkClass
from shared.contracts.values import FILE_ID_PATTERN, Id, UserId
from shared.conversations.chat_message import ChatMessage, role_of, text_of
from shared.energy.budget import budget_status, to_units
from shared.energy.ledger import spent_by_kind, spent_by_window
from shared.erasure.erasing import erase_app
from shared.jobs.tenant_queues import get_throttle
from shared.llm.calls import TokenSource
from shared.sessions.archive.document import packed
from shared.sessions.archive.restore import CheckedArchive, ProjectWork, check_archive, restore_archive
from shared.sessions.store import chunks_of
from shared.telemetry.metrics import CompactionStage


class Arrived(ResponseModel):
    """How many were added, and how many were there already."""

    imported: int
    skipped: int


class ImportedAnswer(Success):
    """What an import added."""

    conversations: Arrived
    messages: int
    memories: Arrived
    history: Arrived
    facts: Arrived
    fact_history: Arrived
    summaries: int
    profiles: Arrived


class ContextMessage(ChatMessage):
    """A message of the conversation so far, as OpenAI's or Anthropic's chat programs have it."""

    tokens: Tokens | None = Field(None, alias="tokens", description="Its length as your model's provider counted it.")

    def as_utterance(self) -> Utterance:
        sent = self.sent
        return Utterance(role_of(sent), text_of(sent), self.name or None, self.tokens, self.payload)


class AskContext(RequestModel):
    """Asks for the context of a conversation. ``messages`` stand for those stored under ``conversationId``."""

    conversation_id: Id | None = None
    user_id: UserId | None = Field(
        None,
        description="Who speaks, where no conversation is named: that is its own user's, and no other may be named.",
    )
    message: str | None = Field(None, description="What the user says now; comes last.")
    messages: Annotated[list[ContextMessage], Field(max_length=10_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = Field(
        None,
        description="The model whose tokens are meant, as PROVIDER:NAME or NAME; lengths are reckoned as it counts.",
    )
    context_window: Annotated[StrictInt, Field(ge=1, le=MOST_TOKENS)] | None = Field(
        None, description="The model's window, tokens; the context is compacted so that it fits."
    )
    reserve: Tokens | None = Field(
        None, description=f"Tokens of the window to leave for the answer; {DEFAULT_RESERVE} when not given."
    )
    token_budget: Tokens | None = Field(None, description="Most tokens for what is recalled.")
    placement: Placement = Field(
        Placement.TWO,
        description=(
            "two: what is recalled whatever is said behind the leading system messages, the same from question to "
            "question, and what was chosen for this question before the last user message. one: all of it first."
        ),
    )


class Included(ResponseModel):
    """What was recalled, by id."""

    memories: Annotated[list[int], From("memory_ids")]
    facts: Annotated[list[int], From("fact_ids")]
    summary: Annotated[str | None, From("summary_id")] = Field(
        description="The newest summary that is in it; null where all it covers is shown."
    )
    profile: bool = Field(description="Whether the user's profile is in it; never without their consent.")
    retrieved: Annotated[list[str], From("retrieved_ids")] = Field(
        description="Ids of earlier messages, the most to the point first."
    )


class ContextAnswer(ResponseModel):
    """The messages to send, what is recalled among them, and what they amount to."""

    messages: list[SentMessage]
    recalled_at: list[int] = Field(description="Places in messages, from 0, of those that hold what is recalled.")
    stable_prefix_tokens: int = Field(
        description=(
            "Tokens at the beginning of messages that are the same for the next question of the conversation, unless "
            "something remembered changes meanwhile or the window becomes full; with placement one, 0."
        )
    )
    system_prompt: str = Field(description="The recalled text alone, all of it; it already stands in messages.")
    memory_tokens: int
    total_tokens: int
    percent_used: float | None = Field(description="Of contextWindow, per cent; null when none was given.")
    stage: CompactionStage = Field(description="How far it was compacted.")
    included: Included
    missing: list[str] = Field(description="Parts that could not be had at the moment.")
    degraded: list[str] = Field(
        description="What the search for earlier messages had to do without: words, vectors, embedding."
    )
    trimmed: int = Field(description="Messages left out to fit the window.")
    cut: bool = Field(description="Whether a message was shortened, because it alone exceeds the window.")
    shrunk: bool = Field(
        description="Whether the conversation leaves so little of the window that less is recalled beside it."
    )
    token_source: TokenSource = Field(
        description="The least certain figure used: the provider's, one calibrated for the model, or an estimate."
    )


router = APIRouter(prefix="/apps/{appId}", route_class=under(OF_APP))


@router.post("/context", response_model=ContextAnswer, tags=["Context"], summary="Compose a context")
@policy(OF_APP, Trait.COSTLY, Trait.READS, whose=Whose.BY_ROUTE)
def compose_context(ctx: Reads, app_id: AppInPath, body: AskContext | None = None) -> Response:
    """Compose the messages to send to a model: what was said, and what is recalled beside it, as fits.

    Costs no energy but for the vector of what is said now.
    """
    request = _context_request(ctx, body or AskContext())
    context = open_context(ctx.loop.searching.reach, app_id, request, ctx.caller.name)
    sent, included = [one.sent for one in context.messages], Included.from_row(context)
    return answer(ContextAnswer.from_row(context, messages=sent, included=included))


def _context_request(ctx: RequestContext, body: AskContext) -> ContextRequest:
    budget = ctx.loop.settings.context_token_budget if body.token_budget is None else body.token_budget
    messages = None if body.messages is None else [message.as_utterance() for message in body.messages]
    return ContextRequest(
        token_budget=budget,
        is_capped=body.token_budget is not None,
        messages=messages,
        conversation_id=body.conversation_id,
        user_id=ctx.user_meant(body.user_id, body.conversation_id),
        pending_message=body.message,
        model=body.model,
        context_window=body.context_window,
        reserve=body.reserve,
        placement=body.placement,
    )


@router.get("/energy", tags=["Energy"], summary="Show what an app has spent")
def show_app_energy(ctx: Reads, app_id: AppInPath) -> AppEnergy:
    """Show what an app has spent in all and lately, and its budgets."""
    with ctx.read() as session:
        app = get_app(session, app_id)
        spent = spent_by_window(session, app_id, ctx.now())
        throttle = get_throttle(session, app_id, WorkClass.THOUGHT)
        by_kind = {kind: to_units(micro) for kind, micro in spent_by_kind(session, app_id).items()}
    return AppEnergy(
        app_id=app_id,
        **{name: to_units(micro) for name, micro in spent.items()},
        by_kind=by_kind,
        hourly_budget=units_or_none(app.hourly_budget_micro),
        hourly_status=budget_status(app.hourly_budget_micro, spent["last1h"]),
        daily_budget=units_or_none(app.daily_budget_micro),
        daily_status=budget_status(app.daily_budget_micro, spent["last24h"]),
        held_until=None if throttle is None else throttle.until,
    )


@router.delete("/data", response_model=Erased, tags=["Memories"], summary="Erase everything of an app")
@as_write
def erase_app_data(ctx: Writes, session: Session, app_id: AppInPath) -> WriteResult:
    """Erase everything an app ever held, in every store. The app itself stays, empty."""
    return erasures.erased(ctx, session, erase_app(session, app_id, ctx.caller.name, ctx.now()))


_OF_THE_APP_ALONE: dict[str, object] = {"config": {}, "hourly_budget_micro": None, "daily_budget_micro": None}


@router.get("/export", response_model=Archive, operation_id="exportApp", tags=["Archives"], summary="Export an app")
@policy(OF_APP, Trait.COSTLY, whose=Whose.IN_QUERY)
def export_document(ctx: Reads, app_id: AppInPath, user_id: UserInQuery = None) -> Response:
    """Take an app out as one JSON document, or what it holds of one user.

    By a user's own token without the app's config and budgets.
    """
    with ctx.read() as session:
        archive = export_app(session, get_app(session, app_id), ctx.now(), user_id)
    if ctx.caller.user_id is not None:
        archive = archive.model_copy(update={"app": archive.app.model_copy(update=_OF_THE_APP_ALONE)})
    return answer(archive)


async def _sent_archive(request: Request) -> Archive:
    # Beside the loop: read by the library, a large one would have everybody wait for seconds.
    if "json" not in request.headers.get("content-type", ""):
        raise Invalid("Send the body as JSON, with the header Content-Type: application/json.")
    body = await request.body()
    try:
        return await run_sync(Archive.model_validate_json, body)
    except ValidationError as error:
        raise body_error(error) from None


_ARCHIVE: dict[str, Any] = {"application/json": {"schema": {"$ref": "#/components/schemas/Archive"}}}


@router.post(
    "/import",
    response_model=ImportedAnswer,
    tags=["Archives"],
    summary="Import an app",
    openapi_extra={"requestBody": {"required": True, "content": _ARCHIVE}},
)
@policy(OF_APP, Trait.COSTLY, Trait.LARGE_BODY)
@as_write
def import_app(
    ctx: Writes, session: Session, app_id: AppInPath, body: Annotated[Archive, Depends(_sent_archive)]
) -> WriteResult:
    """Put an exported document into an app, whole or not at all. An admin token may name an app that is not there."""
    app = _receiving_app(ctx, session, app_id, body)
    done = import_archive(session, app, body, ctx.loop.settings, ctx.now())
    answer = ImportedAnswer(
        conversations=Arrived(imported=done.conversations, skipped=done.conversations_skipped),
        messages=done.messages,
        memories=Arrived(imported=done.memories, skipped=done.memories_skipped),
        history=Arrived(imported=done.changes, skipped=done.changes_skipped),
        facts=Arrived(imported=done.facts, skipped=done.facts_skipped),
        fact_history=Arrived(imported=done.fact_changes, skipped=done.fact_changes_skipped),
        summaries=done.summaries,
        profiles=Arrived(imported=done.profiles, skipped=done.profiles_skipped),
    )
    return WriteResult(answer, about=app_id)


def _receiving_app(ctx: RequestContext, session: Session, app_id: str, archive: Archive) -> App:
    try:
        lock_app(session, app_id)
    except NotFound:
        if ctx.caller.scope is not Scope.ADMIN:
            raise
        app = install(session, app_id, archive.app.name, archive.app.config, ctx.now())
        # Only of an app that is new here: one that is there keeps what was set for it.
        app.hourly_budget_micro = archive.app.hourly_budget_micro
        app.daily_budget_micro = archive.app.daily_budget_micro
        app.shared_memory = archive.app.shared_memory
        app.time_zone = archive.app.time_zone
        return app
    return get_installed_app(session, app_id)


class ImportedProject(ResponseModel):
    """A project that was imported, and how much of each it held."""

    project_id: str
    display_name: str
    sessions: int
    versions: int
    compositions: int
    semantic_memories: int


project_archive_router = APIRouter(prefix="/api/memory/projects", tags=["Projects"], route_class=under(OF_APP_IN_QUERY))
_FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}


@project_archive_router.get(
    "/{projectId}/export",
    summary="Export a project",
    response_class=StreamingResponse,
    responses={200: {"content": {ARCHIVE_TYPE: _FILE}, "description": "A zip file with a checksum of each part."}},
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY)
def export_project(ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath) -> StreamingResponse:
    """Pack a project with its sessions, versions, compositions and history into one file."""
    # Open until the answer has been sent, which is after this function has returned.
    resources = ExitStack()
    path = resources.enter_context(packed(ctx.loop.database, ctx.loop.store, app_id, project_id))
    size = path.stat().st_size

    def chunks() -> Iterator[bytes]:
        with resources, path.open("rb") as file:
            yield b""
            yield from chunks_of(file, size)

    body = chunks()
    # Begun here: a generator that nobody begins, as the client has left, clears nothing away when it goes.
    next(body)

    headers = {"Content-Length": str(size), "Content-Disposition": 'attachment; filename="project.zip"'}
    return StreamingResponse(body, media_type=ARCHIVE_TYPE, headers=headers)


@project_archive_router.post(
    "/import",
    status_code=201,
    response_model=ImportedProject,
    summary="Import a project",
    openapi_extra={"requestBody": {"required": True, "content": {ARCHIVE_TYPE: _FILE}}},
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.TAKES_FILE, Trait.LARGE_BODY)
async def import_project(
    request: Request,
    ctx: Writes,
    app_id: SessionsAppId,
    project_id: Annotated[
        str | None, Query(alias="projectId", pattern=FILE_ID_PATTERN, description="Another name for it.")
    ] = None,
) -> Response:
    """Take in what export packed, sent as the body: checked whole first, and never over what is there."""
    if not is_streamed(request.scope, request.headers):
        raise Invalid(f"Send the archive as the body, with the header Content-Type: {ARCHIVE_TYPE}.")
    limits = await run_sync(bodies.limits_of, ctx, app_id)
    upload = await bodies.receive(request, ctx.loop.store, app_id, limits)
    try:
        keyed = bodies.keyed(ctx, request, upload)
        return await run_sync(_import, keyed, app_id, project_id, upload.path, limits.cache)
    finally:
        upload.remove()


def _import(ctx: RequestContext, app_id: str, project_id: str | None, path: FilePath, most: int) -> Response:
    loop = ctx.loop
    # Before it is checked: what is erased meanwhile is not brought back.
    begun = loop.registrar.locate(app_id, "", "")
    with check_archive(loop.store, app_id, path, loop.settings, most) as found:
        is_admins = ctx.caller.scope is Scope.ADMIN
        destination = replace(begun, project_id=project_id or found.archive.project.project_id)

        def carry(work: ProjectWork) -> Response:
            return ctx.write(lambda session: _imported(ctx, session, work, found))

        return restore_archive(loop.database, loop.store, destination, found, ctx.cause(BY_HAND), carry, is_admins)


def _imported(ctx: RequestContext, session: Session, work: ProjectWork, found: CheckedArchive) -> WriteResult:
    project = work(session)
    app_id, project_id = project.app_id, project.project_id

    def notify() -> None:
        ctx.loop.metrics.sessions_registered.labels("archive").inc(len(found.archive.sessions))
        shown(ctx, app_id, project_id)

    imported = ImportedProject(
        project_id=project_id,
        display_name=project.display_name,
        sessions=len(found.archive.sessions),
        versions=sum(len(one.versions) for one in found.archive.sessions),
        compositions=len(found.archive.compositions),
        semantic_memories=len(found.archive.semantic_memories),
    )
    return WriteResult(imported, 201, about=app_id, then=notify)
