"""Serves the pages beside the interface: what has the path of a page goes to NiceGUI, everything else to the interface.

The library takes most of a second to load, so it is loaded after the interface stands, in a thread.

Hands requests of an HTTP client to an ASGI application in this process, with answers that stream.

Registers every page; the way in, and the apps and users to choose from.
"""

from __future__ import annotations

import asyncio
import secrets
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
from fastapi import FastAPI
from fastapi.exception_handlers import http_exception_handler
from nicegui import Client, app, ui
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from afterthought_client import AsyncAfterthought
from loop.ui import administration, chat, composer, memory, operations, sessions
from loop.ui.frame import Frame, bare
from loop.ui.visitors import ENDED, Visitor, Visitors, way_back
from shared.base.installation import release

_CLIENT = ("127.0.0.1", 0)


class InProcess(httpx.AsyncBaseTransport):
    """The transport. httpx' own gathers the whole answer first, and so hands on no stream that goes on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return an answer as soon as its head is there. Raises: httpx.ReadError where the application fails."""
        exchange = _Exchange(await request.aread())
        task = asyncio.create_task(self._run(_scope(request), exchange))
        task.add_done_callback(exchange.end)
        head = await exchange.sent.get()
        if head is None:
            raise httpx.ReadError(f"the interface did not answer ({task.exception()!r})", request=request)
        return httpx.Response(head["status"], headers=head["headers"], stream=_Body(exchange, task), request=request)

    async def _run(self, scope: Scope, exchange: _Exchange) -> None:
        await self._app(scope, exchange.receive, exchange.send)


class _Exchange:
    """One request's messages, there and back."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._hung_up = asyncio.Event()
        # Bounded, so that a stream is not read ahead of its reader.
        self.sent: asyncio.Queue[Message | None] = asyncio.Queue(16)

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.sent.put(message)

    def end(self, _: asyncio.Task[None]) -> None:
        if self.sent.full():
            self.sent.get_nowait()
        self.sent.put_nowait(None)

    def hang_up(self) -> None:
        self._hung_up.set()


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: _Exchange, task: asyncio.Task[None]) -> None:
        self._exchange = exchange
        self._task = task

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._exchange.sent.get()) is not None:
            if message["type"] == "http.response.body":
                yield message.get("body", b"")
                if not message.get("more_body", False):
                    return

    async def aclose(self) -> None:
        self._exchange.hang_up()
        self._task.cancel()
        await asyncio.wait([self._task])


def _scope(request: httpx.Request) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (request.url.host, request.url.port or 80),
        "client": _CLIENT,
    }


PATHS = frozenset(
    {"", "_nicegui", "_nicegui_ws", "login", "chat", "memory", "sessions", "composer", "operations", "administration"}
)
"""First parts of the addresses of pages; none of them is one of the interface's."""
_HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'none'; object-src 'none'; base-uri 'self'; form-action 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


class Pages:
    """ASGI: the interface, and pages that are its clients."""

    def __init__(self, interface: ASGIApp) -> None:
        self._interface = interface
        self._running = AsyncExitStack()
        self._served: asyncio.Task[ASGIApp] | None = None
        self.open: set[asyncio.Task[Any]] = set()
        """The connections of the pages that are looked at; they last as long as their visitors like."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self._served = asyncio.create_task(self._start())
            await self._interface(scope, self._closing(receive), send)
        elif self._served is not None and scope["path"].split("/")[1] in PATHS:
            pages = await asyncio.shield(self._served)
            if scope["type"] == "http":

                async def send_with_headers(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        message["headers"] = [*message.get("headers", ()), *_HEADERS]
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

    async def _start(self) -> ASGIApp:
        front = await asyncio.to_thread(_build, InProcess(self._interface))
        await self._running.enter_async_context(front.router.lifespan_context(front))
        return front

    def _closing(self, receive: Receive) -> Receive:
        async def receive_and_close() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await asyncio.gather(*filter(None, [self._served]), return_exceptions=True)
                await self._running.aclose()
            return message

        return receive_and_close


def _build(interface: InProcess) -> FastAPI:
    # A part of the library looks for proxies that nobody here uses, and says so on every start.
    warnings.filterwarnings("ignore", message="SOCKS support in urllib3")
    # Deferred: both load the library.
    from nicegui import core, ui

    from loop.ui.pages import register

    front = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, version=release())
    register(interface)
    ui.run_with(
        front,
        title="Afterthought",
        dark=None,
        language="en-US",
        binding_refresh_interval=None,
        # Known to this process alone: with it, what a browser knows is forgotten too.
        storage_secret=secrets.token_urlsafe(32),
        session_middleware_kwargs={"session_cookie": "afterthought", "same_site": "strict", "max_age": None},
        show_welcome_message=False,
    )
    # The library lets pages of any site use the socket.
    core.sio.eio.cors_allowed_origins = _is_own
    return front


def _is_own(origin: str, asked: Mapping[str, str]) -> bool:
    """Whether a page of this address asks; its scheme does not tell, as a proxy may speak TLS and this process not."""
    return urlsplit(origin).netloc in {asked.get("HTTP_HOST"), asked.get("HTTP_X_FORWARDED_HOST")}


_INSIDE = "http://afterthought"


def register(interface: InProcess) -> None:
    """Register the pages, as clients of an interface."""

    def client(token: str) -> AsyncAfterthought:
        return AsyncAfterthought(_INSIDE, token, transport=interface, timeout=httpx.Timeout(90.0))

    visitors = Visitors(client)
    frame = Frame(visitors)
    _way_in(frame)

    async def apps(visitor: Visitor) -> None:
        if visitor.app_id is not None:
            ui.navigate.to(f"/memory/{visitor.app_id}")
            return
        found = [one async for one in visitor.client.iter_apps()]
        if not found:
            ui.label("No app is installed yet. Install one under Administration.").classes("muted")
        for one in found:
            card = ui.link(target=f"/memory/{one.app_id}").classes("no-underline text-inherit w-full")
            with card, ui.column().classes("card gap-1"):
                ui.label(one.name).classes("font-medium")
                ui.label(one.app_id).classes("muted text-sm")

    app.add_exception_handler(404, _not_found)
    for module in (administration, chat, composer, memory, operations, sessions):
        module.register(frame)


async def _not_found(request: Request, error: Exception) -> Response:
    """Answer what has the address of a page and is none. In the place of the library's own, which has no way back."""
    if request.url.path.startswith("/_nicegui") and isinstance(error, HTTPException):
        return await http_exception_handler(request, error)
    client = Client(ui.page("", title="No such page - Afterthought"), request=request)
    with client, ui.column().classes("w-full max-w-md mx-auto mt-16 gap-4 p-4"), bare("There is no such page"):
        ui.label("Its address may be mistyped, or what it showed is gone.").classes("muted")
        ui.link("Go to the apps", "/")
    return client.build_response(request, 404)


def _way_in(frame: Frame) -> None:
    @ui.page("/login", title="Log in - Afterthought")
    def log_in(next: str = "", why: str = "") -> None:
        with ui.column().classes("w-full max-w-md mx-auto mt-16 gap-4 p-4"), bare("Afterthought"):
            if why == ENDED:
                ui.label("You were logged out: your token is not accepted any more.").props("role=alert")
            ui.label("Log in with the admin token, or with an app's.").classes("muted")
            if next:
                ui.label(
                    "It leads back to where you were. The service forgets who is logged in when it starts."
                ).classes("muted text-sm")
            token = ui.input("Token", password=True, password_toggle_button=True).classes("w-full")
            token.props("autocomplete=off autofocus outlined")

            async def enter() -> None:
                async with frame.errors_told():
                    visitor = await frame.visitors.log_in(token.value or "")
                    home = "/" if visitor.is_admin else f"/memory/{visitor.app_id}"
                    ui.navigate.to(way_back(next) or home)

            token.on("keydown.enter", enter)
            ui.button("Log in", on_click=enter).props("unelevated no-caps color=cyan-9").classes("w-full")
            ui.label("The token stays in this session of the service's, and is gone when you log out.").classes(
                "muted text-sm"
            )
