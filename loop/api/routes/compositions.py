"""Compositions: asked for, foreseen, read, used, made again, removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import PageOf50, ProjectInPath, Reads, RequestContext, SessionsAppId, Writes, as_write
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.jobs import JobAnswer
from loop.api.schema import TEXT, Flag, From, RequestModel, ResponseModel, Success
from loop.api.writes import WriteResult, answer
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.errors import Conflict, NotFound, Operation
from shared.contracts.values import FILE_ID_PATTERN, ID_PATTERN
from shared.jobs.queries import get_job
from shared.sessions import manifest
from shared.sessions.compose import compositions, queries
from shared.sessions.compose.compositions import (
    MAX_NAME_CHARS,
    CompositionName,
    CompositionRequest,
    count_composition_use,
    plan_composition,
    record_session_use,
    refuse_unready,
    request_composition,
)
from shared.sessions.compose.documents import FILES
from shared.sessions.compose.plan import ComponentForm, ComponentPlan
from shared.sessions.compose.queries import ComponentRow
from shared.sessions.models import BuildState, Composition, Project
from shared.sessions.queries import get_project, get_session, lock_project_by_key


class MakeComposition(CompositionRequest):
    """Asks for a composition."""

    name: CompositionName = Field(description="Unique in its project; also its folder's name.", examples=["feature-x"])
    replace: Flag = Field(False, description="Whether one of that name makes way; it is removed at once.")

    @property
    def request(self) -> CompositionRequest:
        return CompositionRequest.model_validate(self.model_dump(exclude={"name", "replace"}))


class ForeseeComposition(CompositionRequest):
    """Asks what a composition would be made of."""

    name: CompositionName | None = Field(None, description="Stands above it, so that a long one takes a few tokens.")


class ComposeAgain(RequestModel):
    """Asks for the same composition over what there is now."""

    name: CompositionName | None = Field(None, description="Of the new one; unless said, it takes this one's place.")
    replace: Flag = False


class UseComposition(RequestModel):
    """Says that a session began with a composition."""

    session_id: str = Field(pattern=FILE_ID_PATTERN, description="It need not be registered.")


class ComponentItem(ResponseModel):
    """A session's part in a composition."""

    session_id: Annotated[str, From("recorded.session_id")]
    project_id: Annotated[str, From("project.project_id")]
    version_id: str = Field(description="The version that is used, or `original`.")
    version_state: BuildState | None = Field(description="Whether that version is there yet; null for the original.")
    order: Annotated[int, From("component.position")]
    allocation: Annotated[int, From("component.allocation")] = Field(
        description="Tokens it may take; more where others leave some."
    )
    token_contribution: Annotated[int, From("component.tokens")] = Field(
        description="Tokens it takes, with its heading."
    )
    left_out: Annotated[int, From("component.left_out")] = Field(description="Segments for which there was no room.")
    stale: bool = Field(description="Whether the version covers less than the session holds by now.")
    recompress: Annotated[dict[str, Any] | None, From("component.recompress")] = Field(
        description="Settings and reason, where a version was made for it."
    )

    @classmethod
    def of(cls, row: ComponentRow) -> ComponentItem:
        version = row.compression
        return cls.from_row(
            row,
            version_id="original" if version is None else version.version_id,
            version_state=None if version is None else version.state,
            stale=version is not None and version.source_bytes < row.recorded.size_bytes,
        )


class CompositionAnswer(ResponseModel):
    """A composition, without what it says."""

    composition_id: str
    project_id: str
    name: str
    state: BuildState
    failure: str | None = Field(description="Why it failed, and what to do.")
    job_id: str | None
    token_budget: Annotated[int, From("budget")]
    total_tokens: int
    total_messages: int
    components: list[ComponentItem] = Field(description="In order; none once it has failed.")
    used_in_sessions: list[str]
    uses: int
    last_used: datetime | None
    asked_by: str
    created_at: datetime
    finished_at: datetime | None
    request: dict[str, Any] = Field(description="As it was asked for.")

    @classmethod
    def of(cls, composition: Composition, project_id: str, rows: Sequence[ComponentRow]) -> CompositionAnswer:
        components = [ComponentItem.of(row) for row in rows]
        return cls.from_row(composition, project_id=project_id, components=components)


class CompositionList(ResponseModel):
    """A project's compositions, newest first."""

    compositions: list[CompositionAnswer]
    cursor: str | None


class CompositionMade(ResponseModel):
    """A composition that was asked for, and the job that makes it."""

    composition: CompositionAnswer
    job: JobAnswer


class CompositionRemoved(Success):
    """A composition was removed."""

    composition_id: str


class ForeseenItem(ResponseModel):
    """What a session would get."""

    session_id: Annotated[str, From("wish.recorded.session_id")]
    way: ComponentForm = Field(description="As its original, a version there is, one being made, or one to be made.")
    version_id: str | None = Field(description="The version that is there or being made.")
    allocation: int
    original_tokens: Annotated[int, From("wish.recorded.original_tokens")]
    stale: Annotated[bool, From("is_stale")]
    settings: dict[str, Any] | None = Field(description="Of the version that would be made.")
    reason: str

    @classmethod
    def of(cls, one: ComponentPlan) -> ForeseenItem:
        settings = one.settings
        return cls.from_row(
            one,
            version_id=None if one.version is None else one.version.version_id,
            settings=None if settings is None else settings.model_dump(mode="json", by_alias=True, exclude_none=True),
        )


class CompositionForeseen(ResponseModel):
    """What a composition would be made of; nothing was written."""

    token_budget: int
    allocated: int = Field(description="Tokens allocated to sessions; headings take the rest.")
    components: list[ForeseenItem]
    compressions: int = Field(description="Versions that would have to be made.")


router = APIRouter(prefix="/api/memory", tags=["Compositions"], route_class=under(OF_APP_IN_QUERY))
_ENDINGS = {"markdown": "md", "jsonl": "jsonl"}
_TYPES = {"md": "text/markdown; charset=utf-8", "jsonl": "application/x-ndjson"}
CompositionInPath = Annotated[str, Path(alias="compositionId", pattern=ID_PATTERN)]
Format = Annotated[
    Literal["json", "markdown", "jsonl"],
    Query(alias="format", description="`json`: what it is made of. The others: what it says, which counts as a use."),
]


@router.get("/projects/{projectId}/compositions", summary="List compositions")
def list_compositions(
    ctx: Reads,
    page: PageOf50,
    app_id: SessionsAppId,
    project_id: ProjectInPath,
    state: Annotated[BuildState | None, Query(description="Only those that stand so.")] = None,
    session_id: Annotated[
        str | None, Query(alias="sessionId", pattern=FILE_ID_PATTERN, description="Only those with this session.")
    ] = None,
) -> CompositionList:
    """List a project's compositions, newest first, those under way and those that failed included."""
    with ctx.read() as session:
        project = get_project(session, app_id, project_id)
        part = None if session_id is None else get_session(session, app_id, session_id).key
        found, following = page.numbered(
            "compositions", partial(queries.list_compositions, session, project.key, state, part)
        )
        rows = queries.rows_of(session, [one.key for one in found])
        return CompositionList(
            compositions=[CompositionAnswer.of(one, project_id, rows[one.key]) for one in found], cursor=following
        )


@router.post(
    "/projects/{projectId}/compositions", status_code=202, response_model=CompositionMade, summary="Compose a context"
)
def make_composition(ctx: Writes, app_id: SessionsAppId, project_id: ProjectInPath, body: MakeComposition) -> Response:
    """Ask for a context made of several sessions within a token budget; versions it lacks are made first."""
    return ctx.write(lambda session: _enqueue_composition(ctx, session, app_id, project_id, body))


@router.post(
    "/projects/{projectId}/compositions/preview", response_model=CompositionForeseen, summary="Foresee a composition"
)
@policy(OF_APP_IN_QUERY, Trait.COSTLY, Trait.READS)
def preview_composition(
    ctx: Reads, app_id: SessionsAppId, project_id: ProjectInPath, body: ForeseeComposition
) -> Response:
    """Say what each session would get, as which version, and what would have to be compressed. Nothing is written."""
    with ctx.read() as session:
        project = get_project(session, app_id, project_id)
        # Without a name as with the longest, so that what is foreseen has room in any case.
        found = plan_composition(session, project, body.name or "x" * MAX_NAME_CHARS, body)
        return answer(
            CompositionForeseen(
                token_budget=body.total_token_budget,
                allocated=sum(one.allocation for one in found),
                components=[ForeseenItem.of(one) for one in found],
                compressions=sum(one.way is ComponentForm.COMPRESS for one in found),
            )
        )


@router.get(
    "/compositions/{compositionId}",
    response_model=CompositionAnswer,
    responses={200: {"content": {"text/markdown": TEXT, "application/x-ndjson": TEXT}}},
    summary="Show a composition",
)
def show_composition(
    ctx: Reads, app_id: SessionsAppId, composition_id: CompositionInPath, format_: Format = "json"
) -> Response:
    """Show what a composition is made of, or hand out what it says."""
    with ctx.read() as session:
        composition = queries.get_composition(session, app_id, composition_id)
        if format_ == "json":
            return answer(_shown(session, composition))
        project_id = session.get_one(Project, composition.project_key).project_id
    ending = _ENDINGS[format_]
    refuse_unready(composition)
    if ending not in composition.digests:
        raise NotFound(f"Composition {composition.name} was asked for without this format; ask for it again with it.")
    folder = ctx.loop.store.composition_folder(composition.app_id, project_id, composition.name)
    path = folder / FILES[ending]
    # What is missing is as bad as what was changed: neither has the digest.
    content = path.read_bytes() if path.is_file() else b""
    if sha256(content).hexdigest() != composition.digests[ending]:
        raise Conflict(
            f"{path.name} of composition {composition.name} is not what was written; ask for it again "
            "with {operation}.",
            code="composition_damaged",
            operation=Operation(
                "composeAgain", {"appId": composition.app_id, "compositionId": composition.composition_id}
            ),
        )
    with ctx.loop.database.write() as session:
        count_composition_use(session, composition, ctx.now())
    return Response(content, media_type=_TYPES[_ENDINGS[format_]])


@router.delete("/compositions/{compositionId}", response_model=CompositionRemoved, summary="Remove a composition")
@as_write
def remove_composition(
    ctx: Writes, session: Session, app_id: SessionsAppId, composition_id: CompositionInPath
) -> WriteResult:
    """Remove a composition with its documents, and stop its job; its sessions and versions stay."""
    lock_app(session, app_id)
    composition = queries.get_composition(session, app_id, composition_id)
    project = lock_project_by_key(session, composition.project_key)
    compositions.remove_composition(session, project, composition, ctx.cause("removed"))
    gone = CompositionRemoved(composition_id=composition_id)
    return WriteResult(gone, then=lambda: _clear_away(ctx, app_id, project.project_id, composition.name))


@router.post("/compositions/{compositionId}/used", response_model=CompositionAnswer, summary="Say who used it")
@as_write
def use_composition(
    ctx: Writes, session: Session, app_id: SessionsAppId, composition_id: CompositionInPath, body: UseComposition
) -> WriteResult:
    """Say that a session began with a composition; a session is noted once."""
    composition = record_session_use(session, app_id, composition_id, body.session_id, ctx.cause("a session used it"))
    shown = _shown(session, composition)

    def show() -> None:
        manifest.write(ctx.loop.database, ctx.loop.store, app_id, shown.project_id)

    return WriteResult(shown, about=app_id, then=show)


@router.post(
    "/compositions/{compositionId}/again", status_code=202, response_model=CompositionMade, summary="Compose again"
)
@as_write
def compose_again(
    ctx: Writes,
    session: Session,
    app_id: SessionsAppId,
    composition_id: CompositionInPath,
    body: ComposeAgain | None = None,
) -> WriteResult:
    """Ask for the same over what there is now, under a new name or in this one's place."""
    requested = body or ComposeAgain()
    lock_app(session, app_id)
    former = queries.get_composition(session, app_id, composition_id)
    project_id = session.get_one(Project, former.project_key).project_id
    takes_its_place = requested.name in (None, former.name)
    named = {"name": requested.name or former.name, "replace": requested.replace or takes_its_place}
    return _enqueue_composition(
        ctx, session, app_id, project_id, MakeComposition.model_validate(former.request | named)
    )


def _enqueue_composition(
    ctx: RequestContext, session: Session, app_id: str, project_id: str, new: MakeComposition
) -> WriteResult:
    app = lock_app(session, app_id)
    # Once it is locked, as it may be being uninstalled at this moment.
    get_installed_app(session, app_id)
    cause, settings = ctx.cause("asked for"), ctx.loop.settings
    composition = request_composition(session, app, project_id, new.name, new.request, cause, settings, new.replace)
    assert composition.job_id is not None
    job = get_job(session, composition.job_id)
    made = CompositionMade(composition=_shown(session, composition), job=JobAnswer.awaited(ctx, session, job))
    return WriteResult(made, 202, about=app_id, then=ctx.loop.ticker.wake)


def _shown(session: Session, composition: Composition) -> CompositionAnswer:
    project = session.get_one(Project, composition.project_key)
    rows = queries.rows_of(session, [composition.key])[composition.key]
    return CompositionAnswer.of(composition, project.project_id, rows)


def _clear_away(ctx: RequestContext, app_id: str, project_id: str, name: str) -> None:
    """Remove the documents of a composition, unless its name was given anew meanwhile."""
    with ctx.read() as session:
        get_app(session, app_id)
        project = get_project(session, app_id, project_id)
        is_taken = queries.composition_by_name(session, project.key, name) is not None
    if not is_taken:
        ctx.loop.store.remove(ctx.loop.store.composition_folder(app_id, project_id, name))
    manifest.write(ctx.loop.database, ctx.loop.store, app_id, project_id)
