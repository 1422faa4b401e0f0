"""Addresses whose parts may hold a slash: an id as chat services have them is one part, its slash written %2F.

Servers decode an address before it is matched, and then a slash of an id looks like one between two parts.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

_KEPT = re.compile(rb"%(?=2[5Ff])")


class WholeParts:
    """ASGI middleware; leaves slashes within a part, and percent signs, encoded until the part is handed to a route."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and _KEPT.search(raw):
            scope["path"] = unquote(_KEPT.sub(b"%25", raw).decode("latin-1"))
        await self._app(scope, receive, send)


class _Part(StringConvertor):
    """A part of an address."""

    def convert(self, value: str) -> str:
        return unquote(value) if "%" in value else value


# Before any route is made: each looks its convertors up then.
register_url_convertor("str", _Part())
