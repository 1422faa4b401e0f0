"""Registering sessions, and taking in what was added to them since.

The copy gets its place before the row that names it is committed, under a lock of the session's own; if the row does
not come to be, the copy goes again, or the sweep takes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from sqlalchemy.orm import Session

from shared.apps.queries import get_app
from shared.causes import Cause
from shared.db.transactions import Transactions
from shared.errors import Conflict
from shared.sessions import queries
from shared.sessions.models import RecordedSession
from shared.sessions.registry.changes import ChangeKind, note, touch
from shared.sessions.registry.entering import Place, describe, enter, keep_parts, lock_place
from shared.sessions.registry.intake import Bounds, Intake, explained, hash_of, open_original
from shared.sessions.store import Store, chunks_of
from shared.sessions.transcripts.lines import complete_bytes
from shared.sessions.transcripts.overview import Overview, overview_of

ORIGINAL_CHANGED = "original_changed"
ORIGINAL_GONE = "original_gone"
_Answer = TypeVar("_Answer")
Work = Callable[[Session], RecordedSession]
Carry = Callable[[Work], _Answer]
"""Carries a piece of writing out in a transaction and makes an answer of it."""


@dataclass(frozen=True)
class _Tail:
    """What a sync found behind what was known."""

    end: int
    sha256: str
    """Of everything up to the end."""
    overview: Overview | None
    """None where nothing was added."""


class Registrar:
    """Registers and syncs sessions of a store."""

    def __init__(self, database: Transactions, store: Store, bounds: Bounds) -> None:
        self._database = database
        self._store = store
        self.bounds = bounds

    def place(self, app_id: str, project_id: str, session_id: str) -> Place:
        """Return where a session is to stand, as of now. Raises: NotFound for the app."""
        with self._database.read() as session:
            return Place(app_id, project_id, session_id, get_app(session, app_id).purge_epoch)

    def register(self, place: Place, intake: Intake, cause: Cause, carry: Carry[_Answer]) -> _Answer:
        """Register what was taken in. Raises: Conflict, Purged, Limit."""
        with self._placed(place, intake):
            return carry(lambda session: enter(session, place, intake, cause))

    def sync(self, app_id: str, session_id: str, uploaded: Path | None, cause: Cause, carry: Carry[_Answer]) -> _Answer:
        """Take in what was added to an original, or to what was uploaded of it, since the last time.

        Raises: NotFound, Conflict where the original is gone or is not what it was, Limit.
        """
        with self._store.session_lock(app_id, session_id):
            with self._database.read() as session:
                known = queries.get_session(session, app_id, session_id)
                project_id = queries.project_by_key(session, known.project_key).project_id
                place = Place(app_id, project_id, session_id, get_app(session, app_id).purge_epoch)
            source = uploaded or _source_of(known)
            with explained(source), _there(known):
                tail = self._take_tail(place, known, source)
            return carry(lambda session: write_tail(session, place, known, tail, cause))

    @contextmanager
    def _placed(self, place: Place, intake: Intake) -> Iterator[None]:
        target = self._store.original(place.app_id, place.project_id, place.session_id)
        with self._store.session_lock(place.app_id, place.session_id):
            if self._is_known(place):
                # Whatever is carried out will say so, or give the answer it gave before.
                yield
                return
            with explained(target):
                self._store.place(intake.path, target)
            try:
                yield
            finally:
                if not self._is_known(place):
                    self._store.remove(target)

    def _is_known(self, place: Place) -> bool:
        with self._database.read() as session:
            return queries.find_session(session, place.app_id, place.session_id) is not None

    def _take_tail(self, place: Place, known: RecordedSession, source: Path) -> _Tail:
        """Compare, and copy what was added. Raises: OSError, Conflict, Limit."""
        copy = self._store.original(place.app_id, place.project_id, place.session_id)
        size = known.size_bytes
        with open_original(source) as file:
            self.bounds.check(os.fstat(file.fileno()).st_size, source.name)
            if hash_of(file, size) != (known.sha256, size):
                raise _changed(known, source)
            end = max(complete_bytes(source), size)
            if copy.exists() and copy.stat().st_size >= size:
                file.seek(size)
                self._store.append(copy, size, chunks_of(file, end - size))
            else:
                self._make_anew(place, file, copy, end)
        with copy.open("rb") as file:
            digest, _ = hash_of(file, end)
        return _Tail(end, digest, overview_of(copy, known.session_id, end) if end > size else None)

    def _make_anew(self, place: Place, file: IO[bytes], copy: Path, end: int) -> None:
        """Replace a copy that somebody removed or shortened."""
        file.seek(0)
        fresh = self._store.unfinished(place.app_id)
        self._store.make_folder(fresh.parent)
        self._store.copy(file, fresh, end)
        self._store.place(fresh, copy)


def write_tail(session: Session, place: Place, known: RecordedSession, tail: _Tail, cause: Cause) -> RecordedSession:
    """Write down what a sync found. Raises: NotFound, Conflict, Purged."""
    lock_place(session, place)
    project = queries.lock_project(session, place.app_id, place.project_id)
    recorded = queries.lock_session(session, place.app_id, place.session_id)
    if (recorded.key, recorded.size_bytes) != (known.key, known.size_bytes):
        raise Conflict(f"Session {place.session_id} was registered anew meanwhile; sync it again.", code="conflict")
    recorded.synced_at = cause.at
    if tail.overview is None:
        return recorded
    before = {"sizeBytes": recorded.size_bytes}
    describe(recorded, tail.end, tail.sha256, tail.overview, cause.at)
    keep_parts(session, recorded, tail.overview)
    touch(project, cause.at)
    after = {"sizeBytes": tail.end, "markers": len(tail.overview.markers)}
    note(session, project, place.session_id, ChangeKind.SYNCED, cause, before, after, session_id=place.session_id)
    return recorded


def _source_of(known: RecordedSession) -> Path:
    if known.original_file is None:
        raise Conflict(
            f"Session {known.session_id} was uploaded, so there is no file to look at; upload the longer file to "
            f"/api/memory/sessions/{known.session_id}/sync.",
            code="no_original",
        )
    return Path(known.original_file)


@contextmanager
def _there(known: RecordedSession) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Conflict(
            f"The original of session {known.session_id} is no longer at {known.original_file}. Nothing is lost: the "
            "copy of the last sync is kept, with everything made of it.",
            code=ORIGINAL_GONE,
        ) from None


def _changed(known: RecordedSession, source: Path) -> Conflict:
    return Conflict(
        f"{source.name} no longer begins with what was registered as session {known.session_id}: it was rewritten, "
        "not only added to. The copy is kept as it is. To take in the new file, unregister the session and register "
        "it anew, or register the file under another id.",
        code=ORIGINAL_CHANGED,
        details={"sessionId": known.session_id},
    )
