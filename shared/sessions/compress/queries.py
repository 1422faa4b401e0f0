"""Reads of versions, of what they are made of so far, and of the jobs that make them; always of one app.

Two versions of one session beside each other: what one says that the other does not. Values in, values out.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.base.errors import NotFound, Operation
from shared.contracts.jobs import JobKind, LearningPayload
from shared.jobs.models import OPEN, Job
from shared.sessions.blocks import Block, markdown_of
from shared.sessions.models import (
    BuildState,
    Composition,
    CompositionComponent,
    KeepitMarker,
    MarkerOutcome,
    RecordedSession,
    SessionVersion,
    VersionPart,
)
from shared.sessions.semantic.queries import count_to_learn

SESSION_JOBS = (JobKind.COMPRESS_SESSION, JobKind.COMPOSE_CONTEXT, JobKind.LEARN_FROM_SESSIONS)
_VERSION_ID = re.compile(r"v(\d{3,9})")


@dataclass(frozen=True)
class SessionJob:
    """A job about recorded sessions, and what it makes, where that is a version or a composition."""

    job: Job
    compression: SessionVersion | None = None
    session_id: str | None = None
    composition: Composition | None = None
    learnt: tuple[int, int] | None = None
    """Of one that learns: sessions that are read, of how many there are."""


def versions_of(
    session: Session, session_key: int, limit: int | None = None, before: int | None = None
) -> Sequence[SessionVersion]:
    """Return a session's versions that are whole, newest first; ``before`` is the number to go on below."""
    query = select(SessionVersion).where(
        SessionVersion.session_key == session_key, SessionVersion.state == BuildState.READY
    )
    query = query if before is None else query.where(SessionVersion.number < before)
    return session.scalars(query.order_by(SessionVersion.number.desc()).limit(limit)).all()


def get_version(session: Session, recorded: RecordedSession, version_id: str) -> SessionVersion:
    """Return a version that is whole. Raises: NotFound."""
    found = find_version(session, recorded.key, version_id)
    if found is None or found.state != BuildState.READY:
        state = "" if found is None else f" ({found.state})"
        raise NotFound(
            f"Session {recorded.session_id} has no version {version_id}{state}; list them under {{address}}.",
            details={"sessionId": recorded.session_id, "versionId": version_id},
            operation=Operation("listVersions", {"appId": recorded.app_id, "sessionId": recorded.session_id}),
        )
    return found


def find_version(session: Session, session_key: int, version_id: str) -> SessionVersion | None:
    """Return a version in whatever state, or None."""
    named = _VERSION_ID.fullmatch(version_id)
    return None if named is None else version_by_number(session, session_key, int(named[1]))


def version_by_number(session: Session, session_key: int, number: int) -> SessionVersion | None:
    """Return a version in whatever state, or None."""
    mine = (SessionVersion.session_key == session_key, SessionVersion.number == number)
    return session.scalar(select(SessionVersion).where(*mine))


def decided_markers(session: Session, compression_key: int) -> frozenset[str]:
    query = select(KeepitMarker.marker_id).join(MarkerOutcome, MarkerOutcome.marker_key == KeepitMarker.key)
    return frozenset(session.scalars(query.where(MarkerOutcome.compression_key == compression_key)))


def working_of(session: Session, session_key: int) -> SessionVersion | None:
    """Return the version of a session that is being made, or None."""
    mine = (SessionVersion.session_key == session_key, SessionVersion.state == BuildState.WORKING)
    return session.scalar(select(SessionVersion).where(*mine))


def is_under_way(session: Session, compression: SessionVersion) -> bool:
    """Whether the job that makes a version has not ended."""
    query = select(Job.seq).where(Job.job_id == compression.job_id, Job.state.in_(OPEN))
    return session.scalar(query) is not None


def version_by_key(session: Session, key: int) -> SessionVersion | None:
    """Return a version by its key, or None."""
    return session.get(SessionVersion, key, populate_existing=True)


def lock_version(session: Session, key: int) -> SessionVersion | None:
    """Return a version of a locked app and session, locked until the transaction ends, or None."""
    # `key_share`: a composition that refers to it can be written meanwhile.
    query = select(SessionVersion).where(SessionVersion.key == key).with_for_update(key_share=True)
    return session.scalar(query, execution_options={"populate_existing": True})


def lock_session_by_key(session: Session, key: int) -> RecordedSession | None:
    """Return a session of a locked app, locked until the transaction ends, or None."""
    query = select(RecordedSession).where(RecordedSession.key == key).with_for_update(key_share=True)
    return session.scalar(query, execution_options={"populate_existing": True})


def parts_of(session: Session, compression_key: int) -> dict[int, VersionPart]:
    query = select(VersionPart).where(VersionPart.compression_key == compression_key)
    return {part.position: part for part in session.scalars(query.order_by(VersionPart.position))}


def compositions_with(session: Session, compression_keys: Collection[int]) -> Sequence[tuple[int, str, str]]:
    """Return which compositions use some versions: the version's key, the composition's id and its name."""
    query = select(CompositionComponent.compression_key, Composition.composition_id, Composition.name).distinct()
    query = query.join(Composition, Composition.key == CompositionComponent.composition_key)
    used = CompositionComponent.compression_key.in_(compression_keys)
    rows = session.execute(query.where(used).order_by(Composition.name))
    return [(key, composition_id, name) for key, composition_id, name in rows if key is not None]


def names_using(session: Session, compression_keys: Collection[int]) -> defaultdict[int, tuple[str, ...]]:
    """Return the names of the compositions that use some versions, by the versions' keys."""
    used: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)
    for key, _, name in compositions_with(session, compression_keys):
        used[key] += (name,)
    return used


def made_from(session: Session, compression: SessionVersion) -> SessionVersion | None:
    """Return a version that is being made from this one, or None."""
    mine = (SessionVersion.session_key == compression.session_key, SessionVersion.source_number == compression.number)
    return session.scalar(select(SessionVersion).where(*mine, SessionVersion.state == BuildState.WORKING))


def session_jobs(session: Session, app_id: str, limit: int, before: int | None = None) -> Sequence[SessionJob]:
    """Return an app's jobs about recorded sessions, newest first; ``before`` is the ``seq`` to go on below."""
    query = select(Job).where(Job.app_id == app_id, Job.kind.in_(SESSION_JOBS))
    query = query if before is None else query.where(Job.seq < before)
    return _with_work(session, session.scalars(query.order_by(Job.seq.desc()).limit(limit)).all())


def session_job(session: Session, app_id: str, job_id: str) -> SessionJob:
    """Return one of them. Raises: NotFound."""
    mine = (Job.app_id == app_id, Job.job_id == job_id, Job.kind.in_(SESSION_JOBS))
    job = session.scalar(select(Job).where(*mine))
    if job is None:
        raise NotFound(
            f"App {app_id} has no job {job_id} about sessions; list them under {{address}}.",
            operation=Operation("listSessionJobs", {"appId": app_id}),
        )
    return _with_work(session, [job])[0]


def _with_work(session: Session, jobs: Sequence[Job]) -> list[SessionJob]:
    ids = [job.job_id for job in jobs]
    query = select(SessionVersion, RecordedSession.session_id).where(SessionVersion.job_id.in_(ids))
    query = query.join(RecordedSession, RecordedSession.key == SessionVersion.session_key)
    made = {one.job_id: (one, session_id) for one, session_id in session.execute(query)}
    composed = {one.job_id: one for one in session.scalars(select(Composition).where(Composition.job_id.in_(ids)))}
    found = []
    for job in jobs:
        compression, session_id = made.get(job.job_id, (None, None))
        # How many sessions a job has learnt from, of how many.
        learning_progress = (
            None
            if job.kind != JobKind.LEARN_FROM_SESSIONS
            else count_to_learn(session, LearningPayload(**job.payload).project_key)
        )
        found.append(SessionJob(job, compression, session_id, composed.get(job.job_id), learning_progress))
    return found


@dataclass(frozen=True)
class BlockDifference:
    """A block that stands in one version only, in the order of both."""

    block: Block
    position: int
    """Its place among the blocks of its version, from 0."""
    is_first: bool
    """Whether it is the first version that has it."""


@dataclass(frozen=True)
class BlockComparison:
    """What two versions say, block by block; a block that stands elsewhere in the other is a difference too."""

    same: int
    """Blocks that both have."""
    only_first: Mapping[str, int]
    """Blocks that the second version has nowhere, by their kinds."""
    only_second: Mapping[str, int]
    differences: tuple[BlockDifference, ...]


def compare_blocks(first: Sequence[Block], second: Sequence[Block]) -> BlockComparison:
    """Compare by what is read, so that two blocks that read the same are the same."""
    texts = [markdown_of(block) for block in first], [markdown_of(block) for block in second]
    differences: list[BlockDifference] = []
    # Ratios are not asked for, so the matcher's own heuristic against frequent elements may stay: it keeps long
    # versions with many equal lines from taking quadratic time.
    matcher = SequenceMatcher(None, *texts)
    unequal = [one for one in matcher.get_opcodes() if one[0] != "equal"]
    for _, begin, end, begin_second, end_second in unequal:
        differences += [BlockDifference(first[place], place, True) for place in range(begin, end)]
        differences += [BlockDifference(second[place], place, False) for place in range(begin_second, end_second)]
    counts = Counter(texts[0]), Counter(texts[1])
    return BlockComparison(
        same=(counts[0] & counts[1]).total(),
        only_first=_kinds(first, texts[0], counts[0] - counts[1]),
        only_second=_kinds(second, texts[1], counts[1] - counts[0]),
        differences=tuple(differences),
    )


def compare_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, each as the first and the second have it; None where one has it not."""
    names = dict.fromkeys([*first, *second])
    return {name: (first.get(name), second.get(name)) for name in names if first.get(name) != second.get(name)}


def _kinds(blocks: Sequence[Block], texts: Sequence[str], only: Counter[str]) -> dict[str, int]:
    """Return how many blocks of each kind are among those that only one version has."""
    # By count, as a block may stand several times in one version and once in the other.
    left, found = Counter(only), Counter[str]()
    for block, text in zip(blocks, texts, strict=True):
        if left[text] > 0:
            left[text] -= 1
            found[block.kind.value] += 1
    return dict(sorted(found.items()))
