"""What one call of a model used and how it ended, who is told, and how many tokens a text has where none counted.

One best guess, the same guess at the rate a model was seen to have, and two bounds; a provider's own count goes first.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
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
class CallEstimate:
    """A call that is about to be made, and the most tokens it can take."""

    kind: WorkKind
    model: str
    most_prompt_tokens: int
    most_completion_tokens: int
    likely_prompt_tokens: int = 0


class Meter(Protocol):
    """Who pays for calls: asked before each, and told of it once as soon as it has ended."""

    def reserve(self, estimate: CallEstimate) -> None:
        """Set aside what the call will likely cost, in a transaction of its own.

        Raises:
            OverBudget: the app's budget does not cover it.
        """

    def __call__(self, call: ModelCall) -> None:
        """Book what it cost, and let go of what was set aside for it, in a transaction of its own."""


def metered(
    meter: Meter,
    estimate: CallEstimate,
    work: Callable[[], ResultT],
    tokens_of: Callable[[ResultT], int],
    prompt_tokens: int | None = None,
) -> ResultT:
    """Do work without a model and account for it as one call; ``prompt_tokens`` where not the most there may be."""
    began = perf_counter()
    meter.reserve(estimate)
    result = work()
    seconds = perf_counter() - began
    read = estimate.most_prompt_tokens if prompt_tokens is None else prompt_tokens
    meter(ModelCall(estimate.kind, EXTRACTIVE, read, tokens_of(result), True, CallOutcome.ANSWERED, seconds))
    return result


_CHARS_PER_TOKEN = 4
_FEWEST_LETTERS_PER_TOKEN = 3
_TOKENS_BEYOND_COMMON_PLANE = 3
_LETTERS = re.compile(r"[A-Za-z ]+")
_BEYOND_COMMON_PLANE = re.compile(r"[^\x00-\uffff]")


@dataclass(frozen=True)
class Rate:
    """So many tokens for so many characters (at least one); whole numbers, so that sums and bounds are exact."""

    chars: int
    tokens: int

    def tokens_in(self, chars: int) -> int:
        """Return the tokens of so many characters, rounded up."""
        return -(-chars * self.tokens // self.chars)

    def chars_in(self, tokens: int) -> int:
        """Return the most characters that take no more than so many tokens; for a rate above 0."""
        return tokens * self.chars // self.tokens


# Of recorded coding sessions it sees half the size, so that a count, or a rate that was seen, goes first.
LAST_RESORT = Rate(_CHARS_PER_TOKEN, 1)


def estimate_tokens(text: str) -> int:
    """Return the estimate of last resort: a quarter of the characters, rounded up."""
    return LAST_RESORT.tokens_in(len(text))


def most_tokens(text: str) -> int:
    """Return a figure that text in the vocabularies in use hardly ever passes.

    Three letters a token (prose has four to five), one for any other character, three for those beyond the common
    plane; at least one for each word.
    """
    others = _LETTERS.sub("", text)
    rare = len(_BEYOND_COMMON_PLANE.findall(others))
    letters = len(text) - len(others)
    tokens = -(-letters // _FEWEST_LETTERS_PER_TOKEN) + len(others) + (_TOKENS_BEYOND_COMMON_PLANE - 1) * rare
    return max(tokens, least_tokens(text))


def least_tokens(text: str) -> int:
    """Return a figure no vocabulary in use stays below: they never join two words into one token."""
    return len(text.split())


class TokenSource(StrEnum):
    """Where a figure comes from, the best first."""

    PROVIDER = "provider"
    CALIBRATED = "calibrated"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class TokenCounting:
    """Counts by a model's own rate, or by the estimate of last resort where none is known.

    Texts have weights besides, so that those of pieces add up to no less than the whole's.
    """

    rate: Rate | None = None

    @property
    def source(self) -> TokenSource:
        return TokenSource.ESTIMATED if self.rate is None else TokenSource.CALIBRATED

    @cached_property
    def in_use(self) -> Rate:
        return self.rate or LAST_RESORT

    def tokens(self, text: str) -> int:
        return self.in_use.tokens_in(len(text))

    def weigh(self, text: str) -> int:
        """Return the characters: those of pieces add up exactly, which tokens rounded up do not."""
        return len(text)

    def holds(self, tokens: int) -> int:
        """Return the most weight that is sure to fit in so many tokens."""
        return self.in_use.chars_in(max(tokens, 0))


class UpperBoundCounting(TokenCounting):
    """Counts by the figure that a text hardly ever passes, for prompts that must fit whatever is in them."""

    def tokens(self, text: str) -> int:
        return most_tokens(text)

    def weigh(self, text: str) -> int:
        return most_tokens(text)

    def holds(self, tokens: int) -> int:
        return tokens
