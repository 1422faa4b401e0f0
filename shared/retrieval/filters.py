"""What a search is narrowed to. Pure functions of values; that nothing of another app is found is not left to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shared.retrieval.search import MessageRow


class HitKind(StrEnum):
    """What was found."""

    MESSAGE = "message"
    PROSE = "prose"
    CODE = "code"


@dataclass(frozen=True)
class Filters:
    """What results must be; an empty set allows everything, and a named value that matches nothing, nothing."""

    roles: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Speakers, as the app named them, whatever the case."""
    since: datetime | None = None
    """The earliest time a result was said at."""
    until: datetime | None = None
    """The time all results were said before."""
    conversation_ids: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    """Tags of the conversation, all of which it must have."""
    kinds: frozenset[HitKind] = frozenset()

    @property
    def looks_at_messages(self) -> bool:
        """Whether a message has to be read to know if it passes."""
        return any((self.roles, self.names, self.since, self.until, self.tags, self.kinds))

    def passes(self, row: MessageRow, tags: Mapping[str, frozenset[str]]) -> bool:
        """Whether a message may be a result; ``tags`` are those of each conversation, by its id."""
        return (
            (not self.roles or row.role in self.roles)
            and (not self.names or (row.name or "").casefold() in {name.casefold() for name in self.names})
            and (self.since is None or row.created_at >= self.since)
            and (self.until is None or row.created_at < self.until)
            and (not self.tags or self.tags <= tags.get(row.conversation_id, frozenset()))
        )

    def allows(self, kind: HitKind) -> bool:
        """Whether a result may be of this kind."""
        return not self.kinds or kind in self.kinds
