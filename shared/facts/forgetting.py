"""Forgetting facts for good: all of an app's, or one conversation's share in them.

What another conversation said, or a person wrote, stays; what stood before an erased contradiction stands again. What
else is erased with them, and the receipt, is left to ``shared.erasure``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.causes import ERASED, Cause
from shared.db.counting import rows_changed
from shared.facts import queries
from shared.facts.chains import first_said, mend, part_by_replaced, reckon
from shared.facts.history import Texts, empty, record
from shared.facts.models import Fact, FactChange, FactChangeKind, FactClear, FactSource, FactState
from shared.facts.normalising import said_key
from shared.facts.placing import free_slots, lie_beneath, remove_rows, subsume, touch
from shared.subjects import NOBODY, Subject


def forget_all(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Remove all facts of a locked app, or of one of its users, in whatever state, with the text of their history.

    Returns how much of what.
    """
    mine = queries.within(Fact, app_id, user_id)
    sources = delete(FactSource).where(FactSource.fact_id.in_(queries.ids_of(app_id, user_id)))
    history = update(FactChange).where(*queries.within(FactChange, app_id, user_id))
    return {
        "factSources": rows_changed(session, sources),
        "facts": rows_changed(session, delete(Fact).where(*mine)),
        "factHistory": rows_changed(session, history.values(before=None, after=None, reason=ERASED, source_keys=[])),
    }


def part_from_user(session: Session, subject: Subject) -> None:
    """Let what is left of a subject's facts forget whose they were."""
    theirs = queries.within(FactChange, subject.app_id, subject.user_id)
    session.execute(update(FactChange).where(*theirs).values(user_id=NOBODY))


def forget_clears(session: Session, app_id: str, user_id: str | None = None) -> None:
    """Remove the clear-alls of a locked app, or of one of its users, whose facts are gone."""
    mine = delete(FactClear).where(FactClear.app_id == app_id)
    session.execute(mine if user_id is None else mine.where(FactClear.user_id == user_id))


def forget_conversation(session: Session, app_id: str, conversation_key: int, cause: Cause) -> dict[str, int]:
    """Take a conversation's words out of every fact of a locked app and their history; return how much of what."""
    touched = queries.facts_said_in(session, conversation_key)
    sources = rows_changed(session, delete(FactSource).where(FactSource.conversation_key == conversation_key))
    gone = [fact for fact in touched if not queries.sources_of(session, fact.fact_id)]
    derived = [one for one in queries.changes_with_text(session, app_id) if conversation_key in one.source_keys]
    history = empty(derived)
    for fact in touched:
        if fact not in gone:
            _reckon_anew(session, fact, cause)
    _let_go(session, gone, cause)
    return {"facts": len(gone), "factSources": sources, "factHistory": history}


def left_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Count, store by store, what is left of the facts of an app, or of one of its users."""
    session.flush()
    return {
        "facts": queries.count_facts(session, app_id, user_id),
        "factSources": queries.count_sources(session, app_id, user_id),
        "factHistory": queries.count_changes_with_text(session, app_id, user_id),
    }


def left_of_facts(session: Session, fact_ids: Sequence[int]) -> dict[str, int]:
    """Count, store by store, what is left of single facts."""
    return queries.count_left(session, fact_ids)


def left_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Count, store by store, what is left of one conversation's words in an app's facts."""
    session.flush()
    return queries.count_derived(session, app_id, conversation_key)


def _reckon_anew(session: Session, fact: Fact, cause: Cause) -> None:
    """Let a fact be what its remaining sources make of it."""
    reckon(session, fact, cause.at)
    if fact.statement not in {one.statement for one in queries.sources_of(session, fact.fact_id)}:
        _reword(session, fact, first_said(session, fact), cause)
    session.flush()


def _reword(session: Session, fact: Fact, source: FactSource, cause: Cause) -> None:
    key = said_key(fact.user_id, source.statement)
    other = queries.fact_saying(session, fact.app_id, key)
    if fact.state == FactState.STANDING and other is not None and other is not fact:
        # In these words it says what another fact says, which stands for both from now on.
        subsume(session, fact, other, cause)
    fact.statement, fact.said_key = source.statement, key
    fact.category, fact.agent = source.category, source.agent
    fact.vector = fact.vector_model = None
    session.flush()
    record(session, fact, FactChangeKind.RESTORED, cause, Texts(after=source.statement))


def _let_go(session: Session, gone: Sequence[Fact], cause: Cause) -> None:
    """Remove facts that nobody said any more; those that were replaced first, so that the rest find what remains."""
    replaced = {fact: above for fact in gone if (above := queries.fact_above(session, fact)) is not None}
    for fact in replaced:
        above = queries.fact_above(session, fact)
        if above is not None:
            above.updates_fact_id = fact.updates_fact_id
        _erase(session, fact, cause)
    for fact in gone:
        if fact not in replaced:
            _uncover(session, fact, cause)
    for above in replaced.values():
        if above not in gone:
            mend(session, above, cause)


def _uncover(session: Session, fact: Fact, cause: Cause) -> None:
    """Remove a fact; what it had replaced takes its place, or may be taken back in its stead where it was deleted."""
    beneath = part_by_replaced(session, fact)
    state, pin, undo_until, clear_id, was_pinned = (
        fact.state,
        fact.pin_slot,
        fact.undo_until,
        fact.clear_id,
        fact.was_pinned,
    )
    _erase(session, fact, cause)
    for former in beneath:
        if state == FactState.STANDING:
            _stand_again(session, former, pin, cause)
        else:
            former.state, former.undo_until, former.clear_id = FactState.DELETED, undo_until, clear_id
            former.was_pinned = was_pinned
        pin, was_pinned = None, False
    session.flush()


def _stand_again(session: Session, fact: Fact, pin: int | None, cause: Cause) -> None:
    other = queries.fact_saying(session, fact.app_id, fact.said_key)
    if other is not None:
        lie_beneath(session, fact, other, pin)
        return
    slot = free_slots(session, fact.subject)[0]
    fact.state, fact.slot, fact.pin_slot = FactState.STANDING, slot, pin
    touch(fact, cause.at)
    record(session, fact, FactChangeKind.RESTORED, cause, Texts(after=fact.statement))


def _erase(session: Session, fact: Fact, cause: Cause) -> None:
    record(session, fact, FactChangeKind.ERASED, cause)
    remove_rows(session, [fact])
