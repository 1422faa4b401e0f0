"""Writing memories in a locked app: inserted, one evicted for it at the cap, changed, taken back; with who and why.

Nothing here decides what should go; it carries out an ``Eviction`` that was thought out before, and asks a rule where
none is given, or where a lowered cap takes more evictions than one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.base.audit import AGED, ERASED, Cause
from shared.base.errors import Conflict, NotFound
from shared.base.subjects import Subject
from shared.contracts.values import EventKind
from shared.events.recording import record as record_event
from shared.memories import queries
from shared.memories.compaction import NEW, CompactionCandidate, Eviction, least_goes, oldest_goes
from shared.memories.models import (
    SLOTS,
    WRITTEN,
    Change,
    ChangeKind,
    Memory,
    MemoryAttributes,
    MemorySource,
    MemoryText,
    Origin,
    written_texts,
)
from shared.text.gate import refuse_secret

Sources = dict[int, list[str]]
"""Conversation key -> the message ids that were used."""


def sources(session: Session, memory_id: int) -> Sources:
    """Return where a memory's present words come from."""
    return {one.conversation_key: list(one.message_ids) for one in queries.sources_of(session, memory_id)}


ATTRIBUTES = (*MemoryAttributes.model_fields, "agent")
"""The columns of a memory that, beside its text, are restored with it."""


def snapshot(memory: Memory, origins: Sources) -> dict[str, Any]:
    """Return what, beside its text, a memory needs to be restored."""
    return {
        **{name: getattr(memory, name) for name in ATTRIBUTES},
        "updated_at": memory.updated_at.isoformat(),
        "sources": {str(key): ids for key, ids in origins.items()},
    }


def attributes_in(standing: dict[str, Any]) -> dict[str, Any]:
    """Return the columns kept by ``snapshot``; one that is younger than what is kept stays at its default."""
    return {name: standing[name] for name in ATTRIBUTES if name in standing}


def updated_in(standing: dict[str, Any]) -> datetime | None:
    """Return when it had been updated last, as kept by ``snapshot``; None in what an archive brought."""
    return datetime.fromisoformat(standing["updated_at"]) if "updated_at" in standing else None


def sources_in(standing: dict[str, Any]) -> Sources:
    """Return the sources kept by ``snapshot``."""
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
        standing=snapshot(memory, origins),
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


class NewMemory(MemoryAttributes, MemoryText):
    """A memory that asks for a place."""

    agent: str
    epoch: int
    conversation_key: int | None = None
    conversation_id: str | None = None
    message_ids: tuple[str, ...] = ()
    created_at: datetime | None = None
    """When its conversation was held; None for now."""

    @property
    def sources(self) -> Sources:
        """Where its words come from."""
        return {} if self.conversation_key is None else {self.conversation_key: list(self.message_ids)}


@dataclass(frozen=True)
class InsertedMemory:
    """What became of a new memory, and how room was made for it."""

    memory_id: int
    is_stored: bool
    evictions: tuple[Eviction, ...] = ()


_REWRITES = (ChangeKind.EDITED, ChangeKind.MERGED, ChangeKind.RESTORED)
_REMOVALS = (ChangeKind.REMOVED, ChangeKind.ABSORBED, ChangeKind.GAVE_WAY)
Rule = Callable[[Sequence[CompactionCandidate], str], Eviction]
"""Chooses what goes, where no agent did; the second value says why anything has to."""


def insert_memory(
    session: Session,
    subject: Subject,
    new: NewMemory,
    cause: Cause,
    cap: int,
    eviction: Eviction | None = None,
    rule: Rule = oldest_goes,
) -> InsertedMemory:
    """Make a memory of a subject and give it a place; the caller has locked the app.

    ``eviction`` is used when the subject is at its cap; without one the ``rule`` chooses.
    Raises: Invalid, for a secret.
    """
    columns = new.model_dump(include=set(WRITTEN))
    _refuse_secrets(columns)
    born = new.created_at or cause.at
    making = new.model_dump(include={"conversation_key", "conversation_id", "epoch", "agent"})
    whose = {"app_id": subject.app_id, "user_id": subject.user_id}
    origin = Origin(**whose, **making, created_at=born)
    session.add(origin)
    session.flush()
    named = {"memory_id": origin.memory_id, "agent": new.agent, "created_at": born, "updated_at": born}
    memory = Memory(**whose, **named, version=1, **columns)
    # Before it has a place, so that its history is whole also where it gets none.
    record(session, memory, ChangeKind.CREATED, Texts(after=new.content), cause, new.sources)
    return insert_with_eviction(session, memory, new.sources, cause, cap, eviction, rule)


def insert_with_eviction(
    session: Session,
    memory: Memory,
    origins: Sources,
    cause: Cause,
    cap: int,
    eviction: Eviction | None = None,
    rule: Rule = oldest_goes,
) -> InsertedMemory:
    """Give a place to a memory that has none, making as much room as the cap asks for."""
    evictions: list[Eviction] = []
    # More than once only where the cap was lowered since.
    while len(present := queries.standing(session, memory.subject)) >= cap:
        chosen = (
            eviction
            if eviction is not None and not evictions
            else rule(queries.candidates(present, queries.zones_of(session, present)), f"all {cap} places were taken")
        )
        evictions.append(chosen)
        _evict(session, {m.memory_id: m for m in present}, memory, origins, chosen, cause)
        if chosen.removed_id == NEW:
            return InsertedMemory(memory.memory_id, False, tuple(evictions))
    taken = {one.slot for one in present}
    memory.slot = next(slot for slot in range(1, SLOTS + 1) if slot not in taken)
    session.add(memory)
    session.flush()
    _set_sources(session, memory.memory_id, origins)
    return InsertedMemory(memory.memory_id, True, tuple(evictions))


def edit(session: Session, memory: Memory, columns: Mapping[str, Any], cause: Cause) -> Memory:
    """Change columns of a memory by hand, keeping what it was. Raises: Invalid, for a secret."""
    _refuse_secrets(columns)
    origins = sources(session, memory.memory_id)
    after = columns.get("content", memory.content)
    record(session, memory, ChangeKind.EDITED, Texts(memory.content, after), cause, origins)
    # Who only pins it, or gives it tags, has not written it.
    if after != memory.content:
        memory.agent = cause.actor
    for name, value in columns.items():
        setattr(memory, name, value)
    _touch(memory, cause.at)
    session.flush()
    return memory


def remove(
    session: Session, memory: Memory, cause: Cause, kind: ChangeKind = ChangeKind.REMOVED, related: int | None = None
) -> None:
    """Take a memory from its place; its history can bring it back."""
    origins = sources(session, memory.memory_id)
    record(session, memory, kind, Texts(before=memory.content), cause, origins, related)
    session.delete(memory)
    session.flush()


def rewrite(session: Session, memory: Memory, content: str, origins: Sources, cause: Cause, kind: ChangeKind) -> None:
    """Give a memory other words, drawn from ``origins``."""
    kept = sources(session, memory.memory_id)
    record(session, memory, kind, Texts(memory.content, content), cause, kept, joined=origins)
    memory.content, memory.agent = content, cause.actor
    # How new a merge is, `_evict` says behind this: as what it takes in.
    _touch(memory, memory.updated_at if kind is ChangeKind.MERGED else cause.at)
    _set_sources(session, memory.memory_id, origins)


def restore(
    session: Session, app_id: str, memory_id: int, cause: Cause, cap: int, change_id: int | None = None
) -> InsertedMemory:
    """Undo the latest change of a memory, or the one named, in an app that the caller has locked.

    A memory that no longer stands gets a place; at the cap the least valuable goes for it.
    Raises: NotFound, Conflict when there is nothing to take back or its text was erased, Invalid for a secret.
    """
    queries.get_origin(session, app_id, memory_id)
    present = session.get(Memory, memory_id)
    change = _change(session, memory_id, change_id, _REWRITES if present is not None else _REMOVALS)
    if change.before is None and change.reason in (ERASED, AGED):
        why = "was erased" if change.reason == ERASED else "is no longer kept"
        raise Conflict(f"The text before that change {why} and cannot be restored.", code="erased")
    if change.before is None:
        raise Conflict(f"Memory {memory_id} stands, and nothing has happened to it since that could be taken back.")
    # What tells a secret may be younger than the text.
    texts = [change.before, *(text for _, text in written_texts(change.standing))]
    refuse_secret("\n".join(texts), f"What memory {memory_id} said before that change")
    if present is not None:
        rewrite(session, present, change.before, sources_in(change.standing), cause, ChangeKind.RESTORED)
        # Its author of then as well, where `rewrite` has just named who takes the change back.
        for name, value in attributes_in(change.standing).items():
            setattr(present, name, value)
        session.flush()
        return InsertedMemory(memory_id, True)
    return bring_back(session, change, cause, cap)


def bring_back(session: Session, change: Change, cause: Cause, cap: int = SLOTS) -> InsertedMemory:
    """Give a memory that no longer stands a place, as it was before a change; at the cap the least valuable goes."""
    origin = queries.get_origin(session, change.app_id, change.memory_id)
    memory = Memory(
        memory_id=change.memory_id, app_id=change.app_id, user_id=origin.user_id, content=change.before, version=1,
        created_at=origin.created_at, updated_at=cause.at, **attributes_in(change.standing),
    )  # fmt: skip
    origins = sources_in(change.standing)
    record(session, memory, ChangeKind.RESTORED, Texts(after=change.before), cause, origins)
    return insert_with_eviction(session, memory, origins, cause, cap, rule=least_goes)


def _refuse_secrets(columns: Mapping[str, Any]) -> None:
    for what, text in written_texts(columns):
        refuse_secret(text, what)


def _set_sources(session: Session, memory_id: int, origins: Sources) -> None:
    # Flushed between: SQLAlchemy inserts before it deletes, and would meet the keys of those that are to go.
    for present in queries.sources_of(session, memory_id):
        session.delete(present)
    session.flush()
    for key, message_ids in origins.items():
        session.add(MemorySource(memory_id=memory_id, conversation_key=key, message_ids=message_ids))
    session.flush()


def _evict(
    session: Session, present: dict[int, Memory], new: Memory, origins: Sources, eviction: Eviction, cause: Cause
) -> None:
    cause = cause.by(eviction.rule or cause.actor, eviction.reason)
    if eviction.rewritten_id is not None and eviction.content is not None:
        target = present[eviction.rewritten_id or NEW]
        absorbed = present.get(eviction.removed_id, new)
        taken_in = origins if absorbed is new else sources(session, absorbed.memory_id)
        if absorbed is new:
            record(session, new, ChangeKind.ABSORBED, Texts(before=new.content), cause, origins, target.memory_id)
        else:
            remove(session, absorbed, cause, ChangeKind.ABSORBED, target.memory_id)
        own = sources(session, target.memory_id)
        joined = {key: [*own.get(key, []), *taken_in.get(key, [])] for key in own | taken_in}
        rewrite(session, target, eviction.content or target.content, joined, cause, ChangeKind.MERGED)
        # What takes in something new counts as new, in the order of memories and for oldest-goes.
        target.updated_at = max(target.updated_at, absorbed.updated_at)
        target.importance = max(target.importance, absorbed.importance)
        # No more than a memory may have (`Tags`).
        target.tags = list(dict.fromkeys([*target.tags, *absorbed.tags]))[:20]
    elif eviction.removed_id == NEW:
        record(session, new, ChangeKind.GAVE_WAY, Texts(before=new.content), cause, origins)
    else:
        remove(session, present[eviction.removed_id], cause, related=new.memory_id)


def _touch(memory: Memory, at: datetime) -> None:
    memory.version += 1
    memory.updated_at = at


def _change(session: Session, memory_id: int, change_id: int | None, kinds: tuple[ChangeKind, ...]) -> Change:
    if change_id is None:
        change = queries.latest_change(session, memory_id, kinds)
        if change is None:
            raise Conflict(f"Nothing has happened to memory {memory_id} that could be taken back.")
        return change
    change = session.get(Change, change_id)
    if change is None or change.memory_id != memory_id:
        raise NotFound(f"Memory {memory_id} has no change {change_id}; see its history.")
    return change
