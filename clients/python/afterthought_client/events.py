"""Server-sent events: what happens in an app, as it happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ServerSentEvent:
    """Something that happened. An event of kind ``gap`` says that older ones are not kept any more."""

    kind: str
    data: dict[str, Any]
    """Keys as in ``models.EventPayload``: position, kind, appId, conversationId, subject, details, at, content."""
    id: str | None = None
    """What to resume after (``after=int(event.id)``); ``gap`` and ``energy`` have none."""


@dataclass
class EventDecoder:
    """Reads events from the bytes of a stream, and remembers where it stands."""

    last_id: str | None = None
    _rest: bytes = b""
    _fields: dict[str, list[str]] = field(default_factory=dict)

    def start_again(self) -> None:
        """Forget the half of an event that a broken connection left."""
        self._rest, self._fields = b"", {}

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that are complete with these bytes."""
        # Not httpx' lines: those also end at U+2028 and others, which may stand in a text.
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            event = self._line(line.removesuffix(b"\r").decode())
            if event is not None:
                yield event

    def _line(self, line: str) -> ServerSentEvent | None:
        if line:
            name, _, value = line.partition(":")
            self._fields.setdefault(name, []).append(value.removeprefix(" "))
            return None
        fields, self._fields = self._fields, {}
        own_id = fields["id"][-1] if "id" in fields else None
        self.last_id = own_id or self.last_id
        if "data" not in fields:
            return None
        kind = fields.get("event", ["message"])[-1]
        return ServerSentEvent(kind, json.loads("\n".join(fields["data"])), own_id)
