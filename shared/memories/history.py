"""The record of every change to what is remembered: who, why, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.contracts.values import EventKind
from shared.events.recording import record as record_event
from shared.memories import queries
from shared.memories.models import Change, ChangeKind, Memory, MemoryAttributes, Origin

Sources = dict[int, list[str]]
"""Conversation key -> the message ids that were used."""


def sources(session: Session, memory_id: int) -> Sources:
    """Return where a memory's present words come from."""
    return {one.conversation_key: list(one.message_ids) for one in queries.sources_of(session, memory_id)}


ATTRIBUTES = (*MemoryAttributes.model_fields, "agent")
"""The columns of a memory that, beside its text, are restored with it."""


def as_standing(memory: Memory, origins: Sources) -> dict[str, Any]:
    """Return what, beside its text, a memory needs to be restored."""
    return {
        **{name: getattr(memory, name) for name in ATTRIBUTES},
        "updated_at": memory.updated_at.isoformat(),
        "sources": {str(key): ids for key, ids in origins.items()},
    }


def attributes_in(standing: dict[str, Any]) -> dict[str, Any]:
    """Return the columns kept by ``as_standing``; one that is younger than what is kept stays at its default."""
    return {name: standing[name] for name in ATTRIBUTES if name in standing}


def updated_in(standing: dict[str, Any]) -> datetime | None:
    """Return when it had been updated last, as kept by ``as_standing``; None in what an archive brought."""
    return datetime.fromisoformat(standing["updated_at"]) if "updated_at" in standing else None


def sources_in(standing: dict[str, Any]) -> Sources:
    """Return the sources kept by ``as_standing``."""
    return {int(key): list(ids) for key, ids in standing.get("sources", {}).items()}


@dataclass(frozen=True)
class Texts:
    """A memory's text before and after a change."""

    before: str | None = None
    after: str | None = None


def record(
    session: Session,
    memory: Memory,
    kind: ChangeKind,
    texts: Texts,
    cause: Cause,
    origins: Sources,
    related: int | None = None,
    joined: Sources | None = None,
) -> Change:
    """Add one change; ``memory`` and ``origins`` are as they were before it (or, for a new one, as it was made).

    ``joined`` names the sources of the text after it, where they differ.
    """
    change = Change(
        memory_id=memory.memory_id,
        app_id=memory.app_id,
        kind=kind,
        actor=cause.actor,
        reason=cause.reason,
        before=texts.before,
        after=texts.after,
        source_keys=sorted(origins | (joined or {})),
        standing=as_standing(memory, origins),
        related_memory_id=related,
        job_id=cause.job_id,
        at=cause.at,
    )
    session.add(change)
    session.flush()
    # Nobody is told which conversation it was that is being erased.
    origin = None if kind is ChangeKind.ERASED else session.get(Origin, memory.memory_id)
    is_back = kind is ChangeKind.RESTORED and change.before is None
    if kind is ChangeKind.CREATED or is_back:
        event = EventKind.MEMORY_CREATED
    elif kind in (ChangeKind.EDITED, ChangeKind.MERGED, ChangeKind.RESTORED):
        event = EventKind.MEMORY_CHANGED
    else:
        event = EventKind.MEMORY_REMOVED
    record_event(
        session,
        event,
        memory.app_id,
        cause.at,
        conversation_id=None if origin is None else origin.conversation_id,
        subject=memory.memory_id,
        change=kind.value,
    )
    return change
