"""What a route is handed: who asks, the loop, and one way to read and one way to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Concatenate, ParamSpec

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from loop.api.cursors import PageRequest
from loop.api.errors import RouteWords, opens_only_of_user
from loop.api.policy import Whose, policy_of
from loop.api.schema import APP_ID_PATTERN, KEY_PATTERN
from loop.api.writes import IdempotentRequest, Work, WriteResult, carry_out
from loop.wiring import Loop
from shared.apps.models import Grant, Scope
from shared.apps.queries import Caller
from shared.base.audit import Cause
from shared.base.errors import Denied, Invalid, NotFound
from shared.contracts.values import FILE_ID_PATTERN, ID_PATTERN, LARGEST_INTEGER, Id, UserId, UserOrNobody
from shared.erasure.queries import own_all

_P = ParamSpec("_P")
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class RequestContext:
    """One request's view of the loop."""

    loop: Loop
    caller: Caller
    idempotent: IdempotentRequest
    route_words: RouteWords

    def now(self) -> datetime:
        return self.loop.clock.now()

    def read(self) -> AbstractContextManager[Session]:
        return self.loop.database.read()

    def write(self, work: Work) -> Response:
        """Carry out a write once per idempotency key, and answer."""
        return carry_out(self.loop.database, self.idempotent, work, self.now())

    def cause(self, reason: str) -> Cause:
        return Cause(self.caller.name, reason, self.now())

    def user_meant(self, named: str | None, conversation_id: str | None = None) -> str | None:
        """Return whom a request is about: who is named, or else whose own token it came with.

        Raises: Denied where another is named, NotFound where the conversation is another's.
        """
        own = self.caller.user_id
        if own is None:
            return named
        if named not in (None, "", own):
            raise opens_only_of_user(own)
        if conversation_id is not None:
            with self.read() as session:
                self.require_own(session, {"conversationId": conversation_id})
        return own

    def require_own(self, session: Session, names: Mapping[str, object]) -> None:
        """Hold a user's own token to what is theirs; ``names``: of what a request names, by parameter.

        Raises: NotFound for what is another's, and in the same words for what is not there.
        """
        app_id, own = self.caller.app_id, self.caller.user_id
        if own is not None and not own_all(session, app_id or "", own, names):
            raise NotFound(f"{own} has nothing of this name here.", details={"onlyUser": own})

    def require_admin(self, what: str) -> None:
        """Raises: Denied, when an app's token asks for what is an admin's."""
        if self.caller.scope is not Scope.ADMIN:
            raise Denied(f"Only an admin token may {what}.")

    def require_grant(self, grant: Grant, what: str) -> None:
        """Raises: Denied, when an app's token was not made for what it asks for."""
        if not self.caller.has(grant):
            raise Denied(
                f'This token may not {what}: use the admin token, or one that was issued with "grants": ["{grant}"].'
            )


def as_write(route: Callable[Concatenate[RequestContext, Session, _P], WriteResult]) -> Callable[..., Response]:
    """Make a route of what a write does in its transaction, whose session it takes second; it is done once per key."""

    @wraps(route)
    def write(ctx: RequestContext, *args: _P.args, **given: _P.kwargs) -> Response:
        return ctx.write(lambda session: route(ctx, session, *args, **given))

    # FastAPI reads from it what a request has to give; the session is ours to give.
    first, _, *others = signature(route).parameters.values()
    setattr(write, "__signature__", Signature([first, *others]))  # noqa: B010
    return write


def _refuse_unknown_query(request: Request) -> None:
    """Raises: Invalid for a query parameter the operation does not have.

    A misspelt ``userId`` would otherwise widen a listing, or an erasure, from one user to all. Called by what every
    route is handed, and so after a route's own look at who may ask.
    """
    if not request.scope["query_string"]:
        return
    known = _query_of(request.scope["route"])
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise Invalid(f"{unknown[0]}: this operation has no such query parameter; {takes}.")


def _query_of(route: APIRoute) -> frozenset[str]:
    todo, known = [route.dependant], set()
    while todo:
        one: Dependant = todo.pop()
        known |= {field.alias for field in one.query_params}
        todo += one.dependencies
    return frozenset(known)


# Dependencies are coroutines because FastAPI sends plain functions to a thread, one hop each.
async def _write_context(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(pattern=KEY_PATTERN, description="A write under a key that was used before is answered as before."),
    ] = None,
) -> RequestContext:
    _refuse_unknown_query(request)
    key = idempotency_key if request.method != "GET" else None
    state, url = request.app.state, request.url
    digest = f"{request.method} {url.path}?{url.query} {getattr(request.state, 'body_digest', '')}"
    idempotent = IdempotentRequest(request.state.caller.name, key, digest if key else "")
    return await _held_to_own(request, RequestContext(state.loop, request.state.caller, idempotent, state.route_words))


async def _read_context(request: Request) -> RequestContext:
    _refuse_unknown_query(request)
    state, caller = request.app.state, request.state.caller
    ctx = RequestContext(state.loop, caller, IdempotentRequest(caller.name), state.route_words)
    return await _held_to_own(request, ctx)


async def _held_to_own(request: Request, ctx: RequestContext) -> RequestContext:
    """Hold a user's own token to what the path names of theirs. Raises: Denied, NotFound."""
    own, names = ctx.caller.user_id, request.path_params
    if own is None or policy_of(request.scope).whose is not Whose.IN_PATH:
        return ctx
    if "userId" in names:
        if names["userId"] != own:
            raise opens_only_of_user(own)
        return ctx

    def look() -> None:
        # As they were sent: what the route would refuse for its form is nothing of theirs either.
        named = {
            name: value if name == "conversationId" else int(value)
            for name, value in names.items()
            if name == "conversationId" or _NUMBER.fullmatch(value)
        }
        with ctx.read() as session:
            ctx.require_own(session, named)

    await run_in_threadpool(look)
    return ctx


async def _loop(request: Request) -> Loop:
    _refuse_unknown_query(request)
    loop: Loop = request.app.state.loop
    return loop


async def _sessions_app_id(
    request: Request,
    app_id: Annotated[
        str | None,
        Query(alias="appId", pattern=APP_ID_PATTERN, description="The app; an app's token may leave its own out."),
    ] = None,
) -> str:
    """Return the app a request about recorded sessions is for; the guard leaves it to us who may ask.

    Raises: Denied for another app than the token's own, Invalid where an admin names none.
    """
    caller = request.state.caller
    if caller.scope is not Scope.ADMIN and (caller.app_id is None or app_id not in (None, caller.app_id)):
        raise Denied(f"This token opens only what belongs to app {caller.app_id}.")
    named: str | None = app_id or caller.app_id
    if named is None:
        raise Invalid("Name the app whose sessions are meant: ?appId=APP.", code="app_missing")
    return named


Reads = Annotated[RequestContext, Depends(_read_context)]
Writes = Annotated[RequestContext, Depends(_write_context)]
LoopNow = Annotated[Loop, Depends(_loop)]
AppInPath = Annotated[str, Path(alias="appId", pattern=APP_ID_PATTERN, examples=["chat"])]
ConversationInPath = Annotated[Id, Path(alias="conversationId")]
SessionsAppId = Annotated[str, Depends(_sessions_app_id)]
ProjectInPath = Annotated[str, Path(alias="projectId", pattern=FILE_ID_PATTERN, examples=["-home-ada-kites"])]
SessionInPath = Annotated[str, Path(alias="sessionId", pattern=ID_PATTERN)]
MemoryInPath = Annotated[int, Path(alias="memoryId", ge=1, le=LARGEST_INTEGER)]
JobInPath = Annotated[str, Path(alias="jobId", pattern=ID_PATTERN)]
LimitInQuery = Annotated[int, Query(ge=1, le=200, description="Most items to return.")]
UserInQuery = Annotated[
    UserOrNobody | None,
    Query(
        alias="userId",
        description="Only of this user (empty: only what names nobody); without it, of all of the app's.",
    ),
]
UserInPath = Annotated[UserId, Path(alias="userId")]
SearchInQuery = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="Only those whose id or name has this in it, in either case."),
]
CursorInQuery = Annotated[str | None, Query(max_length=400, description="Goes on where a former page ended.")]


async def _page_of_50(limit: LimitInQuery = 50, cursor: CursorInQuery = None) -> PageRequest:
    return PageRequest(limit, cursor)


async def _page_of_200(limit: LimitInQuery = 200, cursor: CursorInQuery = None) -> PageRequest:
    return PageRequest(limit, cursor)


PageOf50 = Annotated[PageRequest, Depends(_page_of_50)]
PageOf200 = Annotated[PageRequest, Depends(_page_of_200)]
