"""Hands requests of an HTTP client to an ASGI application in this process, with answers that stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
from starlette.types import ASGIApp, Message, Scope

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
        body = _Body(exchange, task)
        try:
            head = await exchange.next()
        except asyncio.CancelledError:
            # Nobody waits for the answer any more, and what works at it would not learn of that.
            await body.aclose()
            raise
        if head is None:
            raise httpx.ReadError(f"the interface did not answer ({task.exception()!r})", request=request)
        return httpx.Response(head["status"], headers=head["headers"], stream=body, request=request)

    async def _run(self, scope: Scope, exchange: _Exchange) -> None:
        await self._app(scope, exchange.receive, exchange.send)


class _Exchange:
    """One request's messages, there and back."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._hung_up = asyncio.Event()
        self._ended = False
        # Bounded, so that a stream is not read ahead of its reader.
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue(16)

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self._sent.put(message)

    async def next(self) -> Message | None:
        """Return what was sent next; None where the application has ended."""
        return None if self._ended and self._sent.empty() else await self._sent.get()

    def end(self, _: asyncio.Task[None]) -> None:
        self._ended = True
        # Wakes a reader that waits. None does where the queue is full, and a callback could not wait for room in it.
        if not self._sent.full():
            self._sent.put_nowait(None)

    def hang_up(self) -> None:
        self._hung_up.set()


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: _Exchange, task: asyncio.Task[None]) -> None:
        self._exchange = exchange
        self._task = task

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._exchange.next()) is not None:
            if message["type"] == "http.response.body":
                yield message.get("body", b"")
                if not message.get("more_body", False):
                    return

    async def aclose(self) -> None:
        self._exchange.hang_up()
        # Cancelled too: what streams may be waiting for news, and would not see that nobody reads.
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


def is_same_site(origin: str, *hosts: str | None) -> bool:
    """Whether a page of this address asks; its scheme does not tell, as a proxy may speak TLS and this process not."""
    return urlsplit(origin).netloc in hosts
