"""Closed sets of values that the interfaces offer a choice of.

This module imports nothing, so that the command line can show them without loading what uses them.
"""

from enum import StrEnum


class Category(StrEnum):
    """What a fact is about, the most pressing first."""

    PROJECT = "project"
    """Work in hand, plans and goals."""
    PREFERENCE = "preference"
    """What the user likes, uses or wants done in a certain way."""
    IDENTITY = "identity"
    """Who the user is: name, place, family, health, profession."""


class FactState(StrEnum):
    """Where a fact stands; a closed set, so it can label a metric."""

    STANDING = "standing"
    REPLACED = "replaced"
    """Contradicted by a newer one, which says so in ``updates_fact_id``."""
    DELETED = "deleted"
    """Can be taken back until ``undo_until``."""


class ChatGrouping(StrEnum):
    """What of a file of chats becomes one conversation."""

    AUTO = "auto"
    """A line that holds a whole one; otherwise the messages that share a conversation id."""
    DAY = "day"
    """The messages of one day (UTC) of what ``auto`` would have made one."""
    FILE = "file"
    """Everything."""


class RankingFormula(StrEnum):
    """How results are ranked."""

    SIGNALS = "signals"
    WEIGHTED = "weighted"


class Aggressiveness(StrEnum):
    """How readily marked parts are given up."""

    MINIMAL = "minimal"
    """Called light where decay is spoken of."""
    MODERATE = "moderate"
    AGGRESSIVE = "aggressive"


class DecayLevel(StrEnum):
    """How readily marked parts are given up; light is also called minimal."""

    LIGHT = "light"
    MINIMAL = "minimal"
    MODERATE = "moderate"
    AGGRESSIVE = "aggressive"

    @property
    def aggressiveness(self) -> Aggressiveness:
        """The same by its one name."""
        return Aggressiveness.MINIMAL if self is DecayLevel.LIGHT else Aggressiveness(self.value)


class TierPreset(StrEnum):
    """Tiers that have a name."""

    GENTLE = "gentle"
    STANDARD = "standard"
    AGGRESSIVE = "aggressive"
    CUSTOM = "custom"


class KeepitMode(StrEnum):
    """What becomes of marked parts."""

    DECAY = "decay"
    PRESERVE_ALL = "preserve-all"
    IGNORE = "ignore"
    """They are taken for ordinary text, but for those pinned at 1.00."""


class AgeingSchedule(StrEnum):
    """How often versions are aged."""

    DAILY = "daily"
    WEEKLY = "weekly"
    ON_ACCESS = "on-access"
    """When the project was used since the last time, and that is an hour ago."""


class AllocationStrategy(StrEnum):
    """How a budget is shared."""

    EQUAL = "equal"
    PROPORTIONAL = "proportional"
    """By how long the sessions are."""
    RECENT_FIRST = "recent-first"
    """The newest first, each up to a share of what is left that grows with every one."""
    CUSTOM = "custom"


class OutputFormat(StrEnum):
    """Which documents are written."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    BOTH = "both"


class SemanticVerdict(StrEnum):
    """What a person said of a semantic memory."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
