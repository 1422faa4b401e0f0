"""Serves the pages beside the interface: what has the path of a page goes to NiceGUI, everything else to the interface.

The library takes most of a second and 31 MB, so it is loaded in a thread once somebody looks at a page: who only calls
the interface never pays for it.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
import warnings
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.observing import method_of
from loop.api.policy import UNMATCHED
from loop.ui.transport import InProcess, is_same_site
from shared.base.installation import release
from shared.telemetry.metrics import Metrics

PATHS = frozenset(
    {"", "_nicegui", "_nicegui_ws", "login", "chat", "memory", "sessions", "composer", "operations", "administration"}
)
"""First parts of the addresses of pages; none of them is one of the interface's."""
# The library evaluates the templates and handlers that it is sent, so code may be made of text; but what runs by itself
# is a file of ours, or bears the word of this one answer. Styles stand in attributes everywhere.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'self'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


class Pages:
    """ASGI: the interface, and pages that are its clients."""

    def __init__(self, interface: FastAPI, metrics: Metrics) -> None:
        self._interface, self._metrics = interface, metrics
        self._interface_paths = {getattr(route, "path", "/").split("/")[1] for route in interface.routes}
        self._running = AsyncExitStack()
        self._served: asyncio.Task[ASGIApp] | None = None
        self.open: set[asyncio.Task[Any]] = set()
        """The connections of the pages that are looked at; they last as long as their visitors like."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._interface(scope, self._closing(receive), send)
        elif self._is_of_pages(scope):
            if self._served is None:
                self._served = asyncio.create_task(self._start())
            # Shielded: one client that leaves while all wait must not end the start for the others.
            pages = await asyncio.shield(self._served)
            if scope["type"] == "http":
                first = scope["path"].split("/")[1]
                nonce = scope.setdefault("state", {})["nonce"] = secrets.token_urlsafe(16)
                allowed = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())
                # Of what is no page, anybody could make new series.
                route = f"/{first}" if first in PATHS else UNMATCHED

                async def send_with_headers(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        message["headers"] = [*message.get("headers", ()), allowed, *_HEADERS]
                        status = f"{message['status'] // 100}xx"
                        self._metrics.http_requests.labels(route, method_of(scope), status).inc()
                    await send(message)

                await pages(scope, receive, send_with_headers)
            else:
                task = asyncio.current_task()
                assert task is not None
                self.open.add(task)
                try:
                    await pages(scope, receive, send)
                finally:
                    self.open.discard(task)
        else:
            await self._interface(scope, receive, send)

    def _is_of_pages(self, scope: Scope) -> bool:
        """Whether a page is meant: also one that is not there, where a browser asks for what nobody has."""
        first = scope["path"].split("/")[1]
        if first in PATHS or first in self._interface_paths or scope["type"] != "http":
            return first in PATHS
        return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")

    async def _start(self) -> ASGIApp:
        front = await asyncio.to_thread(_build, InProcess(self._interface))
        await self._running.enter_async_context(front.router.lifespan_context(front))
        # What was loaded stays, and is not to be looked through for garbage while requests wait.
        gc.freeze()
        return front

    def _closing(self, receive: Receive) -> Receive:
        async def receive_and_close() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                # Waited for, as what is still being built could not be closed.
                await asyncio.gather(*filter(None, [self._served]), return_exceptions=True)
                await self._running.aclose()
            return message

        return receive_and_close


def _build(interface: InProcess) -> FastAPI:
    # A part of the library looks for proxies that nobody here uses, and says so on every start.
    warnings.filterwarnings("ignore", message="SOCKS support in urllib3")
    # Deferred: it takes most of a second to load.
    from jinja2 import DictLoader
    from nicegui import core, ui
    from nicegui.client import templates

    # And these, which load it too.
    from loop.ui.frame import MARK
    from loop.ui.routes import register

    front = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, version=release())
    register(interface)
    ui.run_with(
        front,
        title="Afterthought",
        favicon=MARK,
        dark=None,
        language="en-US",
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    # In the template and not in what is sent: a script that got in with somebody's text bears no nonce.
    page = Path(str(templates.get_template("index.html").filename)).read_text("utf-8")
    marked = page.replace("<script", '<script nonce="{{ request.state.nonce }}"')
    templates.env.loader = DictLoader({"index.html": marked})
    # The library lets pages of any site use the socket.
    core.sio.eio.cors_allowed_origins = _is_own
    return front


def _is_own(origin: str, environ: Mapping[str, str]) -> bool:
    return is_same_site(origin, environ.get("HTTP_HOST"), environ.get("HTTP_X_FORWARDED_HOST"))
