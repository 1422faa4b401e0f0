"""Brings sessions and their versions into what they are found by, some passages a transaction.

Files are read and words split with no transaction open. A session counts as findable only with its last passages, so
one whose indexing was killed half-way is done anew; whoever comes late finds that the session has changed and stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, insert
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.db.transactions import Transactions
from shared.errors import Invalid, NotFound
from shared.search.words import words_of
from shared.sessions.compressions.rendering import segments_in
from shared.sessions.models import Compression, RecordedSession
from shared.sessions.queries import get_session, project_by_key
from shared.sessions.searching.models import SessionPassage, SessionWord
from shared.sessions.searching.passages import NewPassage, passages_in, passages_of
from shared.sessions.searching.words import numbers_of
from shared.sessions.store import Store
from shared.sessions.transcripts.reading import read_turns
from shared.telemetry.logging import get_logger

_AT_ONCE = 100
"""Passages in one transaction."""
_MOST_WORDS = 200
"""Of one passage."""


@dataclass(frozen=True)
class _Target:
    """What is indexed: a session as far as it was read, or one of its versions."""

    app_id: str
    session_key: int
    size_bytes: int = 0
    compression_key: int | None = None


def index_session(database: Transactions, store: Store, app_id: str, session_id: str) -> int:
    """Bring what a session's original says up to date; return its passages. Raises: Transient."""
    with database.read() as session:
        recorded = get_session(session, app_id, session_id)
        project = project_by_key(session, recorded.project_key)
        path = store.original(app_id, project.project_id, session_id)
    target = _Target(app_id, recorded.key, recorded.size_bytes)
    try:
        found = passages_of(read_turns(path, recorded.size_bytes))
    except (OSError, Invalid) as error:
        found = _unreadable(target, error)
    return _write(database, target, found)


def index_version(database: Transactions, store: Store, app_id: str, compression_key: int) -> int:
    """Make a version that is ready findable; return its passages. Raises: Transient."""
    with database.read() as session:
        version = session.get(Compression, compression_key)
        recorded = None if version is None else session.get(RecordedSession, version.session_key)
        if version is None or recorded is None or recorded.app_id != app_id:
            return 0
        project = project_by_key(session, recorded.project_key)
        folder = store.versions_folder(app_id, project.project_id, recorded.session_id)
    target = _Target(app_id, recorded.key, compression_key=compression_key)
    try:
        found = passages_in(segments_in(folder / f"{version.file}.jsonl"))
    except (OSError, Invalid) as error:
        found = _unreadable(target, error)
    return _write(database, target, found)


def _unreadable(target: _Target, error: Exception) -> list[NewPassage]:
    """Say that a file cannot be read. It is not tried again until the session changes."""
    why = type(error).__name__
    get_logger().error("session_not_indexed", app_id=target.app_id, session_key=target.session_key, error=why)
    return []


def _write(database: Transactions, target: _Target, found: Sequence[NewPassage]) -> int:
    rows = [(one, numbers_of(target.app_id, words_of(one.text)[:_MOST_WORDS])) for one in found]
    for at in range(0, max(1, len(rows)), _AT_ONCE):
        with database.write() as session:
            standing = _standing(session, target)
            if standing is None:
                return 0
            if at == 0:
                session.execute(delete(SessionPassage).where(*_mine(target)))
            _add(session, target, rows[at : at + _AT_ONCE])
            if at + _AT_ONCE >= len(rows):
                _mark(standing, target)
    return len(rows)


def _standing(session: Session, target: _Target) -> RecordedSession | Compression | None:
    """Return the row that says what can be found; None where what was read is no longer what there is."""
    try:
        lock_app(session, target.app_id)
    except NotFound:
        return None
    if target.compression_key is not None:
        return session.get(Compression, target.compression_key)
    recorded = session.get(RecordedSession, target.session_key)
    return recorded if recorded is not None and recorded.size_bytes == target.size_bytes else None


def _mark(standing: RecordedSession | Compression, target: _Target) -> None:
    if isinstance(standing, Compression):
        standing.indexed = True
    else:
        standing.indexed_bytes = target.size_bytes


def _mine(target: _Target) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    of_version = SessionPassage.compression_key.is_not_distinct_from(target.compression_key)
    return SessionPassage.session_key == target.session_key, of_version


def _add(session: Session, target: _Target, rows: Sequence[tuple[NewPassage, Sequence[int]]]) -> None:
    kept = [_row(target, one) for one, _ in rows]
    session.add_all(kept)
    session.flush()
    words = [
        {"word": word, "passage_key": passage.key}
        for passage, (_, numbers) in zip(kept, rows, strict=True)
        for word in dict.fromkeys(numbers)
    ]
    if words:
        session.execute(insert(SessionWord), words)


def _row(target: _Target, one: NewPassage) -> SessionPassage:
    return SessionPassage(
        session_key=target.session_key,
        compression_key=target.compression_key,
        message_uuid=one.message_uuid,
        kind=one.kind,
        text=one.text.replace("\0", ""),
        said_at=one.said_at,
    )
