"""Reads of facts, their mentions and their history, always within one app. None of them makes a model call."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from sqlalchemy import ColumnElement, Row, ScalarSelect, and_, case, exists, func, or_, select
from sqlalchemy.orm import Session

from shared.base.choices import Category, FactState
from shared.base.errors import Conflict, NotFound, Operation
from shared.base.subjects import Subject
from shared.conversations.models import Conversation, Message
from shared.db.queries import count
from shared.facts.fold import Trace
from shared.facts.models import LIFETIMES, SLOTS, Fact, FactChange, FactChangeKind, FactClear, FactMention

_STANDS = Fact.state == FactState.STANDING
_HAS_TEXT = or_(FactChange.before.is_not(None), FactChange.after.is_not(None))
_OF_CATEGORY = case({one.value: rank for rank, one in enumerate(Category)}, value=Fact.category, else_=len(Category))
PRESSING_FIRST = (
    Fact.pin_slot.is_(None),
    _OF_CATEGORY,
    Fact.confidence.desc(),
    Fact.said_at.desc(),
    Fact.fact_id.desc(),
)
"""Pinned, then project, preference and identity, then the most certain, then what was said last."""


@dataclass(frozen=True)
class FactFilter:
    """What a listing is narrowed to; None leaves a part open."""

    state: FactState = FactState.STANDING
    category: Category | None = None
    pinned: bool | None = None
    user_id: str | None = None


def within(table: type[Fact | FactChange | FactMention], app_id: str, user_id: str | None) -> list[ColumnElement[bool]]:
    """Narrow rows to an app, and to one of its users where one is named; NOBODY is named, None is not."""
    return [table.app_id == app_id, *([] if user_id is None else [table.user_id == user_id])]


def standing(session: Session, subject: Subject) -> Sequence[Fact]:
    """Return the facts of one subject, the most pressing first."""
    return session.scalars(select(Fact).where(_of(subject), _STANDS).order_by(*PRESSING_FIRST)).all()


def taken_places(session: Session, subject: Subject) -> Sequence[Row[int | None, int | None]]:
    """Return the slot and the pin slot of each fact that stands; not the facts, which have their vectors with them."""
    return session.execute(select(Fact.slot, Fact.pin_slot).where(_of(subject), _STANDS)).all()


def heard_only_in(session: Session, conversation_key: int) -> frozenset[int]:
    """Return the facts that were heard in one conversation and in no other."""
    heard = select(FactMention.fact_id).where(FactMention.conversation_key == conversation_key)
    elsewhere = or_(FactMention.conversation_key.is_(None), FactMention.conversation_key != conversation_key)
    others = select(FactMention.fact_id).where(elsewhere, FactMention.fact_id.in_(heard))
    return frozenset(session.scalars(heard.where(FactMention.fact_id.not_in(others))))


def without_vector(session: Session, subject: Subject, model: str, limit: int) -> Sequence[Fact]:
    """Return a subject's standing facts that the model has not embedded yet, the newest first."""
    lacks = or_(Fact.vector.is_(None), Fact.vector_model.is_(None), Fact.vector_model != model)
    query = select(Fact).where(_of(subject), _STANDS, lacks)
    return session.scalars(query.order_by(Fact.fact_id.desc()).limit(limit)).all()


def list_facts(session: Session, app_id: str, filters: FactFilter, limit: int, offset: int) -> Sequence[Fact]:
    """Return an app's facts, the most pressing first, from place ``offset`` on."""
    query = select(Fact).where(*_conditions(app_id, filters))
    return session.scalars(query.order_by(*PRESSING_FIRST).limit(limit).offset(offset)).all()


def count_listed(session: Session, app_id: str, filters: FactFilter) -> int:
    """Return how many facts a listing has on all of its pages."""
    return count(session, select(func.count()).select_from(Fact).where(*_conditions(app_id, filters)))


def _conditions(app_id: str, filters: FactFilter) -> list[ColumnElement[bool]]:
    narrowed = [*within(Fact, app_id, filters.user_id), Fact.state == filters.state]
    if filters.category is not None:
        narrowed.append(Fact.category == filters.category)
    if filters.pinned is not None:
        narrowed.append(Fact.pin_slot.is_not(None) if filters.pinned else Fact.pin_slot.is_(None))
    return narrowed


def get_fact(session: Session, app_id: str, fact_id: int) -> Fact:
    """Return a fact in whatever state. Raises: NotFound."""
    fact = session.get(Fact, fact_id)
    if fact is None or fact.app_id != app_id:
        raise NotFound(
            f"App {app_id} has no fact {fact_id}; {{operation}} lists those it has.",
            details={"appId": app_id, "factId": fact_id},
            operation=Operation("listFacts", {"appId": app_id}),
        )
    return fact


def get_standing(session: Session, app_id: str, fact_id: int) -> Fact:
    """Return a fact that stands. Raises: NotFound."""
    fact = get_fact(session, app_id, fact_id)
    if fact.state != FactState.STANDING:
        raise NotFound(
            f"Fact {fact_id} of app {app_id} is {fact.state} and can no longer be changed; see its history.",
            details={"appId": app_id, "factId": fact_id, "state": fact.state},
        )
    return fact


def fact_saying(session: Session, app_id: str, key: str) -> Fact | None:
    """Return the standing fact that says something already."""
    return session.scalar(select(Fact).where(Fact.app_id == app_id, Fact.said_key == key, _STANDS))


def facts_in(
    session: Session, app_id: str, states: Collection[FactState], user_id: str | None = None
) -> Sequence[Fact]:
    """Return the facts of an app, or of one of its users, in some states, the oldest first."""
    query = select(Fact).where(*within(Fact, app_id, user_id), Fact.state.in_(states))
    return session.scalars(query.order_by(Fact.fact_id)).all()


def fact_above(session: Session, fact: Fact) -> Fact | None:
    """Return the fact that replaced one."""
    query = select(Fact).where(Fact.app_id == fact.app_id, Fact.updates_fact_id == fact.fact_id)
    return session.scalar(query.limit(1))


def chain_beneath(session: Session, fact: Fact) -> list[Fact]:
    """Return what a fact replaced, what that one replaced, and so on: the newest first."""
    chain: list[Fact] = []
    lower = fact
    while lower.updates_fact_id is not None and (found := session.get(Fact, lower.updates_fact_id)) is not None:
        chain.append(found)
        lower = found
    return chain


def beneath_deleted(session: Session, app_id: str) -> set[int]:
    """Return what lies beneath facts of an app that were deleted one by one."""
    query = select(Fact).where(Fact.app_id == app_id, Fact.state == FactState.DELETED, Fact.clear_id.is_(None))
    return {lower.fact_id for fact in session.scalars(query).all() for lower in chain_beneath(session, fact)}


@dataclass(frozen=True)
class FoldScope:
    """Facts that are folded together, apart from all others: what stands, or what one deletion or one clear took."""

    facts: Sequence[Fact]
    top: FactState = FactState.STANDING
    """The state of what nothing contradicts."""
    beneath: FactState = FactState.REPLACED
    undo_until: datetime | None = None
    clear_id: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether its facts count: they have slots, and new statements are read against them."""
        return self.top is FactState.STANDING


def fold_scopes(session: Session, subject: Subject) -> list[FoldScope]:
    """Return a subject's facts as they are folded together; first those that stand and what these replaced."""
    facts = session.scalars(select(Fact).where(_of(subject)).order_by(Fact.fact_id)).all()
    by_id = {one.fact_id: one for one in facts}
    scopes: list[FoldScope] = []
    cleared: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.clear_id is not None:
            cleared.setdefault(fact.clear_id, []).append(fact)
    for clear_id, own in cleared.items():
        scopes.append(FoldScope(own, FactState.DELETED, FactState.DELETED, own[0].undo_until, clear_id))
    for fact in facts:
        if fact.state == FactState.DELETED and fact.clear_id is None:
            chain = [fact]
            # What lay beneath it when all was cleared went with the clear.
            while (lower := by_id.get(chain[-1].updates_fact_id or 0)) is not None and lower.clear_id is None:
                chain.append(lower)
            scopes.append(FoldScope(chain, FactState.DELETED, undo_until=fact.undo_until))
    apart = {one.fact_id for scope in scopes for one in scope.facts}
    # Always there, and first, though it may be empty.
    return [FoldScope([one for one in facts if one.fact_id not in apart]), *scopes]


def mentions_of(session: Session, fact_ids: Collection[int]) -> list[FactMention]:
    """Return every mention of some facts."""
    return list(session.scalars(select(FactMention).where(FactMention.fact_id.in_(fact_ids))))


def traces_of(session: Session, subject: Subject, facts: Collection[Fact]) -> list[Trace]:
    """Return what links each of some facts of a subject to others."""
    links = (FactMention.fact_id, FactMention.meaning, FactMention.updates)
    mine, ids = within(FactMention, subject.app_id, subject.user_id), {fact.fact_id for fact in facts}
    rows = session.execute(select(*links, FactMention.statement, FactMention.edits).where(*mine))
    # Told apart here, as PostgreSQL compares no JSON.
    found = {
        Trace(fact_id, meaning, updates, words): None
        for fact_id, meaning, updates, statement, edits in rows
        for words in (statement, *(edited for _, edited in edits))
        if fact_id in ids
    }
    return list(found)


def newest_mention(session: Session) -> int:
    """Return the number of the newest mention there is, 0 without any."""
    return session.scalar(select(func.max(FactMention.mention_id))) or 0


def mentions_in(session: Session, subject: Subject, conversation_key: int) -> Sequence[FactMention]:
    """Return what a conversation mentioned of a subject, of facts in whatever state."""
    mine = within(FactMention, subject.app_id, subject.user_id)
    return session.scalars(select(FactMention).where(*mine, FactMention.conversation_key == conversation_key)).all()


@dataclass(frozen=True)
class FactSource:
    """A conversation in which a fact was said, or a person's own hand (no conversation), with all its mentions."""

    conversation_id: str | None
    message_ids: list[str]
    statement: str
    category: str
    agent: str
    mentions: int
    first_seen: datetime
    last_seen: datetime
    said_at: datetime


def sources_of(session: Session, fact_id: int) -> list[FactSource]:
    """Return where a fact was said, in the order in which it was first heard there."""
    return sources_by_fact(session, [fact_id]).get(fact_id, [])


def sources_by_fact(session: Session, fact_ids: Collection[int]) -> dict[int, list[FactSource]]:
    """Return for each fact where it was said."""
    query = select(FactMention).where(FactMention.fact_id.in_(fact_ids))
    grouped: dict[tuple[int, int | None], list[FactMention]] = {}
    for one in session.scalars(query.order_by(FactMention.said_at, FactMention.mention_id)):
        grouped.setdefault((one.fact_id, one.conversation_key), []).append(one)
    found: dict[int, list[FactSource]] = {}
    by_first_heard = sorted(grouped.items(), key=lambda item: min((one.heard_at, one.mention_id) for one in item[1]))
    for (fact_id, _), mentions in by_first_heard:
        first, heard = mentions[0], [one.heard_at for one in mentions]
        source = FactSource(
            conversation_id=first.conversation_id,
            message_ids=list(dict.fromkeys(one for mention in mentions for one in mention.message_ids)),
            # What a conversation said stays as it was understood there; a hand said what it made of it since.
            statement=first.words if first.by_hand else first.statement,
            category=first.category,
            agent=first.agent,
            mentions=len(mentions),
            first_seen=min(heard),
            last_seen=max(heard),
            said_at=mentions[-1].said_at,
        )
        found.setdefault(fact_id, []).append(source)
    return found


def message_times(session: Session, conversation_key: int | None, ids: Collection[str]) -> dict[str, datetime]:
    """Return when messages of a conversation were said, by their ids; no more than there are."""
    mine = (Message.conversation_key == conversation_key, Message.message_id.in_(ids))
    messages = session.execute(select(Message.message_id, Message.created_at).where(*mine))
    return {one.message_id: one.created_at for one in messages}


def facts_mentioned_in(session: Session, conversation_key: int) -> Sequence[Fact]:
    """Return the facts of whatever state that a conversation said."""
    mentioned = select(FactMention.fact_id).where(FactMention.conversation_key == conversation_key)
    return session.scalars(select(Fact).where(Fact.fact_id.in_(mentioned)).order_by(Fact.fact_id)).all()


def keys_of(session: Session, fact_id: int) -> set[int]:
    """Return the keys of the conversations a fact was said in."""
    query = select(FactMention.conversation_key).where(FactMention.fact_id == fact_id).distinct()
    return {key for key in session.scalars(query) if key is not None}


def history_of(session: Session, *fact_ids: int) -> Sequence[FactChange]:
    """Return everything that happened to some facts, oldest first."""
    query = select(FactChange).where(FactChange.fact_id.in_(fact_ids))
    return session.scalars(query.order_by(FactChange.change_id)).all()


def was_moved(session: Session, fact_id: int) -> bool:
    """Whether a hand gave a fact its category."""
    query = select(FactChange.change_id).where(FactChange.fact_id == fact_id, FactChange.kind == FactChangeKind.MOVED)
    return session.scalar(query.limit(1)) is not None


def history_in_app(session: Session, app_id: str, fact_id: int) -> Sequence[FactChange]:
    """Return everything that happened to a fact of an app, oldest first. Raises: NotFound."""
    history = [one for one in history_of(session, fact_id) if one.app_id == app_id]
    if not history:
        get_fact(session, app_id, fact_id)
    return history


def changes_of_app(
    session: Session, app_id: str, limit: int, before: int | None = None, user_id: str | None = None
) -> Sequence[FactChange]:
    """Return what happened to the facts of an app, or of one of its users, newest first, below change ``before``."""
    mine = within(FactChange, app_id, user_id)
    query = select(FactChange).where(*mine).order_by(FactChange.change_id.desc()).limit(limit)
    return session.scalars(query if before is None else query.where(FactChange.change_id < before)).all()


def changes_before(session: Session, before: datetime, after: int, limit: int) -> dict[int, bool]:
    """Return the next changes above ``after`` and before a time: whether each has text of a fact that is gone."""
    is_gone = and_(_HAS_TEXT, Fact.fact_id.is_(None))
    query = select(FactChange.change_id, is_gone).outerjoin(Fact, Fact.fact_id == FactChange.fact_id)
    query = (
        query.where(FactChange.change_id > after, FactChange.at < before).order_by(FactChange.change_id).limit(limit)
    )
    return {change_id: may_go for change_id, may_go in session.execute(query)}  # noqa: C416


def changes_with_text(session: Session, app_id: str) -> Sequence[FactChange]:
    """Return the changes of an app that still hold text."""
    return session.scalars(select(FactChange).where(FactChange.app_id == app_id, _HAS_TEXT)).all()


def open_clear(session: Session, app_id: str, user_id: str | None = None) -> FactClear | None:
    """Return the clear-all of a user's facts, or of all of an app, that is not settled yet."""
    whose = FactClear.user_id.is_(None) if user_id is None else FactClear.user_id == user_id
    query = select(FactClear).where(FactClear.app_id == app_id, whose, FactClear.settled_at.is_(None))
    return session.scalar(query)


def clear_over(session: Session, subject: Subject) -> FactClear | None:
    """Return the clear-all that is not settled yet and takes a subject's facts with it: its own, or the app's."""
    whose = or_(FactClear.user_id.is_(None), FactClear.user_id == subject.user_id)
    query = select(FactClear).where(FactClear.app_id == subject.app_id, whose, FactClear.settled_at.is_(None))
    # Both may be open: the last to be over decides.
    return session.scalar(query.order_by(FactClear.undo_until.desc()).limit(1))


def refuse_while_clearing(session: Session, subject: Subject) -> None:
    """Raises: Conflict, while the facts of a subject are being cleared, its own or all of its app's."""
    clear = clear_over(session, subject)
    if clear is not None:
        refuse_open_clear(clear)


def refuse_open_clear(clear: FactClear) -> NoReturn:
    """Raises: Conflict, which says how to take the clear back."""
    whose = whose_facts(clear.app_id, clear.user_id)
    of_user = {} if clear.user_id is None else {"userId": clear.user_id}
    raise Conflict(
        f"{whose[0].upper()}{whose[1:]} are being cleared; take that back with {{operation}}, or wait until it is "
        "final.",
        code="clear_open",
        details={"clearId": clear.clear_id, "undoUntil": clear.undo_until.isoformat()},
        operation=Operation("undoClearingFacts", {"appId": clear.app_id, **of_user}),
    )


def whose_facts(app_id: str, user_id: str | None) -> str:
    """Return the facts of an app, or of one of its users, as a message names them."""
    if user_id is None:
        return f"the facts of app {app_id}"
    return f"the facts of app {app_id} that name {f'user {user_id}' if user_id else 'nobody'}"


def open_clears(session: Session, app_id: str) -> Sequence[FactClear]:
    """Return every clear-all of an app, or of users of it, that is not settled yet."""
    return session.scalars(select(FactClear).where(FactClear.app_id == app_id, FactClear.settled_at.is_(None))).all()


def cleared_by(session: Session, clear_id: str) -> Sequence[Fact]:
    """Return the facts a clear-all deleted, the oldest first."""
    return session.scalars(select(Fact).where(Fact.clear_id == clear_id).order_by(Fact.fact_id)).all()


def due_clears(session: Session, now: datetime, limit: int) -> Sequence[tuple[str, str | None]]:
    """Return app and user of clear-alls that can no longer be taken back."""
    # Those that are open are few and in an index of their own; those that ever were due are many.
    query = select(FactClear.app_id, FactClear.user_id, FactClear.undo_until).where(FactClear.settled_at.is_(None))
    found = session.execute(query.order_by(FactClear.app_id, FactClear.user_id))
    return [(app_id, user_id) for app_id, user_id, until in found if until <= now][:limit]


def apps_with_due_deletes(session: Session, now: datetime, limit: int) -> Sequence[str]:
    """Return apps with facts whose deletion can no longer be taken back, be it one by one or by a clear."""
    due = (Fact.state == FactState.DELETED, Fact.undo_until <= now)
    # In the order of the index that finds them; by app, every fact would be looked at.
    query = select(Fact.app_id).where(*due).order_by(Fact.undo_until).limit(limit * SLOTS)
    return list(dict.fromkeys(session.scalars(query)))[:limit]


def due_deletes(session: Session, app_id: str, now: datetime) -> Sequence[Fact]:
    """Return an app's facts that were deleted one by one, and can no longer be taken back."""
    due = (Fact.state == FactState.DELETED, Fact.clear_id.is_(None), Fact.undo_until <= now)
    return session.scalars(select(Fact).where(Fact.app_id == app_id, *due).order_by(Fact.fact_id)).all()


def apps_with_expired(session: Session, now: datetime, limit: int) -> Sequence[str]:
    """Return apps with facts that were not heard of for longer than their category lives."""
    query = select(Fact.app_id).where(_expired(now)).distinct()
    return session.scalars(query.order_by(Fact.app_id).limit(limit)).all()


def expired(session: Session, app_id: str, now: datetime) -> Sequence[Fact]:
    """Return an app's facts that were not heard of for longer than their category lives."""
    return session.scalars(select(Fact).where(Fact.app_id == app_id, _expired(now)).order_by(Fact.fact_id)).all()


def last_message_key(session: Session, app_id: str) -> int:
    """Return the key of the newest message of an app; 0 for none."""
    return session.scalar(select(func.max(Message.key)).where(Message.app_id == app_id)) or 0


def said_until(message_key: int) -> ScalarSelect[int]:
    """Say of many conversations how many messages of each had been said when a message was."""
    mine = (Message.conversation_key == Conversation.key, Message.key <= message_key)
    count_then = select(func.coalesce(func.max(Message.position) + 1, 0)).where(*mine)
    return count_then.correlate(Conversation).scalar_subquery()


def count_by_category(session: Session) -> dict[tuple[str, str, bool], int]:
    """Return how many facts there are by category, state and whether they are pinned."""
    pinned = Fact.pin_slot.is_not(None)
    query = select(Fact.category, Fact.state, pinned, func.count()).group_by(Fact.category, Fact.state, pinned)
    return {(category, state, bool(pin)): count for category, state, pin, count in session.execute(query)}


def count_standing_by_app(session: Session, app_ids: Collection[str]) -> dict[str, int]:
    """Return how many facts stand in each of some apps that has any."""
    query = select(Fact.app_id, func.count()).where(Fact.app_id.in_(app_ids), Fact.state == FactState.STANDING)
    rows = session.execute(query.group_by(Fact.app_id))
    return {app_id: number for app_id, number in rows}  # noqa: C416 - as dict() takes it for a mapping


def count_facts(session: Session, app_id: str, user_id: str | None = None) -> int:
    """Return how many facts an app, or one of its users, holds in whatever state."""
    return count(session, select(func.count()).select_from(Fact).where(*within(Fact, app_id, user_id)))


def count_sources(session: Session, app_id: str, user_id: str | None = None) -> int:
    """Return in how many conversations the facts of an app, or of one of its users, were said, fact by fact."""
    columns = (FactMention.fact_id, FactMention.conversation_key)
    mine = select(*columns).where(*within(FactMention, app_id, user_id)).distinct()
    return count(session, select(func.count()).select_from(mine.subquery()))


def count_changes_with_text(session: Session, app_id: str, user_id: str | None = None) -> int:
    """Return how many changes of an app's facts, or of those of one of its users, still hold text."""
    mine = within(FactChange, app_id, user_id)
    return count(session, select(func.count()).select_from(FactChange).where(*mine, _HAS_TEXT))


def held_by_others(session: Session, subject: Subject, conversations: Collection[int]) -> set[int]:
    """Return which of a subject's conversations are sources of facts of others, or held by the history of such."""
    others = (FactMention.app_id == subject.app_id, FactMention.user_id != subject.user_id)
    mentioned = select(FactMention.conversation_key).where(*others, FactMention.conversation_key.is_not(None))
    changes = select(FactChange.source_keys).where(FactChange.app_id == subject.app_id, _HAS_TEXT)
    changes = changes.where(FactChange.user_id != subject.user_id)
    keys = {key for key in session.scalars(mentioned) if key is not None}
    return keys.union(*session.scalars(changes)).intersection(conversations)


def count_left(session: Session, fact_ids: Sequence[int]) -> dict[str, int]:
    """Return what still holds words of single facts."""
    facts = select(func.count()).select_from(Fact).where(Fact.fact_id.in_(fact_ids))
    changes = select(func.count()).select_from(FactChange).where(FactChange.fact_id.in_(fact_ids), _HAS_TEXT)
    return {"facts": count(session, facts), "factHistory": count(session, changes)}


def count_derived(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Return what of an app's facts still holds words of one conversation."""
    mentions = select(func.count()).select_from(FactMention).where(FactMention.conversation_key == conversation_key)
    changes = [one for one in changes_with_text(session, app_id) if conversation_key in one.source_keys]
    # A fact that nobody said any more would hold words of what is gone.
    is_mentioned = exists().where(FactMention.fact_id == Fact.fact_id)
    facts = select(func.count()).select_from(Fact).where(Fact.app_id == app_id, ~is_mentioned)
    return {
        "facts": count(session, facts),
        "factSources": count(session, mentions),
        "factHistory": len(changes),
    }


def _of(subject: Subject) -> ColumnElement[bool]:
    return and_(Fact.app_id == subject.app_id, Fact.user_id == subject.user_id)


def _expired(now: datetime) -> ColumnElement[bool]:
    return or_(
        *(
            (Fact.category == category) & (Fact.last_seen < now - life) & _STANDS & Fact.pin_slot.is_(None)
            for category, life in LIFETIMES.items()
        )
    )
