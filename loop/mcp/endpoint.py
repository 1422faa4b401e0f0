"""Streamable HTTP at ``/mcp``: one request in, one JSON answer out, and no session kept between them.

So it does not matter which of several loops a request meets, and each is allowed or refused by its own token. What a
tool asks goes through the whole interface once more, under the token that came, and so can do nothing the token cannot.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loop.api.errors import refuse
from loop.api.inside import memory_mode, own_client, whose
from loop.mcp import is_installed, missing

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpEndpoint:
    """ASGI application of the route ``/mcp``."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_installed():
            await refuse(501, "not_installed", missing())(scope, receive, send)
            return
        headers = Headers(scope=scope)
        (app_id, user_id), memory = whose(scope["state"]["caller"], headers), memory_mode(headers)
        # Takes a second the first time, which nobody else should wait for.
        new_manager = await run_sync(_manager_maker)
        from loop.mcp.server import SERVICE  # imports the library, see above
        from loop.mcp.service import MemoryService  # as above

        async with own_client(scope) as http:
            SERVICE.set(MemoryService(http, app_id, user_id, memory))
            manager = new_manager()
            # Its tasks are begun here, and so see whom the call is for.
            async with manager.run():
                await manager.handle_request(scope, receive, send)


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
