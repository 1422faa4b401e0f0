"""Bringing a transcript into the store: read once for copy and hash, looked at, and only then given its place.

Originals are opened for reading and never written. What is taken in lies in the cache until its session is entered.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

from shared.base.errors import Invalid, Limit, NotFound, Transient
from shared.base.setting_groups import SessionSettings
from shared.sessions.store import Store
from shared.sessions.transcripts.contents import refuse_foreign
from shared.sessions.transcripts.overview import TranscriptOverview, overview_of
from shared.sessions.transcripts.records import complete_bytes

TOO_LARGE = "too_large"
# With 20,000 of them a transcript of 340 kB took ten seconds for each version foreseen (docs/reliability.md).
MOST_MARKS = 2_000
_MARK = b"##keepit"
STORAGE_FULL = "storage_full"
A_LINK = "is a link, and links are not followed; register the file it leads to."
_CHUNK = 2**20
_TURN = threading.Lock()
# Weak: a lock goes with the last who uses it, and not one stays for every app.
_TURNS: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
"""By the app's cache."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Intake:
    """A transcript that lies in the cache, or where it was found, and what was read in it."""

    path: Path
    size_bytes: int
    """Without a last line that was still being written."""
    sha256: str
    """Of those bytes."""
    overview: TranscriptOverview
    original_file: str | None
    """Where it was copied from; None for an upload."""


@contextmanager
def from_path(
    store: Store, app_id: str, session_id: str, original: Path, settings: SessionSettings
) -> Iterator[Intake]:
    """Copy an original into the cache and read it; what is left in the cache at the end goes.

    Raises: NotFound, Invalid, Limit.
    """
    copy = store.unfinished(app_id)
    try:
        with explained(original):
            store.make_folder(copy.parent)
            with open_original(original) as source:
                check_size(os.fstat(source.fileno()).st_size, original.name, settings)
                # One byte too many, by which a file that grew since is found out below.
                copied = store.copy(source, copy, settings.sessions_max_bytes + 1)
            check_size(copy.stat().st_size, original.name, settings)
            check_lines(copy, original.name, settings)
            taken = _read(store, copy, copied, session_id, original.name, str(original))
        yield taken
    finally:
        copy.unlink(missing_ok=True)


@contextmanager
def from_upload(
    store: Store, uploaded: Path, digest: str, session_id: str, settings: SessionSettings
) -> Iterator[Intake]:
    """Read what was uploaded into the cache; what is left there at the end goes. Raises: Invalid, Limit."""
    try:
        with explained(uploaded):
            name = f"{session_id}.jsonl"
            check_lines(uploaded, name, settings)
            # It is all work of the interpreter: two at once are done no sooner, and all other requests wait for both.
            with _turn_of(uploaded.parent):
                taken = _read(store, uploaded, digest, session_id, name, None)
        yield taken
    finally:
        uploaded.unlink(missing_ok=True)


@contextmanager
def in_place(original: Path, session_id: str, settings: SessionSettings) -> Iterator[Intake]:
    """Read an original where it lies; nothing is written. Raises: NotFound, Invalid, Limit."""
    with explained(original):
        with open_original(original) as file:
            check_size(os.fstat(file.fileno()).st_size, original.name, settings)
            check_lines(original, original.name, settings)
            refuse_foreign(original, original.name)
            digest, size = hash_of(file, complete_bytes(original))
        intake = Intake(original, size, digest, overview_of(original, session_id, size), str(original))
    yield intake


def _turn_of(cache: Path) -> threading.Lock:
    """Return what has an app's uploads read one after the other."""
    with _TURN:
        return _TURNS.setdefault(cache, threading.Lock())


def check_size(size: int, name: str, settings: SessionSettings) -> None:
    """Raises: Limit, where a transcript is larger than the settings allow."""
    if size > settings.sessions_max_bytes:
        raise Limit(
            f"{name} is larger than {settings.sessions_max_mb} MB; raise AFTERTHOUGHT_SESSIONS_MAX_MB to take it in.",
            code=TOO_LARGE,
            details={"limit": settings.sessions_max_bytes, "file": name},
        )


def check_lines(path: Path, name: str, settings: SessionSettings) -> None:
    """Raises: Limit, where a transcript has more lines or marks than may be: each takes its time, however short."""
    lines = marks = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            lines += chunk.count(b"\n")
            # One that lies across two chunks is missed; a limit need not be exact.
            marks += chunk.lower().count(_MARK)
            if lines > settings.sessions_max_lines:
                raise Limit(
                    f"{name} has more than {settings.sessions_max_lines} lines; raise AFTERTHOUGHT_SESSIONS_MAX_LINES "
                    "to take it in.",
                    code=TOO_LARGE,
                    details={"limit": settings.sessions_max_lines, "file": name},
                )
            if marks > MOST_MARKS:
                raise Limit(
                    f"{name} has more than {MOST_MARKS} marks of keepit; no person writes so many, so take out those "
                    "that a program wrote.",
                    code=TOO_LARGE,
                    details={"limit": MOST_MARKS, "file": name},
                )


def open_original(path: Path) -> IO[bytes]:
    """Open an original for reading only. Raises: OSError, Invalid where it is a link or no plain file."""
    try:
        # Without waiting: opening a pipe would otherwise block until somebody writes to it. And no link: whoever writes
        # in a folder that is scanned would else have any file of this machine taken in.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise Invalid(f"{path} {A_LINK}", code="not_a_transcript", details={"file": path.name}) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Invalid(f"{path} is not a file.", code="not_a_transcript", details={"file": path.name})
    return os.fdopen(descriptor, "rb")


def hash_of(file: IO[bytes], size: int) -> tuple[str, int]:
    """Return the SHA-256 of a file's first bytes, and how many of them there were."""
    digest, left = sha256(), size
    while left and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest(), size - left


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say what an error of the file system means. Raises: NotFound, Invalid, Transient."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.", code="no_such_file", details={"file": path.name}) from None
    except OSError as error:
        if error.errno in _FULL:
            message = "The disk of the store of sessions is full; make room and try again."
            raise Transient(message, code=STORAGE_FULL) from None
        raise Invalid(
            f"{path} cannot be read here: {error.strerror}.", code="unreadable", details={"file": path.name}
        ) from None


def _read(store: Store, copy: Path, digest: str, session_id: str, name: str, original: str | None) -> Intake:
    refuse_foreign(copy, name)
    size = complete_bytes(copy)
    if size < copy.stat().st_size:
        # Cut off, so that the copy is what its digest says.
        store.append(copy, size, ())
        with copy.open("rb") as file:
            digest, _ = hash_of(file, size)
    return Intake(copy, size, digest, overview_of(copy, session_id), original)
