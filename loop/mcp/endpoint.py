"""Streamable HTTP at ``/mcp``: one request in, one JSON answer out, and no session kept between them.

So it does not matter which of several loops a request meets, and each is allowed or refused by its own token. What a
tool asks goes through the whole interface once more, under the token that came, and so can do nothing the token cannot.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loop.api.errors import refuse
from loop.mcp import MISSING, is_installed
from shared.apps.tokens import Caller
from shared.errors import Invalid

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

APP_HEADER = "X-App-Id"
USER_HEADER = "X-User-Id"
_MOST_USER_CHARS = 200


class McpEndpoint:
    """ASGI application of the route ``/mcp``."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_installed():
            await refuse(501, "not_installed", MISSING)(scope, receive, send)
            return
        headers = Headers(scope=scope)
        app_id, user_id = _whose(scope["state"]["caller"], headers)
        # Takes a second the first time, which nobody else should wait for.
        new_manager = await run_sync(_manager_maker)
        from loop.mcp.server import SERVICE  # imports the library, see above
        from loop.mcp.service import MemoryService  # as above

        inside = httpx.ASGITransport(scope["app"], raise_app_exceptions=False)
        own_token = {"Authorization": headers["authorization"]}
        async with httpx.AsyncClient(transport=inside, base_url="http://afterthought", headers=own_token) as http:
            SERVICE.set(MemoryService(http, app_id, user_id))
            manager = new_manager()
            # Its tasks are begun here, and so see whom the call is for.
            async with manager.run():
                await manager.handle_request(scope, receive, send)


def _whose(caller: Caller, headers: Headers) -> tuple[str, str | None]:
    """Return the app and the user a request is for. Raises: Invalid, which the application answers."""
    app_id = caller.app_id or headers.get(APP_HEADER)
    if app_id is None:
        raise Invalid(f"Use an app's token, or name the app in the header {APP_HEADER}.", code="app_missing")
    user_id = _utf8(headers.get(USER_HEADER, ""))
    if len(user_id) > _MOST_USER_CHARS:
        raise Invalid(f"{USER_HEADER}: at most {_MOST_USER_CHARS} characters.")
    return app_id, user_id or None


def _utf8(header: str) -> str:
    """Return a header's value as it was meant: servers read bytes as Latin-1, users have names in UTF-8."""
    try:
        return header.encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        return header.strip()


@functools.cache
def _manager_maker() -> Callable[[], StreamableHTTPSessionManager]:
    """Return what makes a manager, which serves one request and is thrown away."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # heavy, and an extra

    from loop.mcp.server import memory_server  # imports the library

    server = memory_server()
    # Builds the server's own manager, which can be run once only; what it manages serves others as well.
    server.streamable_http_app()
    return functools.partial(
        StreamableHTTPSessionManager, server.session_manager.app, json_response=True, stateless=True
    )
