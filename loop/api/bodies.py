"""What a body must be before a route sees it: whole in time, not too large, JSON all readers agree on, free of NUL.

PostgreSQL stores no NUL and no lone surrogate, and NaN is not JSON; refusing or replacing them here spares every field
the check. Files that come as a body are written to the store's cache as they arrive, never whole in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote_to_bytes

import orjson
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.dependencies import RequestContext
from loop.api.errors import MALFORMED, TOO_LARGE, TOO_SLOW, answer_error
from loop.api.policy import Trait, policy_of
from shared.apps.queries import get_app
from shared.base.errors import AfterthoughtError, Invalid, Limit, Transient
from shared.sessions.registry.intake import explained
from shared.sessions.registry.projects import configuration_of
from shared.sessions.store import Store
from shared.text.lines import with_whole_characters

ARCHIVE_TYPE = "application/zip"
STREAMED_TYPES = ("application/x-ndjson", "application/octet-stream", ARCHIVE_TYPE)
"""Bodies of these types are left to routes that take files, which write them down as they arrive."""
_LARGE_FACTOR = 8
"""An archive may be this many times larger than other bodies."""
_BYTES_A_VALUE = 16
"""On average at least: a body of the largest size that has more values is no text, but only costs."""
_LONG = 2**18
"""From so many bytes on, a body is looked through beside the loop."""
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
            return _json(body, limit) if len(body) < _LONG else await run_sync(_json, body, limit)
        return body


def is_streamed(scope: Scope, headers: Headers) -> bool:
    """Return whether a body is a file that its route takes in as it arrives."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in STREAMED_TYPES and Trait.TAKES_FILE in policy_of(scope).traits


async def _receive_all(headers: Headers, receive: Receive, limit: int) -> bytes:
    declared = headers.get("content-length", "0")
    # Cut, as `int` refuses thousands of digits.
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


def _json(body: bytes, limit: int) -> bytes:
    """Return a body as its route reads it. Raises: Invalid, Limit."""
    _refuse_many(body, limit // _BYTES_A_VALUE)
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        # orjson takes no lone surrogate; where it was something else, the second reading fails as well.
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


def _refuse_many(body: bytes, most: int) -> None:
    """Refuse a body of more values before objects are made of them, which takes a hundred times its bytes."""
    if _values_in(body) <= most:
        return
    # Many may stand in texts: what is between quotes is left out, a piece at a time, so that others have their turn.
    count, at, inside = 0, 0, 0
    while at < len(body):
        end = at + _BATCH_BYTES
        while body[end - 1 : end] == b"\\":
            end += 1
        parts = body[at:end].replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        count += _values_in(b" ".join(parts[inside::2]))
        if count > most:
            raise Limit(
                f"The body has more than {most} values; send it in parts.", code=TOO_LARGE, details={"limit": most}
            )
        at, inside = end, (inside + len(parts) - 1) % 2


def _values_in(body: bytes) -> int:
    return body.count(b",") + body.count(b"{") + body.count(b"[")


def _texts(parsed: object) -> Iterator[str]:
    # Without recursion: a body may nest about as deep as Python calls.
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


_MB = 2**20
_BATCH_BYTES = 2**20
"""Written at once; each writing is a hop to a thread."""


@dataclass(frozen=True)
class UploadLimits:
    """How much a body, an app's cache and the caches of all apps may take, bytes."""

    body: int
    cache: int
    all_caches: int


def limits_of(ctx: RequestContext, app_id: str, body: int | None = None) -> UploadLimits:
    """Return what an app's uploads may take; a body as much as its cache unless said. Raises: NotFound."""
    with ctx.read() as session:
        cache = configuration_of(get_app(session, app_id), ctx.loop.settings).storage.cache_bytes
    return UploadLimits(body or cache, cache, ctx.loop.settings.sessions_cache_mb * _MB)


@dataclass(frozen=True)
class Upload:
    """A file in the cache."""

    path: Path
    sha256: str

    def remove(self) -> None:
        """Remove it, if it was not given a place."""
        self.path.unlink(missing_ok=True)


async def receive(request: Request, store: Store, app_id: str, limits: UploadLimits) -> Upload:
    """Write a request's body to the cache of an app. Raises: Limit, Transient, Invalid."""
    declared = request.headers.get("content-length", "")
    expected = int(declared) if declared.isdigit() and len(declared) < 19 else 0
    _refuse_large(expected, limits)
    path, digest = store.unfinished(app_id), None
    try:
        with explained(path):
            await run_sync(_free_disk, store, app_id, path, expected, limits)
            digest = await _write(request, path, limits)
    finally:
        # The client left, or something failed: what came of the body must not fill the cache.
        if digest is None:
            path.unlink(missing_ok=True)
    return Upload(path, digest)


def keyed(ctx: RequestContext, request: Request, upload: Upload) -> RequestContext:
    """Return a context whose idempotency key stands for this upload: its body was not read where keys are looked at."""
    named = f"{request.method} {request.url.path}?{request.url.query} {upload.sha256}"
    return replace(ctx, idempotent=replace(ctx.idempotent, request=named))


def _free_disk(store: Store, app_id: str, path: Path, expected: int, limits: UploadLimits) -> None:
    if store.cached_bytes() + expected > limits.all_caches:
        raise Transient("Other uploads fill the cache of sessions (AFTERTHOUGHT_SESSIONS_CACHE_MB); try again.")
    if store.cached_bytes(app_id) + expected > limits.cache:
        raise Transient("Other uploads fill the app's cache of sessions (storage.maxCacheSize); try again.")
    store.make_folder(path.parent)


async def _write(request: Request, path: Path, limits: UploadLimits) -> str:
    digest, size, batch = sha256(), 0, bytearray()
    # Readable by its owner alone from the beginning, and never over a file that is there.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0) as file:
        try:
            async for chunk in request.stream():
                size += len(chunk)
                _refuse_large(size, limits)
                digest.update(chunk)
                batch += chunk
                if len(batch) >= _BATCH_BYTES:
                    await run_sync(file.write, bytes(batch))
                    batch.clear()
        except ClientDisconnect:
            raise Invalid("The upload broke off; send it again.", code="broken_off") from None
        await run_sync(file.write, bytes(batch))
    return digest.hexdigest()


def _refuse_large(size: int, limits: UploadLimits) -> None:
    most = min(limits.body, limits.cache)
    if size > most:
        of_cache = "the app's storage.maxCacheSize (see its session settings)"
        what = "AFTERTHOUGHT_SESSIONS_MAX_MB" if limits.body <= limits.cache else of_cache
        raise Limit(
            f"The body is larger than {most} bytes; raise {what} to take it in.",
            code=TOO_LARGE,
            details={"limit": most},
        )
