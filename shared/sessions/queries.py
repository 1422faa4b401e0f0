"""Reads of projects, sessions, marked parts, semantic memories and what was done to them, always of one app."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, exists, false, func, or_, select, true, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.apps.models import App
from shared.base.errors import NotFound, Operation
from shared.db.queries import count
from shared.jobs.models import FINISHED, Job
from shared.sessions.compose.documents import FILES, RECORD_FILE
from shared.sessions.models import (
    BuildState,
    Composition,
    CompositionComponent,
    KeepitMarker,
    MarkerOutcome,
    Project,
    RecordedSession,
    SemanticMemory,
    SessionChange,
    SessionFile,
    SessionVersion,
)
from shared.sessions.retention.rules import KEEPS, RetentionMode
from shared.sessions.store import FileClaims

AGEING = "ageing"
"""What changes are about that say how a project was aged."""


@dataclass(frozen=True)
class SessionFilter:
    """Which sessions are wanted."""

    project_id: str | None = None
    file: str | None = None
    """Only those that touched this file."""
    since: datetime | None = None
    until: datetime | None = None
    has_markers: bool | None = None
    search: str | None = None
    """Only those whose id has this in it."""


def get_project(session: Session, app_id: str, project_id: str, *, locked: bool = False) -> Project:
    """Return a project. Raises: NotFound."""
    query = select(Project).where(Project.app_id == app_id, Project.project_id == project_id)
    # `key_share`: rows that refer to it can be added meanwhile; a plain FOR UPDATE makes their foreign keys wait.
    query = query.with_for_update(key_share=True) if locked else query
    found = session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if found is None:
        raise NotFound(
            f"App {app_id} has no project {project_id}; list them under {{address}}.",
            details={"appId": app_id, "projectId": project_id},
            operation=Operation("listProjects", {"appId": app_id}),
        )
    return found


def lock_project(session: Session, app_id: str, project_id: str) -> Project:
    """Return a project of a locked app, locked until the transaction ends. Raises: NotFound."""
    return get_project(session, app_id, project_id, locked=True)


def find_project(session: Session, app_id: str, project_id: str) -> Project | None:
    """Return a project, or None."""
    return session.scalar(select(Project).where(Project.app_id == app_id, Project.project_id == project_id))


def project_by_key(session: Session, key: int) -> Project:
    return session.get_one(Project, key)


def lock_project_by_key(session: Session, key: int) -> Project:
    """Return the project a row of a locked app points at, locked until the transaction ends."""
    query = select(Project).where(Project.key == key).with_for_update(key_share=True)
    return session.scalars(query, execution_options={"populate_existing": True}).one()


def get_session(session: Session, app_id: str, session_id: str, *, locked: bool = False) -> RecordedSession:
    """Return a registered session. Raises: NotFound."""
    query = select(RecordedSession).where(RecordedSession.app_id == app_id, RecordedSession.session_id == session_id)
    query = query.with_for_update(key_share=True) if locked else query
    found = session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if found is None:
        raise NotFound(
            f"App {app_id} has no session {session_id}; register it with {{operation}}.",
            details={"appId": app_id, "sessionId": session_id},
            operation=Operation("registerSession", {"appId": app_id, "sessionId": session_id}),
        )
    return found


def lock_session(session: Session, app_id: str, session_id: str) -> RecordedSession:
    """Return a session of a locked app and project, locked until the transaction ends. Raises: NotFound."""
    return get_session(session, app_id, session_id, locked=True)


def find_session(session: Session, app_id: str, session_id: str) -> RecordedSession | None:
    """Return a registered session, or None."""
    mine = (RecordedSession.app_id == app_id, RecordedSession.session_id == session_id)
    return session.scalar(select(RecordedSession).where(*mine))


def list_projects(
    session: Session, app_id: str, limit: int, before: int | None = None, search: str | None = None
) -> Sequence[Project]:
    """Return an app's projects, newest first; ``before`` is the key to go on below, ``search`` in their id or name."""
    query = select(Project).where(Project.app_id == app_id).order_by(Project.key.desc()).limit(limit)
    if search is not None:
        names = (Project.project_id, Project.display_name)
        query = query.where(or_(*(one.icontains(search, autoescape=True) for one in names)))
    return session.scalars(query if before is None else query.where(Project.key < before)).all()


def list_sessions(
    session: Session, app_id: str, session_filter: SessionFilter, limit: int, before: int | None = None
) -> Sequence[RecordedSession]:
    """Return an app's sessions, those registered last first."""
    conditions: list[ColumnElement[bool]] = []
    if session_filter.project_id is not None:
        mine = select(Project.key).where(Project.project_id == session_filter.project_id)
        conditions.append(RecordedSession.project_key.in_(mine))
    if session_filter.file is not None:
        touched = select(SessionFile.session_key).where(SessionFile.path == session_filter.file)
        conditions.append(RecordedSession.key.in_(touched))
    if session_filter.since is not None:
        conditions.append(RecordedSession.last_timestamp >= session_filter.since)
    if session_filter.until is not None:
        conditions.append(RecordedSession.first_timestamp <= session_filter.until)
    if session_filter.search is not None:
        conditions.append(RecordedSession.session_id.icontains(session_filter.search, autoescape=True))
    if session_filter.has_markers is not None:
        marked = exists(select(KeepitMarker.key).where(KeepitMarker.session_key == RecordedSession.key))
        conditions.append(marked if session_filter.has_markers else ~marked)
    query = select(RecordedSession).where(RecordedSession.app_id == app_id, *conditions)
    query = query if before is None else query.where(RecordedSession.key < before)
    return session.scalars(query.order_by(RecordedSession.key.desc()).limit(limit)).all()


def list_sessions_by_time(
    session: Session, project_key: int, limit: int, before: tuple[datetime, int] | None = None
) -> Sequence[RecordedSession]:
    """Return a project's sessions, those that went on last first; one without times counts as of its registration."""
    at = func.coalesce(RecordedSession.last_timestamp, RecordedSession.registered_at)
    query = select(RecordedSession).where(RecordedSession.project_key == project_key)
    if before is not None:
        query = query.where(tuple_(at, RecordedSession.key) < tuple_(*before))
    return session.scalars(query.order_by(at.desc(), RecordedSession.key.desc()).limit(limit)).all()


def sessions_of(session: Session, project_key: int) -> Sequence[RecordedSession]:
    """Return all sessions of a project, the oldest first."""
    query = select(RecordedSession).where(RecordedSession.project_key == project_key)
    return session.scalars(query.order_by(RecordedSession.key)).all()


def count_sessions(session: Session, project_keys: Collection[int]) -> dict[int, int]:
    return _counted(session, RecordedSession.project_key, project_keys)


def count_all_sessions(session: Session) -> tuple[int, int]:
    """Return how many sessions all apps have registered, and the bytes of their copies."""
    query = select(func.count(), func.coalesce(func.sum(RecordedSession.size_bytes), 0)).select_from(RecordedSession)
    number, size_bytes = session.execute(query).one()
    return int(number), int(size_bytes)


def count_all_versions(session: Session) -> dict[str, int]:
    query = select(SessionVersion.state, func.count()).group_by(SessionVersion.state)
    return {state: number for state, number in session.execute(query)}  # noqa: C416 - dict() takes it for a mapping


def count_markers(session: Session, session_keys: Collection[int]) -> dict[int, int]:
    return _counted(session, KeepitMarker.session_key, session_keys)


def count_versions(session: Session, session_keys: Collection[int]) -> dict[int, int]:
    return _counted(session, SessionVersion.session_key, session_keys, SessionVersion.state == BuildState.READY)


def _counted(
    session: Session, of: InstrumentedAttribute[int], keys: Collection[int], *conditions: ColumnElement[bool]
) -> dict[int, int]:
    query = select(of, func.count()).where(of.in_(keys), *conditions).group_by(of)
    return {key: number for key, number in session.execute(query)}  # noqa: C416 - dict() takes it for a mapping


def markers_of(session: Session, session_key: int) -> Sequence[KeepitMarker]:
    """Return a session's marked parts, in their order."""
    return markers_of_all(session, [session_key])


def list_markers(session: Session, session_key: int, limit: int, after: int | None = None) -> Sequence[KeepitMarker]:
    """Return some of a session's marked parts, in their order, those behind the ordinal ``after``."""
    query = select(KeepitMarker).where(KeepitMarker.session_key == session_key).order_by(KeepitMarker.ordinal)
    return session.scalars((query if after is None else query.where(KeepitMarker.ordinal > after)).limit(limit)).all()


def get_marker(session: Session, recorded: RecordedSession, marker_id: str) -> KeepitMarker:
    """Return a marked part of a session. Raises: NotFound."""
    mine = (KeepitMarker.session_key == recorded.key, KeepitMarker.marker_id == marker_id)
    marker = session.scalar(select(KeepitMarker).where(*mine))
    if marker is None:
        raise NotFound(
            f"Session {recorded.session_id} has no marker {marker_id}; list them under {{address}}.",
            operation=Operation("listKeepits", {"appId": recorded.app_id, "sessionId": recorded.session_id}),
        )
    return marker


def markers_of_all(session: Session, session_keys: Collection[int]) -> Sequence[KeepitMarker]:
    query = select(KeepitMarker).where(KeepitMarker.session_key.in_(session_keys))
    return session.scalars(query.order_by(KeepitMarker.session_key, KeepitMarker.ordinal)).all()


def outcomes_of(session: Session, compression_keys: Collection[int]) -> Sequence[MarkerOutcome]:
    return session.scalars(select(MarkerOutcome).where(MarkerOutcome.compression_key.in_(compression_keys))).all()


def lock_jobs_making(session: Session, session_key: int) -> Sequence[Job]:
    query = select(Job).join(SessionVersion, SessionVersion.job_id == Job.job_id)
    query = query.where(SessionVersion.session_key == session_key, Job.state.not_in(FINISHED))
    # The jobs alone: without `of` the versions beside them would be locked too.
    return session.scalars(query.order_by(Job.seq).with_for_update(of=Job)).all()


def versions_by_session(
    session: Session, session_keys: Collection[int], *states: BuildState
) -> dict[int, list[SessionVersion]]:
    """Return the versions of sessions that stand so, or all where no state is given, by session, oldest first."""
    query = select(SessionVersion).where(SessionVersion.session_key.in_(session_keys))
    query = query.where(SessionVersion.state.in_(states)) if states else query
    found: dict[int, list[SessionVersion]] = {key: [] for key in session_keys}
    for version in session.scalars(query.order_by(SessionVersion.session_key, SessionVersion.number)):
        found[version.session_key].append(version)
    return found


def ready_compositions(session: Session, project_key: int) -> Sequence[Composition]:
    query = select(Composition).where(Composition.project_key == project_key, Composition.state == BuildState.READY)
    return session.scalars(query.order_by(Composition.key)).all()


def compositions_using(
    session: Session, session_keys: Collection[int], project_key: int | None = None
) -> Sequence[tuple[int, str, str]]:
    """Return which compositions use sessions, all or of a project: the session's key, their ids and names."""
    query = select(CompositionComponent.session_key, Composition.composition_id, Composition.name).distinct()
    query = query.join(Composition, Composition.key == CompositionComponent.composition_key)
    query = query.where(CompositionComponent.session_key.in_(session_keys))
    query = query if project_key is None else query.where(Composition.project_key == project_key)
    rows = session.execute(query.order_by(Composition.name))
    return [(key, composition_id, name) for key, composition_id, name in rows]


def count_compositions(session: Session, project_key: int) -> int:
    """Return how many compositions a project has, those under way included."""
    return count(session, select(func.count()).select_from(Composition).where(Composition.project_key == project_key))


def files_of(session: Session, session_key: int, limit: int) -> Sequence[SessionFile]:
    """Return files that a session touched, those touched most often first."""
    query = select(SessionFile).where(SessionFile.session_key == session_key)
    return session.scalars(query.order_by(SessionFile.touches.desc(), SessionFile.path).limit(limit)).all()


def changes_of(
    session: Session, app_id: str, project_id: str, limit: int | None = None, before: int | None = None
) -> Sequence[SessionChange]:
    """Return what was done to a project, newest first; also of one that is gone."""
    query = select(SessionChange).where(SessionChange.app_id == app_id, SessionChange.project_id == project_id)
    query = query if before is None else query.where(SessionChange.key < before)
    return session.scalars(query.order_by(SessionChange.key.desc()).limit(limit)).all()


def projects_to_scan(session: Session, scanned_before: datetime, limit: int) -> Sequence[Project]:
    """Return projects whose folder is looked through for new sessions, the one looked through longest ago first."""
    due = or_(Project.scanned_at.is_(None), Project.scanned_at <= scanned_before)
    own = Project.settings["autoRegisterNewSessions"].as_boolean()
    registers = func.coalesce(own, App.session_settings["defaults", "autoRegisterSessions"].as_boolean(), false())
    query = select(Project).join(App, App.app_id == Project.app_id)
    query = query.where(Project.source_folder.is_not(None), registers.is_(true()), due)
    return session.scalars(query.order_by(Project.scanned_at.nulls_first(), Project.key).limit(limit)).all()


def projects_to_write(session: Session, limit: int) -> Sequence[Project]:
    """Return projects whose manifest on disk does not show what they are."""
    query = select(Project).where(Project.written_revision != Project.revision)
    return session.scalars(query.order_by(Project.key).limit(limit)).all()


def abandoned(session: Session, limit: int) -> list[tuple[str, type[SessionVersion | Composition], int]]:
    """Return versions and compositions that are being made by a job that has ended: app, kind and key."""
    versions = select(RecordedSession.app_id, SessionVersion.key)
    versions = versions.join(RecordedSession, RecordedSession.key == SessionVersion.session_key)
    found: list[tuple[str, type[SessionVersion | Composition], int]] = []
    for kind, query in ((SessionVersion, versions), (Composition, select(Composition.app_id, Composition.key))):
        # One whose job is gone was left behind too.
        is_open = and_(Job.job_id == kind.job_id, Job.state.not_in(FINISHED))
        left = query.where(kind.state == BuildState.WORKING, ~exists(select(Job.seq).where(is_open)))
        found += [(app_id, kind, key) for app_id, key in session.execute(left.limit(limit))]
    return found


def projects_that_age(session: Session, after: int, limit: int) -> Sequence[Project]:
    """Return projects with rules to follow, their own or their app's, by key, those behind ``after``."""
    decays = Project.settings["autoDecay", "enabled"].as_boolean().is_(true())
    own, of_the_app = Project.settings[KEEPS], App.session_settings["storage", KEEPS]
    keeps = func.coalesce(own.as_string(), of_the_app.as_string(), RetentionMode.ALL.value) != RetentionMode.ALL.value
    query = select(Project).join(App, App.app_id == Project.app_id).where(Project.key > after, or_(decays, keeps))
    return session.scalars(query.order_by(Project.key).limit(limit)).all()


def last_run(session: Session, project: Project) -> SessionChange | None:
    """Return how a project was last aged, or what was planned."""
    mine = (SessionChange.app_id == project.app_id, SessionChange.project_id == project.project_id)
    query = select(SessionChange).where(*mine, SessionChange.subject == AGEING)
    return session.scalar(query.order_by(SessionChange.key.desc()).limit(1))


def find_claims(session: Session, app_id: str) -> FileClaims:
    """Return which files of the store an app's rows name."""
    claims = FileClaims()
    for project_id in session.scalars(select(Project.project_id).where(Project.app_id == app_id)):
        claims.files |= {"config.json", f"projects/{project_id}/manifest.json"}
    query = select(Project.project_id, RecordedSession.session_id, SessionVersion.state, SessionVersion.file)
    query = query.join(Project, Project.key == RecordedSession.project_key)
    query = query.outerjoin(SessionVersion, SessionVersion.session_key == RecordedSession.key)
    for project_id, session_id, state, file in session.execute(query.where(RecordedSession.app_id == app_id)):
        folder = f"projects/{project_id}/summaries/{session_id}"
        claims.files |= {f"projects/{project_id}/originals/{session_id}.jsonl", f"{folder}/versions.json"}
        if state == BuildState.WORKING:
            # Nothing names its files before it is ready, so whatever lies there is left alone.
            claims.folders.add(folder)
        elif state == BuildState.READY:
            claims.files |= {f"{folder}/{file}.{ending}" for ending in FILES}
    composed = select(Project.project_id, Composition.name, Composition.state)
    composed = composed.join(Project, Project.key == Composition.project_key)
    made = (Composition.app_id == app_id, Composition.state != BuildState.FAILED)
    for project_id, name, state in session.execute(composed.where(*made)):
        folder = f"projects/{project_id}/composed/{name}"
        if state == BuildState.WORKING:
            claims.folders.add(folder)
        claims.files |= {f"{folder}/{file}" for file in (*FILES.values(), RECORD_FILE)}
    return claims


def left_of_app(session: Session, app_id: str) -> dict[str, int]:
    """Count what is left of an app's sessions."""
    counted = {
        "projects": Project,
        "recordedSessions": RecordedSession,
        "compositions": Composition,
        "semanticMemories": SemanticMemory,
        "sessionChanges": SessionChange,
    }
    return {
        name: count(session, select(func.count()).select_from(model).where(model.app_id == app_id))  # type: ignore[attr-defined]
        for name, model in counted.items()
    }


def registered_in(session: Session, app_id: str) -> dict[str, str]:
    query = select(RecordedSession.session_id, Project.project_id)
    query = query.join(Project, Project.key == RecordedSession.project_key).where(RecordedSession.app_id == app_id)
    return {session_id: project_id for session_id, project_id in session.execute(query)}  # noqa: C416


def find_project_by_key(session: Session, app_id: str, key: int) -> Project | None:
    """Return an app's project by its key, or None where it is gone."""
    return session.scalar(select(Project).where(Project.key == key, Project.app_id == app_id))
