"""Reads of what sessions are found by, always of one app.

Links: a session of one project that another project of the same app may find, be suggested, and compose.

Source: seed 004, "Cross-Project Memory Sharing".
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from sqlalchemy import func, or_, select, text
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.errors import Conflict, NotFound, Operation
from shared.base.ids import new_id
from shared.sessions.compose.queries import linked_to
from shared.sessions.models import (
    BuildState,
    KeepitMarker,
    Project,
    ProjectLink,
    RecordedSession,
    SessionFile,
    SessionPassage,
    SessionVersion,
    SessionWord,
)
from shared.sessions.queries import compositions_using, get_project, lock_project, lock_session, project_by_key
from shared.sessions.registry.projects import SessionChangeKind, record_change, touch

Posting = tuple[int, int, int | None]
"""Key of a passage, of its session, and of its version (None for the original)."""

# Written out as their partial indexes have them: with bound values SQLite finds none of these.
_UNINDEXED = text("recorded_sessions.indexed_bytes <> recorded_sessions.size_bytes")
_UNINDEXED_VERSION = text("compressions.state = 'ready' AND NOT compressions.indexed")


@dataclass(frozen=True)
class SessionFacts:
    """What is known about a session without looking into it."""

    recorded: RecordedSession
    project_id: str
    is_linked: bool = False
    """Whether it belongs to another project."""

    @property
    def recalled(self) -> datetime | None:
        """When something was last said in it, or it was last used."""
        return max(filter(None, (self.recorded.last_timestamp, self.recorded.used_at)), default=None)

    @property
    def topics(self) -> list[str]:
        return list(self.recorded.details.get("primaryTopics") or [])


def facts_of(session: Session, app_id: str, project: Project | None) -> list[SessionFacts]:
    """Return what is known about an app's sessions, or about those of a project and those linked to it."""
    query = select(RecordedSession, Project.project_id).join(Project, Project.key == RecordedSession.project_key)
    query = query.where(RecordedSession.app_id == app_id)
    if project is not None:
        linked = select(ProjectLink.session_key).where(ProjectLink.target_key == project.key)
        query = query.where(or_(RecordedSession.project_key == project.key, RecordedSession.key.in_(linked)))
    own = None if project is None else project.key
    rows = session.execute(query.order_by(RecordedSession.key))
    return [SessionFacts(one, project_id, own not in (None, one.project_key)) for one, project_id in rows]


def postings(session: Session, app_id: str, word: int, at_most: int) -> Sequence[Posting]:
    """Return where a word stands in an app's sessions; at most so many places."""
    query = (
        select(SessionPassage.key, SessionPassage.session_key, SessionPassage.compression_key)
        .join(SessionWord, SessionWord.passage_key == SessionPassage.key)
        .join(RecordedSession, RecordedSession.key == SessionPassage.session_key)
        .where(SessionWord.word == word, RecordedSession.app_id == app_id)
    )
    return [(passage, recorded, version) for passage, recorded, version in session.execute(query.limit(at_most))]


def count_passages(session: Session, app_id: str) -> int:
    query = select(func.count()).select_from(SessionPassage)
    query = query.join(RecordedSession, RecordedSession.key == SessionPassage.session_key)
    return session.scalar(query.where(RecordedSession.app_id == app_id)) or 0


def passages(session: Session, keys: Collection[int]) -> dict[int, SessionPassage]:
    return {one.key: one for one in session.scalars(select(SessionPassage).where(SessionPassage.key.in_(keys)))}


def version_numbers(session: Session, keys: Collection[int]) -> dict[int, int]:
    """Return the numbers of versions that are ready, by their keys."""
    query = select(SessionVersion.key, SessionVersion.number).where(SessionVersion.key.in_(keys))
    rows = session.execute(query.where(SessionVersion.state == BuildState.READY))
    return {key: number for key, number in rows}  # noqa: C416 - dict() takes a result for a mapping


def touched(session: Session, app_id: str, paths: Collection[str]) -> dict[int, list[str]]:
    """Return the files that each of an app's sessions touched and that are called like one that is wanted.

    Those touched most come first. Whether the folders agree is left to who asks.
    """
    names = {name for one in paths if (name := PurePosixPath(one).name)}
    if not names:
        return {}
    query = select(SessionFile.session_key, SessionFile.path)
    query = query.join(RecordedSession, RecordedSession.key == SessionFile.session_key)
    called = or_(
        *(
            or_(SessionFile.path == name, SessionFile.path.endswith(f"/{name}", autoescape=True))
            for name in sorted(names)
        )
    )
    query = query.where(RecordedSession.app_id == app_id, called)
    found: dict[int, list[str]] = {}
    for key, path in session.execute(query.order_by(SessionFile.touches.desc(), SessionFile.path)):
        found.setdefault(key, []).append(path)
    return found


def marked_between(session: Session, app_id: str, least: int, most: int) -> set[int]:
    """Return the keys of an app's sessions with a marked part whose weight in force lies in a range, hundredths."""
    weight = func.coalesce(KeepitMarker.override_weight, KeepitMarker.weight)
    query = select(KeepitMarker.session_key).join(RecordedSession, RecordedSession.key == KeepitMarker.session_key)
    return set(session.scalars(query.where(RecordedSession.app_id == app_id, weight.between(least, most)).distinct()))


def next_unindexed(session: Session) -> tuple[str, str] | None:
    """Return a session that cannot be found whole: its app and its id."""
    query = select(RecordedSession.app_id, RecordedSession.session_id)
    query = query.where(_UNINDEXED)
    row = session.execute(query.order_by(RecordedSession.key).limit(1)).first()
    return None if row is None else (row[0], row[1])


def next_unindexed_version(session: Session) -> tuple[str, int] | None:
    """Return a version that cannot be found: its app and its key."""
    query = select(RecordedSession.app_id, SessionVersion.key)
    query = query.join(RecordedSession, RecordedSession.key == SessionVersion.session_key)
    row = session.execute(query.where(_UNINDEXED_VERSION).order_by(SessionVersion.key).limit(1)).first()
    return None if row is None else (row[0], row[1])


@dataclass(frozen=True)
class LinkedSession:
    """A link with what it leads from and to."""

    link: ProjectLink
    source_project: str
    source_session: str
    target_project: str


def links_of(session: Session, target: Project) -> list[LinkedSession]:
    """Return the links to a project, oldest first."""
    query = select(ProjectLink, Project.project_id, RecordedSession.session_id)
    query = query.join(RecordedSession, RecordedSession.key == ProjectLink.session_key)
    query = query.join(Project, Project.key == RecordedSession.project_key).where(ProjectLink.target_key == target.key)
    return [LinkedSession(*row, target.project_id) for row in session.execute(query.order_by(ProjectLink.key))]


def get_link(session: Session, app_id: str, link_id: str) -> tuple[ProjectLink, Project, RecordedSession]:
    """Return a link of an app's with the project it is for and its session. Raises: NotFound."""
    query = select(ProjectLink, Project, RecordedSession).join(Project, Project.key == ProjectLink.target_key)
    query = query.join(RecordedSession, RecordedSession.key == ProjectLink.session_key)
    row = session.execute(query.where(ProjectLink.link_id == link_id, Project.app_id == app_id)).first()
    if row is None:
        raise NotFound(
            f"App {app_id} has no link {link_id}; list them under {{address}}.",
            operation=Operation("listLinks", {"appId": app_id}),
        )
    return row[0], row[1], row[2]


def link_session(
    session: Session, app_id: str, target_id: str, source_id: str, session_id: str, reason: str, cause: Cause
) -> LinkedSession:
    """Link a session to another project. Raises: NotFound, Conflict where it stands already or is the project's own."""
    lock_app(session, app_id)
    target = lock_project(session, app_id, target_id)
    # Not locked, as nothing of it changes.
    source = get_project(session, app_id, source_id)
    recorded = lock_session(session, app_id, session_id)
    if recorded.project_key != source.key:
        raise Conflict(f"Session {recorded.session_id} does not belong to {source.project_id}.", code="not_its_session")
    if recorded.project_key == target.key:
        raise Conflict(f"Session {recorded.session_id} is {target.project_id}'s own; it needs no link.", code="own")
    if linked_to(session, target.key, [recorded.key]):
        raise Conflict(
            f"Session {recorded.session_id} is linked to {target.project_id} already.", code="already_linked"
        )
    made = ProjectLink(
        link_id=new_id("lnk", cause.at),
        session_key=recorded.key,
        target_key=target.key,
        reason=reason,
        linked_by=cause.actor,
        linked_at=cause.at,
    )
    session.add(made)
    touch(target, cause.at)
    after = {"sourceProject": source_id}
    record_change(session, target, made.link_id, SessionChangeKind.LINKED, cause, after=after, session_id=session_id)
    session.flush()
    return LinkedSession(made, source_id, session_id, target_id)


def unlink_session(session: Session, app_id: str, link_id: str, cause: Cause) -> None:
    """Take a link away. Raises: NotFound, and Conflict while a composition of the target uses the session."""
    lock_app(session, app_id)
    gone, target, recorded = get_link(session, app_id, link_id)
    using = [name for _, _, name in compositions_using(session, [recorded.key], target.key)]
    if using:
        raise Conflict(
            f"Session {recorded.session_id} is used in {', '.join(using)} of {target.project_id}; delete that first.",
            code="link_in_use",
            details={"compositions": using},
        )
    session.delete(gone)
    touch(target, cause.at)
    before = {"sourceProject": project_by_key(session, recorded.project_key).project_id}
    record_change(
        session, target, link_id, SessionChangeKind.REMOVED, cause, before=before, session_id=recorded.session_id
    )
    session.flush()
