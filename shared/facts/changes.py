"""What becomes of one statement in a locked app: it stands as a new fact, is heard again, or replaces another.

Which of these it is, is judged in ``merging``. Here the rows are written: the fact, where it was said, and its history:
who, why, before and after, and whose words stand in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from shared.base.audit import ERASED, Cause
from shared.base.choices import Category, FactState
from shared.base.errors import Conflict, Limit
from shared.base.subjects import NOBODY, Subject
from shared.contracts.values import EventKind
from shared.events.recording import record as record_event
from shared.facts import queries
from shared.facts.models import PIN_SLOTS, SLOTS, Fact, FactChange, FactChangeKind, FactSource, said_key

Moment = tuple[datetime, str]
"""When something was said, and in which conversation: what orders two statements of the same instant."""
_BY_HAND = chr(0x10FFFF)
"""Behind every conversation's id."""
LEARNED_CONFIDENCE = 0.75
WRITTEN_CONFIDENCE = 0.60
_LEARNED_BOOST = 0.15
_WRITTEN_BOOST = 0.25


@dataclass(frozen=True)
class Mention:
    """One statement as it was said somewhere: in a conversation, or by a person's own hand (no conversation)."""

    statement: str
    category: Category
    agent: str
    at: datetime
    """When it was heard of here."""
    said_at: datetime
    user_id: str = NOBODY
    conversation_key: int | None = None
    conversation_id: str | None = None
    message_ids: tuple[str, ...] = ()
    vector: bytes | None = None
    vector_model: str | None = None

    @property
    def moment(self) -> Moment:
        """When it was said, and where."""
        return moment(self.said_at, self.conversation_id)

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it."""
        return self.conversation_key is None


def moment(said_at: datetime, conversation_id: str | None) -> Moment:
    """Return what orders a statement among others; what a person wrote at the same instant comes last."""
    return said_at, _BY_HAND if conversation_id is None else conversation_id


def certainty(mentions: int, by_hand: bool) -> float:
    """Return the confidence of what was said so often, 0..1. Source: decisions, "Facts and context"."""
    baseline, boost = (WRITTEN_CONFIDENCE, _WRITTEN_BOOST) if by_hand else (LEARNED_CONFIDENCE, _LEARNED_BOOST)
    return _at_most_one(baseline + boost * (mentions - 1))


def stand(session: Session, app_id: str, said: Mention, cause: Cause, replaces: Fact | None = None) -> Fact:
    """Make a fact of what was said; it takes the place and the pin of the one it replaces. Raises: Limit."""
    pin = None if replaces is None else _give_way(session, replaces)
    subject = Subject(app_id, said.user_id)
    free = free_slots(session, subject)
    if not free:
        raise Limit(f"{subject_in_words(subject)} has {SLOTS} facts, which is the most.", details={"limit": SLOTS})
    fact = row_of(said, app_id, cause.at)
    fact.state, fact.slot, fact.pin_slot = FactState.STANDING, free[0], pin
    fact.updates_fact_id = None if replaces is None else replaces.fact_id
    session.add(fact)
    session.flush()
    add_source(session, fact, said)
    kind = FactChangeKind.WRITTEN if said.by_hand else FactChangeKind.LEARNED
    record(session, fact, kind, cause, FactTexts(after=said.statement), None if replaces is None else replaces.fact_id)
    return fact


def row_of(said: Mention, app_id: str, at: datetime) -> Fact:
    """Return what was said as a fact that is replaced already, and lies nowhere yet."""
    return Fact(
        app_id=app_id,
        user_id=said.user_id,
        state=FactState.REPLACED,
        statement=said.statement,
        said_key=said_key(said.user_id, said.statement),
        category=said.category,
        confidence=certainty(1, said.by_hand),
        by_hand=said.by_hand,
        agent=said.agent,
        first_seen=said.at,
        last_seen=said.at,
        said_at=said.said_at,
        updated_at=at,
        vector=said.vector,
        vector_model=said.vector_model,
    )


def replace(session: Session, old: Fact, said: Mention, cause: Cause, why: Cause) -> Fact:
    """Let what was said stand in the place of a fact it contradicts; ``why`` is the cause of the old one's going."""
    new = stand(session, old.app_id, said, cause, replaces=old)
    record(session, old, FactChangeKind.REPLACED, why, FactTexts(before=old.statement), new.fact_id)
    return new


def subsume(session: Session, old: Fact, by: Fact, why: Cause, contradicted_by: Fact | None = None) -> None:
    """Let a fact that stands already also stand for one that was contradicted, by it or by one beneath it."""
    pin = _give_way(session, old)
    lie_beneath(session, old, by, pin)
    record(session, old, FactChangeKind.REPLACED, why, FactTexts(before=old.statement), (contradicted_by or by).fact_id)


def lie_beneath(session: Session, fact: Fact, by: Fact, pin: int | None) -> None:
    """Put a replaced fact, with all that it had replaced, beneath one that stands; it gives up its pin to that one."""
    lowest = [fact, *queries.chain_beneath(session, fact)][-1]
    lowest.updates_fact_id, by.updates_fact_id = by.updates_fact_id, fact.fact_id
    by.pin_slot = by.pin_slot or pin
    session.flush()


def hear_again(session: Session, fact: Fact, said: Mention, cause: Cause) -> bool:
    """Count a repeat of a fact; False when these very messages were counted before."""
    source = queries.source_in(session, fact.fact_id, said.conversation_key)
    if is_counted(source, said):
        return False
    if source is None:
        add_source(session, fact, said)
    else:
        source.mentions += 1
        source.message_ids = list(dict.fromkeys([*source.message_ids, *said.message_ids]))
        source.first_seen = min(source.first_seen, said.at)
        source.last_seen = max(source.last_seen, said.at)
        source.said_at = max(source.said_at, said.said_at)
    fact.mention_count += 1
    fact.confidence = _at_most_one(fact.confidence + (_WRITTEN_BOOST if fact.by_hand else _LEARNED_BOOST))
    fact.first_seen = min(fact.first_seen, said.at)
    fact.last_seen = max(fact.last_seen, said.at)
    fact.said_at = max(fact.said_at, said.said_at)
    touch(fact, cause.at)
    session.flush()
    keys = [] if said.conversation_key is None else [said.conversation_key]
    record(session, fact, FactChangeKind.REPEATED, cause, FactTexts(after=said.statement), keys=keys)
    return True


def is_counted(source: FactSource | None, said: Mention) -> bool:
    """Whether the messages of what was said are known to a source already; what is written by hand never is."""
    return source is not None and bool(said.message_ids) and set(said.message_ids) <= set(source.message_ids)


def remove_rows(session: Session, facts: Sequence[Fact]) -> None:
    """Remove facts with their sources and vectors."""
    for fact in facts:
        for source in queries.sources_of(session, fact.fact_id):
            session.delete(source)
    session.flush()
    for fact in facts:
        session.delete(fact)
    session.flush()


def free_slots(session: Session, subject: Subject) -> list[int]:
    """Return the places of a subject that are free, the lowest first."""
    taken, _ = queries.taken_places(session, subject)
    return [slot for slot in range(1, SLOTS + 1) if slot not in taken]


def free_pins(session: Session, subject: Subject) -> list[int]:
    """Return the places among the pinned facts of a subject that are free, the lowest first."""
    _, taken = queries.taken_places(session, subject)
    return [slot for slot in range(1, PIN_SLOTS + 1) if slot not in taken]


def free_pin(session: Session, subject: Subject) -> int:
    """Return a free place among the pinned facts of a subject. Raises: Conflict."""
    free = free_pins(session, subject)
    if not free:
        raise Conflict(
            f"{subject_in_words(subject)} has {PIN_SLOTS} pinned facts, which is the most; unpin one first.",
            code="all_pinned",
            details={"limit": PIN_SLOTS},
        )
    return free[0]


def subject_in_words(subject: Subject) -> str:
    """Return a subject as a message names it, at the beginning of a sentence."""
    return f"User {subject.user_id} of app {subject.app_id}" if subject.user_id else f"App {subject.app_id}"


def touch(fact: Fact, at: datetime) -> None:
    """Note that a fact changed."""
    fact.version += 1
    fact.updated_at = at


def _give_way(session: Session, old: Fact) -> int | None:
    """Take a fact from its place; return the pin it gives up."""
    pin = old.pin_slot
    old.state, old.slot, old.pin_slot = FactState.REPLACED, None, None
    session.flush()
    return pin


def add_source(session: Session, fact: Fact, said: Mention) -> None:
    """Note where and when a fact was said."""
    session.add(
        FactSource(
            fact_id=fact.fact_id,
            conversation_key=said.conversation_key,
            conversation_id=said.conversation_id,
            message_ids=list(dict.fromkeys(said.message_ids)),
            statement=said.statement,
            category=said.category,
            agent=said.agent,
            first_seen=said.at,
            last_seen=said.at,
            said_at=said.said_at,
        )
    )
    session.flush()


def _at_most_one(confidence: float) -> float:
    # Rounded, so that five boosts of 0.15 come to what is written on paper.
    return round(min(confidence, 1.0), 6)


@dataclass(frozen=True)
class FactTexts:
    """A fact's statement before and after a change."""

    before: str | None = None
    after: str | None = None


NO_TEXTS = FactTexts()


def keys_of(session: Session, fact_id: int) -> list[int]:
    """Return the keys of the conversations a fact was said in."""
    return [one.conversation_key for one in queries.sources_of(session, fact_id) if one.conversation_key is not None]


_CREATES = (FactChangeKind.LEARNED, FactChangeKind.WRITTEN, FactChangeKind.UNDONE, FactChangeKind.RESTORED)
_REMOVES = (
    FactChangeKind.REPLACED, FactChangeKind.DELETED, FactChangeKind.EVICTED, FactChangeKind.EXPIRED,
    FactChangeKind.ERASED,
)  # fmt: skip


def record(
    session: Session,
    fact: Fact,
    kind: FactChangeKind,
    cause: Cause,
    texts: FactTexts = NO_TEXTS,
    related: int | None = None,
    keys: Iterable[int] | None = None,
) -> FactChange:
    """Add one change of a fact; ``keys`` names the conversations whose words the texts hold, if not all of its own."""
    change = FactChange(
        fact_id=fact.fact_id,
        app_id=fact.app_id,
        user_id=fact.user_id,
        kind=kind,
        actor=cause.actor,
        reason=cause.reason,
        before=texts.before,
        after=texts.after,
        source_keys=[] if texts == NO_TEXTS else sorted(keys_of(session, fact.fact_id) if keys is None else keys),
        related_fact_id=related,
        job_id=cause.job_id,
        at=cause.at,
    )
    session.add(change)
    session.flush()
    event_kind = (
        EventKind.FACT_CREATED
        if kind in _CREATES
        else (EventKind.FACT_REMOVED if kind in _REMOVES else EventKind.FACT_CHANGED)
    )
    record_event(session, event_kind, fact.app_id, cause.at, subject=fact.fact_id, change=kind.value)
    return change


def empty(changes: Iterable[FactChange]) -> int:
    """Empty the texts and reasons of changes; return of how many. What happened when, and by whom, stays."""
    count = 0
    for change in changes:
        change.before = change.after = None
        change.reason = ERASED
        change.source_keys = []
        count += 1
    return count
