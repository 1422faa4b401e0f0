"""Writing memories: a new one is placed, and room is made for it, in one transaction of a locked app.

Nothing here decides what should go; it carries out a ``Room`` that was thought out before, and falls back to a rule
where none is given or a lowered cap asks for more room than one decision makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.memories import queries
from shared.memories.compaction import NEW, Candidate, Room, oldest_goes
from shared.memories.history import Sources, Texts, record, sources
from shared.memories.models import SLOTS, ChangeKind, Memory, MemorySource, Origin
from shared.subjects import Subject


@dataclass(frozen=True)
class NewMemory:
    """A memory that asks for a place."""

    content: str
    agent: str
    epoch: int
    importance: int = 5
    tags: tuple[str, ...] = ()
    pinned: bool = False
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
class Placed:
    """What became of a new memory, and how room was made for it."""

    memory_id: int
    stands: bool
    rooms: tuple[Room, ...] = ()


@dataclass(frozen=True)
class Edit:
    """A change by hand; None leaves a part as it is."""

    content: str | None = None
    importance: int | None = None
    tags: tuple[str, ...] | None = None
    pinned: bool | None = None


Rule = Callable[[Sequence[Candidate], str], Room]
"""Chooses what goes, where no agent did; the second value says why anything has to."""


def place(
    session: Session,
    subject: Subject,
    new: NewMemory,
    cause: Cause,
    cap: int,
    room: Room | None = None,
    rule: Rule = oldest_goes,
) -> Placed:
    """Make a memory of a subject and give it a place; the caller has locked the app.

    ``room`` is used when the subject is at its cap; without one the ``rule`` chooses.
    """
    memory = _make(session, subject, new, cause)
    record(session, memory, ChangeKind.CREATED, Texts(after=new.content), cause, new.sources)
    return give_place(session, memory, new.sources, cause, cap, room, rule)


def give_place(
    session: Session,
    memory: Memory,
    origins: Sources,
    cause: Cause,
    cap: int,
    room: Room | None = None,
    rule: Rule = oldest_goes,
) -> Placed:
    """Give a place to a memory that has none, making as much room as the cap asks for."""
    rooms: list[Room] = []
    while len(present := queries.standing(session, memory.subject)) >= cap:
        chosen = room if room is not None and not rooms else rule(queries.candidates(present), _at_cap(cap))
        rooms.append(chosen)
        _make_room(session, {m.memory_id: m for m in present}, memory, origins, chosen, cause)
        if chosen.removed_id == NEW:
            return Placed(memory.memory_id, False, tuple(rooms))
    _stand(session, memory, origins, {m.slot for m in present})
    return Placed(memory.memory_id, True, tuple(rooms))


def edit(session: Session, memory: Memory, wanted: Edit, cause: Cause) -> Memory:
    """Change a memory by hand, keeping what it was."""
    origins = sources(session, memory.memory_id)
    after = memory.content if wanted.content is None else wanted.content
    record(session, memory, ChangeKind.EDITED, Texts(memory.content, after), cause, origins)
    if after != memory.content:
        memory.content, memory.agent = after, cause.actor
    memory.importance = memory.importance if wanted.importance is None else wanted.importance
    memory.tags = memory.tags if wanted.tags is None else list(wanted.tags)
    memory.pinned = memory.pinned if wanted.pinned is None else wanted.pinned
    _touch(memory, cause.at)
    session.flush()
    return memory


def remove(session: Session, memory: Memory, cause: Cause, kind: ChangeKind = ChangeKind.REMOVED) -> None:
    """Take a memory from its place; its history can bring it back."""
    _leave(session, memory, kind, cause)


def rewrite(session: Session, memory: Memory, content: str, origins: Sources, cause: Cause, kind: ChangeKind) -> None:
    """Give a memory other words, drawn from ``origins``."""
    kept = sources(session, memory.memory_id)
    record(session, memory, kind, Texts(memory.content, content), cause, kept, joined=origins)
    memory.content, memory.agent = content, cause.actor
    _touch(memory, memory.updated_at if kind is ChangeKind.MERGED else cause.at)
    _set_sources(session, memory.memory_id, origins)


def _make(session: Session, subject: Subject, new: NewMemory, cause: Cause) -> Memory:
    born = new.created_at or cause.at
    origin = Origin(
        app_id=subject.app_id,
        user_id=subject.user_id,
        conversation_key=new.conversation_key,
        conversation_id=new.conversation_id,
        epoch=new.epoch,
        agent=new.agent,
        created_at=born,
    )
    session.add(origin)
    session.flush()
    return Memory(
        memory_id=origin.memory_id,
        app_id=subject.app_id,
        user_id=subject.user_id,
        content=new.content,
        importance=new.importance,
        tags=list(new.tags),
        pinned=new.pinned,
        agent=new.agent,
        version=1,
        created_at=born,
        updated_at=born,
    )


def _stand(session: Session, memory: Memory, origins: Sources, taken: set[int]) -> None:
    memory.slot = next(slot for slot in range(1, SLOTS + 1) if slot not in taken)
    session.add(memory)
    session.flush()
    _set_sources(session, memory.memory_id, origins)


def _set_sources(session: Session, memory_id: int, origins: Sources) -> None:
    for present in queries.sources_of(session, memory_id):
        session.delete(present)
    session.flush()
    for key, message_ids in origins.items():
        session.add(MemorySource(memory_id=memory_id, conversation_key=key, message_ids=message_ids))
    session.flush()


def _at_cap(cap: int) -> str:
    return f"all {cap} places were taken"


def _make_room(
    session: Session, present: dict[int, Memory], new: Memory, origins: Sources, room: Room, cause: Cause
) -> None:
    cause = cause.by(room.rule or cause.actor, room.reason)
    if room.rewritten_id is not None and room.content is not None:
        _merge(session, present, new, origins, room, cause)
    elif room.removed_id == NEW:
        record(session, new, ChangeKind.GAVE_WAY, Texts(before=new.content), cause, origins)
    else:
        _leave(session, present[room.removed_id], ChangeKind.REMOVED, cause, related=new.memory_id)


def _merge(
    session: Session, present: dict[int, Memory], new: Memory, origins: Sources, room: Room, cause: Cause
) -> None:
    target = present[room.rewritten_id or NEW]
    absorbed = present.get(room.removed_id, new)
    taken_in = origins if absorbed is new else sources(session, absorbed.memory_id)
    if absorbed is new:
        record(session, new, ChangeKind.ABSORBED, Texts(before=new.content), cause, origins, target.memory_id)
    else:
        _leave(session, absorbed, ChangeKind.ABSORBED, cause, related=target.memory_id)
    own = sources(session, target.memory_id)
    joined = {key: [*own.get(key, []), *taken_in.get(key, [])] for key in own | taken_in}
    rewrite(session, target, room.content or target.content, joined, cause, ChangeKind.MERGED)
    # What takes in something new counts as new, in the order of memories and for oldest-goes.
    target.updated_at = max(target.updated_at, absorbed.updated_at)
    target.importance = max(target.importance, absorbed.importance)
    target.tags = list(dict.fromkeys([*target.tags, *absorbed.tags]))[:20]


def _leave(session: Session, memory: Memory, kind: ChangeKind, cause: Cause, related: int | None = None) -> None:
    origins = sources(session, memory.memory_id)
    record(session, memory, kind, Texts(before=memory.content), cause, origins, related)
    session.delete(memory)
    session.flush()


def _touch(memory: Memory, at: datetime) -> None:
    memory.version += 1
    memory.updated_at = at
