"""Facts that go: by age, category and confidence; all at once, by a clear-all; and for good, with what was said.

A clear is taken back for some seconds, then an erasure. While it is open none of the facts it took stands and none is
written about those users, so taking it back finds every place free; the facts of other users go on. A user's clear may
be open when the app's is opened: each takes back what it took, and the app's, once final, takes all. Of an erased
conversation, what another said too, or a person wrote, stays; what stood before an erased contradiction stands again.
What else is erased with them, and the receipt, is left to ``shared.erasure``. Source: seed 000; decisions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy import delete, func, update
from sqlalchemy.orm import Session

from shared.base.audit import AGED, ERASED, Cause
from shared.base.choices import Category, FactState
from shared.base.errors import Conflict, Operation
from shared.base.ids import new_id
from shared.base.subjects import NOBODY, Subject
from shared.conversations.models import Conversation
from shared.db.queries import rows_changed
from shared.facts import queries
from shared.facts.changes import FactTexts, empty, free_slots, lie_beneath, record, remove_rows, subsume, touch
from shared.facts.merging import first_said, mend, part_by_replaced, reckon
from shared.facts.models import (
    LIFETIMES,
    WEIGHTS,
    Fact,
    FactChange,
    FactChangeKind,
    FactClear,
    FactSource,
    said_key,
)
from shared.text.secrets import has_secret


def refuse_while_clearing(session: Session, subject: Subject) -> None:
    """Raises: Conflict, while the facts of a subject are being cleared, its own or all of its app's."""
    clear = queries.clear_over(session, subject)
    if clear is not None:
        _refuse(clear)


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
        record(session, fact, FactChangeKind.DELETED, cause, FactTexts(before=fact.statement))
    for fact in queries.facts_in(session, app_id, (FactState.STANDING, FactState.REPLACED), user_id):
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
            f"No clearing of {_whose(app_id, user_id)} can be taken back: there was none, or its time is over. "
            "Facts that were exported can be imported again.",
            code="undo_over",
        )
    _refuse_beneath_the_apps(session, app_id, user_id)
    cleared = queries.cleared_by(session, clear.clear_id)
    back = [fact for fact in cleared if not _stays_beneath(session, fact) and not _stays_deleted(fact)]
    slots: Counter[str] = Counter()
    pins: Counter[str] = Counter()
    standing: dict[str, Fact] = {}
    for fact in back:
        slots[fact.user_id] += 1
        pins[fact.user_id] += fact.was_pinned
        slot, pin = slots[fact.user_id], pins[fact.user_id] if fact.was_pinned else None
        other = standing.setdefault(fact.said_key, fact)
        fact.clear_id, fact.undo_until, fact.was_pinned = None, None, False
        if other is fact:
            fact.state, fact.slot, fact.pin_slot = FactState.STANDING, slot, pin
            touch(fact, cause.at)
            record(session, fact, FactChangeKind.UNDONE, cause, FactTexts(after=fact.statement))
        else:
            # A conversation was erased meanwhile, and in the words that remain it says what that one says.
            fact.state = FactState.REPLACED
            lie_beneath(session, fact, other, pin)
            record(session, fact, FactChangeKind.REPLACED, cause, FactTexts(before=fact.statement), other.fact_id)
    clear.settled_at = cause.at
    session.flush()
    return len(standing)


def make_final(session: Session, clear: FactClear, now: datetime) -> dict[str, int]:
    """Erase what a clear deleted, and let nothing said before it become a fact; return how much of what.

    The app is locked, and so are its conversations.
    """
    erased = _forget_facts(session, clear.app_id, clear.user_id)
    # Move the pointers of the app's conversations up to what was said when it was cleared.
    seen = queries.said_until(clear.last_message_key)
    mine = [Conversation.app_id == clear.app_id]
    if clear.user_id is not None:
        mine.append(func.coalesce(Conversation.user_id, NOBODY) == clear.user_id)
    session.execute(update(Conversation).where(*mine, Conversation.facts_seen < seen).values(facts_seen=seen))
    all_seen = Conversation.facts_seen >= Conversation.message_count
    session.execute(update(Conversation).where(*mine, all_seen).values(facts_due_at=None))
    for one in settled_with(session, clear):
        one.settled_at = now
    session.flush()
    return erased


def settled_with(session: Session, clear: FactClear) -> Sequence[FactClear]:
    """Return the open clears that can no longer be taken back once one is final: with the app's, those of its users."""
    return [clear] if clear.user_id is not None else queries.open_clears(session, clear.app_id)


def _refuse_beneath_the_apps(session: Session, app_id: str, user_id: str | None) -> None:
    whole = None if user_id is None else queries.open_clear(session, app_id)
    if whole is not None:
        _refuse(whole)


def _refuse(clear: FactClear) -> NoReturn:
    whose = _whose(clear.app_id, clear.user_id)
    of_user = {} if clear.user_id is None else {"userId": clear.user_id}
    raise Conflict(
        f"{whose[0].upper()}{whose[1:]} are being cleared; take that back with {{operation}}, or wait until it is "
        "final.",
        code="clear_open",
        details={"clearId": clear.clear_id, "undoUntil": clear.undo_until.isoformat()},
        operation=Operation("undoClearingFacts", {"appId": clear.app_id, **of_user}),
    )


def _whose(app_id: str, user_id: str | None) -> str:
    if user_id is None:
        return f"the facts of app {app_id}"
    return f"the facts of app {app_id} that name {f'user {user_id}' if user_id else 'nobody'}"


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


def forget_all(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Remove all facts of a locked app, or of one of its users, and their clear-alls; return how much of what."""
    erased = _forget_facts(session, app_id, user_id)
    # After the facts, which point at them.
    clears = delete(FactClear).where(FactClear.app_id == app_id)
    session.execute(clears if user_id is None else clears.where(FactClear.user_id == user_id))
    return erased


def _forget_facts(session: Session, app_id: str, user_id: str | None) -> dict[str, int]:
    """Remove facts in whatever state, with the text of their history."""
    mine = queries.within(Fact, app_id, user_id)
    sources = delete(FactSource).where(FactSource.fact_id.in_(queries.ids_of(app_id, user_id)))
    history = update(FactChange).where(*queries.within(FactChange, app_id, user_id))
    return {
        "factSources": rows_changed(session, sources),
        "facts": rows_changed(session, delete(Fact).where(*mine)),
        "factHistory": rows_changed(session, history.values(before=None, after=None, reason=ERASED, source_keys=[])),
    }


def forget_old_texts(session: Session, before: datetime, after: int, limit: int) -> tuple[int, int | None]:
    """Empty the history, older than that, of facts that are gone; looks at ``limit`` changes above ``after``.

    Return how many were emptied, and the change to go on above; None when there are no more.
    """
    looked_at = queries.changes_before(session, before, after, limit)
    old = [change_id for change_id, may_go in looked_at.items() if may_go]
    if old:
        emptied = update(FactChange).where(FactChange.change_id.in_(old))
        session.execute(emptied.values(before=None, after=None, reason=AGED, source_keys=[]))
    return len(old), max(looked_at) if len(looked_at) == limit else None


def part_from_user(session: Session, subject: Subject) -> None:
    """Let what is left of a subject's facts forget whose they were."""
    theirs = queries.within(FactChange, subject.app_id, subject.user_id)
    session.execute(update(FactChange).where(*theirs).values(user_id=NOBODY))


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
    # Remove facts that nobody said any more; those that were replaced first, so that the rest find what remains.
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
    return {"facts": len(gone), "factSources": sources, "factHistory": history}


def left_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Count, store by store, what is left of the facts of an app, or of one of its users."""
    session.flush()
    return {
        "facts": queries.count_facts(session, app_id, user_id),
        "factSources": queries.count_sources(session, app_id, user_id),
        "factHistory": queries.count_changes_with_text(session, app_id, user_id),
    }


def left_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Count, store by store, what is left of one conversation's words in an app's facts."""
    session.flush()
    return queries.count_derived(session, app_id, conversation_key)


def _reckon_anew(session: Session, fact: Fact, cause: Cause) -> None:
    """Let a fact be what its remaining sources make of it."""
    reckon(session, fact, cause.at)
    if fact.statement in {one.statement for one in queries.sources_of(session, fact.fact_id)}:
        session.flush()
        return
    source = first_said(session, fact)
    key = said_key(fact.user_id, source.statement)
    other = queries.fact_saying(session, fact.app_id, key)
    if fact.state == FactState.STANDING and other is not None and other is not fact:
        # In these words it says what another fact says, which stands for both from now on.
        subsume(session, fact, other, cause)
    fact.statement, fact.said_key = source.statement, key
    fact.category, fact.agent = source.category, source.agent
    fact.vector = fact.vector_model = None
    session.flush()
    record(session, fact, FactChangeKind.RESTORED, cause, FactTexts(after=source.statement))


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
    if has_secret(fact.statement):
        # An earlier release let it in.
        _erase(session, fact, cause)
        return
    other = queries.fact_saying(session, fact.app_id, fact.said_key)
    if other is not None:
        lie_beneath(session, fact, other, pin)
        return
    slot = free_slots(session, fact.subject)[0]
    fact.state, fact.slot, fact.pin_slot = FactState.STANDING, slot, pin
    touch(fact, cause.at)
    record(session, fact, FactChangeKind.RESTORED, cause, FactTexts(after=fact.statement))


def _erase(session: Session, fact: Fact, cause: Cause) -> None:
    record(session, fact, FactChangeKind.ERASED, cause)
    remove_rows(session, [fact])


PRUNE_TO = 120
"""Facts that remain when there were more. Source: seed 000."""
RULE_EVICTION = "rule:eviction"
RULE_EXPIRY = "rule:expiry"
_LEAST_CONFIDENCE = 0.01
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class RetainedFact:
    """A standing fact, as far as eviction looks at it."""

    fact_id: int
    category: Category
    confidence: float
    last_seen: datetime
    pinned: bool = False


@dataclass(frozen=True)
class FactScore:
    """A fact with its score; the highest goes first."""

    fact: RetainedFact
    score: float


@dataclass(frozen=True)
class ExpiringFact:
    """A fact with the last moment at which it still stands."""

    fact: RetainedFact
    at: datetime


@dataclass(frozen=True)
class DryRun:
    """What would go, in the order in which it would."""

    scores: tuple[FactScore, ...]
    """Every unpinned fact, the highest score first."""
    going: tuple[int, ...]
    expiring: tuple[ExpiringFact, ...]
    """Every unpinned fact, the one that expires next first."""


def score(fact: RetainedFact, now: datetime) -> float:
    """Return how readily a fact gives way: days since it was last heard, weighted, over its confidence."""
    age_days = max((now - fact.last_seen) / _DAY, 0.0)
    return age_days * WEIGHTS[fact.category] / max(fact.confidence, _LEAST_CONFIDENCE)


def by_score(facts: Sequence[RetainedFact], now: datetime) -> list[FactScore]:
    """Return the unpinned facts, the next to go first; equal scores by older ``last_seen``, then smaller id."""
    scored = [FactScore(fact, score(fact, now)) for fact in facts if not fact.pinned]
    return sorted(scored, key=lambda one: (-one.score, one.fact.last_seen, one.fact.fact_id))


def evicted(facts: Sequence[RetainedFact], now: datetime, more: int = 0) -> list[FactScore]:
    """Return which facts go, so that with ``more`` new ones no more than ``PRUNE_TO`` remain."""
    return by_score(facts, now)[: max(len(facts) + more - PRUNE_TO, 0)]


def dry_run(facts: Sequence[RetainedFact], now: datetime, more: int = 0) -> DryRun:
    """Return what would go if ``more`` facts came now, and what expires next; nothing is changed."""
    expiring = [ExpiringFact(fact, fact.last_seen + LIFETIMES[fact.category]) for fact in facts if not fact.pinned]
    expiring.sort(key=lambda one: (one.at, one.fact.fact_id))
    going = tuple(one.fact.fact_id for one in evicted(facts, now, more))
    return DryRun(tuple(by_score(facts, now)), going, tuple(expiring))


def held(facts: Sequence[Fact]) -> list[RetainedFact]:
    """Return facts as eviction sees them."""
    return [
        RetainedFact(one.fact_id, Category(one.category), one.confidence, one.last_seen, one.pin_slot is not None)
        for one in facts
    ]


def expire(session: Session, app_id: str, cause: Cause) -> tuple[int, ...]:
    """Let the expired facts of a locked app go; return which went."""
    going = queries.expired(session, app_id, cause.at)
    ids = tuple(fact.fact_id for fact in going)
    for fact in going:
        days = LIFETIMES[Category(fact.category)].days
        why = cause.by(RULE_EXPIRY, f"nothing was heard of it for more than {days} days")
        evict(session, fact, why, FactChangeKind.EXPIRED)
    return ids


def prune(session: Session, subject: Subject, cause: Cause) -> tuple[int, ...]:
    """Evict what is too much of a subject's facts; return which went."""
    facts = queries.standing(session, subject)
    going = evicted(held(facts), cause.at)
    by_id = {fact.fact_id: fact for fact in facts}
    for one in going:
        why = f"{len(facts)} facts stood, more than {PRUNE_TO}; its score was {one.score:.2f}"
        evict(session, by_id[one.fact.fact_id], cause.by(RULE_EVICTION, why))
    return tuple(one.fact.fact_id for one in going)


def prune_if_full(session: Session, subject: Subject, cause: Cause) -> tuple[int, ...]:
    """Evict what is too much where no place is free; return which went."""
    return () if free_slots(session, subject) else prune(session, subject, cause)


def evict(session: Session, fact: Fact, cause: Cause, kind: FactChangeKind = FactChangeKind.EVICTED) -> None:
    """Let a fact go, and what it had replaced with it; their history stays."""
    record(session, fact, kind, cause, FactTexts(before=fact.statement))
    remove_rows(session, [fact, *queries.chain_beneath(session, fact)])
