"""What a transcript says, one turn a block of content, in the order of the file.

Reading files into turns is left to ``reading``; what becomes of them to the compressions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class TurnKind(StrEnum):
    """Who says it, and what it is."""

    HUMAN = "human"
    """A prompt a person wrote."""
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"
    """Written by the tool where it compacted the session; not the user's words."""
    META = "meta"
    """Commands, hooks and reminders that travel as a user's messages."""
    SYSTEM = "system"


@dataclass(frozen=True)
class Turn:
    """One block of content of one record."""

    position: int
    """Counted from 0 through the file."""
    uuid: str
    """Of its record; several turns may share it."""
    kind: TurnKind
    text: str
    """Exactly as written; of a tool's use its input as JSON, of a result what came back."""
    at: datetime | None = None
    message_id: str | None = None
    """Of an assistant's message, which may be several records."""
    tool_name: str | None = None
    tool_use_id: str | None = None
    """Of a use its own, of a result the one it answers."""
    tool_input: dict[str, Any] = field(default_factory=dict)
    is_error: bool = False
    is_sidechain: bool = False
    """Said between the assistant and a sub-agent of its own."""
