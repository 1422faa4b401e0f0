"""Registering sessions, taking in what was added to them since, weighing their marked parts, unregistering them.

The copy gets its place before the row that names it is committed, under a lock of the session's own; if the row does
not come to be, the copy goes again, or the sweep takes it. Originals are not touched.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.audit import Cause
from shared.base.errors import Conflict, NotFound, Operation, Purged
from shared.base.setting_groups import SessionSettings
from shared.db.base import Transactions
from shared.jobs.models import OPEN
from shared.jobs.ownership import abandon
from shared.jobs.queries import lock_job
from shared.sessions import queries
from shared.sessions.models import KeepitMarker, RecordedSession, SessionFile
from shared.sessions.registry.intake import Intake, check_lines, check_size, explained, hash_of, open_original
from shared.sessions.registry.projects import (
    ALREADY_REGISTERED,
    SessionChangeKind,
    create_project,
    record_change,
    sanitise,
    touch,
)
from shared.sessions.semantic.memories import remove_unsupported
from shared.sessions.semantic.queries import open_learning
from shared.sessions.store import Store, chunks_of
from shared.sessions.transcripts.overview import TranscriptOverview, overview_of
from shared.sessions.transcripts.records import complete_bytes

# PostgreSQL's integer holds no more.
_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class SessionPlace:
    """Where a session is to stand."""

    app_id: str
    project_id: str
    session_id: str
    epoch: int
    """Of the app when this was begun: what was erased since is not brought back."""


def lock_place(session: Session, target: SessionPlace) -> None:
    """Lock the app of a place. Raises: NotFound, Conflict, Purged."""
    epoch = lock_app(session, target.app_id).purge_epoch
    get_installed_app(session, target.app_id)
    if epoch != target.epoch:
        raise Purged(f"App {target.app_id} was erased or purged meanwhile; ask again if it is still wanted.")


def insert_session(session: Session, target: SessionPlace, intake: Intake, cause: Cause) -> RecordedSession:
    """Register a session, and its project where there is none yet. Raises: Conflict, Purged."""
    lock_place(session, target)
    refuse_known(session, target.app_id, target.session_id)
    if queries.find_project(session, target.app_id, target.project_id) is not None:
        project = queries.lock_project(session, target.app_id, target.project_id)
    else:
        folders = [str(folder) for folder in intake.overview.details["folders"]] or [target.project_id]
        path = next((folder for folder in folders if sanitise(folder) == target.project_id), folders[0])
        project = create_project(session, target.app_id, path, cause, project_id=target.project_id)
    recorded = RecordedSession(
        app_id=target.app_id,
        project_key=project.key,
        session_id=target.session_id,
        original_file=intake.original_file,
        registered_at=cause.at,
        last_accessed=cause.at,
    )
    describe(recorded, intake, cause.at)
    session.add(recorded)
    session.flush()
    save_parts(session, recorded, intake.overview)
    touch(project, cause.at)
    size = {"sizeBytes": intake.size_bytes, "markers": len(intake.overview.markers)}
    record_change(
        session,
        project,
        target.session_id,
        SessionChangeKind.REGISTERED,
        cause,
        after=size,
        session_id=target.session_id,
    )
    return recorded


def refuse_known(session: Session, app_id: str, session_id: str) -> None:
    """Raises: Conflict where a session is registered already."""
    known = queries.find_session(session, app_id, session_id)
    if known is None:
        return
    project = queries.project_by_key(session, known.project_key)
    raise Conflict(
        f"Session {session_id} is registered already, in project {project.project_id}. Sync it to take in what was "
        "added, or unregister it first.",
        code=ALREADY_REGISTERED,
        details={"projectId": project.project_id, "sessionId": session_id},
    )


def describe(recorded: RecordedSession, intake: Intake, now: datetime) -> None:
    """Write down what a session's copy amounts to."""
    overview = intake.overview
    recorded.size_bytes, recorded.sha256, recorded.synced_at = intake.size_bytes, intake.sha256, now
    recorded.original_tokens = min(overview.original_tokens, _MOST_TOKENS)
    recorded.original_messages = overview.original_messages
    recorded.counts, recorded.details = dict(overview.counts), dict(overview.details)
    recorded.marker_problems, recorded.beginning = list(overview.marker_problems), list(overview.beginning)
    recorded.first_timestamp, recorded.last_timestamp = overview.first_timestamp, overview.last_timestamp


def save_parts(session: Session, recorded: RecordedSession, overview: TranscriptOverview) -> None:
    """Keep a session's files and marked parts; a part that was known keeps its row, its weight and its fates."""
    session.execute(delete(SessionFile).where(SessionFile.session_key == recorded.key))
    rows = [
        {"session_key": recorded.key, "path": one.path, "touches": one.touches, "changed": one.changed}
        for one in overview.files
    ]
    if rows:
        session.execute(insert(SessionFile), rows)
    known = {one.marker_id: one for one in queries.markers_of(session, recorded.key)}
    for ordinal, marker in enumerate(overview.markers):
        row = known.pop(marker.marker_id, None) or KeepitMarker(session_key=recorded.key, marker_id=marker.marker_id)
        row.ordinal, row.message_uuid, row.said_at = ordinal, marker.message_uuid, marker.said_at
        for name in ("weight", "content", "context", "start", "end"):
            setattr(row, name, getattr(marker.found, name))
        session.add(row)
    for gone in known.values():
        session.delete(gone)
    session.flush()


ORIGINAL_CHANGED = "original_changed"
ORIGINAL_GONE = "original_gone"
_Answer = TypeVar("_Answer")
SessionWork = Callable[[Session], RecordedSession]
CarryOut = Callable[[SessionWork], _Answer]
"""Carries a piece of writing out in a transaction and makes an answer of it."""


class Registrar:
    """Registers and syncs sessions of a store."""

    def __init__(self, database: Transactions, store: Store, settings: SessionSettings) -> None:
        self._database = database
        self._store = store
        self.settings = settings

    def locate(self, app_id: str, project_id: str, session_id: str) -> SessionPlace:
        """Return where a session is to stand, as of now. Raises: NotFound for the app."""
        with self._database.read() as session:
            return SessionPlace(app_id, project_id, session_id, get_app(session, app_id).purge_epoch)

    def register(self, target: SessionPlace, intake: Intake, cause: Cause, carry: CarryOut[_Answer]) -> _Answer:
        """Register what was taken in. Raises: Conflict, Purged, Limit."""
        with self._stored_original(target, intake):
            return carry(lambda session: insert_session(session, target, intake, cause))

    def sync(
        self, app_id: str, session_id: str, uploaded: Path | None, cause: Cause, carry: CarryOut[_Answer]
    ) -> _Answer:
        """Take in what was added to an original, or to what was uploaded of it, since the last time.

        Raises: NotFound, Conflict where the original is gone or is not what it was, Limit.
        """
        # The lock of the store first, with short transactions inside: none is open while files are compared and copied.
        with self._store.session_lock(app_id, session_id):
            with self._database.read() as session:
                known = queries.get_session(session, app_id, session_id)
                project_id = queries.project_by_key(session, known.project_key).project_id
                target = SessionPlace(app_id, project_id, session_id, get_app(session, app_id).purge_epoch)
            source = uploaded or _source_of(known)
            try:
                with explained(source):
                    tail = self._take_tail(target, known, source)
            except NotFound:
                raise Conflict(
                    f"The original of session {session_id} is no longer at {known.original_file}. Nothing is lost: the "
                    "copy of the last sync is kept, with everything made of it.",
                    code=ORIGINAL_GONE,
                ) from None
            return carry(lambda session: write_tail(session, target, known, tail, cause))

    @contextmanager
    def _stored_original(self, target: SessionPlace, intake: Intake) -> Iterator[None]:
        original = self._store.original(target.app_id, target.project_id, target.session_id)
        with self._store.session_lock(target.app_id, target.session_id):
            if self._is_known(target):
                # Whatever is carried out will say so, or give the answer it gave before.
                yield
                return
            with explained(original):
                self._store.commit(intake.path, original)
            try:
                yield
            finally:
                # The row tells whether it was registered: an error may come after the commit as well.
                if not self._is_known(target):
                    self._store.remove(original)

    def _is_known(self, target: SessionPlace) -> bool:
        with self._database.read() as session:
            return queries.find_session(session, target.app_id, target.session_id) is not None

    def _take_tail(self, target: SessionPlace, known: RecordedSession, source: Path) -> Intake | None:
        """Compare, and copy what was added; None where that is nothing. Raises: OSError, Conflict, Limit."""
        copy = self._store.original(target.app_id, target.project_id, target.session_id)
        size = known.size_bytes
        with open_original(source) as file:
            check_size(os.fstat(file.fileno()).st_size, source.name, self.settings)
            if hash_of(file, size) != (known.sha256, size):
                raise Conflict(
                    f"{source.name} no longer begins with what was registered as session {known.session_id}: it was "
                    "rewritten, not only added to. The copy is kept as it is. To take in the new file, unregister the "
                    "session and register it anew, or register the file under another id.",
                    code=ORIGINAL_CHANGED,
                    details={"sessionId": known.session_id},
                )
            check_lines(source, source.name, self.settings)
            # Whole lines alone, as one may be being written.
            end = max(complete_bytes(source), size)
            if copy.exists() and copy.stat().st_size >= size:
                # From there on, as what lies beyond is of a sync that did not end.
                file.seek(size)
                self._store.append(copy, size, chunks_of(file, end - size))
            else:
                # Somebody removed or shortened it.
                file.seek(0)
                fresh = self._store.unfinished(target.app_id)
                self._store.make_folder(fresh.parent)
                self._store.copy(file, fresh, end)
                self._store.commit(fresh, copy)
        if end == size:
            return None
        with copy.open("rb") as file:
            digest, _ = hash_of(file, end)
        return Intake(copy, end, digest, overview_of(copy, known.session_id, end), known.original_file)


def write_tail(
    session: Session, target: SessionPlace, known: RecordedSession, tail: Intake | None, cause: Cause
) -> RecordedSession:
    """Write down what a sync found. Raises: NotFound, Conflict, Purged."""
    lock_place(session, target)
    project = queries.lock_project(session, target.app_id, target.project_id)
    recorded = queries.lock_session(session, target.app_id, target.session_id)
    if (recorded.key, recorded.size_bytes) != (known.key, known.size_bytes):
        raise Conflict(f"Session {target.session_id} was registered anew meanwhile; sync it again.", code="conflict")
    recorded.synced_at = cause.at
    if tail is None:
        return recorded
    before = {"sizeBytes": recorded.size_bytes}
    describe(recorded, tail, cause.at)
    save_parts(session, recorded, tail.overview)
    touch(project, cause.at)
    after = {"sizeBytes": tail.size_bytes, "markers": len(tail.overview.markers)}
    record_change(
        session,
        project,
        target.session_id,
        SessionChangeKind.SYNCED,
        cause,
        before,
        after,
        session_id=target.session_id,
    )
    return recorded


def _source_of(known: RecordedSession) -> Path:
    if known.original_file is None:
        raise Conflict(
            f"Session {known.session_id} was uploaded, so there is no file to look at; upload the longer file to "
            "{address}.",
            code="no_original",
            operation=Operation("syncSession", {"appId": known.app_id, "sessionId": known.session_id}),
        )
    return Path(known.original_file)


def set_marker_weight(
    session: Session, app_id: str, session_id: str, marker_id: str, weight: int | None, cause: Cause
) -> KeepitMarker:
    """Put ``weight`` (hundredths) in the place of what is written; None takes that back. Raises: NotFound."""
    lock_app(session, app_id)
    # Without a lock, only to learn its project, which is locked before it.
    found = queries.get_session(session, app_id, session_id)
    project = queries.lock_project_by_key(session, found.project_key)
    recorded = queries.lock_session(session, app_id, session_id)
    marker = queries.get_marker(session, recorded, marker_id)
    before = {"weight": marker.weight_in_force}
    marker.override_weight = weight
    marker.overridden_by = None if weight is None else cause.actor
    marker.overridden_at = None if weight is None else cause.at
    after = {"weight": marker.weight_in_force}
    touch(project, cause.at)
    record_change(session, project, marker_id, SessionChangeKind.WEIGHED, cause, before, after, session_id=session_id)
    session.flush()
    return marker


VERSION_IN_USE = "version_in_use"


def unregister(
    session: Session, app_id: str, session_id: str, cause: Cause, project_id: str | None = None
) -> SessionPlace:
    """Remove a session's rows; return where its files are, which are yet to go.

    Raises: NotFound, Conflict while a composition uses it.
    """
    epoch = lock_app(session, app_id).purge_epoch
    recorded = queries.get_session(session, app_id, session_id)
    named = project_id or queries.project_by_key(session, recorded.project_key).project_id
    project = queries.lock_project(session, app_id, named)
    recorded = queries.lock_session(session, app_id, session_id)
    # Locked after its project, in the order of all who lock both, and read anew: it may be another by now.
    if recorded.project_key != project.key:
        raise Conflict(f"Session {session_id} is not in project {named}.", code="other_project")
    using = queries.compositions_using(session, [recorded.key])
    if using:
        names = ", ".join(name for _, _, name in using)
        raise Conflict(
            f"Session {session_id} is used by {names}; remove those compositions first.",
            code=VERSION_IN_USE,
            details={"compositions": [composition_id for _, composition_id, _ in using]},
        )
    versions = queries.count_versions(session, [recorded.key]).get(recorded.key, 0)
    before = {"sizeBytes": recorded.size_bytes, "versions": versions}
    # A job left without its version would hold its worker's place until its lease ran out.
    abandon(session, queries.lock_jobs_making(session, recorded.key), "its session was unregistered", cause.at)
    session.delete(recorded)
    touch(project, cause.at)
    record_change(session, project, session_id, SessionChangeKind.UNREGISTERED, cause, before, session_id=session_id)
    remove_unsupported(session, project, cause)
    return SessionPlace(app_id, named, session_id, epoch)


def remove_project_with_sessions(
    session: Session, app_id: str, project_id: str, cause: Cause, force: bool
) -> list[SessionPlace]:
    """Remove a project; by force with its sessions, as long as no composition uses one. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    project = queries.lock_project(session, app_id, project_id)
    session_ids = [one.session_id for one in queries.sessions_of(session, project.key)] if force else []
    left = [unregister(session, app_id, session_id, cause, project_id) for session_id in session_ids]
    learning = open_learning(session, app_id, project.key)
    job = None if learning is None else lock_job(session, learning.job_id)
    if job is not None and job.state in OPEN:
        abandon(session, [job], "its project was removed", cause.at)
    # Counted last: where something is left, the error takes all of this back.
    composed = queries.count_compositions(session, project.key)
    sessions = queries.count_sessions(session, [project.key]).get(project.key, 0)
    if sessions or composed:
        raise Conflict(
            f"Project {project_id} holds {sessions} sessions and {composed} compositions; remove them first, or ask "
            "with force=true for what is in no composition.",
            code="project_not_empty",
            details={"sessions": sessions, "compositions": composed},
        )
    record_change(session, project, project_id, SessionChangeKind.REMOVED, cause)
    session.delete(project)
    session.flush()
    return left


def remove_session_files(database: Transactions, store: Store, left: Iterable[SessionPlace]) -> None:
    """Remove the files of sessions that were taken out, unless they were registered anew meanwhile."""
    for one in left:
        # Under its lock, so that it is not registered anew between the look and the removal.
        with store.session_lock(one.app_id, one.session_id):
            with database.read() as session:
                if queries.find_session(session, one.app_id, one.session_id) is not None:
                    continue
            store.remove(store.original(one.app_id, one.project_id, one.session_id))
            store.remove(store.versions_folder(one.app_id, one.project_id, one.session_id))


def remove_project_files(database: Transactions, store: Store, app_id: str, project_id: str) -> None:
    """Remove the folder of a project that was removed, unless it was opened anew meanwhile."""
    with store.app_lock(app_id):
        with database.read() as session:
            if queries.find_project(session, app_id, project_id) is not None:
                return
        store.remove(store.project_folder(app_id, project_id))
