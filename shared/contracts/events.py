"""Kinds of events that listeners of an app are told of.

An event carries ids and numbers. Whoever shows it looks the text up at that moment, so that what was erased since is
not told again.
"""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    """What happened; a closed set, so it can label a metric."""

    ANSWER_SENT = "answer.sent"
    """The loop answered; the subject is the message."""
    ANSWER_PENDING = "answer.pending"
    """An answer waits for approval; the subject is the answer."""
    ANSWER_REJECTED = "answer.rejected"
    CONVERSATION_ENDED = "conversation.ended"
    CONVERSATION_SNOOZED = "conversation.snoozed"
    CONVERSATION_WOKEN = "conversation.woken"
    MEMORY_CREATED = "memory.created"
    MEMORY_CHANGED = "memory.changed"
    MEMORY_REMOVED = "memory.removed"
    MEMORIES_PURGED = "memories.purged"
    FACT_CREATED = "fact.created"
    FACT_CHANGED = "fact.changed"
    FACT_REMOVED = "fact.removed"
    """It stands no more: deleted, evicted, expired, erased or replaced."""
    PROFILE_CHANGED = "profile.changed"
    """A consent or a profile: granted, revoked, written or erased; names nobody."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """A webhook is told of nothing more; the details say after how many failures, or which status."""
    JOB_DEFERRED = "job.deferred"
    JOB_FINISHED = "job.finished"
    """A job ended for good; the details say in which state."""


class DeliveryOutcome(StrEnum):
    """How a delivery to a webhook went; a closed set, so it can label a metric."""

    DELIVERED = "delivered"
    GONE = "gone"
    """It answered 410, and is not told any more."""
    REFUSED = "refused"
    """It answered with a status that is no success."""
    UNREACHABLE = "unreachable"
    """Nothing answered in time, or not in HTTP."""
    FORBIDDEN = "forbidden"
    """Its host leads to an address that may not be called."""
    DROPPED = "dropped"
    """There was nothing to tell any more, or nobody to tell it to."""
