"""Passages: the parts of a message that are found and handed out by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from shared.indexing.models import PassageKind


@dataclass(frozen=True)
class Span:
    """A passage; ``start`` and ``length`` are characters of the message."""

    kind: PassageKind
    language: str | None
    start: int
    length: int
    tokens: int


def passages_of(content: str) -> tuple[Span, ...]:
    """Return the passages of a message; none where it is one passage as a whole."""
    return ()
