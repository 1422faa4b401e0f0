"""Forgetting memories for good: with the text of their history, so that nothing can bring them back.

What else of an app is erased with them, and the receipt, are left to ``shared.erasure``.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, update
from sqlalchemy.orm import Session

from shared.base.audit import AGED, ERASED, Cause
from shared.base.subjects import NOBODY, Subject
from shared.db.queries import rows_changed
from shared.llm.calls import EXTRACTIVE
from shared.memories import queries
from shared.memories.compaction import RULES
from shared.memories.models import Change, ChangeKind, Memory, MemorySource, Origin
from shared.memories.writing import attributes_in, bring_back, remove, rewrite, sources_in, updated_in
from shared.text.secrets import has_secret

_NAMELESS = {"user_id": NOBODY, "conversation_key": None, "conversation_id": None}
_CHOSEN = (ChangeKind.REMOVED, ChangeKind.ABSORBED, ChangeKind.MERGED, ChangeKind.GAVE_WAY)
"""What an agent may have chosen, and given its reason for."""
_WORDLESS = (*RULES, EXTRACTIVE, "admin")
"""Actors whose reasons are words of ours."""


def forget_all(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Remove all memories of a locked app, or one user's, with the text of their history; return how much of what."""
    made = queries.made_of(app_id, user_id)
    changes = update(Change).where(Change.memory_id.in_(made))
    return {
        # By themselves, so that they are counted: with their memories they would go unseen.
        "memorySources": rows_changed(session, delete(MemorySource).where(MemorySource.memory_id.in_(made))),
        "memories": rows_changed(session, delete(Memory).where(Memory.memory_id.in_(made))),
        "memoryHistory": rows_changed(
            session, changes.values(before=None, after=None, reason=ERASED, standing={}, source_keys=[])
        ),
    }


def forget_old_texts(session: Session, before: datetime, after: int, limit: int) -> tuple[int, int | None]:
    """Empty the history, older than that, of memories that are gone; looks at ``limit`` changes above ``after``.

    Return how many were emptied, and the change to go on above; None when there are no more. What stands may have to go
    back to an earlier text when a conversation is erased, and so keeps its own.
    """
    looked_at = queries.changes_before(session, before, after, limit)
    old = [change_id for change_id, may_go in looked_at.items() if may_go]
    if old:
        emptied = update(Change).where(Change.change_id.in_(old))
        session.execute(emptied.values(before=None, after=None, reason=AGED, standing={}, source_keys=[]))
    return len(old), max(looked_at) if len(looked_at) == limit else None


def forget_conversation(session: Session, app_id: str, conversation_key: int, cause: Cause) -> dict[str, int]:
    """Take a conversation's words out of every memory and every history of a locked app; return how much of what.

    A memory that also holds another conversation's words goes back to its last text without this one's. What it had
    taken in since stands by itself again where there is a place, what matters most first: no more than stood before.
    """
    touched = queries.drawn_from(session, conversation_key)
    places, absorbed = Counter[Subject](), list[tuple[Subject, Change]]()
    for memory in touched:
        former = _last_without(queries.history_of(session, memory.memory_id), conversation_key)
        absorbed += [(memory.subject, one) for one in _lost_with(session, memory, former, conversation_key)]
        if former is None or former.before is None:
            places[memory.subject] += 1
            remove(session, memory, cause, ChangeKind.ERASED)
        else:
            rewrite(session, memory, former.before, sources_in(former.standing), cause, ChangeKind.RESTORED)
            # A merge joins tags too; those of then are the last that owe nothing to the conversation. Not so the pin,
            # and who wrote it is who restores it.
            for name in attributes_in(former.standing).keys() - {"pinned", "agent"}:
                setattr(memory, name, former.standing[name])
            # Without the newer words it is as old as it was, in the order of memories and for oldest-goes.
            memory.updated_at = updated_in(former.standing) or memory.updated_at
    absorbed.sort(key=lambda one: (one[1].standing.get("importance", 0), one[1].change_id), reverse=True)
    for subject, change in absorbed:
        if places[subject]:
            places[subject] -= 1
            bring_back(session, change, cause)
    # After the above, which has left changes of its own with these words in them.
    derived = [c for c in queries.changes_with_text(session, app_id) if conversation_key in c.source_keys]
    _empty(derived)
    _forget_reasons(session, app_id, derived)
    session.flush()
    detach_conversations(session, Origin.conversation_key == conversation_key)
    return {"memories": len(touched), "memoryHistory": len(derived)}


def _last_without(history: Sequence[Change], conversation_key: int) -> Change | None:
    """Return the newest change before which a memory held nothing of a conversation; None where none may be used."""
    clean = [c for c in history if c.before is not None and conversation_key not in sources_in(c.standing)]
    # Something from before secrets were refused must not be written once more.
    return clean[-1] if clean and not has_secret(clean[-1].before or "") else None


def _lost_with(
    session: Session, lost: Memory | Change, former: Change | None, conversation_key: int
) -> Iterator[Change]:
    """Yield removals of what a memory took in since ``former``; they hold nothing of a conversation."""
    for taken_in in queries.absorbed_by(
        session, lost.app_id, lost.memory_id, 0 if former is None else former.change_id
    ):
        history = queries.history_of(session, taken_in.memory_id)
        # Somebody may have brought it back since, or removed it by hand.
        if history[-1] is taken_in:
            clean = _last_without(history, conversation_key)
            if clean is not None:
                yield clean
            # It may have taken in others itself.
            yield from _lost_with(session, taken_in, clean, conversation_key)


def forget_memory(session: Session, memory: Memory, cause: Cause) -> dict[str, int]:
    """Remove one memory of a locked app with the text of its history; return how much of what."""
    remove(session, memory, cause, ChangeKind.ERASED)
    history = queries.history_of(session, memory.memory_id)
    _empty(history)
    _forget_reasons(session, memory.app_id, history)
    return {"memories": 1, "memoryHistory": len(history)}


def detach_conversations(session: Session, origins: ColumnElement[bool], *, nameless: bool = False) -> None:
    """Let origins forget which conversation they came from, and, ``nameless``, what it was called and whose it was."""
    session.execute(update(Origin).where(origins).values(_NAMELESS if nameless else {"conversation_key": None}))


def detach_user(session: Session, subject: Subject) -> None:
    """Let what is left of a subject's memories forget whose they were, and in which conversations they were made."""
    detach_conversations(
        session, and_(Origin.app_id == subject.app_id, Origin.user_id == subject.user_id), nameless=True
    )


def left_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Count, store by store, what is left of the memories of an app, or of one of its users."""
    return {
        "memories": queries.count_standing(session, app_id, user_id),
        "memoryHistory": queries.count_changes_with_text(session, app_id, user_id),
        "memorySources": queries.count_sources(session, app_id, user_id),
    }


def left_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Count, store by store, what is left of one conversation's words in an app's memories."""
    return queries.count_derived(session, app_id, conversation_key)


def left_of_memory(session: Session, memory_id: int) -> dict[str, int]:
    """Count what is left of a memory that was forgotten."""
    history = queries.history_of(session, memory_id)
    return {"memories": 0, "memoryHistory": sum(queries.holds_text(change) for change in history)}


def _forget_reasons(session: Session, app_id: str, derived: Sequence[Change]) -> None:
    """Empty what agents gave as reasons from the first derived change on: they may quote any memory they were shown."""
    if derived:
        first = min(change.change_id for change in derived)
        for change in queries.changes_since(session, app_id, first, _CHOSEN):
            if change.actor not in _WORDLESS and not change.actor.startswith("token:"):
                change.reason = ERASED


def _empty(changes: Sequence[Change]) -> None:
    for change in changes:
        change.before = change.after = None
        change.reason = ERASED
        change.standing = {}
        change.source_keys = []
