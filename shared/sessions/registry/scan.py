"""Looking through a project's folder: new sessions are registered, known ones synced, and what is neither is named.

Beside the transcripts of the folder those of sub-agents in ``SESSION/subagents/`` are sessions of their own, whose ids
begin with that session's: ``SESSION.agent-1``. A file that was refused is not looked at again until it changes. Nothing
here is fatal: one bad file keeps no other from being taken in.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.errors import AfterthoughtError, Transient
from shared.contracts.values import ID_PATTERN
from shared.db.base import Transactions
from shared.sessions.models import Project, RecordedSession
from shared.sessions.queries import get_project, lock_project, registered_in, sessions_of
from shared.sessions.registry.intake import A_LINK, Intake, from_path, in_place
from shared.sessions.registry.projects import led_to
from shared.sessions.registry.registration import Registrar, SessionWork
from shared.sessions.store import Store

_SESSION_ID = re.compile(ID_PATTERN)
_MOST_REFUSED = 500
_MOST_REASON = 500
_SUB_AGENTS = "subagents"
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
    foreseen: dict[str, Intake] = field(default_factory=dict)
    """What would be registered, by the session's id."""
    last: str | None = None
    """The file to go on behind to foresee more; None where none is left."""


@dataclass(frozen=True)
class _Found:
    """A file that can be a transcript by its name."""

    path: Path
    name: str
    """Within the folder."""
    session_id: str
    size: int
    changed: int

    @property
    def stamp(self) -> list[int]:
        # A list, as it comes back from JSON, which has no tuples.
        return [self.size, self.changed]


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
        project, sources = self._known(app_id, project_id)
        scan, taken = FolderScan(), 0
        refused: dict[str, Any] = {}
        for found in _files(project, scan):
            before, known = project.refused_files.get(found.name, {}), sources.get(str(found.path))
            reason: str | None = None
            if before.get("stamp") == found.stamp:
                # Not read again: as long as the file is the same, so is what is wrong with it.
                reason = before["reason"]
            elif known is not None and known.size_bytes == found.size:
                # By its size alone: an original only grows, and one that was rewritten is refused at its next growth.
                scan.unchanged += 1
            elif taken == most_files:
                scan.left += 1
            else:
                taken += 1
                reason = self._take(app_id, project_id, found, known, cause, scan)
            if reason is not None:
                scan.refused[found.name] = reason
                refused[found.name] = {"stamp": found.stamp, "reason": reason}
        # A transaction of its own at the end, as each file that is taken in locks the project itself.
        if project.source_folder is not None:
            with self._database.write() as session:
                lock_app(session, app_id)
                project = lock_project(session, app_id, project_id)
                project.scanned_at = cause.at
                # Of a folder with more, the rest is read again each time; a row has its limits.
                project.refused_files = dict(list(refused.items())[:_MOST_REFUSED])
        return scan

    def foresee(self, app_id: str, project_id: str, after: str, most_files: int) -> FolderScan:
        """Return what would become of a project's files behind a name; no more are read than asked for or than takes
        some seconds. Nothing is written.

        Raises: NotFound.
        """
        project, sources = self._known(app_id, project_id)
        with self._database.read() as session:
            taken = registered_in(session, app_id)
        scan, read, name = FolderScan(), 0, after
        for found in _files(project, scan):
            if found.name <= after:
                continue
            # The first is read however large it is, or nothing would ever come behind it.
            if len(scan.foreseen) == most_files or (read and read + found.size > _MOST_READ):
                scan.last = name
                break
            name, known, session_id = found.name, sources.get(str(found.path)), found.session_id
            if known is not None:
                scan.unchanged += known.size_bytes == found.size
                scan.synced += [known.session_id] if known.size_bytes != found.size else []
            elif session_id in taken:
                scan.refused[name] = f"It is registered already, in project {taken[session_id]}."
            else:
                read += found.size
                try:
                    with in_place(found.path, session_id, self._registrar.settings) as intake:
                        scan.foreseen[session_id] = intake
                        scan.registered.append(session_id)
                except AfterthoughtError as error:
                    scan.refused[name] = error.message[:_MOST_REASON]
        return scan

    def _take(
        self, app_id: str, project_id: str, found: _Found, known: RecordedSession | None, cause: Cause, scan: FolderScan
    ) -> str | None:
        """Take a file in; return why it was refused, None where it was not or may be the next time."""
        try:
            if known is not None:
                self._registrar.sync(app_id, known.session_id, None, cause, self._carry)
                scan.synced.append(known.session_id)
            else:
                target = self._registrar.locate(app_id, project_id, found.session_id)
                with from_path(self._store, app_id, found.session_id, found.path, self._registrar.settings) as intake:
                    self._registrar.register(target, intake, cause, self._carry)
                scan.registered.append(found.session_id)
        except Transient:
            scan.left += 1
        except AfterthoughtError as error:
            return error.message[:_MOST_REASON]
        return None

    def _carry(self, work: SessionWork) -> RecordedSession:
        with self._database.write() as session:
            return work(session)

    def _known(self, app_id: str, project_id: str) -> tuple[Project, dict[str | None, RecordedSession]]:
        """Return a project and its sessions by the files they come from. Raises: NotFound."""
        with self._database.read() as session:
            project = get_project(session, app_id, project_id)
            return project, {one.original_file: one for one in sessions_of(session, project.key)}


def _files(project: Project, scan: FolderScan) -> Iterator[_Found]:
    """Yield the transcripts of a folder by their names, and say what cannot be one by its name."""
    if project.source_folder is None:
        return
    folder = Path(project.source_folder)
    # Whoever may write where the folder lies could else lead the service to any file that it can read.
    if led_to(project.source_folder) != project.source_folder:
        scan.refused[folder.name] = "A link leads elsewhere from it by now; name the folder again."
        return
    try:
        inside = list(folder.iterdir())
        paths = [path for path in inside if path.suffix == ".jsonl"]
        for subfolder in (path / _SUB_AGENTS for path in inside if (path / _SUB_AGENTS).is_dir()):
            if led_to(str(subfolder)) != str(subfolder):
                scan.refused[_as_text(str(subfolder.relative_to(folder)))] = f"It {A_LINK}"
            else:
                paths += subfolder.glob("*.jsonl")
    except OSError as error:
        scan.refused[folder.name] = f"The folder cannot be read: {error.strerror}."
        return
    yield from _transcripts(folder, paths, scan)


def _transcripts(folder: Path, paths: Iterable[Path], scan: FolderScan) -> Iterator[_Found]:
    # In the order of names, as foreseeing goes on behind one.
    for path in sorted(paths, key=lambda path: str(path.relative_to(folder))):
        name = str(path.relative_to(folder))
        session_id = path.stem if path.parent == folder else f"{path.parent.parent.name}.{path.stem}"
        try:
            status = path.lstat()
        except OSError as error:
            scan.refused[_as_text(name)] = f"It cannot be looked at: {error.strerror}."
            continue
        if stat.S_ISLNK(status.st_mode):
            scan.refused[_as_text(name)] = f"It {A_LINK}"
        elif _SESSION_ID.fullmatch(session_id):
            yield _Found(path, name, session_id, status.st_size, status.st_mtime_ns)
        else:
            scan.refused[_as_text(name)] = "Its name has characters that a session's id cannot have; rename it."


def _as_text(name: str) -> str:
    """Return a file's name as it can be written down: it need not be text at all."""
    return name.encode(errors="surrogateescape").decode(errors="replace")
