"""What one call of a model used and how it ended, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import Protocol, TypeVar

ResultT = TypeVar("ResultT")
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
    EXTRACT = "extract_facts"
    EMBED = "embed"
    SUMMARISE = "summarise"
    COMPRESS = "compress_session"
    LEARN = "learn_from_sessions"
    THINK = "think"
    CHAT = "chat"
    """An app's own question, handed on to the model."""


MEMORY_KINDS = (WorkKind.CREATE, WorkKind.COMPACT)
"""Work on memories, of which the share in all spending is watched. Source: seed 003, which knows no facts."""


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
    chars: int = 0
    """Characters of the prompt that ``prompt_tokens`` counts; 0 where that cannot be told."""


@dataclass(frozen=True)
class Prospect:
    """A call that is about to be made, and the most tokens it can take."""

    kind: WorkKind
    model: str
    most_prompt_tokens: int
    most_completion_tokens: int
    likely_prompt_tokens: int = 0


class Meter(Protocol):
    """Who pays for calls: asked before each, and told of it once as soon as it has ended."""

    def reserve(self, prospect: Prospect) -> None:
        """Set aside what the call will likely cost, in a transaction of its own.

        Raises:
            OverBudget: the app's budget does not cover it.
        """

    def __call__(self, call: ModelCall) -> None:
        """Book what it cost, and let go of what was set aside for it, in a transaction of its own."""


def metered(
    meter: Meter,
    prospect: Prospect,
    work: Callable[[], ResultT],
    tokens_of: Callable[[ResultT], int],
    prompt_tokens: int | None = None,
) -> ResultT:
    """Do work without a model and account for it as one call; ``prompt_tokens`` where not the most there may be."""
    began = perf_counter()
    meter.reserve(prospect)
    result = work()
    seconds = perf_counter() - began
    read = prospect.most_prompt_tokens if prompt_tokens is None else prompt_tokens
    meter(ModelCall(prospect.kind, EXTRACTIVE, read, tokens_of(result), True, CallOutcome.ANSWERED, seconds))
    return result
