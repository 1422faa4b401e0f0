"""Looking through a project's folder: new sessions are registered, known ones synced, and what is neither is named.

A file that was refused is not looked at again until it changes. Nothing here is fatal: one bad file keeps no other
from being taken in.
"""

from __future__ import annotations

import re
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
from shared.sessions.registry.intake import Intake, from_path, in_place
from shared.sessions.registry.registration import Registrar, SessionWork
from shared.sessions.store import Store

_SESSION_ID = re.compile(ID_PATTERN)
_MOST_REFUSED = 500
_MOST_REASON = 500
_MOST_READ = 100 * 2**20
"""Bytes, to foresee a scan: about ten seconds."""


@dataclass
class FolderScan:
    """What became of a folder's files."""

    registered: list[str] = field(default_factory=list)
    synced: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    """Why, by the file's name."""
    left: int = 0
    """Files that there was no time for."""


@dataclass(frozen=True)
class _Known:
    """What was known of a folder before it was looked through."""

    folder: Path
    sizes: dict[str, int]
    """By session, of those that come from this folder: how much of the original is taken in."""
    refused: dict[str, Any]


class _Look:
    """One look through a folder."""

    def __init__(self, known: _Known, most_files: int, registers: bool) -> None:
        self.scan = FolderScan()
        self.refused: dict[str, Any] = {}
        self._known = known
        self._budget = most_files
        self._registers = registers

    def wants(self, path: Path, stamp: list[int]) -> bool:
        """Return whether a file is to be taken in, and count it where it is not."""
        before = self._known.refused.get(path.name, {})
        size = self._known.sizes.get(path.stem)
        if before.get("stamp") == stamp:
            self.refuse(path, stamp, before["reason"])
        elif size == stamp[0] or (size is None and not self._registers):
            self.scan.unchanged += 1
        elif not self._budget:
            self.scan.left += 1
        else:
            self._budget -= 1
            return True
        return False

    def refuse(self, path: Path, stamp: list[int], reason: str | None) -> None:
        """Remember why a file was refused, until it changes."""
        if reason is not None:
            self.scan.refused[path.name] = reason
            self.refused[path.name] = {"stamp": stamp, "reason": reason}


@dataclass
class ForeseenScan:
    """What a scan would make of some of a folder's files."""

    registers: list[Intake] = field(default_factory=list)
    synced: list[str] = field(default_factory=list)
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    """Why, by the file's name."""
    last: str | None = None
    """The file to go on behind; None where none is left."""


class FolderScanner:
    """Looks through folders."""

    def __init__(self, database: Transactions, store: Store, registrar: Registrar) -> None:
        self._database = database
        self._store = store
        self._registrar = registrar

    def scan(
        self, app_id: str, project_id: str, cause: Cause, most_files: int, *, registers: bool = True
    ) -> FolderScan:
        """Look through a project's folder; no more than so many files are taken in.

        Raises: NotFound. A folder that cannot be read is said to be refused itself.
        """
        known = self._known(app_id, project_id)
        if known is None:
            return FolderScan()
        look = _Look(known, most_files, registers)
        for path, stamp in _files(known.folder, look.scan):
            if look.wants(path, stamp):
                look.refuse(
                    path, stamp, self._take(app_id, project_id, path, path.stem in known.sizes, cause, look.scan)
                )
        self._remember(app_id, project_id, look.refused, cause)
        return look.scan

    def foresee(self, app_id: str, project_id: str, after: str, most_files: int) -> ForeseenScan:
        """Return what would become of a project's files behind a name; no more are read than asked for or than takes
        some seconds. Nothing is written.

        Raises: NotFound.
        """
        known, scan = self._known(app_id, project_id), ForeseenScan()
        if known is None:
            return scan
        with self._database.read() as session:
            registered = registered_in(session, app_id)
        looked, read, name = FolderScan(refused=scan.refused), 0, after
        for path, (size, _) in _files(known.folder, looked):
            if path.name <= after:
                continue
            if len(scan.registers) == most_files or (read and read + size > _MOST_READ):
                scan.last = name
                break
            name = path.name
            if path.stem in known.sizes:
                scan.unchanged += known.sizes[path.stem] == size
                scan.synced += [path.stem] if known.sizes[path.stem] != size else []
            elif path.stem in registered:
                scan.refused[name] = f"It is registered already, in project {registered[path.stem]}."
            else:
                read += size
                self._foresee(path, scan)
        return scan

    def _foresee(self, path: Path, scan: ForeseenScan) -> None:
        try:
            with in_place(path, path.stem, self._registrar.settings) as intake:
                scan.registers.append(intake)
        except AfterthoughtError as error:
            scan.refused[path.name] = error.message[:_MOST_REASON]

    def _take(
        self, app_id: str, project_id: str, path: Path, is_known: bool, cause: Cause, scan: FolderScan
    ) -> str | None:
        """Take a file in; return why it was refused, None where it was not or may be the next time."""
        try:
            if is_known:
                self._registrar.sync(app_id, path.stem, None, cause, self._carry)
                scan.synced.append(path.stem)
            else:
                self._register(app_id, project_id, path, cause)
                scan.registered.append(path.stem)
        except Transient:
            scan.left += 1
        except AfterthoughtError as error:
            return error.message[:_MOST_REASON]
        return None

    def _register(self, app_id: str, project_id: str, path: Path, cause: Cause) -> None:
        place = self._registrar.place(app_id, project_id, path.stem)
        with from_path(self._store, app_id, path.stem, path, self._registrar.settings) as intake:
            self._registrar.register(place, intake, cause, self._carry)

    def _carry(self, work: SessionWork) -> RecordedSession:
        with self._database.write() as session:
            return work(session)

    def _known(self, app_id: str, project_id: str) -> _Known | None:
        with self._database.read() as session:
            project = get_project(session, app_id, project_id)
            if project.source_folder is None:
                return None
            folder = Path(project.source_folder)
            sizes = {
                one.session_id: one.size_bytes
                for one in sessions_of(session, project.key)
                if one.original_file == str(folder / f"{one.session_id}.jsonl")
            }
            return _Known(folder, sizes, dict(project.refused_files))

    def _remember(self, app_id: str, project_id: str, refused: dict[str, Any], cause: Cause) -> None:
        with self._database.write() as session:
            lock_app(session, app_id)
            project: Project = lock_project(session, app_id, project_id)
            project.scanned_at = cause.at
            project.refused_files = dict(list(refused.items())[:_MOST_REFUSED])


def _files(folder: Path, scan: FolderScan) -> Iterator[tuple[Path, list[int]]]:
    """Yield the transcripts of a folder with their sizes and times, and say what cannot be one by its name."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    except OSError as error:
        scan.refused[folder.name] = f"The folder cannot be read: {error.strerror}."
        return
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            scan.refused[_as_text(path.name)] = f"It cannot be looked at: {error.strerror}."
            continue
        if _SESSION_ID.fullmatch(path.stem):
            yield path, [status.st_size, status.st_mtime_ns]
        else:
            scan.refused[_as_text(path.name)] = "Its name has characters that a session's id cannot have; rename it."


def _as_text(name: str) -> str:
    """Return a file's name as it can be written down: it need not be text at all."""
    return name.encode(errors="surrogateescape").decode(errors="replace")
