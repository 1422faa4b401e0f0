"""Looking through a project's folder: new sessions are registered, known ones synced, and what is neither is named.

A file that was refused is not looked at again until it changes. Nothing here is fatal: one bad file keeps no other
from being taken in.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.apps.queries import lock_app
from shared.audit import Cause
from shared.contracts.values import ID_PATTERN
from shared.db.transactions import Transactions
from shared.errors import AfterthoughtError, Transient
from shared.sessions.models import Project, RecordedSession
from shared.sessions.queries import get_project, lock_project, registered_in, sessions_of
from shared.sessions.registry.intake import A_LINK, Intake, from_path, in_place
from shared.sessions.registry.projects import led_to
from shared.sessions.registry.registration import Registrar, SessionWork
from shared.sessions.store import Store

_SESSION_ID = re.compile(ID_PATTERN)
_MOST_REFUSED = 500
_MOST_REASON = 500
_MOST_READ = 100 * 2**20
"""Bytes, to foresee a scan: about ten seconds."""


@dataclass
class FolderScan:
    """What became of a folder's files, or would."""

    registered: list[str] = field(default_factory=list)
    synced: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    """Why, by the file's name."""
    left: int = 0
    """Files that there was no time for."""
    foreseen: list[Intake] = field(default_factory=list)
    """What would be registered."""
    last: str | None = None
    """The file to go on behind to foresee more; None where none is left."""


class FolderScanner:
    """Looks through folders."""

    def __init__(self, database: Transactions, store: Store, registrar: Registrar) -> None:
        self._database = database
        self._store = store
        self._registrar = registrar

    def scan(self, app_id: str, project_id: str, cause: Cause, most_files: int) -> FolderScan:
        """Look through a project's folder; no more than so many files are taken in.

        Raises: NotFound. A folder that cannot be read is said to be refused itself.
        """
        project, sizes = self._known(app_id, project_id)
        scan, taken = FolderScan(), 0
        refused: dict[str, Any] = {}
        for path, stamp in _files(project, scan):
            before = project.refused_files.get(path.name, {})
            reason: str | None = None
            if before.get("stamp") == stamp:
                reason = before["reason"]
            elif sizes.get(path.stem) == stamp[0]:
                scan.unchanged += 1
            elif taken == most_files:
                scan.left += 1
            else:
                taken += 1
                reason = self._take(app_id, project_id, path, path.stem in sizes, cause, scan)
            if reason is not None:
                scan.refused[path.name] = reason
                refused[path.name] = {"stamp": stamp, "reason": reason}
        if project.source_folder is not None:
            with self._database.write() as session:
                lock_app(session, app_id)
                project = lock_project(session, app_id, project_id)
                project.scanned_at = cause.at
                project.refused_files = dict(list(refused.items())[:_MOST_REFUSED])
        return scan

    def foresee(self, app_id: str, project_id: str, after: str, most_files: int) -> FolderScan:
        """Return what would become of a project's files behind a name; no more are read than asked for or than takes
        some seconds. Nothing is written.

        Raises: NotFound.
        """
        project, sizes = self._known(app_id, project_id)
        with self._database.read() as session:
            known = registered_in(session, app_id)
        scan, read, name = FolderScan(), 0, after
        for path, (size, _) in _files(project, scan):
            if path.name <= after:
                continue
            if len(scan.foreseen) == most_files or (read and read + size > _MOST_READ):
                scan.last = name
                break
            name = path.name
            if path.stem in sizes:
                scan.unchanged += sizes[path.stem] == size
                scan.synced += [path.stem] if sizes[path.stem] != size else []
            elif path.stem in known:
                scan.refused[name] = f"It is registered already, in project {known[path.stem]}."
            else:
                read += size
                try:
                    with in_place(path, path.stem, self._registrar.settings) as intake:
                        scan.foreseen.append(intake)
                        scan.registered.append(path.stem)
                except AfterthoughtError as error:
                    scan.refused[name] = error.message[:_MOST_REASON]
        return scan

    def _take(
        self, app_id: str, project_id: str, path: Path, is_known: bool, cause: Cause, scan: FolderScan
    ) -> str | None:
        """Take a file in; return why it was refused, None where it was not or may be the next time."""
        try:
            if is_known:
                self._registrar.sync(app_id, path.stem, None, cause, self._carry)
                scan.synced.append(path.stem)
            else:
                place = self._registrar.place(app_id, project_id, path.stem)
                with from_path(self._store, app_id, path.stem, path, self._registrar.settings) as intake:
                    self._registrar.register(place, intake, cause, self._carry)
                scan.registered.append(path.stem)
        except Transient:
            scan.left += 1
        except AfterthoughtError as error:
            return error.message[:_MOST_REASON]
        return None

    def _carry(self, work: SessionWork) -> RecordedSession:
        with self._database.write() as session:
            return work(session)

    def _known(self, app_id: str, project_id: str) -> tuple[Project, dict[str, int]]:
        """Return a project, and how much is taken in of each session that comes from its folder. Raises: NotFound."""
        with self._database.read() as session:
            project = get_project(session, app_id, project_id)
            return project, {
                one.session_id: one.size_bytes
                for one in sessions_of(session, project.key)
                if one.original_file == str(Path(project.source_folder or "") / f"{one.session_id}.jsonl")
            }


def _files(project: Project, scan: FolderScan) -> Iterator[tuple[Path, list[int]]]:
    """Yield the transcripts of a folder with their sizes and times, and say what cannot be one by its name."""
    if project.source_folder is None:
        return
    folder = Path(project.source_folder)
    if led_to(project.source_folder) != project.source_folder:
        scan.refused[folder.name] = "A link leads elsewhere from it by now; name the folder again."
        return
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    except OSError as error:
        scan.refused[folder.name] = f"The folder cannot be read: {error.strerror}."
        return
    for path in paths:
        try:
            status = path.lstat()
        except OSError as error:
            scan.refused[_as_text(path.name)] = f"It cannot be looked at: {error.strerror}."
            continue
        if stat.S_ISLNK(status.st_mode):
            scan.refused[_as_text(path.name)] = f"It {A_LINK}"
        elif _SESSION_ID.fullmatch(path.stem):
            yield path, [status.st_size, status.st_mtime_ns]
        else:
            scan.refused[_as_text(path.name)] = "Its name has characters that a session's id cannot have; rename it."


def _as_text(name: str) -> str:
    """Return a file's name as it can be written down: it need not be text at all."""
    return name.encode(errors="surrogateescape").decode(errors="replace")
