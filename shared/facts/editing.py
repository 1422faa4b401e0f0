"""Facts by a person's hand: written, changed, moved, pinned, deleted, cleared, brought back. Needs no model, no vector.

A deletion can be taken back for a while; then the fact is gone for good, with the text of its history. A clear is taken
back for some seconds, then an erasure. While it is open none of the facts it took stands and none is written about
those users, so taking it back finds every place free; the facts of other users go on. A user's clear may be open when
the app's is opened: each takes back what it took, and the app's, once final, takes all. Source: seed 000; decisions.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.choices import Category, FactState
from shared.base.errors import Conflict, NotFound
from shared.base.ids import new_id
from shared.base.subjects import Subject
from shared.facts import queries
from shared.facts.mentions import FactLearning, FoundStatement, StatementOrigin, append, group_of, refold, standing_for
from shared.facts.models import SLOTS, Fact, FactChangeKind, FactClear, category_of, said_key
from shared.facts.retention import (
    empty,
    free_pin,
    free_pins,
    free_slots,
    prune,
    record,
    remove_rows,
    subject_in_words,
    touch,
)
from shared.text.gate import refuse_secret
from shared.text.secrets import has_secret

MAX_CHARS = 500
"""The longest fact that can be written by hand."""
_NO_VECTORS = 1.0


def write(
    session: Session,
    subject: Subject,
    statement: str,
    cause: Cause,
    category: Category | None = None,
    pinned: bool = False,
    said_at: datetime | None = None,
) -> tuple[Fact, FactLearning]:
    """Write a fact into a locked app; one that stands already is said again. Raises: Conflict, Invalid for a secret.

    Its category is found by its words where none is named, and it was said now where no time is. Returns the fact that
    stands for it, and what else became of that.
    """
    refuse_secret(statement, "fact: it")
    queries.refuse_while_clearing(session, subject)
    learning = FactLearning()
    found = FoundStatement(statement, category or category_of(statement), (), said_at=said_at)
    origin = StatementOrigin(None, None, subject.user_id, cause.at, cause.actor)
    mention = append(session, subject.app_id, origin, found, cause, _NO_VECTORS, learning)
    assert mention is not None  # What a hand writes was never counted before.
    fact = standing_for(session, mention)
    if category is not None:
        move(session, fact, category, cause)
    if pinned:
        pin(session, fact, cause)
    learning.evicted += prune(session, subject, cause)
    return fact, learning


def reword(session: Session, fact: Fact, statement: str, cause: Cause) -> None:
    """Change what a standing fact of a locked app says. Raises: Conflict, Invalid for a secret."""
    if statement == fact.statement:
        return
    refuse_secret(statement, "fact: it")
    key = said_key(fact.user_id, statement)
    other = queries.fact_saying(session, fact.app_id, key)
    if other is not None and other is not fact:
        raise Conflict(
            f"Fact {other.fact_id} says this already; change or delete that one.",
            code="already_known",
            details={"factId": other.fact_id},
        )
    record(session, fact, FactChangeKind.EDITED, cause, before=fact.statement, after=statement)
    fact.statement, fact.said_key, fact.agent = statement, key, cause.actor
    fact.vector = fact.vector_model = None
    # Not the mention's own statement: what was heard by now goes on being judged by the words there were.
    newest = queries.newest_mention(session)
    for one in queries.mentions_of(session, [fact.fact_id]):
        one.edits = [*one.edits, [newest, statement]]
    touch(fact, cause.at)
    session.flush()


def move(session: Session, fact: Fact, category: Category, cause: Cause) -> None:
    """Put a fact into a category; where it is there already, nothing happens."""
    if fact.category != category:
        why = cause.by(cause.actor, f"moved from {fact.category} to {category}")
        fact.category = category
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.MOVED, why)


def pin(session: Session, fact: Fact, cause: Cause) -> None:
    """Exempt a fact from eviction and expiry; pinning twice changes nothing. Raises: Conflict when ten are pinned."""
    if fact.pin_slot is None:
        fact.pin_slot = free_pin(session, fact.subject)
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.PINNED, cause)


def unpin(session: Session, fact: Fact, cause: Cause) -> None:
    """Let a fact be evicted and expire again; one that is not pinned stays as it is."""
    if fact.pin_slot is not None:
        fact.pin_slot = None
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.UNPINNED, cause)


RULE_UNDO_OVER = "rule:undo_over"
"""Makes a deletion final; who asked for it stands in the fact's history."""


def delete(session: Session, fact: Fact, cause: Cause, seconds: float) -> datetime:
    """Delete a standing fact of a locked app; return until when it can be taken back."""
    record(session, fact, FactChangeKind.DELETED, cause, before=fact.statement)
    until = cause.at + timedelta(seconds=seconds)
    fact.was_pinned = fact.pin_slot is not None
    fact.state, fact.slot, fact.pin_slot, fact.undo_until = FactState.DELETED, None, None, until
    touch(fact, cause.at)
    session.flush()
    return until


def undo(session: Session, app_id: str, fact_id: int, cause: Cause) -> Fact:
    """Take back the deletion of a fact in a locked app; its pin too, if a place is free.

    Raises: NotFound, Conflict, Invalid for a secret.
    """
    try:
        fact = queries.get_fact(session, app_id, fact_id)
    except NotFound:
        if queries.history_in_app(session, app_id, fact_id):
            _refuse_late(fact_id)
        raise
    if fact.state != FactState.DELETED:
        raise Conflict(f"Fact {fact_id} was not deleted; it is {fact.state}.", code="not_deleted")
    if fact.undo_until is None or fact.undo_until <= cause.at:
        _refuse_late(fact_id)
    refuse_secret(fact.statement, f"Fact {fact_id}")
    queries.refuse_while_clearing(session, fact.subject)
    slot = _free_place(session, fact)
    pin = next(iter(free_pins(session, fact.subject)), None) if fact.was_pinned else None
    fact.state, fact.slot, fact.pin_slot, fact.undo_until, fact.was_pinned = FactState.STANDING, slot, pin, None, False
    touch(fact, cause.at)
    record(session, fact, FactChangeKind.UNDONE, cause, after=fact.statement)
    return _refold_with(session, fact, cause)


def _refold_with(session: Session, fact: Fact, cause: Cause) -> Fact:
    """Let a fact that came back be what it would be had it never been deleted; return what has its mentions now.

    Something said since may contradict it: then it lies beneath that.
    """
    # Its mentions may end up in another fact, which said the same meanwhile and was replaced.
    mention = queries.mentions_of(session, [fact.fact_id])[0]
    scope = queries.fold_scopes(session, fact.subject)[0]
    chain = {one.fact_id for one in (fact, *queries.chain_beneath(session, fact))}
    refold(session, scope, group_of(session, scope, chain), cause)
    return session.get_one(Fact, mention.fact_id)


def finish(session: Session, deleted: Sequence[Fact]) -> tuple[dict[str, int], list[int]]:
    """Make deletions in a locked app final, with what those facts had replaced; return how much went, and which facts.

    The text of their history goes too.
    """
    going = [one for fact in deleted for one in (fact, *queries.chain_beneath(session, fact))]
    changes = 0
    for one in going:
        history = queries.history_of(session, one.fact_id)
        changes += len(history)
        empty(history)
    remove_rows(session, going)
    session.flush()
    return {"facts": len(going), "factHistory": changes}, [one.fact_id for one in going]


def _refuse_late(fact_id: int) -> NoReturn:
    raise Conflict(f"Fact {fact_id} can no longer be brought back; write it anew.", code="undo_over")


def _free_place(session: Session, fact: Fact) -> int:
    other = queries.fact_saying(session, fact.app_id, fact.said_key)
    if other is not None:
        raise Conflict(
            f"Fact {other.fact_id} says the same by now; there is nothing to bring back.",
            code="already_known",
            details={"factId": other.fact_id},
        )
    free = free_slots(session, fact.subject)
    if not free:
        raise Conflict(
            f"{subject_in_words(fact.subject)} has {SLOTS} facts, which is the most; delete one first.",
            code="no_room",
            details={"limit": SLOTS},
        )
    return free[0]


def clear_all(session: Session, app_id: str, cause: Cause, seconds: float, user_id: str | None = None) -> FactClear:
    """Delete all facts of a locked app, or of one of its users, to be taken back for so many seconds.

    No other clear of the same facts is open. Raises: Conflict, for a user while the app's are being cleared.
    """
    _refuse_beneath_the_apps(session, app_id, user_id)
    standing = queries.facts_in(session, app_id, (FactState.STANDING,), user_id)
    clear = FactClear(
        clear_id=new_id("clr", cause.at),
        app_id=app_id,
        user_id=user_id,
        actor=cause.actor,
        count=len(standing),
        last_message_key=queries.last_message_key(session, app_id),
        at=cause.at,
        undo_until=cause.at + timedelta(seconds=seconds),
    )
    session.add(clear)
    session.flush()
    for fact in standing:
        record(session, fact, FactChangeKind.DELETED, cause, before=fact.statement)
    # What lies beneath a fact that was deleted by itself goes, or comes back, with that.
    apart = queries.beneath_deleted(session, app_id)
    for fact in queries.facts_in(session, app_id, (FactState.STANDING, FactState.REPLACED), user_id):
        if fact.fact_id in apart:
            continue
        fact.was_pinned = fact.pin_slot is not None
        fact.state, fact.slot, fact.pin_slot = FactState.DELETED, None, None
        fact.clear_id, fact.undo_until = clear.clear_id, clear.undo_until
    session.flush()
    return clear


def undo_clear(session: Session, app_id: str, cause: Cause, user_id: str | None = None) -> int:
    """Take back the clear of a locked app, or of one of its users: all is as it was; return how many facts stand again.

    But for what holds a secret, which stays deleted. Raises: Conflict.
    """
    clear = queries.open_clear(session, app_id, user_id)
    if clear is None or clear.undo_until <= cause.at:
        raise Conflict(
            f"No clearing of {queries.whose_facts(app_id, user_id)} can be taken back: there was none, or its time is "
            "over. Facts that were exported can be imported again.",
            code="undo_over",
        )
    _refuse_beneath_the_apps(session, app_id, user_id)
    cleared = queries.cleared_by(session, clear.clear_id)
    back = [fact for fact in cleared if not _stays_beneath(session, fact) and not _stays_deleted(fact)]
    slots: Counter[str] = Counter()
    pins: Counter[str] = Counter()
    for fact in back:
        # None of its places was given away meanwhile, as nothing was written. Nor do two say the same: what an
        # erased conversation made alike was folded into one while it was cleared.
        slots[fact.user_id] += 1
        pins[fact.user_id] += fact.was_pinned
        fact.state, fact.slot = FactState.STANDING, slots[fact.user_id]
        fact.pin_slot = pins[fact.user_id] if fact.was_pinned else None
        fact.clear_id, fact.undo_until, fact.was_pinned = None, None, False
        touch(fact, cause.at)
        record(session, fact, FactChangeKind.UNDONE, cause, after=fact.statement)
    clear.settled_at = cause.at
    session.flush()
    return len(back)


def _refuse_beneath_the_apps(session: Session, app_id: str, user_id: str | None) -> None:
    whole = None if user_id is None else queries.open_clear(session, app_id)
    if whole is not None:
        queries.refuse_open_clear(whole)


def _stays_beneath(session: Session, fact: Fact) -> bool:
    """Whether a fact had been replaced when it was cleared; then it is so again."""
    if queries.fact_above(session, fact) is None:
        return False
    fact.state, fact.clear_id, fact.undo_until = FactState.REPLACED, None, None
    session.flush()
    return True


def _stays_deleted(fact: Fact) -> bool:
    """Whether a fact holds a secret; it is then one that was deleted by itself, and goes for good when that would."""
    if has_secret(fact.statement):
        fact.clear_id = None
    return fact.clear_id is None
