"""One record of a transcript, and what can be asked of it whatever its shape.

Recorders change and files get damaged, so nothing here trusts a field to be there or to be of the right type.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_LARGEST_COUNT = 2**53

KNOWN_KINDS = frozenset(
    {
        "user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation", "progress", "pr-link",
        "attachment", "ai-title", "custom-title", "last-prompt",
    }
)  # fmt: skip
"""Kinds of records that transcripts are known to hold; of a file without any it is said that it is none."""


@dataclass(frozen=True)
class Record:
    """A JSON object of a transcript."""

    line: int
    """Counted from 1."""
    offset: int
    """Bytes from the beginning of the file to its line."""
    kind: str
    """Empty where the record names none."""
    fields: dict[str, Any]

    def word(self, name: str) -> str | None:
        """Return a field that is a non-empty string, else None."""
        value = self.fields.get(name)
        return value if isinstance(value, str) and value else None

    def flag(self, name: str) -> bool:
        """Return whether a field is true."""
        return self.fields.get(name) is True

    @property
    def uuid(self) -> str:
        """Its own id; where it has none, one made of its line."""
        return (self.word("uuid") or f"line-{self.line}")[:200]

    @property
    def at(self) -> datetime | None:
        """When it was written, UTC; None where it does not say, or says nonsense."""
        return _parsed(self.word("timestamp"))

    @property
    def message(self) -> dict[str, Any]:
        """Its message; a bare string is a message that says so."""
        value = self.fields.get("message")
        if isinstance(value, str):
            return {"content": value}
        return value if isinstance(value, dict) else {}

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The blocks of its message; what stands there as a string is a block of text."""
        content = self.message.get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [block for block in map(_block, content) if block] if isinstance(content, list) else []

    @property
    def message_key(self) -> str:
        """What an answer's records share: the message's id, else the request's, else the record's own."""
        own = self.message.get("id")
        return own if isinstance(own, str) and own else self.word("requestId") or self.uuid

    @property
    def output_tokens(self) -> int:
        """What its usage says was generated; 0 where it says nothing that can be believed."""
        usage = self.message.get("usage")
        tokens = usage.get("output_tokens") if isinstance(usage, dict) else None
        return tokens if isinstance(tokens, int) and 0 <= tokens < _LARGEST_COUNT else 0

    @property
    def is_boundary(self) -> bool:
        """Whether the tool compacted the session here."""
        return self.kind == "system" and self.fields.get("subtype") == "compact_boundary"


@dataclass(frozen=True)
class BadLine:
    """A line, or the rest of one, that is no record."""

    line: int
    offset: int
    reason: str


def _block(value: object) -> dict[str, Any] | None:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    return value if isinstance(value, dict) else None


def _parsed(text: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(text or "")
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
