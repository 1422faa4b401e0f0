"""Brings in what other memory services remember: each of their memories is a statement, and becomes a fact.

It is written as by hand, said when it was said there, so that of two that contradict each other the later holds. One
that is known already is counted as skipped, and so a second run adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from loop.cli.bad_lines import BadChatLine, UnusableFile, kind_of
from loop.cli.output import progress
from loop.cli.routes import route
from loop.cli.service import Refused, Service
from loop.cli.times import as_text, moment
from shared.base.errors import Configuration
from shared.text.json_reading import read_json

_LISTS = ("results", "memories")
_TEXTS = ("memory", "text")
_TIMES = ("event_date", "updated_at", "created_at")


@dataclass(frozen=True, slots=True)
class Statement:
    """One memory of another service; ``said_at`` is None where the file has no time."""

    where: str
    text: str
    user_id: str | None
    said_at: datetime | None


@dataclass
class StatementTally:
    """What became of a file of memories."""

    facts: int = 0
    known: int = 0
    evicted: int = 0
    """Facts that went because a user had too many."""
    left_out: int = 0
    """What is no memory but a message that the other service keeps beside them."""
    users: set[str | None] = field(default_factory=set)
    bad: list[BadChatLine] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed for machines."""
        return {
            "facts": {"imported": self.facts, "skipped": self.known},
            "evicted": self.evicted,
            "leftOut": self.left_out,
            "users": len(self.users - {None}),
            "badLines": [{"where": one.where, "reason": one.reason} for one in self.bad],
        }


def read_statements(path: Path, tally: StatementTally, zone: ZoneInfo | None = None) -> list[Statement]:
    """Return a file's memories, the earliest first; what cannot be used goes into the tally.

    ``zone`` is whose days their words mean. Raises: Configuration.
    """
    found = []
    for where, value in _elements(path):
        try:
            if isinstance(value, Mapping) and value.get("memory_type") == "message":
                tally.left_out += 1
            else:
                one = _statement(where, value)
                at = one.said_at
                found.append(replace(one, said_at=at.astimezone(zone)) if at is not None and zone is not None else one)
        except UnusableFile as reason:
            tally.bad.append(BadChatLine(where, str(reason)))
    return sorted(found, key=lambda one: (one.said_at is not None, one.said_at and one.said_at.timestamp()))


def send_statements(
    service: Service, app_id: str, statements: list[Statement], user_id: str | None, tally: StatementTally
) -> None:
    """Write statements as facts, under a bar; ``user_id``: of all of them, else the file's."""
    with progress("sending", len(statements)) as update:
        for one in statements:
            user = user_id or one.user_id
            tally.users.add(user)
            try:
                _send(service, app_id, one, user, tally)
            except Refused as error:
                if error.status not in (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.CONFLICT):
                    raise
                tally.bad.append(BadChatLine(one.where, error.message))
            update(advance=1)


def _send(service: Service, app_id: str, one: Statement, user_id: str | None, tally: StatementTally) -> None:
    body = {"fact": one.text, "userId": user_id, "saidAt": None if one.said_at is None else as_text(one.said_at)}
    written = service.post(route("apps", app_id, "facts"), body)
    tally.known += written["merged"]
    tally.facts += not written["merged"]
    tally.evicted += len(written["evicted"])


def _elements(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Configuration(f"{path}: {error.strerror}") from None
    try:
        value = read_json(text, replaces_nul=True)
    except orjson.JSONDecodeError as error:
        if b"\n" not in text.strip():
            yield f"line {error.lineno}", UnusableFile(f"the file is not valid JSON: {error.msg}")
            return
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield f"line {number}", _of_line(line)
        return
    if isinstance(value, Mapping):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    for number, element in enumerate(value if isinstance(value, list) else [value], 1):
        yield f"element {number}", element


def _of_line(line: bytes) -> Any:
    try:
        return read_json(line, replaces_nul=True)
    except orjson.JSONDecodeError as error:
        return UnusableFile(f"not valid JSON: {error.msg} (column {error.colno})")


def _statement(where: str, value: Any) -> Statement:
    if isinstance(value, UnusableFile):
        raise value
    if not isinstance(value, Mapping):
        raise UnusableFile(f"is no memory, but {kind_of(value)}")
    text = next((value[name] for name in _TEXTS if value.get(name)), None)
    if text is not None and not isinstance(text, str):
        raise UnusableFile(f"is no memory: its text is {kind_of(text)}")
    if text is None or not text.strip():
        raise UnusableFile("is no memory: it has neither `memory` nor `text`")
    at = next((value[name] for name in _TIMES if value.get(name) is not None), None)
    user = value.get("user_id")
    if isinstance(user, bool) or not isinstance(user, str | int | None):
        raise UnusableFile(f"its user_id is {kind_of(user)}, so it does not say whose it is")
    return Statement(where, text, str(user) if user else None, moment(at))
