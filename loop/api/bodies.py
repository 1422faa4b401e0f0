"""What a body must be before a route sees it: whole in time, not too large, JSON that every reader agrees on, and free
of NUL.

PostgreSQL stores no NUL and no lone surrogate, and NaN is not JSON; refusing or replacing them here spares every field
the check.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.errors import MALFORMED, TOO_LARGE, TOO_SLOW, answer_error
from loop.api.policy import Trait, policy_of
from shared.base.errors import AfterthoughtError, Invalid, Limit
from shared.text.json_reading import with_whole_characters

ARCHIVE_TYPE = "application/zip"
STREAMED_TYPES = ("application/x-ndjson", "application/octet-stream", ARCHIVE_TYPE)
"""Bodies of these types are left to routes that take files, which write them down as they arrive."""
_LARGE_FACTOR = 8
"""An archive may be this many times larger than other bodies."""
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
SILENT_SECONDS = 20.0
"""How long a client may send nothing of a body: one that is gone must not hold its app's place for ever."""
_FREE_SECONDS, _LEAST_BYTES_A_SECOND = 40.0, 10_000
"""After so long, a body must have come at so much."""


class BodyGate:
    """ASGI middleware; leaves the body's SHA-256 in ``scope["state"]["body_digest"]`` when a key asks for it."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            for part in (scope.get("raw_path") or b"", scope["query_string"]):
                try:
                    text = unquote_to_bytes(part).decode() if part.isascii() else None
                except UnicodeDecodeError:
                    text = None
                # Servers would replace what is none, and so make two names one.
                if text is None:
                    raise Invalid("The address holds what could not be read: encode it as UTF-8, each byte as %XX.")
                if "\0" in text:
                    raise Invalid("The address holds a NUL character (%00); leave it out.")
            if scope["method"] not in _WITHOUT_BODY:
                receive = _in_time(receive)
            body = await self._read(scope, receive)
        except AfterthoughtError as error:
            await answer_error(error, scope)(scope, receive, send)
            return
        if body is not None:
            receive = _replay(body, receive)
        await self._app(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        headers = Headers(scope=scope)
        if scope["method"] in _WITHOUT_BODY or is_streamed(scope, headers):
            return None
        limit = self._max_bytes * (_LARGE_FACTOR if Trait.LARGE_BODY in policy_of(scope).traits else 1)
        body = await _receive_all(headers, receive, limit)
        if "idempotency-key" in headers:
            scope.setdefault("state", {})["body_digest"] = hashlib.sha256(body).hexdigest()
        if body and "json" in headers.get("content-type", "json"):
            return _json(body)
        return body


def is_streamed(scope: Scope, headers: Headers) -> bool:
    """Return whether a body is a file that its route takes in as it arrives."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in STREAMED_TYPES and Trait.TAKES_FILE in policy_of(scope).traits


async def _receive_all(headers: Headers, receive: Receive, limit: int) -> bytes:
    declared = headers.get("content-length", "0")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    chunks, size = [], 0
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body"):
            return b"".join(chunks)


def _in_time(receive: Receive) -> Receive:
    """Receive a body that must come in time; after it, whether the client leaves. Raises: Limit."""
    loop = asyncio.get_running_loop()
    begun, size, is_whole = loop.time(), 0, False

    async def received() -> Message:
        nonlocal size, is_whole
        if is_whole:
            return await receive()
        until = min(loop.time() + SILENT_SECONDS, begun + _FREE_SECONDS + size / _LEAST_BYTES_A_SECOND)
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise Limit(
                f"The rest of the body did not come in time ({size} bytes had); send it anew.", code=TOO_SLOW
            ) from None
        size += len(message.get("body", b""))
        is_whole = not message.get("more_body")
        return message

    return received


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed


def _json(body: bytes) -> bytes:
    """Return a body as its route reads it. Raises: Invalid."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        body = with_whole_characters(body)
        try:
            parsed = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise Invalid(f"The body is not valid JSON ({where}).", code=MALFORMED) from None
    # Only a body with this escape can hold one; the escape may also be an escaped backslash and harmless.
    if b"\\u0000" in body and any("\0" in text for text in _texts(parsed)):
        raise Invalid("The body holds a NUL character (\\u0000); leave it out.")
    return body


def _texts(parsed: object) -> Iterator[str]:
    todo = [parsed]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            todo.extend([*one.keys(), *one.values()])
        elif isinstance(one, list):
            todo.extend(one)


def _too_large(limit: int) -> Limit:
    return Limit(f"The body is larger than {limit} bytes; send it in parts.", code=TOO_LARGE, details={"limit": limit})
