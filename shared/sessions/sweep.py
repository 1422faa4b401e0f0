"""Removing files of the store that belong to nothing, and everything of an app that is forgotten.

The files are listed before the rows are read. What was listed was there before, so what names it, if anything does,
was committed or is being made by then. Rows go in the transaction of an erasure, files behind it.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.db.base import Transactions
from shared.db.queries import rows_changed
from shared.sessions.models import Composition, Project, SemanticMemory, SessionChange
from shared.sessions.queries import find_claims, left_of_app
from shared.sessions.store import Store, files_below, size_of


def sweep(database: Transactions, store: Store, app_id: str, before: float | None) -> int:
    """Remove an app's orphans that were not written to since ``before`` (seconds of the epoch); return how many went.

    None takes all of them, and is for who holds the app's lock.
    """
    # Listed before the claims are read: a file that a row names meanwhile is then claimed, and stays.
    found = [path for path in store.files(app_id) if before is None or _written_at(path) < before]
    with database.read() as session:
        claims = find_claims(session, app_id)
    removed = sum(store.remove(path) for path in found if not claims.cover(store.path_of(app_id, path)))
    for folder in _folders(store.app(app_id)):
        if before is None or _written_at(folder) < before:
            with suppress(OSError):
                # Refused where something lies in it.
                folder.rmdir()
    return removed


UNDER_WAY = 60.0
"""Seconds for which a file of the cache that was written to is taken for one that still is."""


def trim_cache(store: Store, app_id: str, most_bytes: int, now: float) -> int:
    """Remove the files of an app's cache written to longest ago until it takes no more; return how many went."""
    files = sorted((_written_at(path), size_of(path), path) for path in files_below(store.cache(app_id)))
    over, removed = sum(size for _, size, _ in files) - most_bytes, 0
    for written_at, size, path in files:
        if over <= 0 or written_at > now - UNDER_WAY:
            break
        over -= size
        removed += store.remove(path)
    return removed


def _written_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        # One that is gone counts as new: there is nothing to remove.
        return time.time()


def _folders(root: Path) -> Iterator[Path]:
    """Yield a folder and those below it, the lowest first; links are not followed."""
    if root.is_symlink() or not root.is_dir():
        return
    for path in sorted(root.iterdir()):
        yield from _folders(path)
    yield root


SESSION_FILES = "sessionFiles"
"""Under this a receipt counts files of the store; 1 stands for not yet looked at."""
_SEMANTIC = "semanticMemories"


def forget_app(session: Session, app_id: str) -> dict[str, int]:
    """Remove every row about a locked app's sessions, and what was set for them; return what went.

    What was learnt from them is counted by ``forget_semantic``, which goes before.
    """
    erased = {name: number for name, number in left_of_app(session, app_id).items() if name != _SEMANTIC}
    session.execute(update(App).where(App.app_id == app_id).values(session_settings={}))
    # First what points at sessions and versions without going with them.
    for model in (Composition, SemanticMemory, SessionChange, Project):
        session.execute(delete(model).where(model.app_id == app_id))
    session.flush()
    return erased


def forget_semantic(session: Session, app_id: str) -> dict[str, int]:
    """Remove what was learnt from a locked app's sessions; the sessions stay."""
    mine = SemanticMemory.app_id == app_id
    return {_SEMANTIC: rows_changed(session, delete(SemanticMemory).where(mine))}


def left_of_semantic(session: Session, app_id: str) -> dict[str, int]:
    return {_SEMANTIC: left_of_app(session, app_id)[_SEMANTIC]}


def clear_files(database: Transactions, store: Store, app_id: str) -> int:
    """Remove the files that no row of an app's names, all at once; return how many are left of them.

    Waits for whoever registers or syncs at this moment. Raises: Transient, when that takes too long.
    """
    with store.app_lock(app_id):
        sweep(database, store, app_id, before=None)
        with database.read() as session:
            stays = find_claims(session, app_id)
        return sum(1 for path in store.files(app_id) if not stays.cover(store.path_of(app_id, path)))
