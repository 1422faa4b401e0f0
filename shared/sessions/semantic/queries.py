"""Reads of semantic memories, of where they were found, and of what is still to be learnt from."""

from collections.abc import Collection, Sequence

from sqlalchemy import Integer, Select, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.base.choices import SemanticVerdict
from shared.base.errors import NotFound, Operation
from shared.contracts.jobs import JobKind, LearningPayload
from shared.jobs.models import OPEN, Job
from shared.sessions.models import RecordedSession, SemanticKind, SemanticMemory, SemanticSource


def list_semantic_memories(
    session: Session,
    project_key: int,
    limit: int | None = None,
    before: int | None = None,
    kind: SemanticKind | None = None,
    verdict: SemanticVerdict | None = None,
) -> Sequence[SemanticMemory]:
    """Return a project's semantic memories, newest first; ``before`` is the key to go on below.

    What was said once, and not for good, is none yet.
    """
    said_twice = _times_said(SemanticMemory.key).scalar_subquery() > 1
    is_proposed = or_(SemanticMemory.is_standing, SemanticMemory.verdict != SemanticVerdict.PROPOSED, said_twice)
    query = select(SemanticMemory).where(SemanticMemory.project_key == project_key, is_proposed)
    for column, value in ((SemanticMemory.kind, kind), (SemanticMemory.verdict, verdict)):
        query = query if value is None else query.where(column == value)
    query = query if before is None else query.where(SemanticMemory.key < before)
    return session.scalars(query.order_by(SemanticMemory.key.desc()).limit(limit)).all()


def get_semantic_memory(session: Session, app_id: str, memory_id: str) -> SemanticMemory:
    """Return a semantic memory. Raises: NotFound."""
    mine = (SemanticMemory.app_id == app_id, SemanticMemory.memory_id == memory_id)
    found = session.scalar(select(SemanticMemory).where(*mine))
    if found is None:
        raise NotFound(
            f"App {app_id} has no semantic memory {memory_id}; list them under {{address}}.",
            operation=Operation("listSemanticMemories", {"appId": app_id}),
        )
    return found


def find_semantic_memory(session: Session, project_key: int, kind: str, normal: str) -> SemanticMemory | None:
    """Return the memory of a project that says the same."""
    same = (SemanticMemory.project_key == project_key, SemanticMemory.kind == kind, SemanticMemory.normal == normal)
    return session.scalar(select(SemanticMemory).where(*same))


def semantic_memories_of(session: Session, project_key: int) -> Sequence[SemanticMemory]:
    """Return a project's semantic memories, oldest first."""
    query = select(SemanticMemory).where(SemanticMemory.project_key == project_key)
    return session.scalars(query.order_by(SemanticMemory.key)).all()


def sources_of(session: Session, memory_keys: Collection[int]) -> Sequence[tuple[SemanticSource, str]]:
    """Return where memories were found, each with its session's id."""
    query = select(SemanticSource, RecordedSession.session_id)
    query = query.join(RecordedSession, RecordedSession.key == SemanticSource.session_key)
    query = query.where(SemanticSource.memory_key.in_(memory_keys))
    order = (SemanticSource.memory_key, SemanticSource.session_key, SemanticSource.message_uuid)
    rows = session.execute(query.order_by(*order))
    return [(source, session_id) for source, session_id in rows]


def without_sources(session: Session, project_key: int) -> Sequence[SemanticMemory]:
    """Return what nobody confirmed and no session bears any more."""
    borne = exists(select(SemanticSource.memory_key).where(SemanticSource.memory_key == SemanticMemory.key))
    query = select(SemanticMemory).where(SemanticMemory.project_key == project_key, ~borne)
    return session.scalars(query.where(SemanticMemory.verdict == SemanticVerdict.PROPOSED)).all()


def count_to_learn(session: Session, project_key: int) -> tuple[int, int]:
    """Return how many of a project's sessions were learnt from as they are now, and how many there are."""
    learnt = func.sum(func.coalesce((RecordedSession.learnt_bytes == RecordedSession.size_bytes).cast(Integer), 0))
    query = select(learnt, func.count()).where(RecordedSession.project_key == project_key)
    done, total = session.execute(query).one()
    return int(done or 0), int(total)


def next_to_learn(session: Session, project_key: int) -> RecordedSession | None:
    """Return a session of a project that was not learnt from as it is now, the oldest first."""
    query = select(RecordedSession).where(RecordedSession.project_key == project_key)
    query = query.where(RecordedSession.learnt_bytes != RecordedSession.size_bytes)
    return session.scalar(query.order_by(RecordedSession.key).limit(1))


def open_learning(session: Session, app_id: str, project_key: int) -> Job | None:
    """Return the unfinished job that learns from a project."""
    query = select(Job).where(Job.app_id == app_id, Job.kind == JobKind.LEARN_FROM_SESSIONS, Job.state.in_(OPEN))
    jobs = session.scalars(query.order_by(Job.seq)).all()
    return next((job for job in jobs if LearningPayload(**job.payload).project_key == project_key), None)


def is_said_twice(session: Session, memory_key: int) -> bool:
    """Return whether a memory was found in two messages; a session that was copied says nothing twice."""
    return (session.scalar(_times_said(memory_key)) or 0) > 1


def _times_said(memory_key: InstrumentedAttribute[int] | int) -> Select[int]:
    times = func.count(SemanticSource.message_uuid.distinct())
    return select(times).where(SemanticSource.memory_key == memory_key)


def count_bearing_sessions(session: Session, memory_key: int) -> int:
    """Return how many sessions say a memory in words of their own; copies of one talk are one."""
    first = select(func.min(SemanticSource.session_key).label("session_key")).where(
        SemanticSource.memory_key == memory_key
    )
    copies = first.group_by(SemanticSource.message_uuid).subquery()
    return session.scalar(select(func.count(copies.c.session_key.distinct()))) or 0
