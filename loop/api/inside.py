"""Requests that come in by another protocol: whom they are for, and how they ask the interface itself.

What they ask goes through the whole interface once more, under the token that came, and so can do nothing the token
cannot.
"""

from __future__ import annotations

import httpx
from starlette.datastructures import Headers
from starlette.types import Scope

from shared.apps.tokens import Caller
from shared.conversations.models import MemoryMode
from shared.errors import Denied, Invalid

APP_HEADER = "X-App-Id"
USER_HEADER = "X-User-Id"
MEMORY_HEADER = "X-Memory"
_MOST_USER_CHARS = 200


def own_client(scope: Scope) -> httpx.AsyncClient:
    """Return a client of this interface, inside the process, under the token of the request."""
    inside = httpx.ASGITransport(scope["app"], raise_app_exceptions=False)
    own_token = {"Authorization": Headers(scope=scope)["authorization"]}
    return httpx.AsyncClient(transport=inside, base_url="http://afterthought", headers=own_token)


def whose(caller: Caller, headers: Headers) -> tuple[str, str | None]:
    """Return the app and the user a request is for. Raises: Invalid and Denied, which the application answers."""
    named = headers.get(APP_HEADER)
    if caller.app_id is not None and named not in (None, caller.app_id):
        raise Denied(f"The token is of app {caller.app_id}, and the header {APP_HEADER} names {named}; leave it out.")
    app_id = caller.app_id or named
    if app_id is None:
        raise Invalid(f"Use an app's token, or name the app in the header {APP_HEADER}.", code="app_missing")
    user_id = utf8(headers.get(USER_HEADER, ""))
    if len(user_id) > _MOST_USER_CHARS:
        raise Invalid(f"{USER_HEADER}: at most {_MOST_USER_CHARS} characters.")
    return app_id, user_id or None


def memory_mode(headers: Headers) -> MemoryMode | None:
    """Return what a request is to have to do with memory; None where it does not say. Raises: Invalid."""
    named = headers.get(MEMORY_HEADER)
    if named is None:
        return None
    try:
        return MemoryMode(named.strip().lower())
    except ValueError:
        modes = ", ".join(MemoryMode)
        raise Invalid(f"{MEMORY_HEADER}: {named[:40]!r} is none of {modes}.", code="memory_mode") from None


def utf8(header: str) -> str:
    """Return a header's value as it was meant: servers read bytes as Latin-1, users have names in UTF-8."""
    try:
        return header.encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        return header.strip()


def as_header(text: str) -> str:
    """Return a text as it is put into a header, so that it is read back by ``utf8``."""
    return text.encode().decode("latin-1")
