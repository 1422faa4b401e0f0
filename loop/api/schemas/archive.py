"""What an import did."""

from __future__ import annotations

from loop.api.schemas.wire import Answer, Success
from shared.archive.importing import Imported


class Arrived(Answer):
    """How many were added, and how many were there already."""

    imported: int
    skipped: int


class ImportedAnswer(Success):
    """What an import added."""

    conversations: Arrived
    messages: int
    memories: Arrived
    history: Arrived
    facts: Arrived
    fact_history: Arrived
    summaries: int
    profiles: Arrived

    @classmethod
    def of(cls, done: Imported) -> ImportedAnswer:
        """Return what an import did, as it goes over the wire."""
        return cls(
            conversations=Arrived(imported=done.conversations, skipped=done.conversations_skipped),
            messages=done.messages,
            memories=Arrived(imported=done.memories, skipped=done.memories_skipped),
            history=Arrived(imported=done.changes, skipped=done.changes_skipped),
            facts=Arrived(imported=done.facts, skipped=done.facts_skipped),
            fact_history=Arrived(imported=done.fact_changes, skipped=done.fact_changes_skipped),
            summaries=done.summaries,
            profiles=Arrived(imported=done.profiles, skipped=done.profiles_skipped),
        )
