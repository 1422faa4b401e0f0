"""``afterthought mcp``: memory as tools for an agent that starts its servers as programs."""

from __future__ import annotations

from typing import Annotated

import typer

from loop.cli.invocation import Invocation, TokenOption, UrlOption
from loop.mcp import is_installed, missing
from shared.base.errors import Configuration


def mcp(
    app_id: Annotated[str, typer.Option("--app", help="The app whose memory it is.", show_default=False)],
    user_id: Annotated[
        str | None,
        typer.Option("--user", help="Whose memory it is; left out: what names nobody.", show_default=False),
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Serve the memory of one user as tools over standard input and output, for agents that speak MCP."""
    if not is_installed():
        raise Configuration(missing())
    import asyncio  # none of these is needed for --help

    import httpx  # as above

    from loop.cli.service import TIMEOUT  # as above
    from loop.mcp.server import serve_stdio  # as above, and brings the library
    from loop.mcp.service import MemoryService  # as above

    call = Invocation(given_url=url, given_token=token)

    async def serve() -> None:
        headers = {"Authorization": f"Bearer {call.token}"}
        async with httpx.AsyncClient(base_url=call.url, headers=headers, timeout=TIMEOUT, trust_env=False) as http:
            await serve_stdio(MemoryService(http, app_id, user_id or None))

    asyncio.run(serve())
