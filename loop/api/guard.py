"""Who may pass: every request needs a token, except to the few open paths, and whatever is not allowed is refused.

The guard stands before the routes, so a route added later is guarded too, and a stranger learns nothing of what is
well-formed or what exists. An app's token opens what lies under its own app, and lets it look at its own jobs.
"""

from __future__ import annotations

import hmac

from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from loop.api.errors import UNAUTHENTICATED, answer_error
from loop.wiring import Loop
from shared.apps.tokens import ADMIN, Caller, authenticate
from shared.errors import AfterthoughtError, Denied

OPEN_PATHS = frozenset({"/health/live", "/health/ready", "/openapi.json"})
_MOST_TOKEN_CHARACTERS = 500
_CHECKED_BY_THEIR_ROUTES = frozenset({"/api/memory/consent"})
"""They are for an app's token too, but name the app elsewhere than in the path."""
_OF_SESSIONS = "/api/memory/"
_NOUNS_OF_SESSIONS = frozenset({"projects", "sessions", "compositions", "decay", "semantic", "links", "jobs"})
"""What lies under these looks the app up itself: ``dependencies.SessionsAppId``."""


class AccessGuard:
    """ASGI middleware; leaves the caller in ``scope["state"]["caller"]``."""

    def __init__(self, app: ASGIApp, loop: Loop) -> None:
        self._app = app
        self._loop = loop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            try:
                caller = await self._recognise(Headers(scope=scope).get("authorization"))
                admit(caller, scope["method"], scope["path"])
            except AfterthoughtError as error:
                await answer_error(error)(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    async def _recognise(self, header: str | None) -> Caller:
        kind, _, secret = (header or "").partition(" ")
        secret = secret.strip()
        if kind.lower() != "bearer" or not secret or len(secret) > _MOST_TOKEN_CHARACTERS:
            raise Denied("Send a token: Authorization: Bearer TOKEN.", code=UNAUTHENTICATED)
        # The admin token is compared in memory; only an app's needs the database, and so a thread.
        if hmac.compare_digest(secret.encode(), self._loop.admin_token.encode()):
            return ADMIN
        return await run_sync(self._look_up, secret)

    def _look_up(self, secret: str) -> Caller:
        try:
            with self._loop.database.read() as session:
                return authenticate(session, secret, self._loop.admin_token)
        except Denied as error:
            raise Denied(error.message, code=UNAUTHENTICATED) from None


def admit(caller: Caller, method: str, path: str) -> None:
    """Let a caller pass. Raises: Denied, in the same words whether the thing exists or not."""
    if caller == ADMIN:
        return
    first, _, rest = path.lstrip("/").partition("/")
    own = first == "apps" and caller.app_id is not None and rest.split("/", 1)[0] == caller.app_id
    own_jobs = first == "jobs" and method == "GET"
    if not (own or own_jobs or path in _CHECKED_BY_THEIR_ROUTES or _is_of_sessions(path)):
        raise Denied(f"This token opens only /apps/{caller.app_id} and what lies under it.")


def _is_of_sessions(path: str) -> bool:
    return path.startswith(_OF_SESSIONS) and path[len(_OF_SESSIONS) :].split("/", 1)[0] in _NOUNS_OF_SESSIONS
