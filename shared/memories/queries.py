"""Reads of memories and their history, always within one app. None of them makes a model call."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select, tuple_
from sqlalchemy.orm import Session

from shared.apps.models import App, UserSettings
from shared.base.audit import is_of_a_person
from shared.base.errors import NotFound, Operation
from shared.base.subjects import Subject
from shared.conversations.days import TimeZones, offset_at, zone_columns
from shared.conversations.models import Conversation
from shared.db.queries import count
from shared.memories.compaction import LEAST_GOES, OLDEST_GOES, CompactionCandidate
from shared.memories.models import Change, ChangeKind, Memory, MemorySource, Origin
from shared.search.models import LAST_POSITION
from shared.telemetry.metrics import CompactionOutcome

HAS_TEXT = or_(Change.before.is_not(None), Change.after.is_not(None))
"""Whether a change still holds text."""
_EVICTIONS = or_(
    Change.kind.in_((ChangeKind.GAVE_WAY, ChangeKind.ABSORBED)),
    # What a person removed is related to no memory that took its place.
    and_(Change.kind == ChangeKind.REMOVED, Change.related_memory_id.is_not(None)),
)
NEWEST_FIRST = (Memory.updated_at.desc(), Memory.memory_id.desc())
"""Last updated first. Source: seed 003."""


def standing(session: Session, subject: Subject) -> Sequence[Memory]:
    """Return a subject's memories, newest first; equal times are ordered by id."""
    return session.scalars(select(Memory).where(*is_of(subject)).order_by(*NEWEST_FIRST)).all()


def list_memories(
    session: Session, app_id: str, user_id: str | None, limit: int, after: tuple[datetime, int] | None = None
) -> Sequence[Memory]:
    """Return the memories of one user, or all of an app's (None), newest first; ``after``: where to go on below."""
    query = select(Memory).where(Memory.app_id == app_id).order_by(*NEWEST_FIRST).limit(limit)
    if user_id is not None:
        query = query.where(Memory.user_id == user_id)
    if after is not None:
        # Behind the last row that was shown: an offset would skip or repeat some, as memories change.
        query = query.where(tuple_(Memory.updated_at, Memory.memory_id) < tuple_(*after))
    return session.scalars(query).all()


def is_of(subject: Subject) -> tuple[ColumnElement[bool], ...]:
    """Say of many memories that they are a subject's."""
    return (Memory.app_id == subject.app_id, Memory.user_id == subject.user_id)


def get_memory(session: Session, app_id: str, memory_id: int) -> Memory:
    """Return a memory that stands. Raises: NotFound."""
    memory = session.get(Memory, memory_id)
    if memory is None or memory.app_id != app_id:
        raise NotFound(
            f"App {app_id} has no memory {memory_id}; {{operation}} lists those it has.",
            operation=Operation("listMemories", {"appId": app_id}),
            details={"appId": app_id, "memoryId": memory_id},
        )
    return memory


def get_origin(session: Session, app_id: str, memory_id: int) -> Origin:
    """Return the making of a memory, whether it still stands or not. Raises: NotFound."""
    origin = session.get(Origin, memory_id)
    if origin is None or origin.app_id != app_id:
        raise NotFound(f"App {app_id} never had a memory {memory_id}.", details={"memoryId": memory_id})
    return origin


def origin_of_conversation(session: Session, conversation_key: int, epoch: int) -> Origin | None:
    """Return the memory that was already made of a conversation under a purge epoch."""
    return session.scalar(select(Origin).where(Origin.conversation_key == conversation_key, Origin.epoch == epoch))


def origins_of(session: Session, memory_ids: Sequence[int]) -> dict[int, Origin]:
    return {o.memory_id: o for o in session.scalars(select(Origin).where(Origin.memory_id.in_(memory_ids)))}


def origins_of_app(session: Session, app_id: str, user_id: str | None = None) -> Sequence[Origin]:
    """Return the making of every memory an app, or one of its users, ever had, oldest first."""
    query = select(Origin).where(Origin.app_id == app_id).order_by(Origin.memory_id)
    return session.scalars(query if user_id is None else query.where(Origin.user_id == user_id)).all()


def sources_of(session: Session, memory_id: int) -> Sequence[MemorySource]:
    """Return the conversations whose words stand in a memory."""
    query = select(MemorySource).where(MemorySource.memory_id == memory_id)
    return session.scalars(query.order_by(MemorySource.conversation_key)).all()


def sources_by_memory(session: Session, memory_ids: Sequence[int]) -> dict[int, list[tuple[str, list[str]]]]:
    """Return for each memory the conversation ids whose words stand in it, with the message ids used of each."""
    query = (
        select(MemorySource.memory_id, Conversation.conversation_id, MemorySource.message_ids)
        .join(Conversation, Conversation.key == MemorySource.conversation_key)
        .where(MemorySource.memory_id.in_(memory_ids))
        .order_by(MemorySource.memory_id, MemorySource.conversation_key)
    )
    found: dict[int, list[tuple[str, list[str]]]] = {}
    for memory_id, conversation_id, message_ids in session.execute(query):
        found.setdefault(memory_id, []).append((conversation_id, list(message_ids)))
    return found


def history_of(session: Session, memory_id: int) -> Sequence[Change]:
    """Return everything that happened to a memory, oldest first."""
    return session.scalars(select(Change).where(Change.memory_id == memory_id).order_by(Change.change_id)).all()


def absorbed_by(session: Session, app_id: str, memory_id: int, after: int) -> Sequence[Change]:
    """Return what a memory of an app took in since a change, oldest first."""
    taken_in = (Change.related_memory_id == memory_id, Change.kind == ChangeKind.ABSORBED, Change.change_id > after)
    # By the app's index: few memories take in another, so there is none of the memory that did.
    return session.scalars(select(Change).where(Change.app_id == app_id, *taken_in).order_by(Change.change_id)).all()


def latest_change(session: Session, memory_id: int, kinds: Sequence[ChangeKind]) -> Change | None:
    query = select(Change).where(Change.memory_id == memory_id, Change.kind.in_(kinds))
    return session.scalar(query.order_by(Change.change_id.desc()).limit(1))


def changes_of_app(
    session: Session, app_id: str, limit: int, before: int | None = None, user_id: str | None = None
) -> Sequence[Change]:
    """Return what happened to an app's memories, newest first; ``before`` is the change id to go on below.

    ``user_id``: only to this user's.
    """
    query = select(Change).where(Change.app_id == app_id).order_by(Change.change_id.desc()).limit(limit)
    if user_id is not None:
        query = query.where(Change.memory_id.in_(made_of(app_id, user_id)))
    return session.scalars(query if before is None else query.where(Change.change_id < before)).all()


def count_standing(session: Session, app_id: str, user_id: str | None = None) -> int:
    query = select(func.count()).select_from(Memory).where(Memory.app_id == app_id)
    return count(session, query if user_id is None else query.where(Memory.user_id == user_id))


def count_all(session: Session) -> int:
    return count(session, select(func.count()).select_from(Memory))


def count_by_app(session: Session, app_ids: Collection[str]) -> dict[str, int]:
    """Return how many memories stand in each of some apps that has any."""
    query = select(Memory.app_id, func.count()).where(Memory.app_id.in_(app_ids)).group_by(Memory.app_id)
    return {app_id: number for app_id, number in session.execute(query)}  # noqa: C416 - as dict() takes it for a mapping


def count_remembering(session: Session) -> tuple[int, int]:
    """Return how many apps are installed, and how many of them have at least one memory."""
    has_one = select(Memory.memory_id).where(Memory.app_id == App.app_id).exists()
    query = select(func.count(), func.count(case((has_one, 1)))).where(App.uninstalled_at.is_(None))
    installed, remembering = session.execute(query).one()
    return installed, remembering


def candidates(
    memories: Sequence[Memory], zones: Mapping[int, TimeZones] | None = None
) -> tuple[CompactionCandidate, ...]:
    """Return memories as compaction sees them, oldest first; ``zones``: by whose clocks, as of ``zones_of``."""
    zones = zones or {}
    return tuple(
        CompactionCandidate(
            m.memory_id,
            m.content,
            zones[m.memory_id].local(m.updated_at) if m.memory_id in zones else m.updated_at,
            m.importance,
            tuple(m.tags),
            m.pinned,
            is_of_a_person(m.agent),
        )
        for m in reversed(memories)
    )


def with_zones(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """Return a query of memories with the columns of ``TimeZones`` behind its own: where its conversation was held."""
    offset = offset_at(Conversation.key, LAST_POSITION)
    return (
        query.add_columns(*zone_columns(offset))
        .join(Origin, Origin.memory_id == Memory.memory_id)
        .join(App, App.app_id == Memory.app_id)
        .outerjoin(Conversation, Conversation.key == Origin.conversation_key)
        .outerjoin(
            UserSettings, and_(UserSettings.app_id == Memory.app_id, UserSettings.user_id == Memory.user_id)
        )
    )  # fmt: skip


def zones_of(session: Session, memories: Sequence[Memory]) -> dict[int, TimeZones]:
    """Return by whose clock each memory's times are read."""
    if not memories:
        return {}
    query = with_zones(select(Memory.memory_id).where(Memory.memory_id.in_([one.memory_id for one in memories])))
    return {memory_id: TimeZones(*known) for memory_id, *known in session.execute(query)}


def drawn_from(session: Session, conversation_key: int) -> Sequence[Memory]:
    """Return the memories in which a conversation's words stand."""
    query = select(Memory).join(MemorySource, MemorySource.memory_id == Memory.memory_id)
    return session.scalars(query.where(MemorySource.conversation_key == conversation_key).order_by(*NEWEST_FIRST)).all()


def changes_before(session: Session, before: datetime, after: int, limit: int) -> dict[int, bool]:
    """Return the next changes above ``after`` and before a time: whether each has text of a memory that is gone."""
    is_gone = and_(HAS_TEXT, Memory.memory_id.is_(None))
    query = select(Change.change_id, is_gone).outerjoin(Memory, Memory.memory_id == Change.memory_id)
    query = query.where(Change.change_id > after, Change.at < before).order_by(Change.change_id).limit(limit)
    return {change_id: may_go for change_id, may_go in session.execute(query)}  # noqa: C416


def changes_with_text(session: Session, app_id: str) -> Sequence[Change]:
    return session.scalars(select(Change).where(Change.app_id == app_id, HAS_TEXT)).all()


def made_of(app_id: str, user_id: str | None = None) -> Select[int]:
    """Select the ids of all memories that were ever made of an app, or of one of its users."""
    query = select(Origin.memory_id).where(Origin.app_id == app_id)
    return query if user_id is None else query.where(Origin.user_id == user_id)


def held_by_others(session: Session, subject: Subject, conversations: Collection[int]) -> set[int]:
    """Return which of a subject's conversations are held by memories of others, or by the history of such."""
    others = (Origin.app_id == subject.app_id, Origin.user_id != subject.user_id)
    sources = select(MemorySource.conversation_key).join(Origin, Origin.memory_id == MemorySource.memory_id)
    changes = select(Change.source_keys).join(Origin, Origin.memory_id == Change.memory_id)
    sourced = set(session.scalars(sources.where(*others)))
    return sourced.union(*session.scalars(changes.where(HAS_TEXT, *others))).intersection(conversations)


def compactions_since(
    session: Session, app_id: str, since: datetime, user_id: str | None
) -> Counter[tuple[date, CompactionOutcome]]:
    """Return how room was made in an app since a time, or for one of its users, by day (UTC) and outcome."""
    query = select(Change.at, Change.kind, Change.actor).where(Change.app_id == app_id, Change.at >= since, _EVICTIONS)
    if user_id is not None:
        query = query.where(Change.memory_id.in_(made_of(app_id, user_id)))
    return Counter((at.date(), _outcome(kind, actor)) for at, kind, actor in session.execute(query))


def compactions_by_app(
    session: Session, app_ids: Collection[str], since: datetime
) -> Counter[tuple[str, CompactionOutcome]]:
    """Return how room was made in some apps since a time, by (app, outcome)."""
    # Changes are numbered as they come: without this, all the history of an app would be read.
    before = select(Change.change_id).where(Change.at < since).order_by(Change.change_id.desc()).limit(1)
    query = select(Change.app_id, Change.kind, Change.actor, func.count()).where(
        Change.change_id > func.coalesce(before.scalar_subquery(), 0), Change.app_id.in_(app_ids), _EVICTIONS
    )
    made: Counter[tuple[str, CompactionOutcome]] = Counter()
    for app_id, kind, actor, number in session.execute(query.group_by(Change.app_id, Change.kind, Change.actor)):
        made[app_id, _outcome(kind, actor)] += number
    return made


def _outcome(kind: str, actor: str) -> CompactionOutcome:
    if kind == ChangeKind.GAVE_WAY:
        return CompactionOutcome.NEW_GAVE_WAY
    if kind == ChangeKind.ABSORBED:
        return CompactionOutcome.MERGED
    return {OLDEST_GOES: CompactionOutcome.OLDEST_WENT, LEAST_GOES: CompactionOutcome.LEAST_WENT}.get(
        actor, CompactionOutcome.DELETED
    )


def holds_text(change: Change) -> bool:
    """Whether a change still holds text."""
    return change.before is not None or change.after is not None


def changes_since(session: Session, app_id: str, since: int, kinds: Sequence[ChangeKind]) -> Sequence[Change]:
    """Return an app's changes of some kinds from change ``since`` on, oldest first."""
    query = select(Change).where(Change.app_id == app_id, Change.change_id >= since, Change.kind.in_(kinds))
    return session.scalars(query.order_by(Change.change_id)).all()


def count_changes_with_text(session: Session, app_id: str, user_id: str | None = None) -> int:
    query = select(func.count()).select_from(Change).where(Change.app_id == app_id, HAS_TEXT)
    return count(session, query if user_id is None else query.where(Change.memory_id.in_(made_of(app_id, user_id))))


def count_sources(session: Session, app_id: str, user_id: str | None = None) -> int:
    query = select(func.count()).select_from(MemorySource).join(Origin, Origin.memory_id == MemorySource.memory_id)
    query = query.where(Origin.app_id == app_id)
    return count(session, query if user_id is None else query.where(Origin.user_id == user_id))


def count_derived(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    sources = select(func.count()).select_from(MemorySource).where(MemorySource.conversation_key == conversation_key)
    changes = [c for c in changes_with_text(session, app_id) if conversation_key in c.source_keys]
    return {"memorySources": count(session, sources), "memoryHistory": len(changes)}
