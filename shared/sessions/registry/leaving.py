"""Taking sessions out of the registry: rows in a transaction, files behind it. Originals are not touched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.causes import Cause
from shared.db.transactions import Transactions
from shared.errors import Conflict
from shared.outbox.models import OPEN
from shared.outbox.ownership import abandon
from shared.outbox.queries import lock_job
from shared.sessions import queries
from shared.sessions.models import RecordedSession
from shared.sessions.registry import projects
from shared.sessions.registry.changes import ChangeKind, note, touch
from shared.sessions.semantic.learning import drop_unborne
from shared.sessions.semantic.queries import open_learning
from shared.sessions.store import Store

VERSION_IN_USE = "version_in_use"


@dataclass(frozen=True)
class Left:
    """A session that was taken out of the registry; its files are yet to go."""

    app_id: str
    project_id: str
    session_id: str


def unregister(session: Session, app_id: str, session_id: str, cause: Cause, project_id: str | None = None) -> Left:
    """Remove a session's rows. Raises: NotFound, Conflict while a composition uses it."""
    lock_app(session, app_id)
    recorded = queries.get_session(session, app_id, session_id)
    named = project_id or queries.project_by_key(session, recorded.project_key).project_id
    project = queries.lock_project(session, app_id, named)
    recorded = queries.lock_session(session, app_id, session_id)
    if recorded.project_key != project.key:
        raise Conflict(f"Session {session_id} is not in project {named}.", code="other_project")
    _refuse_used(session, recorded)
    versions = queries.count_versions(session, [recorded.key]).get(recorded.key, 0)
    before = {"sizeBytes": recorded.size_bytes, "versions": versions}
    # A job left without its version would hold its worker's place until its lease ran out.
    abandon(session, queries.lock_jobs_making(session, recorded.key), "its session was unregistered", cause.at)
    session.delete(recorded)
    touch(project, cause.at)
    note(session, project, session_id, ChangeKind.UNREGISTERED, cause, before, session_id=session_id)
    drop_unborne(session, project, cause)
    return Left(app_id, named, session_id)


def remove_project(session: Session, app_id: str, project_id: str, cause: Cause, force: bool) -> list[Left]:
    """Remove a project; by force with its sessions, as long as no composition uses one. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    project = queries.lock_project(session, app_id, project_id)
    held = [one.session_id for one in queries.sessions_of(session, project.key)] if force else []
    left = [unregister(session, app_id, session_id, cause, project_id) for session_id in held]
    learning = open_learning(session, app_id, project.key)
    job = None if learning is None else lock_job(session, learning.job_id)
    if job is not None and job.state in OPEN:
        abandon(session, [job], "its project was removed", cause.at)
    projects.remove(session, project, cause)
    return left


def clear_away(database: Transactions, store: Store, left: Iterable[Left]) -> None:
    """Remove the files of sessions that were taken out, unless they were registered anew meanwhile."""
    for one in left:
        with store.session_lock(one.app_id, one.session_id):
            with database.read() as session:
                if queries.find_session(session, one.app_id, one.session_id) is not None:
                    continue
            store.remove(store.original(one.app_id, one.project_id, one.session_id))
            store.remove(store.versions_folder(one.app_id, one.project_id, one.session_id))


def clear_project_away(database: Transactions, store: Store, app_id: str, project_id: str) -> None:
    """Remove the folder of a project that was removed, unless it was opened anew meanwhile."""
    with store.app_lock(app_id):
        with database.read() as session:
            if queries.find_project(session, app_id, project_id) is not None:
                return
        store.remove(store.project_folder(app_id, project_id))


def _refuse_used(session: Session, recorded: RecordedSession) -> None:
    using = queries.compositions_using(session, [recorded.key])
    if using:
        names = ", ".join(name for _, _, name in using)
        raise Conflict(
            f"Session {recorded.session_id} is used by {names}; remove those compositions first.",
            code=VERSION_IN_USE,
            details={"compositions": [composition_id for _, composition_id, _ in using]},
        )
