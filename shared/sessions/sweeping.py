"""Removing files of the store that belong to nothing: left by a process that was killed, or by what was removed since.

The files are listed before the rows are read. What was listed was there before, so what names it, if anything does,
was committed or is being made by then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from shared.db.transactions import Transactions
from shared.sessions import queries
from shared.sessions.store import Store


def sweep(database: Transactions, store: Store, app_id: str, before: float | None) -> int:
    """Remove an app's orphans that were not written to since ``before`` (seconds of the epoch); return how many went.

    None takes all of them, and is for who holds the app's lock.
    """
    found = [path for path in store.files(app_id) if before is None or _written_at(path) < before]
    with database.read() as session:
        claims = queries.find_claims(session, app_id)
    removed = sum(store.remove(path) for path in found if not claims.cover(store.parts_of(app_id, path)))
    for folder in _folders(store.app(app_id)):
        if before is None or _written_at(folder) < before:
            _remove_empty(folder)
    return removed


def _written_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return time.time()


def _folders(root: Path) -> Iterator[Path]:
    """Yield a folder and those below it, the lowest first; links are not followed."""
    if root.is_symlink() or not root.is_dir():
        return
    for path in sorted(root.iterdir()):
        yield from _folders(path)
    yield root


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
