"""Files that come as a body: written to the store's cache as they arrive, never whole in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from anyio.to_thread import run_sync
from fastapi import Request
from starlette.requests import ClientDisconnect

from loop.api.dependencies import RequestContext
from shared.apps.queries import get_app
from shared.base.errors import Invalid, Limit, Transient
from shared.sessions.registry.configuration import configuration_of
from shared.sessions.registry.intake import TOO_LARGE, explained
from shared.sessions.store import Store

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
        if digest is None:
            path.unlink(missing_ok=True)
    return Upload(path, digest)


def keyed(ctx: RequestContext, request: Request, upload: Upload) -> RequestContext:
    """Return a context whose idempotency key stands for this upload: its body was not read where keys are looked at."""
    named = f"{request.method} {request.url.path}?{request.url.query} {upload.sha256}"
    return replace(ctx, asked=replace(ctx.asked, request=named))


def _free_disk(store: Store, app_id: str, path: Path, expected: int, limits: UploadLimits) -> None:
    if store.cached_bytes() + expected > limits.all_caches:
        raise Transient("Other uploads fill the cache of sessions (AFTERTHOUGHT_SESSIONS_CACHE_MB); try again.")
    if store.cached_bytes(app_id) + expected > limits.cache:
        raise Transient("Other uploads fill the app's cache of sessions (storage.maxCacheSize); try again.")
    store.make_folder(path.parent)


async def _write(request: Request, path: Path, limits: UploadLimits) -> str:
    digest, size, batch = sha256(), 0, bytearray()
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
