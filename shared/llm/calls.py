"""What one call of a model used and how it ended, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

EXTRACTIVE = "extractive"
"""What the built-in agent is called wherever a model's name would stand."""


class CallOutcome(StrEnum):
    """How a model call ended; a closed set, so it can label a metric."""

    ANSWERED = "answered"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    PROMPT_CUT = "prompt_cut"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"


class WorkKind(StrEnum):
    """What a call was for; a closed set, booked in the ledger."""

    CREATE = "create_memory"
    COMPACT = "compact_memories"


@dataclass(frozen=True)
class ModelCall:
    """One call, answered or not. Tokens come from the provider unless ``estimated``."""

    kind: WorkKind
    model: str
    """``EXTRACTIVE``, or ``ollama:NAME``."""
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    outcome: CallOutcome
    seconds: float


Meter = Callable[[ModelCall], None]
"""Told of each call once, as soon as it has ended; books it in a transaction of its own."""
