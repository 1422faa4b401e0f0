"""Who may pass: every request needs a token unless its route declares otherwise, and what is not allowed is refused.

The guard stands before the routes and goes by what they declare (``loop.api.policy``), so a stranger learns nothing of
what is well-formed or what exists.

Who holds a token is remembered for a second, because to look it up costs as much as a short request. What is revoked
here is forgotten at once; another loop over the same database may let it pass for that second.
"""

from __future__ import annotations

import hmac
from dataclasses import replace
from time import monotonic
from urllib.parse import parse_qs, urlencode

from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.errors import UNAUTHENTICATED, answer_error, opens_for_app, opens_only, opens_only_of_user
from loop.api.policy import Access, AppPlace, RoutePolicies, RoutePolicy, Trait, Whose
from loop.wiring import Loop
from shared.apps.models import Scope as TokenScope
from shared.apps.queries import ADMIN, READER, SCRAPER, Caller, Rights, authenticate, digest_of, token_digest_of
from shared.base.errors import AfterthoughtError, Denied

_MOST_TOKEN_CHARACTERS = 500
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
REMEMBERED_SECONDS = 1.0
_MOST_REMEMBERED = 10_000


class _Callers:
    """Who holds which token, by its digest, looked up within the last second. For the thread of the event loop only."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Caller]] = {}
        self.forgotten = 0
        """How often everything was forgotten: what was looked up before must not be remembered after."""

    def get(self, digest: str) -> Caller | None:
        at, caller = self._known.get(digest, (0.0, None))
        return caller if monotonic() - at < REMEMBERED_SECONDS else None

    def remember(self, digest: str, caller: Caller, forgotten: int) -> None:
        if forgotten == self.forgotten:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[digest] = (monotonic(), caller)

    def forget(self) -> None:
        self.forgotten += 1
        self._known.clear()


class AccessGuard:
    """ASGI middleware; leaves the route's policy and the caller in ``scope["state"]``."""

    def __init__(self, app: ASGIApp, loop: Loop, policies: RoutePolicies) -> None:
        self._app = app
        self._loop = loop
        self._policies = policies
        self._callers = _Callers()
        more = ((loop.settings.read_token, READER), (loop.settings.metrics_token, SCRAPER))
        self._own = [
            (loop.admin_token, ADMIN),
            *((token.get_secret_value(), holder) for token, holder in more if token is not None),
        ]
        self._own_by_digest = {digest_of(own): holder for own, holder in self._own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            policy, template = self._policies.of(scope)
            # What is refused before it reaches its route is counted as that route's all the same.
            scope.setdefault("state", {}).update(policy=policy, template=template)
            if policy.access is not Access.ANYBODY:
                try:
                    secret = _secret_in(Headers(scope=scope).get("authorization"))
                    digest = scope["state"]["token_digest"] = digest_of(secret)
                    caller = await self._recognise(secret, digest)
                    _admit(caller, policy, scope)
                except AfterthoughtError as error:
                    await answer_error(error, scope)(scope, receive, send)
                    return
                scope["state"]["caller"] = caller
        # Tokens are revoked by this method alone: one by one, with their app, and with its data.
        is_revoking = scope["type"] == "http" and scope["method"] == "DELETE"
        await self._app(scope, receive, self._forgetting(send) if is_revoking else send)

    def _forgetting(self, send: Send) -> Send:
        async def forget_and_send(message: Message) -> None:
            # Before it is said that the token is revoked.
            self._callers.forget()
            await send(message)

        return forget_and_send

    async def _recognise(self, secret: str, digest: str) -> Caller:
        # Tokens of the installation are compared in memory; only an app's needs the database, and so a thread.
        for own, holder in self._own:
            # In constant time, so that how long it takes tells nothing of the token.
            if hmac.compare_digest(secret.encode(), own.encode()):
                return holder
        caller = self._callers.get(digest)
        if caller is None:
            # Before the look-up: a token that is revoked during it must not be remembered.
            forgotten = self._callers.forgotten
            caller = await run_sync(self._look_up, digest)
            self._callers.remember(digest, caller, forgotten)
        return caller

    def _look_up(self, digest: str) -> Caller:
        try:
            with self._loop.database.read() as session:
                of_login = token_digest_of(session, digest, self._loop.clock.now())
                # One of the installation's that was changed since is none of these, nor an app's.
                if of_login in self._own_by_digest:
                    return replace(self._own_by_digest[of_login], login_digest=digest)
                caller = authenticate(session, of_login or digest)
                return replace(caller, login_digest=digest) if of_login else caller
        except Denied as error:
            error.code = UNAUTHENTICATED
            raise


def _secret_in(header: str | None) -> str:
    """Return the token a request came with. Raises: Denied, where there is none."""
    kind, _, secret = (header or "").partition(" ")
    secret = secret.strip()
    if kind.lower() != "bearer" or not secret or len(secret) > _MOST_TOKEN_CHARACTERS:
        raise Denied("Send a token: Authorization: Bearer TOKEN.", code=UNAUTHENTICATED)
    return secret


def _admit(caller: Caller, policy: RoutePolicy, scope: Scope) -> None:
    """Let a caller pass. Raises: Denied, in the same words whether the thing exists or not."""
    method = scope["method"]
    if caller.rights is Rights.METRICS and (policy.access is not Access.SCRAPER or method != "GET"):
        raise Denied("This token opens only /metrics.")
    if caller.rights is Rights.READ and method not in _READING and Trait.READS not in policy.traits:
        raise Denied("This token may only read; use the admin token, or one of the app's.")
    if caller.scope is TokenScope.ADMIN:
        return
    is_of_another = policy.app is AppPlace.PATH and policy.app_named(scope) != caller.app_id
    if policy.access is not Access.APP or is_of_another:
        raise opens_only(caller.app_id)
    if caller.user_id is not None:
        if policy.whose is Whose.APPS:
            raise opens_for_app(caller.user_id, caller.app_id)
        _hold_to_user(caller.user_id, policy, scope)


def _hold_to_user(user_id: str, policy: RoutePolicy, scope: Scope) -> None:
    """Hold a request to what is one user's. Raises: Denied."""
    if policy.whose is Whose.IN_QUERY:
        query = scope["query_string"].decode("latin-1")
        named = parse_qs(query, keep_blank_values=True).get("userId", [])
        if any(one != user_id for one in named):
            raise opens_only_of_user(user_id)
        if not named:
            scope["query_string"] = f"{query}{'&' if query else ''}{urlencode({'userId': user_id})}".encode("latin-1")
    # Who or what is named in the path is looked at where the path has been taken apart (``dependencies``).
