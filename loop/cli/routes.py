"""Routes of the service: how they are written, and which commands do what they do.

The service words its errors for those who call it over HTTP. ``tests/unit/test_cli_routes.py`` finds a message that
names a route for which no command is listed here.
"""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import quote, unquote

from shared.base.errors import Invalid

_COMMANDS = {
    "POST /apps/ID/tokens": "`afterthought apps token {}`",
    "GET /apps/ID/answers?state=pending": "`afterthought answers list {} --state pending`",
    "GET /apps/ID/answers": "`afterthought answers list {}`",
    "GET /apps/ID/webhooks": "`afterthought webhooks list {}`",
    "GET /apps/ID/memories": "`afterthought memories list {}`",
    "GET /apps/ID/facts": "`afterthought facts list {}`",
    "POST /apps/ID/facts/undo?userId=ID": "`afterthought facts undo-clear {} --user {}`",
    "POST /apps/ID/facts/undo": "`afterthought facts undo-clear {}`",
    "DELETE /apps/ID/facts?userId=ID": "`afterthought facts clear {} --user {}`",
    "DELETE /apps/ID/facts": "`afterthought facts clear {}`",
    "POST /apps/ID/conversations": "`afterthought import chats FILE --app {}`",
    "DELETE /apps/ID/conversations/ID": "`afterthought erase conversation {} {}`",
    "DELETE /apps/ID/users/ID/data": "`afterthought erase user {} {}`",
    "DELETE /apps/ID/data": "`afterthought purge {} --everything`",
    "the receipt under /apps/ID/erasures": "the receipt of another `afterthought purge {} --everything`",
    "only /apps/ID and what lies under it": "only app {}",
    "POST /apps": "`afterthought apps install APP`",
    "GET /jobs?appId=ID": "`afterthought jobs list --app {}`",
    'PUT /api/memory/consent with {"appId": "ID", "userId": ..., "consent": true}':
        "`afterthought profile consent {} --user USER --give`",
    "POST /api/memory/projects/ID/links, or `afterthought sessions link`": "`afterthought sessions link`",
    "POST /api/memory/projects/ID/sessions/ID": "`afterthought sessions register APP FILE`",
    "POST /api/memory/compositions/ID/again": "`afterthought sessions compose-again APP {}`",
    "under /api/memory/projects/ID/semantic": "with `afterthought sessions learnt APP --project {}`",
    "under /api/memory/projects/ID/links": "with `afterthought sessions links APP --project {}`",
    "under /api/memory/sessions/ID/keepits": "with `afterthought sessions keepits APP {}`",
    "under /api/memory/sessions/ID/versions": "with `afterthought sessions versions APP {}`",
    "under /api/memory/projects": "with `afterthought sessions projects APP`",
    "under /api/memory/jobs": "with `afterthought sessions jobs APP`",
}  # fmt: skip
"""Routes as messages name them, the longer before their beginnings, and what does the same at the command line."""
# An id may hold dots and colons, but one at the end is the sentence's.
_ID = r"((?:[\w{}:@%.~-]*[\w}])?)"
_PATTERNS = [(re.compile(re.escape(route).replace("ID", _ID)), text) for route, text in _COMMANDS.items()]


def route(*parts: str | int) -> str:
    """Return the path of a route from ids as users write them. Raises: Invalid for one that is no id."""
    for part in parts:
        if str(part) in {"", ".", ".."}:
            raise Invalid(f"'{part}' is no id.")
    return "/" + "/".join(quote(str(part), safe=":@") for part in parts)


def memory_route(*parts: str | int) -> str:
    """Return the path of a route about recorded sessions, or about the memory of all apps."""
    return route("api", "memory", *parts)


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a body, or the parameters, that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def or_null(fields: dict[str, str | None]) -> dict[str, str | None]:
    """Return the fields of a body that are not None; `none`, as users write it, is null."""
    return {name: None if value == "none" else value for name, value in given(fields).items()}


def in_commands(message: str) -> str:
    """Return a message of the service with commands where it names routes."""
    for pattern, text in _PATTERNS:
        if found := pattern.search(message):
            words = map(_word, found.groups())
            message = f"{message[: found.start()]}{text.format(*words)}{message[found.end() :]}"
    return message


def _word(part: str) -> str:
    """Return a part of a route as it is typed: an id, or the name of one where the message leaves it open."""
    if part.startswith("{"):
        return part.strip("{}").removesuffix("Id").upper()
    return shlex.quote(unquote(part))
