"""Taking a change back: a rewritten memory gets its former words, a removed one gets a place again."""

from __future__ import annotations

from sqlalchemy.orm import Session

from shared.causes import ERASED, Cause
from shared.errors import Conflict, NotFound
from shared.memories import queries
from shared.memories.compaction import least_goes
from shared.memories.history import Texts, looks_in, record, sources_in
from shared.memories.models import Change, ChangeKind, Memory
from shared.memories.writing import Placed, give_place, rewrite

_REWRITES = (ChangeKind.EDITED, ChangeKind.MERGED, ChangeKind.RESTORED)
_REMOVALS = (ChangeKind.REMOVED, ChangeKind.ABSORBED, ChangeKind.GAVE_WAY)


def restore(
    session: Session, app_id: str, memory_id: int, cause: Cause, cap: int, change_id: int | None = None
) -> Placed:
    """Undo the latest change of a memory, or the one named, in an app that the caller has locked.

    A memory that no longer stands gets a place; at the cap the least valuable goes for it.
    Raises: NotFound, Conflict when there is nothing to take back or its text was erased.
    """
    origin = queries.get_origin(session, app_id, memory_id)
    present = session.get(Memory, memory_id)
    change = _change(session, memory_id, change_id, _REWRITES if present is not None else _REMOVALS)
    if change.before is None and change.reason == ERASED:
        raise Conflict("The text before that change was erased and cannot be restored.", code="erased")
    if change.before is None:
        raise Conflict(f"Memory {memory_id} stands, and nothing has happened to it since that could be taken back.")
    if present is not None:
        return _put_back_words(session, present, change, cause)
    memory = Memory(
        memory_id=memory_id, app_id=app_id, user_id=origin.user_id, content=change.before, version=1, 
        created_at=origin.created_at, updated_at=cause.at, **looks_in(change.standing),
    )  # fmt: skip
    origins = sources_in(change.standing)
    record(session, memory, ChangeKind.RESTORED, Texts(after=change.before), cause, origins)
    return give_place(session, memory, origins, cause, cap, rule=least_goes)


def _put_back_words(session: Session, memory: Memory, change: Change, cause: Cause) -> Placed:
    rewrite(session, memory, change.before or "", sources_in(change.standing), cause, ChangeKind.RESTORED)
    for name, value in looks_in(change.standing).items():
        setattr(memory, name, value)
    session.flush()
    return Placed(memory.memory_id, True)


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
