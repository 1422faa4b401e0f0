"""Requests that come in by another protocol: whom they are for, and how they ask the interface itself.

What they ask goes through the whole interface once more, under the token that came, and so can do nothing the token
cannot.
"""

from __future__ import annotations

import httpx
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import Headers
from starlette.types import Scope

from loop.api.errors import in_words
from shared.apps.queries import Caller
from shared.base.errors import Denied, Invalid
from shared.contracts.values import Id
from shared.conversations.models import MemoryMode

APP_HEADER = "X-App-Id"
USER_HEADER = "X-User-Id"
MEMORY_HEADER = "X-Memory"
_ID = TypeAdapter(Id)
_SPACES = " \t"
"""What HTTP lets stand around a header's value; any other space is part of a name."""


def own_client(scope: Scope) -> httpx.AsyncClient:
    """Return a client of this interface, inside the process, under the token of the request."""
    # As over a network: what fails inside is answered, and not raised here.
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
    return app_id, id_in(headers, USER_HEADER) if headers.get(USER_HEADER, "").strip(_SPACES) else None


def id_in(headers: Headers, header: str) -> str | None:
    """Return the id in a header; None where it was not sent. Raises: Invalid, by the rule for ids in bodies."""
    given = headers.get(header)
    try:
        return None if given is None else _ID.validate_python(_utf8(given))
    except ValidationError as error:
        raise Invalid(f"{header}: {in_words(error.errors()[0])}.") from error


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


def _utf8(header: str) -> str:
    """Return a header's value as it was meant: servers read bytes as Latin-1, users have names in UTF-8."""
    bare = header.strip(_SPACES)
    try:
        return bare.encode("latin-1").decode()
    except UnicodeDecodeError:
        return bare


def as_header(text: str) -> str:
    """Return a text as it is put into a header, so that it is read back by ``id_in``."""
    return text.encode().decode("latin-1")
