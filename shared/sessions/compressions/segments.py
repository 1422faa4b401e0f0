"""What a version and a composition are made of: segments, in order.

A segment knows how it looks in Markdown and as records of a transcript. A call of a tool and its result are one
segment, so they can neither be parted nor put in a wrong order. Wording and choice are left to the compressions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class SegmentKind(StrEnum):
    """What a segment holds, and so what goes first when there is no room."""

    KEEPIT = "keepit"
    """A marked part that survives, byte for byte."""
    INSTRUCTION = "instruction"
    """A standing instruction of the user's."""
    REQUEST = "request"
    """What a person asked for."""
    FAILURE = "failure"
    """An attempt that failed, so that it is not made again."""
    WORDS = "words"
    """What was said, shortened or as it was."""
    TOOL = "tool"
    """A call of a tool with its result."""
    SUMMARY = "summary"
    """A model's words about what was said."""
    NAMES = "names"
    """Identifiers, paths and commands that would be lost otherwise."""


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool and what came back."""

    tool_use_id: str
    name: str
    input: dict[str, Any]
    result: str | None
    """None where the session holds no result."""
    is_error: bool = False


@dataclass(frozen=True)
class Segment:
    """One piece of a version."""

    kind: SegmentKind
    role: str
    """``user`` or ``assistant``: who is taken to say it."""
    text: str
    """Of a tool's call, a line that says what was done."""
    at: datetime | None = None
    sources: tuple[str, ...] = ()
    """UUIDs of the records it stands for, in order."""
    marker_ids: tuple[str, ...] = ()
    call: ToolCall | None = None
    is_pinned: bool = False
    """Whether it may never be cut or left out: a surviving marker, and what the session was asked last."""
    tier: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
