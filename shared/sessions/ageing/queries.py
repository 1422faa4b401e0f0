"""Reads of what ages: a project's sessions with their versions, and what was done about them before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.sessions.ageing.decay_schedule import AgeingSession
from shared.sessions.ageing.pruning import Version
from shared.sessions.ageing.rules import Schedule
from shared.sessions.compressions.queries import compositions_with
from shared.sessions.models import Compression, Making, Project, RecordedSession, SessionChange

SUBJECT = "ageing"
"""What changes are about that say how a project was aged."""
AGES = "ages"
"""The setting of a project that says how often it is aged; absent where it is not."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Subject:
    """A session that ages, with its rows."""

    recorded: RecordedSession
    compressions: Mapping[int, Compression]
    """Those that are whole, by key."""
    ageing: AgeingSession
    distance: int
    """Its place by age in the project; 1 is the newest."""


def projects_that_age(session: Session, after: int, limit: int) -> Sequence[Project]:
    """Return projects with rules to follow, by key, those behind ``after``."""
    ages = Project.settings[AGES].as_string().in_([schedule.value for schedule in Schedule])
    query = select(Project).where(Project.key > after, ages)
    return session.scalars(query.order_by(Project.key).limit(limit)).all()


def last_run(session: Session, project: Project) -> SessionChange | None:
    """Return how a project was last aged, or what was planned."""
    mine = (SessionChange.app_id == project.app_id, SessionChange.project_id == project.project_id)
    query = select(SessionChange).where(*mine, SessionChange.subject == SUBJECT)
    return session.scalar(query.order_by(SessionChange.key.desc()).limit(1))


def subjects_of(session: Session, project: Project, session_ids: Collection[str] = ()) -> list[Subject]:
    """Return a project's sessions with their versions, newest first; only some of them where ids are given."""
    query = select(RecordedSession).where(RecordedSession.project_key == project.key)
    recorded = sorted(session.scalars(query), key=_age_key, reverse=True)
    versions = _versions(session, [one.key for one in recorded])
    ready = [one.key for some in versions.values() for one in some if one.state == Making.READY]
    used = _uses(session, ready)
    return [
        _subject(one, versions[one.key], used, place + 1)
        for place, one in enumerate(recorded)
        if not session_ids or one.session_id in session_ids
    ]


def _age_key(recorded: RecordedSession) -> tuple[datetime, int]:
    return recorded.last_timestamp or _BEGINNING, recorded.key


def _versions(session: Session, session_keys: Collection[int]) -> Mapping[int, list[Compression]]:
    query = select(Compression).where(Compression.session_key.in_(session_keys))
    found: defaultdict[int, list[Compression]] = defaultdict(list)
    for version in session.scalars(query.order_by(Compression.session_key, Compression.number)):
        found[version.session_key].append(version)
    return found


def _uses(session: Session, compression_keys: Collection[int]) -> Mapping[int, tuple[str, ...]]:
    used: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)
    for key, _, name in compositions_with(session, compression_keys):
        used[key] += (name,)
    return used


def _subject(
    recorded: RecordedSession, versions: Sequence[Compression], used: Mapping[int, tuple[str, ...]], distance: int
) -> Subject:
    ready = {one.key: one for one in versions if one.state == Making.READY}
    working = [one for one in versions if one.state == Making.WORKING]
    sources = {one.source_number for one in working}
    aged = [_version(recorded, one, used.get(one.key, ()), one.number in sources) for one in ready.values()]
    ageing = AgeingSession(
        session_id=recorded.session_id,
        size_bytes=recorded.size_bytes,
        last_said=recorded.last_timestamp,
        versions=tuple(aged),
        is_being_compressed=bool(working),
        failures=_failures(recorded, versions),
    )
    return Subject(recorded, ready, ageing, distance)


def _version(recorded: RecordedSession, one: Compression, used_in: tuple[str, ...], is_source: bool) -> Version:
    return Version(
        key=one.key,
        session_id=recorded.session_id,
        number=one.number,
        made_at=one.finished_at or one.created_at,
        output_tokens=one.output_tokens,
        last_used=one.last_used,
        uses=one.uses,
        covers=one.source_bytes,
        settings=one.settings,
        used_in=used_in,
        is_source=is_source,
    )


def _failures(recorded: RecordedSession, versions: Sequence[Compression]) -> int:
    """Count the versions of all there is that failed since the last that did not."""
    count = 0
    for one in versions:
        if one.state == Making.READY:
            count = 0
        elif one.state == Making.FAILED and one.source_bytes == recorded.size_bytes:
            count += 1
    return count
