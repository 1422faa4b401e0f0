"""The folder in which sessions, versions and compositions lie, one below it for each app.

Every name that becomes part of a path is checked here, and every file appears whole or not at all: it is written under
another name beside its place, brought to the disk and renamed. Only the owner may read. Locks on files of the store
guard what a transaction cannot; they end with their process, and hold on one machine.
Source: seed 004, "Directory Structure".
"""

import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path
from typing import IO, Any

from shared.base.errors import Invalid, Transient
from shared.contracts.values import FILE_ID_PATTERN

_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.02
# Files of locks are never removed, so there must not be one for each session.
_SLOTS = 1024


@contextmanager
def file_lock(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock until the block ends; ``shared`` with others who share it. Raises: Transient."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        # Closing lets the lock go. The file stays: were it removed, two could each lock a file of that name.
        os.close(descriptor)


def _take(descriptor: int, kind: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            # Tried again and again, because one that blocks has no time limit.
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise Transient("Another request works on the same session; try again.") from None
            time.sleep(_PAUSE_SECONDS)


@dataclass
class FileClaims:
    """What an app's rows name, by paths within the app's folder."""

    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    """In which something is being made, whose files may lie there before they are named."""

    def cover(self, path: str) -> bool:
        """Return whether a file is claimed."""
        return path in self.files or path.rpartition("/")[0] in self.folders


UNFINISHED = ".tmp-"
"""How the name of a file begins that is still being written."""
_NAME = re.compile(FILE_ID_PATTERN)
_CHUNK = 2**20
_LOCKS = ".locks"
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


class Store:
    """Where the files of sessions lie, and how they get there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def app(self, app_id: str) -> Path:
        return self._below(app_id)

    def config(self, app_id: str) -> Path:
        return self._below(app_id, "config.json")

    def cache(self, app_id: str) -> Path:
        """Return the folder of what is under way."""
        return self._below(app_id, "cache")

    def project_folder(self, app_id: str, project_id: str) -> Path:
        return self._below(app_id, "projects", project_id)

    def manifest(self, app_id: str, project_id: str) -> Path:
        """Return where a project's manifest is shown."""
        return self.project_folder(app_id, project_id) / "manifest.json"

    def original(self, app_id: str, project_id: str, session_id: str) -> Path:
        return self._below(app_id, "projects", project_id, "originals", f"{checked(session_id)}.jsonl")

    def project_file(self, app_id: str, project_id: str, name: str) -> Path:
        """Return where a file of a project lies, by its name within the project's folder, as ``originals/s1.jsonl``."""
        return self._below(app_id, "projects", project_id, *name.split("/"))

    def versions_folder(self, app_id: str, project_id: str, session_id: str) -> Path:
        return self._below(app_id, "projects", project_id, "summaries", session_id)

    def composition_folder(self, app_id: str, project_id: str, name: str) -> Path:
        return self._below(app_id, "projects", project_id, "composed", name)

    def write_text(self, path: Path, chunks: Iterable[str]) -> str:
        """Write a file whole, or not at all; return its SHA-256. Folders on the way to it are made."""
        self.make_folder(path.parent)
        unfinished = path.parent / f"{UNFINISHED}{secrets.token_hex(8)}"
        try:
            digest = _written(unfinished, (chunk.encode() for chunk in chunks))
            unfinished.replace(path)
        finally:
            # Nothing has that name after the rename; after an error the half of a file must not stay.
            unfinished.unlink(missing_ok=True)
        sync_folder(path.parent)
        return digest

    def write_json(self, path: Path, value: Any) -> str:
        """Write a value as indented JSON; return the file's SHA-256."""
        return self.write_text(path, [as_json(value)])

    def copy(self, source: IO[bytes], path: Path, most_bytes: int) -> str:
        """Copy a file's bytes, no more than so many, to one of a name that nobody has; return their SHA-256."""
        return _written(path, chunks_of(source, most_bytes))

    def commit(self, unfinished: Path, path: Path) -> None:
        """Give a finished file its final name, so that it is there whole or not at all."""
        self.make_folder(path.parent)
        unfinished.replace(path)
        sync_folder(path.parent)

    def append(self, path: Path, size: int, chunks: Iterable[bytes]) -> None:
        """Write behind a file's first bytes; whatever stood there goes."""
        self._inside(path)
        with path.open("r+b") as file:
            # First, because an append that was killed may have left a part behind.
            file.truncate(size)
            file.seek(size)
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())

    def make_folder(self, path: Path) -> None:
        """Make a folder of the store and those above it, for the owner only. Raises: Invalid outside of the store."""
        self._inside(path / UNFINISHED)
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        # One by one: `parents=True` would give those on the way the default mode.
        for folder in reversed(missing):
            folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)

    def remove(self, path: Path) -> int:
        """Remove a file, or a folder with all it holds; return how many files went. Links are removed, not followed."""
        self._inside(path)
        if path.is_symlink() or path.is_file():
            path.unlink(missing_ok=True)
            return 1
        count = sum(1 for _ in files_below(path))
        with suppress(FileNotFoundError):
            shutil.rmtree(path)
        return count

    def files(self, app_id: str) -> Iterator[Path]:
        """Yield every file of an app's; links count as files and are not followed."""
        yield from files_below(self.app(app_id))

    @contextmanager
    def session_lock(self, app_id: str, session_id: str) -> Iterator[None]:
        """Keep everyone else from this session's copy until the block ends. Not inside a transaction.

        Raises: Transient, when another holds it for too long.
        """
        with (
            # Shared: the sessions of an app do not wait for each other, but all of them for `app_lock`.
            file_lock(self._lock("app", app_id), shared=True),
            file_lock(self._lock("session", app_id, session_id)),
        ):
            yield

    def app_lock(self, app_id: str) -> AbstractContextManager[None]:
        """Keep everyone else from the copies of all of an app's sessions. Not inside a transaction."""
        return file_lock(self._lock("app", app_id))

    def manifest_lock(self, app_id: str, project_id: str) -> AbstractContextManager[None]:
        """Keep everyone else from a project's manifest. Not inside a transaction."""
        return file_lock(self._lock("manifest", app_id, project_id))

    def unfinished(self, app_id: str) -> Path:
        """Return a name in the cache that nobody has, for a file that is yet to get its place."""
        return self.cache(app_id) / f"{UNFINISHED}{secrets.token_hex(8)}"

    def cached_bytes(self, app_id: str | None = None) -> int:
        apps = self.apps() if app_id is None else [app_id]
        return sum(self.bytes_below(self.cache(one)) for one in apps)

    def bytes_below(self, folder: Path) -> int:
        """Return how much lies in a folder, and in those below it."""
        return sum(map(size_of, files_below(folder)))

    def path_of(self, app_id: str, path: Path) -> str:
        """Return the path of a file within its app's folder."""
        return path.relative_to(self.app(app_id)).as_posix()

    def apps(self) -> list[str]:
        if not self.root.is_dir():
            return []
        folders = (path for path in self.root.iterdir() if path.is_dir() and not path.is_symlink())
        return sorted(path.name for path in folders if _NAME.fullmatch(path.name))

    def _lock(self, kind: str, *names: str) -> Path:
        """Return the file of one of so many locks that names share; two that share one merely wait for each other."""
        folder = self.root / _LOCKS
        self.make_folder(folder)
        number = int.from_bytes(blake2b("\0".join(names).encode(), digest_size=4).digest())
        return folder / f"{kind}-{number % _SLOTS:04d}"

    def _below(self, *names: str) -> Path:
        return self.root.joinpath(*map(checked, names))

    def _inside(self, path: Path) -> None:
        """Raises: Invalid, where a path leaves the store or leads through a link."""
        if ".." in path.parts or not path.is_relative_to(self.root) or path == self.root:
            raise Invalid(f"{path} does not lie in the store of sessions.", code="outside_store")
        for folder in path.parents:
            if folder == self.root:
                return
            if folder.is_symlink():
                raise Invalid(f"{folder} is a link; the store of sessions follows none.", code="outside_store")


def as_json(value: Any) -> str:
    """Return a value as files of the store show it."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def checked(name: str) -> str:
    """Return a name that may become part of a path. Raises: Invalid."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{name[:80]!r} cannot name a file: use letters, digits and any of _ - . : @, at most 200, no dot first.",
            code="bad_name",
        )
    return name


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _written(path: Path, chunks: Iterable[bytes]) -> str:
    digest = sha256()
    # Neither a file nor a link that somebody put there under this name is written through.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def chunks_of(source: IO[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield a file's bytes from where it stands, no more than so many."""
    while most_bytes > 0 and (chunk := source.read(min(most_bytes, _CHUNK))):
        most_bytes -= len(chunk)
        yield chunk


def size_of(path: Path) -> int:
    """Return how large a file is; one that has gone has no size."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file in a folder and those below it; links count as files and are not followed."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from files_below(path)
        else:
            yield path
