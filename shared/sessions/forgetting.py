"""Forgetting an app's sessions for good: rows in the transaction of an erasure, files behind it."""

from __future__ import annotations

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.db.counting import rows_changed
from shared.db.transactions import Transactions
from shared.sessions import queries
from shared.sessions.models import Composition, Project, SessionChange
from shared.sessions.semantic.models import SemanticMemory
from shared.sessions.store import Store
from shared.sessions.sweeping import sweep

SESSION_FILES = "sessionFiles"
"""Under this a receipt counts files of the store; 1 stands for not yet looked at."""
_SEMANTIC = "semanticMemories"


def forget_app(session: Session, app_id: str) -> dict[str, int]:
    """Remove every row about a locked app's sessions; return what went.

    What was learnt from them is counted by ``forget_semantic``, which goes before.
    """
    erased = {name: number for name, number in queries.left_of_app(session, app_id).items() if name != _SEMANTIC}
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
    """Count what is left of what was learnt from an app's sessions."""
    return {_SEMANTIC: queries.count_semantic(session, app_id)}


def clear_files(database: Transactions, store: Store, app_id: str) -> int:
    """Remove the files that no row of an app's names, all at once; return how many are left of them.

    Waits for whoever registers or syncs at this moment. Raises: Transient, when that takes too long.
    """
    with store.app_lock(app_id):
        sweep(database, store, app_id, before=None)
        with database.read() as session:
            stays = queries.find_claims(session, app_id)
        return sum(1 for path in store.files(app_id) if not stays.cover(store.parts_of(app_id, path)))
