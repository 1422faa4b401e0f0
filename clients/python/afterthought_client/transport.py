"""Where calls are sent, under which token, and what is said when nobody answers; for both kinds of client."""

from __future__ import annotations

import os
from typing import Any

import httpx

from afterthought_client.calls import Call
from afterthought_client.errors import ConnectionFailed, InvalidArgument, TimedOut
from afterthought_client.retries import RetryPolicy

DEFAULT_URL = "http://127.0.0.1:8700"
# Above the longest wait of a long poll, and the heartbeat of a stream.
_TIMEOUT = httpx.Timeout(90.0, connect=10.0)


class Transport:
    """What both kinds share; holds the token nowhere but in the headers of its HTTP client."""

    def __init__(self, url: str | None, app: str | None, retry: RetryPolicy | None) -> None:
        self.url = httpx.URL(url or os.environ.get("AFTERTHOUGHT_URL") or DEFAULT_URL)
        if self.url.scheme not in ("http", "https") or not self.url.host:
            raise InvalidArgument("url: give the address of the service, for example http://127.0.0.1:8700")
        if self.url.userinfo:
            raise InvalidArgument("url: leave user and password out; the service takes a token")
        self.app = app
        self.retry = retry or RetryPolicy()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={str(self.url)!r}, app={self.app!r})"

    def _app(self, app_id: str | None) -> str:
        """Return the app a call is about. Raises: InvalidArgument when none is named."""
        named = app_id or self.app
        if not named:
            raise InvalidArgument(
                f"Say which app is meant: {type(self).__name__}(app=...), or app_id=... with the call."
            )
        return named

    def _failed(self, failures: int, error: Exception) -> ConnectionFailed:
        tries = f"{failures} tries" if failures > 1 else "1 try"
        kind = TimedOut if isinstance(error, httpx.TimeoutException) else ConnectionFailed
        return kind(f"{self.url} did not answer in {tries} ({type(error).__name__}); does it run?", str(error))


def http_options(url: httpx.URL, token: str | None, timeout: httpx.Timeout | float | None) -> dict[str, Any]:
    """Return an HTTP client's options. Raises: InvalidArgument for a token that is missing or cannot be sent."""
    found = (token or os.environ.get("AFTERTHOUGHT_TOKEN") or "").strip()
    if not found:
        raise InvalidArgument("Give token=..., or set AFTERTHOUGHT_TOKEN.")
    # Refused here, because the error of the HTTP library would show it.
    if not found.isascii() or not found.isprintable() or " " in found:
        raise InvalidArgument("token: only printable ASCII characters without spaces can be sent.")
    headers = {"Authorization": f"Bearer {found}", "User-Agent": "afterthought-client"}
    return {"base_url": url, "headers": headers, "timeout": _TIMEOUT if timeout is None else timeout}


def rewind(call: Call) -> None:
    """Have a file that is sent again be read from its beginning."""
    if call.content is not None and not isinstance(call.content, bytes):
        call.content.seek(0)


def arguments(call: Call) -> dict[str, Any]:
    """Return a call as the HTTP library takes it."""
    return {"params": dict(call.query), "content": call.content, "headers": dict(call.headers)}
